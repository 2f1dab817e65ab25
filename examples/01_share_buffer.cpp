// SPDX-License-Identifier: Apache-2.0
/// @file
/// Every rank fills a buffer with a pattern of its own and shares it; then every rank reads every
/// byte of all the buffers through its own mapping: in place where the host can read the memory,
/// and else, from a GPU, by a copy.
///
///     mpirun -n 4 bazel-bin/examples/01_share_buffer --size 1000000

#include <mpi.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include <rankshare/mpi/mpi.hpp>

namespace rs = rankshare;

namespace {

struct options {
  std::string memory = "auto";
  std::size_t size = std::size_t{1} << 20;
  std::optional<int> flip;
};

// Every rank reads the same arguments, and rank 0 speaks for all of them.
// Returns the exit status if the program is to end here: after --help, or a mistake.
std::optional<int> parse(int argc, char** argv, options& chosen) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  CLI::App app("Every rank checks every byte of the buffers that all ranks share");
  app.add_option("--memory", chosen.memory,
                 "where the buffers are: device (memory of GPUs, at most 2 GiB for each rank), "
                 "pinned (host memory that GPUs reach), host, or auto: device where every rank has "
                 "a GPU, else host")
      ->check(CLI::IsMember({"auto", "host", "pinned", "device"}))
      ->capture_default_str();
  app.add_option("--size", chosen.size, "bytes of each rank's buffer; 0 and odd sizes will do")
      ->check(CLI::Range(std::size_t{0}, std::size_t{1} << 40))
      ->capture_default_str();
  app.add_option("--flip", chosen.flip,
                 "rank that changes one byte of its buffer before the check, which must fail then")
      ->check(CLI::Range(0, ranks - 1));
  try {
    app.parse(argc, argv);
    if (chosen.flip && chosen.size == 0) {
      throw CLI::ValidationError("--flip", "a buffer of --size 0 has no byte to change");
    }
  } catch (CLI::ParseError const& end) {
    return rank == 0 ? app.exit(end) : end.get_exit_code();
  }
  return std::nullopt;
}

// Byte `offset` of the buffer of `rank`. No two of 256 ranks have the same byte at the same place,
// and a buffer that is mapped at a wrong offset does not match either.
std::uint8_t pattern(int rank, std::size_t offset) {
  return static_cast<std::uint8_t>((offset ^ offset >> 8 ^ offset >> 16) +
                                   37 * static_cast<std::size_t>(rank));
}

// Returns whether `bytes` hold the pattern of `owner`, and reports the first that differs.
bool check(int reader, int owner, std::uint8_t const* bytes, std::size_t size) {
  for (std::size_t offset = 0; offset < size; ++offset) {
    std::uint8_t const expected = pattern(owner, offset);
    if (bytes[offset] == expected) continue;
    std::fprintf(stderr,
                 "rank %d: the buffer of rank %d differs at offset %zu: expected 0x%02x, "
                 "found 0x%02x\n",
                 reader, owner, offset, expected, bytes[offset]);
    return false;
  }
  return true;
}

// Which memory all ranks take: with auto that of GPUs where each rank has one, else the host's.
// None where that which was asked for cannot be had. Who asks for host memory leaves CUDA alone.
std::optional<std::string> choose_memory(std::string const& wanted,
                                         rs::mpi::node_communicator const& node) {
  if (wanted == "host") return wanted;
  struct {
    int has_gpu;
    int rank;
  } least{node.device().is_host() ? 0 : 1, node.rank()};
  MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD);
  if (least.has_gpu == 1) return wanted == "auto" ? "device" : wanted;
  bool const speaks = least.rank == node.rank();  // the first that has none, for all
  auto const why = rs::device::why_no_gpu();
  if (wanted != "auto") {
    if (speaks) {
      std::fprintf(stderr, "01_share_buffer: --memory=%s: no GPU: %s\n", wanted.c_str(),
                   why.c_str());
    }
    return std::nullopt;
  }
  if (speaks) std::printf("host memory is used: no GPU: %s\n", why.c_str());
  std::fflush(stdout);
  return "host";
}

// A pool of this rank. Of the GPUs, it is on the one that node.device() picks for the rank.
rs::pool_memory_resource make_resource(std::string const& memory,
                                       rs::mpi::node_communicator const& node) {
  if (memory == "device") return rs::device_memory_resource(node.device());
  if (memory == "pinned") return rs::pinned_memory_resource(node.device());
  return rs::host_memory_resource();
}

int run(options const& chosen) {
  auto const start = std::chrono::steady_clock::now();

  // Collective over the communicator: the ranks find each other.
  rs::mpi::node_communicator node(MPI_COMM_WORLD);
  int const me = node.rank();

  // A pool of this rank, from which it allocates in the order of a stream. A GPU does the work of a
  // stream later, the host does it at once, and the calls are the same.
  auto const kind = choose_memory(chosen.memory, node);
  if (!kind) return 1;
  auto const memory = make_resource(*kind, node);
  rs::stream stream(memory.device());
  rs::buffer mine = memory.allocate(chosen.size, stream);

  // Host memory, pinned or not, is written and read where it is. What is in the memory of a GPU
  // passes through a second buffer.
  bool const in_place = mine.is_host_accessible();
  rs::buffer copy;
  if (!in_place) copy = rs::host_memory_resource().allocate(chosen.size, stream);
  auto* const bytes = (in_place ? mine : copy).as<std::uint8_t>();
  stream.synchronize();  // the memory is there
  for (std::size_t offset = 0; offset < chosen.size; ++offset) bytes[offset] = pattern(me, offset);
  if (!in_place) mine.copy_from(copy, stream);

  // Collective: entry r is the buffer of rank r, mapped into this process. What the ranks wrote
  // before the call is there, also what the stream had yet to do.
  rs::mpi::peer_buffers shared = node.share_all(mine, stream);

  // What is written later is there for the others after a fence. That the change is seen shows that
  // they look at the same memory, and at no copy made before.
  if (chosen.flip == me) {
    bytes[chosen.size / 2] ^= 1;
    if (!in_place) mine.copy_from(copy, stream);
  }
  node.fence(stream);

  // This rank's own entry is its own buffer; all others are read through a mapping.
  enum { compared, wrong };
  std::array<unsigned long long, 2> count{};
  for (int owner = 0; owner < node.size(); ++owner) {
    rs::buffer const& theirs = shared[owner];
    if (!in_place) theirs.copy_to(copy, stream);
    stream.synchronize();
    rs::buffer const& readable = in_place ? theirs : copy;
    if (!check(me, owner, readable.as<std::uint8_t>(), readable.size())) ++count[wrong];
    count[compared] += readable.size();
  }

  // A buffer must stay open until the last rank has read it, which this fence tells. Then they may
  // be closed in any order, here by their destructors.
  node.fence(stream);

  // Where one rank found a difference, all exit with an error.
  MPI_Allreduce(MPI_IN_PLACE, count.data(), 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (count[wrong] > 0) return 1;
  if (me == 0) {
    std::chrono::duration<double> const elapsed = std::chrono::steady_clock::now() - start;
    auto const where = *kind == "pinned" ? "pinned host memory" : memory.device().description();
    std::printf("verified: %d ranks, %s, %llu bytes compared, %.2f s\n", node.size(), where.c_str(),
                count[compared], elapsed.count());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 0;
  try {
    options chosen;
    auto const end = parse(argc, argv, chosen);
    status = end ? *end : run(chosen);
  } catch (std::exception const& failure) {
    // The error of a collective is one of all ranks; after one that only this rank has, such as too
    // little memory, the others must not be left waiting.
    std::fprintf(stderr, "01_share_buffer: %s\n", failure.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
