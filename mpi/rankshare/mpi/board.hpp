// SPDX-License-Identifier: Apache-2.0
/// @file
/// Rounds: each rank of a node contributes, and goes on when all have. Not for users.
#pragma once

#include <mpi.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rankshare/base/error.hpp>
#include <rankshare/ipc/lease_table.hpp>
#include <rankshare/mpi/board_file.hpp>

namespace rankshare::mpi::detail {

/// What a rank called; ranks that call different things at a time are told so.
enum class operation : std::uint8_t {
  attach = 1,
  share,
  share_all,
  share_from,
  fence,
  import_peers,  ///< second half of the share operations
};

/// @return name of the function that the user called
char const* to_string(operation called) noexcept;

/// A process on the board.
struct board_member {
  int rank;  ///< in the user's communicator
  pid_t pid;
};

/// What one rank contributed to the last round.
struct contribution {
  operation called = operation::attach;
  error_kind kind = error_kind::none;
  std::vector<std::byte> payload;  ///< text of the error if `kind` is not none

  std::string text() const {
    return {reinterpret_cast<char const*>(payload.data()), payload.size()};
  }
};

/// One rank's place at a board.
///
/// @par Thread safety
/// One thread at a time, except `break_up`, `is_broken`, `check_whole`, `leases` and `view_of`.
class RANKSHARE_EXPORT board {
 public:
  using limit = std::optional<std::chrono::milliseconds>;

  /// @param file       the board, already locked for `local_rank`
  /// @param members    all ranks, by local rank
  /// @param progressed communicator on which MPI is polled while this rank waits
  board(std::shared_ptr<board_file> file, int local_rank, std::vector<board_member> members,
        MPI_Comm progressed);

  int local_rank() const noexcept { return local_rank_; }
  int local_size() const noexcept { return static_cast<int>(members_.size()); }
  board_member const& member(int local_rank) const {
    return members_[static_cast<std::size_t>(local_rank)];
  }

  /// Contributes to the next round and waits until every rank has.
  ///
  /// The contributions stay readable until the round after the next one begins.
  ///
  /// @param mine    at most `mailbox_bytes` of payload; a longer text of an error is cut
  /// @param longest longest wait; none: as long as the missing ranks live
  /// @return whether all ranks called the same and none failed
  /// @throws peer_lost           if a rank that is missing has ended
  /// @throws timeout             if one did not come within `longest`, or within the limit of
  ///                             another rank that waits
  /// @throws remote_error        if another rank broke the board meanwhile for another reason
  /// @throws broken_communicator if the board was broken before
  bool round(contribution const& mine, limit longest);

  /// @return what a rank contributed to the last round; untrusted
  contribution read(int local_rank) const;

  /// Breaks the board for all ranks: their waits end, and every later call throws.
  void break_up(error_kind kind, std::string const& text) noexcept;

  /// @throws broken_communicator if the board is broken
  void check_whole() const;
  bool is_broken() const noexcept { return layout().broken.load(std::memory_order_acquire) != 0; }

  /// @return whether the process of a rank has ended or left the board
  bool is_gone(int local_rank) const noexcept {
    return local_rank != local_rank_ && file_->is_gone(local_rank);
  }

  /// @return the number that a rank's descriptor of the board has in its process, known after its
  ///         first round. It is never a pool's, and must not be fetched: closing the copy would
  ///         drop this rank's own lock. Untrusted.
  int board_fd_of(int local_rank) const noexcept;

  /// @return the leases this rank gives
  std::shared_ptr<rankshare::detail::lease_table> const& leases() const noexcept { return leases_; }
  /// @return the leases another rank gives
  rankshare::detail::lease_view view_of(int local_rank) const noexcept;

  /// Stops polling MPI in waits: it is being finalised.
  void forget_mpi() noexcept { progressed_ = MPI_COMM_NULL; }

 private:
  using clock = std::chrono::steady_clock;

  board_layout& layout() const noexcept { return file_->layout(); }
  std::uint64_t round_of(int local_rank) const noexcept;
  bool is_complete() const noexcept;
  void publish(contribution const& mine);
  bool arrive();
  void raise_epoch() noexcept;
  bool has_everybody_come() noexcept;
  void wait(limit longest);
  bool spin() const;
  void sleep_on_epoch() const;
  void check_peers();
  void check_broken();
  void give_up(std::chrono::milliseconds longest);
  [[noreturn]] void throw_broken() const;
  void report_wait(clock::duration waited) const;
  std::vector<int> missing() const;    // local ranks
  std::vector<int> everybody() const;  // local ranks
  std::vector<int> gone_among(std::vector<int> const& local_ranks) const;
  std::vector<int> ranks_of(std::vector<int> const& local_ranks) const;
  std::string broken_text() const;

  std::shared_ptr<board_file> file_;
  int local_rank_;
  std::vector<board_member> members_;
  MPI_Comm progressed_;
  std::shared_ptr<rankshare::detail::lease_table> leases_;
  std::uint64_t round_ = 0;
  operation waiting_for_ = operation::attach;
  bool may_spin_;
};

}  // namespace rankshare::mpi::detail
