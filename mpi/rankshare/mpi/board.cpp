// SPDX-License-Identifier: Apache-2.0
#include <rankshare/mpi/board.hpp>

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <numeric>

#include <rankshare/base/log.hpp>
#include <rankshare/base/process.hpp>
#include <rankshare/mpi/error.hpp>
#include <rankshare/mpi/mpi_call.hpp>

// Note [Rounds]
//
// Rationale: a collective of ours must end on every rank when one rank fails or dies, and MPI tells
// of neither. So ranks meet on a page that all of them map.
//
// Approach: round k is complete when the arrivals of all ranks add up to k * ranks; whoever comes
// last raises the epoch and wakes those that sleep on it. Contributions stand in two sets of
// mailboxes by the parity of k: nobody can write for k + 2 before all have come to k + 1, and by
// then all have read those of k. A word by parity holds what the first to arrive called, and one
// says whether any rank failed, so that a round in which all is well reads no mailbox.
//
// Breaking the board closes the count of arrivals: who comes later is not counted. So a round is
// complete for all ranks or for none, also when a limit ends in the moment in which the last rank
// comes, and the count alone decides. A rank may be killed at any point: it says that it has come
// after it was counted, so that it is missed if it was not, and the others raise the epoch if it
// was the last and did not.
//
// While a rank waits it polls MPI (a peer's message to this process may be what keeps that peer
// away), sleeps on the epoch for at most a millisecond at a time, and looks four times a second
// whether the missing ranks still hold their record locks.
//
// Limits: a rank that never calls is waited for as long as it lives, unless a limit is set.

namespace rankshare::mpi::detail {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr microseconds spin_time{20};
constexpr microseconds yield_time{200};
constexpr milliseconds longest_sleep{1};
constexpr milliseconds peer_check_interval{250};
constexpr seconds report_interval{60};

// In the count of arrivals: nobody is counted any more.
constexpr std::uint64_t closed = std::uint64_t{1} << 63;
// States of `broken`.
constexpr std::uint32_t being_written = 1;
constexpr std::uint32_t written = 2;

int usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

std::uint64_t call_word(std::uint64_t round, operation called) {
  return round << 8 | static_cast<std::uint64_t>(called);
}

}  // namespace

char const* to_string(operation called) noexcept {
  switch (called) {
    case operation::attach:
      return "the constructor of node_communicator";
    case operation::share:
      return "share";
    case operation::share_all:
      return "share_all";
    case operation::share_from:
      return "share_from";
    case operation::fence:
      return "fence";
    case operation::import_peers:
      return "the second half of a share operation";
  }
  return "something else";
}

board::board(std::shared_ptr<board_file> file, int local_rank, std::vector<board_member> members,
             MPI_Comm progressed)
    : file_(std::move(file)),
      local_rank_(local_rank),
      members_(std::move(members)),
      progressed_(progressed),
      leases_(std::make_shared<rankshare::detail::lease_table>(file_->layout().leases[local_rank],
                                                               lease_slots, file_)),
      may_spin_(static_cast<int>(members_.size()) <= usable_cpus()) {}

std::uint64_t board::round_of(int local_rank) const noexcept {
  return layout().members[local_rank].arrival.load(std::memory_order_acquire);
}

bool board::is_complete() const noexcept {
  // Epochs wrap after 2^32 rounds; the difference does not mind.
  auto const epoch = layout().epoch.value.load(std::memory_order_acquire);
  return static_cast<std::int32_t>(epoch - static_cast<std::uint32_t>(round_)) >= 0;
}

void board::publish(contribution const& mine) {
  auto const parity = round_ & 1;
  // Here and not when the board is made, which touches no page of it.
  layout().members[local_rank_].board_fd.store(file_->fd(), std::memory_order_relaxed);
  auto& box = layout().mailboxes[parity][local_rank_];
  auto const count = std::min(mine.payload.size(), mailbox_bytes);
  box.operation = static_cast<std::uint32_t>(mine.called);
  box.error_kind = static_cast<std::int32_t>(mine.kind);
  box.bytes = static_cast<std::uint32_t>(count);
  if (count > 0) std::memcpy(box.payload.data(), mine.payload.data(), count);

  auto& called = layout().called[parity].value;
  auto const own = call_word(round_, mine.called);
  auto first = called.load(std::memory_order_acquire);
  while (first >> 8 != round_ && !called.compare_exchange_weak(first, own)) {
  }
  bool const differs = first >> 8 == round_ && first != own;
  if (differs || mine.kind != error_kind::none) {
    layout().failed[parity].value.store(round_, std::memory_order_release);
  }
}

// @return false if the board was broken before this rank came
bool board::arrive() {
  auto& arrived = layout().arrived.value;
  auto count = arrived.load(std::memory_order_acquire);
  do {
    if ((count & closed) != 0) return false;
  } while (!arrived.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel));
  layout().members[local_rank_].arrival.store(round_, std::memory_order_release);
  if (count + 1 == round_ * members_.size()) raise_epoch();
  return true;
}

void board::raise_epoch() noexcept {
  layout().epoch.value.store(static_cast<std::uint32_t>(round_), std::memory_order_release);
  ::syscall(SYS_futex, &layout().epoch.value, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

// Asks the count of arrivals itself. Once it is closed, the answer stays.
bool board::has_everybody_come() noexcept {
  auto const count = layout().arrived.value.load(std::memory_order_acquire) & ~closed;
  if (count < round_ * members_.size()) return false;
  raise_epoch();
  return true;
}

bool board::round(contribution const& mine, limit longest) {
  check_whole();
  if (mine.kind == error_kind::none && mine.payload.size() > mailbox_bytes) {
    throw invalid_argument("contributing " + std::to_string(mine.payload.size()) +
                           " bytes to a round: a mailbox holds " + std::to_string(mailbox_bytes));
  }
  ++round_;
  waiting_for_ = mine.called;
  publish(mine);
  if (!arrive()) throw_broken();
  wait(longest);
  return layout().failed[round_ & 1].value.load(std::memory_order_acquire) != round_;
}

// With a processor for each rank, spinning sees the last arrival first. With fewer, yielding hands
// the processor to a rank that is waited for, and saves the waking.
bool board::spin() const {
  auto const end = clock::now() + (may_spin_ ? spin_time : yield_time);
  while (!is_complete()) {
    if (clock::now() >= end) return false;
    if (may_spin_) {
      __builtin_ia32_pause();
    } else {
      ::sched_yield();
    }
  }
  return true;
}

void board::sleep_on_epoch() const {
  auto const epoch = layout().epoch.value.load(std::memory_order_acquire);
  if (is_complete()) return;
  timespec const sleep{0, duration_cast<std::chrono::nanoseconds>(longest_sleep).count()};
  ::syscall(SYS_futex, &layout().epoch.value, FUTEX_WAIT, epoch, &sleep, nullptr, 0);
}

void board::wait(limit longest) {
  if (spin()) return;
  auto const start = clock::now();
  auto next_check = start + peer_check_interval;
  auto next_report = start + report_interval;
  bool const polls_mpi = progressed_ != MPI_COMM_NULL && mpi_is_active() && thread_may_call_mpi();
  while (!is_complete()) {
    if (polls_mpi) {
      int found = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, progressed_, &found, MPI_STATUS_IGNORE);
    }
    sleep_on_epoch();
    if (is_complete()) return;
    check_broken();
    auto const now = clock::now();
    if (now >= next_check) {
      check_peers();
      next_check = now + peer_check_interval;
    }
    if (now >= next_report) {
      report_wait(now - start);
      next_report = now + report_interval;
    }
    if (longest && now - start >= *longest) give_up(*longest);
  }
}

std::vector<int> board::missing() const {
  std::vector<int> result;
  for (int rank = 0; rank < local_size(); ++rank) {
    if (rank != local_rank_ && round_of(rank) < round_) result.push_back(rank);
  }
  return result;
}

std::vector<int> board::everybody() const {
  std::vector<int> result(members_.size());
  std::iota(result.begin(), result.end(), 0);
  return result;
}

std::vector<int> board::ranks_of(std::vector<int> const& local_ranks) const {
  std::vector<int> result;
  for (int const rank : local_ranks) result.push_back(member(rank).rank);
  return result;
}

std::vector<int> board::gone_among(std::vector<int> const& local_ranks) const {
  std::vector<int> result;
  for (int const rank : local_ranks) {
    if (is_gone(rank)) result.push_back(rank);
  }
  return result;
}

void board::check_peers() {
  if (has_everybody_come()) return;
  // Whoever was breaking the board may have ended over it.
  bool const is_stuck = layout().broken.load(std::memory_order_acquire) == being_written;
  auto absent = gone_among(is_stuck ? everybody() : missing());
  // A rank that came and left between the two looks is not missing.
  if (!is_stuck) std::erase_if(absent, [&](int rank) { return round_of(rank) >= round_; });
  auto const gone = ranks_of(absent);
  if (gone.empty()) return;
  std::string const text = name_ranks(gone) + (gone.size() == 1 ? " has" : " have") +
                           " ended before calling " + to_string(waiting_for_) +
                           "; see the output of that process for why";
  break_up(error_kind::peer_lost, text);
  if (has_everybody_come()) return;
  throw peer_lost(gone, "waiting for other ranks: " + text);
}

void board::give_up(milliseconds longest) {
  auto const late = ranks_of(missing());
  std::string const text = name_ranks(late) + " did not call " + to_string(waiting_for_) +
                           " within the limit of " + std::to_string(longest.count()) +
                           " ms; look for what keeps them, or raise the limit (the option timeout, "
                           "else RANKSHARE_TIMEOUT)";
  break_up(error_kind::timeout, text);
  if (has_everybody_come()) return;
  throw timeout(late, "waiting for other ranks: " + text);
}

void board::report_wait(clock::duration waited) const {
  std::string text = "waiting for " + std::to_string(duration_cast<seconds>(waited).count()) +
                     " s in " + to_string(waiting_for_) + " for";
  for (int const rank : missing()) {
    text += " rank " + std::to_string(member(rank).rank) + " (pid " +
            std::to_string(member(rank).pid) + ", " + process_state(member(rank).pid) + ")";
  }
  rankshare::detail::log(log_level::error, text);
}

contribution board::read(int local_rank) const {
  auto const& box = layout().mailboxes[round_ & 1][local_rank];
  contribution result;
  result.called = static_cast<operation>(box.operation);
  result.kind = static_cast<error_kind>(box.error_kind);
  auto const count = std::min<std::size_t>(box.bytes, mailbox_bytes);
  result.payload.assign(box.payload.begin(), box.payload.begin() + static_cast<long>(count));
  return result;
}

void board::break_up(error_kind kind, std::string const& text) noexcept {
  std::uint32_t whole = 0;
  auto& page = layout();
  // The first reason stands.
  bool const is_first = page.broken.compare_exchange_strong(whole, being_written);
  if (is_first) {
    page.broken_by = member(local_rank_).rank;
    page.broken_kind = static_cast<std::int32_t>(kind);
    auto const count = std::min(text.size(), sizeof page.broken_text - 1);
    std::memcpy(page.broken_text, text.data(), count);
    page.broken_text[count] = '\0';
  }
  page.arrived.value.fetch_or(closed, std::memory_order_acq_rel);
  if (!is_first) return;
  page.broken.store(written, std::memory_order_release);
  ::syscall(SYS_futex, &page.epoch.value, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

std::string board::broken_text() const {
  auto const& page = layout();
  // Whoever breaks it is about to write why, unless it has ended over it.
  for (int tries = 0; tries < 1000 && page.broken.load(std::memory_order_acquire) != written;
       ++tries) {
    ::sched_yield();
  }
  return {page.broken_text, ::strnlen(page.broken_text, sizeof page.broken_text)};
}

// Ends the wait of a rank when another broke the board.
void board::check_broken() {
  auto const& page = layout();
  if (page.broken.load(std::memory_order_acquire) != written || has_everybody_come()) return;
  constexpr char doing[] = "waiting for other ranks: ";
  auto const kind = static_cast<error_kind>(page.broken_kind);
  int const rank = page.broken_by;
  if (rank == member(local_rank_).rank) {
    throw broken_communicator(
        std::string(doing) +
        "another thread of this rank broke the node communicator: " + broken_text());
  }
  // What another rank saw first is true here too.
  auto const absent = missing();
  auto const gone = ranks_of(gone_among(absent));
  if (kind == error_kind::peer_lost && !gone.empty()) throw peer_lost(gone, doing + broken_text());
  if (kind == error_kind::timeout && !absent.empty()) {
    throw timeout(ranks_of(absent),
                  doing + ("rank " + std::to_string(rank)) + " gave up: " + broken_text());
  }
  throw remote_error(
      rank, kind,
      doing + ("rank " + std::to_string(rank)) + " broke the node communicator: " + broken_text());
}

void board::throw_broken() const {
  throw broken_communicator("using a node communicator that is broken: " + broken_text() +
                            "; make a new one from a new communicator of the ranks that are left "
                            "(MPI_Comm_dup, or MPI_Comm_create_group where some have ended)");
}

void board::check_whole() const {
  if (is_broken()) throw_broken();
}

int board::board_fd_of(int local_rank) const noexcept {
  return layout().members[local_rank].board_fd.load(std::memory_order_acquire);
}

rankshare::detail::lease_view board::view_of(int local_rank) const noexcept {
  return {layout().leases[local_rank], lease_slots};
}

}  // namespace rankshare::mpi::detail
