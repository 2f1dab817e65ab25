// SPDX-License-Identifier: Apache-2.0
/// @file
/// The heat equation on a square, its rows divided over the ranks. Each rank reads the rows next to
/// its own where they are, in its neighbours' memory: nothing is copied, and no message is sent.
/// The final grid is then compared, bit for bit, with that of a plain serial loop.
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

namespace rs = rankshare;

namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

// ---- The problem, and its parallel solution -----------------------------------------------------

struct options {
  std::string memory = "host";  // the only kind so far
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
// before its rows.
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
void update(strip const& mine, double const* now, double* next, double const* above,
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

// A rank next to this one: its strip, and its buffer as this process has it mapped.
struct neighbour {
  strip rows{};
  double const* memory = nullptr;  // null where the grid ends
};

// All iterations. Returns the seconds that they took.
double iterate(rs::mpi::node_communicator& node, rs::stream const& stream, options const& chosen,
               double* memory, neighbour const& above, neighbour const& below) {
  auto const mine = strip_of(node.rank(), node.size(), chosen.size);
  progress shown(node.rank() == 0);
  node.fence(stream);  // all start together, or the time would be that of the slowest start
  auto const start = clock::now();
  for (std::size_t k = 0; k < chosen.iterations; ++k) {
    update(mine, memory + mine.row(k, 0), memory + mine.row(k + 1, 0),
           above.memory ? above.memory + above.rows.row(k, above.rows.count - 1) : nullptr,
           below.memory ? below.memory + below.rows.row(k, 0) : nullptr);
    // One fence is enough: it makes everyone's new rows visible, and tells that everyone has
    // read the old ones, which the next iteration overwrites.
    node.fence(stream);
    shown.show(k + 1, chosen.iterations);
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

// Compares the rows of all ranks, each where it is, with the serial solution.
bool check(rs::mpi::peer_buffers const& shared, options const& chosen) {
  auto const expected = solve_serially(chosen.size, chosen.iterations);
  bool good = true;
  for (int rank = 0; rank < shared.size(); ++rank) {
    auto const theirs = strip_of(rank, shared.size(), chosen.size);
    auto const start = theirs.row(chosen.iterations, 0) * sizeof(double);
    auto const* const first = expected.data() + theirs.first * chosen.size;
    good &= compare(rank, start, reinterpret_cast<std::uint8_t const*>(first),
                    shared.pointer<std::uint8_t>(rank) + start, theirs.bytes());
  }
  return good;
}

int run(options const& chosen) {
  auto const start = clock::now();
  rs::mpi::node_communicator node(MPI_COMM_WORLD);
  int const me = node.rank();
  auto const strip_at = [&](int rank) { return strip_of(rank, node.size(), chosen.size); };
  auto const mine = strip_at(me);

  rs::host_memory_resource memory;
  rs::stream stream(node.device());
  rs::buffer rows = memory.allocate(2 * mine.bytes(), stream);
  set_start(mine, rows.as<double>());

  // From here on the neighbours' rows are ordinary memory of this process.
  rs::mpi::peer_buffers shared = node.share_all(rows, stream);
  neighbour above;
  neighbour below;
  if (me > 0) above = {strip_at(me - 1), shared.pointer<double>(me - 1)};
  if (me < node.size() - 1) below = {strip_at(me + 1), shared.pointer<double>(me + 1)};

  double const seconds = iterate(node, stream, chosen, rows.as<double>(), above, below);
  if (me == 0) {
    std::printf("heat equation: %zu x %zu, %zu iterations, %d ranks: %.3f ms per iteration\n",
                chosen.size, chosen.size, chosen.iterations, node.size(),
                seconds * 1e3 / static_cast<double>(chosen.iterations));
    std::fflush(stdout);
  }

  if (chosen.flip == me) {
    auto* const final_rows = rows.as<double>() + mine.row(chosen.iterations, 0);
    reinterpret_cast<std::uint8_t*>(final_rows)[mine.bytes() / 2] ^= 1;
  }
  node.fence(stream);  // the last one of the iterations came before that change

  int good = me == 0 ? check(shared, chosen) : 1;
  // The other ranks wait here, and keep their buffers open, until rank 0 has read them. Then they
  // may be closed in any order, here by their destructors.
  node.fence(stream);

  MPI_Bcast(&good, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (good == 0) return 1;
  if (me == 0) {
    std::printf("verified: %d ranks, %s, %zu bytes compared, %.2f s\n", node.size(),
                node.device().description().c_str(), chosen.size * chosen.size * sizeof(double),
                seconds_since(start));
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
  app.add_option("--memory", chosen.memory, "where the rows are")
      ->check(CLI::IsMember({"host"}))
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
