// SPDX-License-Identifier: Apache-2.0
#include <rankshare/mpi/pending.hpp>

#include <sched.h>

#include <algorithm>
#include <thread>

#include <rankshare/mpi/error.hpp>
#include <rankshare/mpi/mpi_call.hpp>

namespace rankshare::mpi::detail {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// Yielding hands a shared core to the rank that is waited for; after that, sleeping leaves it
// there.
constexpr milliseconds yield_time{50};
// MPI_Comm_idup moves on by polls alone, and MPI itself yields where ranks share processors.
constexpr unsigned polls_per_yield = 16;
constexpr microseconds shortest_sleep{100};
constexpr microseconds longest_sleep{1000};
constexpr milliseconds check_interval{250};

}  // namespace

pending::~pending() {
  // Abandoned operations: their memory stays for good.
  if (!requests_.empty()) new std::vector<std::shared_ptr<void>>(std::move(memory_));
}

void pending::add(char const* api, std::shared_ptr<void> memory,
                  std::function<int(MPI_Request*)> const& start) {
  requests_.reserve(requests_.size() + 1);
  memory_.push_back(std::move(memory));
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(start(&request), api, "making a node communicator");
  requests_.push_back(request);
}

void pending::wait(char const* doing, std::optional<milliseconds> longest,
                   check const& still_good) {
  auto const start = clock::now();
  auto next_check = start + check_interval;
  auto sleep = shortest_sleep;
  unsigned polls = 0;
  for (;;) {
    int done = 0;
    check_mpi(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done,
                          MPI_STATUSES_IGNORE),
              "MPI_Testall", doing);
    if (done != 0) break;
    auto const now = clock::now();
    if (longest && now - start >= *longest) {
      throw timeout({}, std::string(doing) + ": not every rank called it within the limit of " +
                            std::to_string(longest->count()) +
                            " ms; look for the ranks that do not come, or raise the limit (the "
                            "option timeout, else RANKSHARE_TIMEOUT)");
    }
    if (now >= next_check) {
      still_good();
      next_check = now + check_interval;
    }
    if (now - start < yield_time) {
      if (++polls % polls_per_yield == 0) ::sched_yield();
    } else {
      std::this_thread::sleep_for(sleep);
      sleep = std::min(sleep * 2, longest_sleep);
    }
  }
  requests_.clear();
  memory_.clear();
}

}  // namespace rankshare::mpi::detail
