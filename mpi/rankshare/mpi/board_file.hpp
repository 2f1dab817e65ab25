// SPDX-License-Identifier: Apache-2.0
/// @file
/// The page that the ranks of one node share: its layout, its file, and who holds it. Not for
/// users.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <rankshare/base/unique_fd.hpp>
#include <rankshare/base/uuid.hpp>
#include <rankshare/ipc/lease_table.hpp>

namespace rankshare::mpi::detail {

/// Version of everything that ranks exchange; ranks of different versions do not talk.
#ifndef RANKSHARE_WIRE_VERSION
#define RANKSHARE_WIRE_VERSION 1
#endif
inline constexpr std::uint32_t wire_version = RANKSHARE_WIRE_VERSION;

/// Most ranks of one board.
inline constexpr int max_board_ranks = 256;
/// Leases that one rank may have out on one board.
inline constexpr std::uint32_t lease_slots = 1U << 20;
/// Bytes of one contribution to a round.
inline constexpr std::size_t mailbox_bytes = 4096 - 64;

/// What one rank contributes to a round.
struct alignas(64) mailbox {
  std::uint32_t operation;  ///< what the rank called
  std::int32_t error_kind;  ///< `error_kind::none`, or what it threw; then the payload is the text
  std::uint32_t bytes;      ///< of the payload
  std::byte padding[52];
  std::array<std::byte, mailbox_bytes> payload;
};
static_assert(sizeof(mailbox) == 4096);

/// Words of a board; each that somebody waits for has a cache line to itself.
struct board_layout {
  struct alignas(64) line64 {
    std::atomic<std::uint64_t> value;
  };
  struct alignas(64) line32 {
    std::atomic<std::uint32_t> value;
  };

  alignas(4096) std::byte header[64];  ///< what it is; written once, before anyone sees the file

  // In the same page as the header, with the first members: it is there when the file is mapped.
  line32 epoch;      ///< last round that is complete; ranks sleep on it
  line64 arrived;    ///< arrivals of all ranks in all rounds; top bit: no more
  line64 called[2];  ///< by parity: round << 8 | operation of the first to arrive
  line64 failed[2];  ///< by parity: last round in which a rank failed

  /// Why the board broke: 0 whole, 1 being written, 2 written.
  alignas(64) std::atomic<std::uint32_t> broken;
  std::int32_t broken_by;
  std::int32_t broken_kind;
  char broken_text[500];

  /// By rank.
  struct alignas(64) {
    std::atomic<std::uint64_t> arrival;  ///< the round it has come to
    std::atomic<std::int32_t> board_fd;  ///< number of its descriptor of this file
  } members[max_board_ranks];
  alignas(4096) mailbox mailboxes[2][max_board_ranks];  ///< by parity and rank
  /// By rank: its leases. Never touched pages cost nothing.
  alignas(4096) rankshare::detail::lease_word leases[max_board_ranks][lease_slots];
};

/// A memfd that is or may become a board, mapped.
///
/// Each rank holds a record lock on one byte of it for as long as its process has it open, which is
/// how the others see that it is gone. The kernel drops that lock when the process closes *any*
/// descriptor of the file, so every descriptor that comes from outside goes through
/// `keep_if_board`.
class RANKSHARE_EXPORT board_file {
 public:
  /// A file that may become a board; not mapped yet.
  struct candidate {
    unique_fd fd;
    uuid nonce;
  };

  /// Makes a file that may become a board.
  /// @throws system_error if no descriptors are left
  static candidate make_candidate();

  /// Checks that `file`, which may come from anywhere, is the board `nonce`. Maps nothing.
  /// @throws invalid_descriptor if it is not
  static void check(unique_fd const& file, uuid const& nonce);

  /// Maps a board.
  /// @throws invalid_descriptor if `file` is not the board `nonce`
  static std::shared_ptr<board_file> open(unique_fd file, uuid const& nonce);

  ~board_file();
  board_file(board_file const&) = delete;
  board_file& operator=(board_file const&) = delete;

  board_layout& layout() const noexcept { return *layout_; }
  int fd() const noexcept { return file_.get(); }

  /// Takes the record lock of this process's rank.
  void lock(int local_rank);
  /// @return whether the process of that rank has ended or has left the board
  bool is_gone(int local_rank) const noexcept;

  /// Takes `fd` if it is a descriptor of a board of this process: closing it would drop this
  /// process's lock there.
  /// @return whether it was; `fd` is empty then
  static bool keep_if_board(unique_fd& fd);

 private:
  board_file(unique_fd file, board_layout* layout);

  unique_fd file_;
  board_layout* layout_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  std::mutex mutex_;
  std::vector<unique_fd> kept_;
};

}  // namespace rankshare::mpi::detail
