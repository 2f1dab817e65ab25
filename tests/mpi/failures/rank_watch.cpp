// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <mpi/failures/rank_watch.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace rankshare::test {
namespace {

constexpr std::size_t most_ranks = 16;
constexpr std::size_t page_bytes = 4096;

// Rank 0 makes a file, all map it, and nothing but the mappings stays.
void* map_file_of_all(MPI_Comm communicator, int rank) {
  std::array<char, PATH_MAX> path{};
  if (rank == 0) {
    char const* const folder = std::getenv("TEST_TMPDIR");
    std::string const name = std::string(folder != nullptr ? folder : "/tmp") + "/watch_XXXXXX";
    name.copy(path.data(), path.size() - 1);
    int const made = ::mkstemp(path.data());
    if (made < 0 || ::ftruncate(made, page_bytes) != 0)
      throw std::runtime_error("no page to watch");
    ::close(made);
  }
  MPI_Bcast(path.data(), PATH_MAX, MPI_CHAR, 0, communicator);
  int const file = ::open(path.data(), O_RDWR | O_CLOEXEC);
  void* const memory = ::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file < 0 || memory == MAP_FAILED)
    throw std::runtime_error("the page to watch cannot be mapped");
  ::close(file);
  MPI_Barrier(communicator);
  if (rank == 0) ::unlink(path.data());
  return memory;
}

int rank_in(MPI_Comm communicator) {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  return rank;
}

int size_of(MPI_Comm communicator) {
  int size = 0;
  MPI_Comm_size(communicator, &size);
  return size;
}

}  // namespace

struct rank_watch::page {
  struct alignas(64) entry {
    std::atomic<std::uint64_t> sleeps;
    std::atomic<int> step;
    std::atomic<pid_t> pid;
  };
  entry ranks[most_ranks];

  entry& of(int rank) { return ranks[static_cast<std::size_t>(rank)]; }
};

void wait_until(std::function<bool()> const& condition, char const* what) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(deadline_s);
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) {
      throw std::runtime_error(std::string("the deadline has passed: ") + what);
    }
    ::sched_yield();
  }
}

rank_watch::rank_watch(MPI_Comm communicator)
    : page_(static_cast<page*>(map_file_of_all(communicator, rank_in(communicator)))),
      rank_(rank_in(communicator)),
      size_(size_of(communicator)),
      hook_([this](long number, system_call_hook::arguments const& passed) {
        if (number == SYS_futex && (passed[1] & FUTEX_CMD_MASK) == FUTEX_WAIT) {
          ++page_->of(rank_).sleeps;
        }
      }) {
  static_assert(sizeof(page) <= page_bytes);
  if (size_ > static_cast<int>(most_ranks)) throw std::runtime_error("rank_watch: too many ranks");
  page_->of(rank_).pid = ::getpid();
  MPI_Barrier(communicator);
}

rank_watch::~rank_watch() { ::munmap(page_, page_bytes); }

pid_t rank_watch::pid(int rank) const { return page_->of(rank).pid; }

// The first sleep after the call may still be of a wait that is over by then; the second is not.
void rank_watch::until_waiting(std::vector<int> const& ranks) const {
  std::vector<std::uint64_t> before;
  for (int const rank : ranks) before.push_back(page_->of(rank).sleeps);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    wait_until([&] { return page_->of(ranks[i]).sleeps >= before[i] + 2; },
               ("rank " + std::to_string(ranks[i]) + " does not wait").c_str());
  }
}

void rank_watch::reach(int step) { page_->of(rank_).step = step; }

void rank_watch::until_reached(int rank, int step) const {
  wait_until(
      [&] { return page_->of(rank).step >= step; },
      ("rank " + std::to_string(rank) + " does not come to step " + std::to_string(step)).c_str());
}

}  // namespace rankshare::test
