// SPDX-License-Identifier: Apache-2.0
/// @file
/// A page on which the ranks of a test see, without MPI, what the others are doing.
#pragma once

#include <mpi.h>
#include <sys/types.h>

#include <functional>
#include <vector>

#include <mpi/failures/system_calls.hpp>

namespace rankshare::test {

/// Longest wait for a condition; far above what it takes, so that only a defect meets it.
constexpr int deadline_s = 30;

/// Waits until `condition` holds; throws `std::runtime_error` with `what` at the deadline.
void wait_until(std::function<bool()> const& condition, char const* what);

/// Tells when ranks sleep in a wait of their board, and where each has come to.
class rank_watch {
 public:
  /// Collective over `communicator`, which stays the caller's. At most 16 ranks.
  explicit rank_watch(MPI_Comm communicator);
  ~rank_watch();
  rank_watch(rank_watch const&) = delete;
  rank_watch& operator=(rank_watch const&) = delete;

  /// @return process of a rank
  pid_t pid(int rank) const;

  /// Waits until each of `ranks` sleeps in a wait that is not over yet.
  void until_waiting(std::vector<int> const& ranks) const;

  /// Says that this rank has come to `step`, from 1; steps only rise.
  void reach(int step);
  /// Waits until `rank` has come to `step`.
  void until_reached(int rank, int step) const;

 private:
  struct page;

  page* page_;
  int rank_;
  int size_;
  system_call_hook hook_;
};

}  // namespace rankshare::test
