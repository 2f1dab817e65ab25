// SPDX-License-Identifier: Apache-2.0
/// @file
/// The heat equation on a square, its rows divided over the ranks. Each rank reads the rows next to
/// its own where they are, in its neighbours' memory: no iteration copies them or sends a message.
/// The rows are in the memory of GPUs, where a kernel updates them, or in host memory. The final
/// grid is then compared, bit for bit, with that of a plain serial loop on the host.
///
///     mpirun -n 4 bazel-bin/examples/02_jacobi --size 2048 --iterations 200

#include <mpi.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <rankshare/mpi/mpi.hpp>

#include "examples/02_jacobi_kernel.hpp"  // made from the .cu file

namespace rs = rankshare;

namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

// ---- The problem, and its parallel solution -----------------------------------------------------

struct options {
  std::string memory = "auto";
  std::size_t size = 2048;
  std::size_t iterations = 200;
  std::optional<int> flip;
};

// The rows of one rank. Its buffer holds them twice: iteration k reads one copy and writes the
// other, so that nobody writes what a neighbour may still be reading.
struct strip {
  std::size_t first;  // of its rows, in the grid
  std::size_t count;  // of rows
  std::size_t width;  // values in a row

  std::size_t values() const { return count * width; }
  std::size_t bytes() const { return values() * sizeof(double); }
  // Where a row is that `iteration` reads, counted from the start of the buffer.
  std::size_t row(std::size_t iteration, std::size_t index) const {
    return iteration % 2 * values() + index * width;
  }
};

// Rows are divided as evenly as they can be; every rank knows the strips of all.
strip strip_of(int rank, int ranks, std::size_t size) {
  auto const border = [&](int r) {
    return size * static_cast<std::size_t>(r) / static_cast<std::size_t>(ranks);
  };
  return {border(rank), border(rank + 1) - border(rank), size};
}

// The start is pseudo-random and the same for any number of ranks: each passes over what comes
// before its rows. `memory` is the host's.
void set_start(strip const& mine, double* memory) {
  std::mt19937_64 random(1);
  random.discard(mine.first * mine.width);
  for (std::size_t i = 0; i < mine.values(); ++i) {
    memory[i] = static_cast<double>(random() >> 11) * 0x1p-53;  // from 0 to below 1
  }
  // The border of the grid is never written again: both copies must have it.
  std::memcpy(memory + mine.values(), memory, mine.bytes());
}

// One iteration of one rank's rows. `above` is the last row of the rank above and `below` the first
// row of the rank below, both in their memory; null at the upper and lower border of the grid.
void update_on_host(strip const& mine, double const* now, double* next, double const* above,
                    double const* below) {
  for (std::size_t row = 0; row < mine.count; ++row) {
    bool const is_border = mine.first + row == 0 || mine.first + row == mine.width - 1;
    if (is_border) continue;
    double const* const here = now + row * mine.width;
    double const* const up = row == 0 ? above : here - mine.width;
    double const* const down = row == mine.count - 1 ? below : here + mine.width;
    double* const result = next + row * mine.width;
    for (std::size_t x = 1; x < mine.width - 1; ++x) {
      double const around = up[x] + down[x] + here[x - 1] + here[x + 1];
      result[x] = here[x] + 0.2 * (around - 4.0 * here[x]);
    }
  }
}

// The rows of one rank, as this process has them mapped.
struct mapped_strip {
  strip rows{};
  double* memory = nullptr;  // null where there is no such rank
};

// Updates the rows of this rank where they are: in host memory by the loop above, in memory that a
// GPU reaches by a kernel that does the same.
class solver {
 public:
  solver(rs::pool_memory_resource const& memory, rs::mpi::peer_buffers const& shared, int me,
         std::size_t size) {
    auto const strip_at = [&](int rank) -> mapped_strip {
      return {strip_of(rank, shared.size(), size), shared.pointer<double>(rank)};
    };
    mine_ = strip_at(me);
    if (me > 0) above_ = strip_at(me - 1);
    if (me < shared.size() - 1) below_ = strip_at(me + 1);
    if (memory.is_device_accessible()) {
      kernels_.emplace(memory.device(), rs::kernels::jacobi_image());
      kernel_ = kernels_->find("jacobi");
    }
  }

  // Does iteration k. A kernel is only enqueued: it is done when the stream has come to it.
  void iterate(std::size_t k, rs::stream const& stream) const {
    auto const& rows = mine_.rows;
    double const* const now = mine_.memory + rows.row(k, 0);
    double* const next = mine_.memory + rows.row(k + 1, 0);
    double const* above = nullptr;
    double const* below = nullptr;
    if (above_.memory) above = above_.memory + above_.rows.row(k, above_.rows.count - 1);
    if (below_.memory) below = below_.memory + below_.rows.row(k, 0);
    if (!kernel_) return update_on_host(rows, now, next, above, below);

    constexpr unsigned across = 32;  // threads of a block: one for each value
    constexpr unsigned down = 8;
    rs::launch_shape shape;
    shape.block = {across, down, 1};
    shape.grid = {blocks(rows.width, across), blocks(rows.count, down), 1};
    kernel_->launch(stream, shape, now, next, above, below, rows.first, rows.count, rows.width);
  }

 private:
  static unsigned blocks(std::size_t values, unsigned threads) {
    return static_cast<unsigned>((values + threads - 1) / threads);
  }

  mapped_strip mine_;
  mapped_strip above_;
  mapped_strip below_;
  std::optional<rs::kernel_module> kernels_;  // none: the host does it
  std::optional<rs::kernel> kernel_;
};

// Shows on the terminal how far the job is. The terminal itself is asked for, so that nothing gets
// into output that goes elsewhere; isatty would not tell, since mpirun gives its ranks a
// pseudo-terminal wherever their output goes.
class progress {
 public:
  explicit progress(bool is_shown) : terminal_(is_shown ? std::fopen("/dev/tty", "we") : nullptr) {
    // A job in the background may write to its terminal, and is not stopped for it.
    if (terminal_) std::signal(SIGTTOU, SIG_IGN);
  }
  ~progress() {
    if (terminal_) std::fputs("\r\033[K", terminal_.get());  // erases the line
  }
  progress(progress const&) = delete;
  progress& operator=(progress const&) = delete;

  void show(std::size_t done, std::size_t all) {
    if (!terminal_ || clock::now() < next_) return;
    std::fprintf(terminal_.get(), "\riteration %zu of %zu", done, all);
    std::fflush(terminal_.get());
    next_ = clock::now() + std::chrono::milliseconds(100);
  }

 private:
  struct close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, close> terminal_;
  clock::time_point next_ = clock::now();
};

// All iterations. Returns the seconds that they took.
double iterate(rs::mpi::node_communicator& node, rs::stream const& stream, solver const& mine,
               std::size_t iterations) {
  progress shown(node.rank() == 0);
  node.fence(stream);  // all start together, or the time would be that of the slowest start
  auto const start = clock::now();
  for (std::size_t k = 0; k < iterations; ++k) {
    mine.iterate(k, stream);
    // One fence is enough: it makes everyone's new rows visible, and tells that everyone has
    // read the old ones, which the next iteration overwrites.
    node.fence(stream);
    shown.show(k + 1, iterations);
  }
  return seconds_since(start);
}

// ---- The check, which shares no code with the above ---------------------------------------------

// The grid after `iterations`: one loop, one process, memory of its own.
std::vector<double> solve_serially(std::size_t size, std::size_t iterations) {
  std::mt19937_64 engine(1);
  std::vector<double> grid(size * size);
  for (double& value : grid) {
    value = static_cast<double>(engine() >> 11) / 9007199254740992.0;  // 2^53
  }
  std::vector<double> next = grid;
  for (std::size_t k = 0; k < iterations; ++k) {
    for (std::size_t y = 1; y + 1 < size; ++y) {
      for (std::size_t i = y * size + 1; i < (y + 1) * size - 1; ++i) {
        double const sum = grid[i - size] + grid[i + size] + grid[i - 1] + grid[i + 1];
        next[i] = grid[i] + 0.2 * (sum - 4.0 * grid[i]);
      }
    }
    std::swap(grid, next);
  }
  return grid;
}

// Returns whether `count` bytes are the same, and reports the first that differs by its offset in
// the buffer of `rank`; `start` is that of the first byte.
bool compare(int rank, std::size_t start, std::uint8_t const* expected, std::uint8_t const* found,
             std::size_t count) {
  if (std::memcmp(expected, found, count) == 0) return true;
  std::size_t at = 0;
  while (expected[at] == found[at]) ++at;
  std::fprintf(stderr,
               "rank 0: the buffer of rank %d differs at offset %zu: expected 0x%02x, "
               "found 0x%02x\n",
               rank, start + at, expected[at], found[at]);
  return false;
}

// ---- The job ------------------------------------------------------------------------------------

// Why this rank cannot compute on its GPU; empty if it can.
std::string why_not_on(rs::device gpu) {
  if (gpu.is_host()) return "no GPU: " + rs::device::why_no_gpu();
  try {
    rs::kernel_module const tried(gpu, rs::kernels::jacobi_image());
  } catch (rs::not_supported const& why) {
    return std::string("no kernels: ") + why.what();
  }
  return "";
}

// Which memory all ranks take: with auto that of GPUs where each rank can compute on one, else the
// host's. None where that which was asked for cannot be had. Who asks for host memory leaves CUDA
// alone.
std::optional<std::string> choose_memory(std::string const& wanted,
                                         rs::mpi::node_communicator const& node) {
  if (wanted == "host") return wanted;
  auto const why_not = why_not_on(node.device());
  struct {
    int is_able;
    int rank;
  } least{why_not.empty() ? 1 : 0, node.rank()};
  MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD);
  if (least.is_able == 1) return wanted == "auto" ? "device" : wanted;
  bool const speaks = least.rank == node.rank();  // the first that cannot, for all
  if (wanted != "auto") {
    if (speaks) {
      std::fprintf(stderr, "02_jacobi: --memory=%s: %s\n", wanted.c_str(), why_not.c_str());
    }
    return std::nullopt;
  }
  if (speaks) std::printf("host memory is used: %s\n", why_not.c_str());
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

// The copy of a buffer in host memory of this process, whose end the stream orders too.
rs::buffer copy_on_host(rs::buffer const& source, rs::stream const& stream) {
  rs::buffer copy = rs::host_memory_resource().allocate(source.size(), stream);
  source.copy_to(copy, stream);
  stream.synchronize();
  return copy;
}

// Compares the final rows of all ranks with the serial solution.
bool check(rs::mpi::peer_buffers const& shared, rs::stream const& stream, options const& chosen) {
  auto const expected = solve_serially(chosen.size, chosen.iterations);
  bool good = true;
  for (int rank = 0; rank < shared.size(); ++rank) {
    auto const theirs = strip_of(rank, shared.size(), chosen.size);
    auto const start = theirs.row(chosen.iterations, 0) * sizeof(double);
    auto const* const first = expected.data() + theirs.first * chosen.size;
    rs::buffer const copy = copy_on_host(shared[rank], stream);
    good &= compare(rank, start, reinterpret_cast<std::uint8_t const*>(first),
                    copy.as<std::uint8_t>() + start, theirs.bytes());
  }
  return good;
}

int run(options const& chosen) {
  auto const start = clock::now();
  rs::mpi::node_communicator node(MPI_COMM_WORLD);
  int const me = node.rank();
  auto const mine = strip_of(me, node.size(), chosen.size);

  auto const kind = choose_memory(chosen.memory, node);
  if (!kind) return 1;
  auto const memory = make_resource(*kind, node);
  rs::stream stream(memory.device());  // of the GPU, or of the host
  rs::buffer rows = memory.allocate(2 * mine.bytes(), stream);
  {
    rs::buffer on_host = rs::host_memory_resource().allocate(rows.size(), stream);
    set_start(mine, on_host.as<double>());
    rows.copy_from(on_host, stream);
  }  // closing it waits for the copy

  // From here on the neighbours' rows are memory that this rank reaches as its own.
  rs::mpi::peer_buffers shared = node.share_all(rows, stream);
  solver const solve(memory, shared, me, chosen.size);
  double const seconds = iterate(node, stream, solve, chosen.iterations);
  if (me == 0) {
    std::printf("heat equation: %zu x %zu, %zu iterations, %d ranks: %.3f ms per iteration\n",
                chosen.size, chosen.size, chosen.iterations, node.size(),
                seconds * 1e3 / static_cast<double>(chosen.iterations));
    std::fflush(stdout);
  }

  if (chosen.flip == me) {
    rs::buffer const changed = copy_on_host(rows, stream);
    auto* const final_rows = changed.as<double>() + mine.row(chosen.iterations, 0);
    reinterpret_cast<std::uint8_t*>(final_rows)[mine.bytes() / 2] ^= 1;
    rows.copy_from(changed, stream);
  }
  node.fence(stream);  // the last one of the iterations came before that change

  int good = me == 0 ? check(shared, stream, chosen) : 1;
  // The other ranks wait here, and keep their buffers open, until rank 0 has read them. Then they
  // may be closed in any order, here by their destructors.
  node.fence(stream);

  MPI_Bcast(&good, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (good == 0) return 1;
  if (me == 0) {
    auto const where = *kind == "pinned" ? "pinned host memory" : memory.device().description();
    std::printf("verified: %d ranks, %s, %zu bytes compared, %.2f s\n", node.size(), where.c_str(),
                chosen.size * chosen.size * sizeof(double), seconds_since(start));
  }
  return 0;
}

// Every rank reads the same arguments, and rank 0 speaks for all of them.
// Returns the exit status if the program is to end here: after --help, or a mistake.
std::optional<int> parse(int argc, char** argv, options& chosen) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  CLI::App app("The heat equation, solved by ranks that read each other's rows in place");
  app.add_option("--memory", chosen.memory,
                 "where the rows are: device (memory of GPUs, at most 2 GiB for each rank), pinned "
                 "(host memory that GPUs reach), host, or auto: device where every rank has a GPU "
                 "and the program was built with nvcc, else host")
      ->check(CLI::IsMember({"auto", "host", "pinned", "device"}))
      ->capture_default_str();
  app.add_option("--size", chosen.size, "rows and columns of the grid; no fewer than ranks")
      ->check(CLI::Range(3, 65536))
      ->capture_default_str();
  app.add_option("--iterations", chosen.iterations, "iterations")
      ->check(CLI::Range(1, 1000000000))
      ->capture_default_str();
  app.add_option("--flip", chosen.flip,
                 "rank that changes one byte of its final rows before the check, which must fail "
                 "then")
      ->check(CLI::Range(0, ranks - 1));
  try {
    app.parse(argc, argv);
    if (chosen.size < static_cast<std::size_t>(ranks)) {
      throw CLI::ValidationError("--size", std::to_string(chosen.size) + " rows are too few for " +
                                               std::to_string(ranks) +
                                               " ranks: each needs one at least");
    }
  } catch (CLI::ParseError const& end) {
    return rank == 0 ? app.exit(end) : end.get_exit_code();
  }
  return std::nullopt;
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
    std::fprintf(stderr, "02_jacobi: %s\n", failure.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
