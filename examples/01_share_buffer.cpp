// SPDX-License-Identifier: Apache-2.0
/// @file
/// Every rank fills a buffer with a pattern of its own and shares it; then every rank reads every
/// byte of all the buffers, in place, through its own mapping.
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
  std::string memory = "host";  // the only kind so far
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
  app.add_option("--memory", chosen.memory, "where the buffers are")
      ->check(CLI::IsMember({"host"}))
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

// Returns whether `theirs` holds the pattern of its owner, and reports the first byte that differs.
bool check(int reader, int owner, rs::buffer const& theirs) {
  auto const* const bytes = theirs.as<std::uint8_t>();
  for (std::size_t offset = 0; offset < theirs.size(); ++offset) {
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

int run(options const& chosen) {
  auto const start = std::chrono::steady_clock::now();

  // Collective over the communicator: the ranks find each other.
  rs::mpi::node_communicator node(MPI_COMM_WORLD);
  int const me = node.rank();

  // A pool of this rank, from which it allocates in the order of a stream. Streams of host memory
  // do their work at once; those of GPUs will not, and the calls are the same.
  rs::host_memory_resource memory;
  rs::stream stream(node.device());
  rs::buffer mine = memory.allocate(chosen.size, stream);
  auto* const bytes = mine.as<std::uint8_t>();
  for (std::size_t offset = 0; offset < mine.size(); ++offset) bytes[offset] = pattern(me, offset);

  // Collective: entry r is the buffer of rank r, mapped into this process. What the ranks wrote
  // before the call is there.
  rs::mpi::peer_buffers shared = node.share_all(mine, stream);

  // What is written later is there for the others after a fence. That the change is seen shows that
  // they look at the same memory, and at no copy.
  if (chosen.flip == me) bytes[mine.size() / 2] ^= 1;
  node.fence(stream);

  // This rank's own entry is its own buffer; all others are read through a mapping.
  enum { compared, wrong };
  std::array<unsigned long long, 2> count{};
  for (int owner = 0; owner < node.size(); ++owner) {
    if (!check(me, owner, shared[owner])) ++count[wrong];
    count[compared] += shared[owner].size();
  }

  // A buffer must stay open until the last rank has read it, which this fence tells. Then they may
  // be closed in any order, here by their destructors.
  node.fence(stream);

  // Where one rank found a difference, all exit with an error.
  MPI_Allreduce(MPI_IN_PLACE, count.data(), 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (count[wrong] > 0) return 1;
  if (me == 0) {
    std::chrono::duration<double> const elapsed = std::chrono::steady_clock::now() - start;
    std::printf("verified: %d ranks, %s, %llu bytes compared, %.2f s\n", node.size(),
                node.device().description().c_str(), count[compared], elapsed.count());
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
