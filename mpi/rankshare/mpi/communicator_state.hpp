// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a communicator of the user carries once a node communicator was made from it. Not for
/// users.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <rankshare/mpi/board.hpp>
#include <rankshare/mpi/process_record.hpp>

namespace rankshare::mpi::detail {

/// Our duplicate of a communicator, its board, and who its ranks are. Cached as an attribute of the
/// user's communicator; freed when that is freed, at the latest in MPI_Finalize.
class RANKSHARE_EXPORT communicator_state {
 public:
  /// @param duplicate    our duplicate of the user's communicator, now owned here
  /// @param records      of all ranks
  /// @param local_ranks  ranks of this node, ascending
  /// @param meeting      board of this node
  communicator_state(MPI_Comm duplicate, std::vector<process_record> records,
                     std::vector<int> local_ranks, int rank, std::unique_ptr<board> meeting);
  ~communicator_state();
  communicator_state(communicator_state const&) = delete;
  communicator_state& operator=(communicator_state const&) = delete;

  /// @return what `communicator` carries; null if nothing
  static std::shared_ptr<communicator_state> find(MPI_Comm communicator);
  /// Makes `communicator` carry `state`.
  static void attach(MPI_Comm communicator, std::shared_ptr<communicator_state> state);

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return static_cast<int>(records_.size()); }
  std::vector<int> const& local_ranks() const noexcept { return local_ranks_; }
  process_record const& record(int rank) const { return records_[static_cast<std::size_t>(rank)]; }
  board& meeting() noexcept { return *board_; }

  /// Frees the duplicate; from now on this object makes no MPI call.
  void release_mpi() noexcept;
  /// @throws closed_error if the user's communicator was freed
  void check_attached(char const* doing) const;

 private:
  friend class collective_guard;

  MPI_Comm duplicate_;
  std::vector<process_record> records_;
  std::vector<int> local_ranks_;
  int rank_;
  std::unique_ptr<board> board_;
  std::uint64_t made_in_;  // fork_generation()
  std::atomic<bool> in_collective_{false};
};

/// Held during a collective: two threads in collectives of one board are an error on every rank,
/// and a forked child takes no part.
class RANKSHARE_EXPORT collective_guard {
 public:
  /// @throws invalid_argument in a forked child; or if another thread is in a collective of the
  ///                          same board, which it breaks
  collective_guard(communicator_state& state, operation called);
  ~collective_guard();
  collective_guard(collective_guard const&) = delete;
  collective_guard& operator=(collective_guard const&) = delete;

 private:
  communicator_state& state_;
};

}  // namespace rankshare::mpi::detail
