// SPDX-License-Identifier: Apache-2.0
// A rank comes to a round one instruction after the other. Whenever the board has changed, it is
// killed there, or another rank breaks the board: no wait is in vain, and no round is complete for
// some ranks only.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <rankshare/base/unique_fd.hpp>
#include <rankshare/base/uuid.hpp>
#include <rankshare/mpi/board.hpp>
#include <rankshare/mpi/board_file.hpp>
#include <rankshare/mpi/error.hpp>
#include <support/leftovers.hpp>

namespace rankshare::test {
namespace {

using mpi::detail::board;
using mpi::detail::board_file;
using mpi::detail::board_member;
using mpi::detail::contribution;
using mpi::detail::operation;

enum class outcome : int { complete = 0, lost = 1, broken = 2, other = 3 };

void PrintTo(outcome given, std::ostream* out) {
  constexpr char const* names[] = {"complete", "lost", "broken", "other"};
  *out << names[static_cast<int>(given)];
}

outcome round_of(board& meeting) {
  try {
    return meeting.round({operation::fence, error_kind::none, {}}, std::nullopt) ? outcome::complete
                                                                                 : outcome::other;
  } catch (mpi::peer_lost const&) {
    return outcome::lost;
  } catch (mpi::broken_communicator const&) {
    return outcome::broken;
  } catch (mpi::remote_error const&) {
    return outcome::broken;
  } catch (mpi::timeout const&) {
    return outcome::broken;
  } catch (...) {
    return outcome::other;
  }
}

// A process that stops at each instruction. It takes the place of rank 1.
class stepping_rank {
 public:
  stepping_rank(board_file const& of, uuid const& nonce) : layout_(of.layout()) {
    pid_ = ::fork();
    if (pid_ == 0) become_rank(of, nonce);
    wait_until_it_stops();
  }
  ~stepping_rank() {
    if (!is_over_) kill();
  }
  stepping_rank(stepping_rank const&) = delete;
  stepping_rank& operator=(stepping_rank const&) = delete;

  pid_t pid() const noexcept { return pid_; }

  /// Goes on until it has changed the board `changes` times.
  /// @return whether it has; else it has ended, or waits
  bool step_over(int changes) {
    constexpr int most_steps = 20'000;  // many times what a round takes
    auto seen = words();
    for (int step = 0; !is_over_ && step < most_steps; ++step) {
      if (changes == 0) return true;
      ::ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr);
      wait_until_it_stops();
      auto const now = words();
      if (now == seen) continue;
      seen = now;
      --changes;
    }
    return false;
  }

  void kill() {
    ::kill(pid_, SIGKILL);
    while (!is_over_) wait_until_it_stops();
  }

  /// Lets it run to its end.
  outcome finish() {
    while (!is_over_) {
      ::ptrace(PTRACE_CONT, pid_, nullptr, nullptr);
      wait_until_it_stops();
    }
    return outcome_;
  }

 private:
  [[noreturn]] static void become_rank(board_file const& of, uuid const& nonce) {
    try {
      // Its own descriptor: the lock of its process hangs on the file, not on the number.
      auto file = board_file::open(unique_fd::duplicate_of(of.fd()), nonce);
      file->lock(1);
      board meeting(file, 1, {{0, ::getppid()}, {1, ::getpid()}}, MPI_COMM_NULL);
      ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      ::raise(SIGSTOP);
      ::_exit(static_cast<int>(round_of(meeting)));
    } catch (...) {
      ::_exit(static_cast<int>(outcome::other));
    }
  }

  void wait_until_it_stops() {
    int status = 0;
    if (::waitpid(pid_, &status, 0) != pid_)
      throw std::runtime_error("the rank cannot be waited for");
    is_over_ = !WIFSTOPPED(status);
    if (WIFEXITED(status)) outcome_ = static_cast<outcome>(WEXITSTATUS(status));
  }

  // What a rank changes on its way into the first round.
  std::array<std::uint64_t, 6> words() const {
    auto const& box = layout_.mailboxes[1][1];
    return {box.operation,
            layout_.called[1].value.load(),
            layout_.arrived.value.load(),
            layout_.members[1].arrival.load(),
            layout_.epoch.value.load(),
            layout_.broken.load()};
  }

  mpi::detail::board_layout& layout_;
  pid_t pid_ = -1;
  bool is_over_ = false;
  outcome outcome_ = outcome::other;
};

// A board of this process, which is rank 0, and of one that steps.
struct job {
  job() {
    auto made = board_file::make_candidate();
    file = board_file::open(std::move(made.fd), made.nonce);
    file->lock(0);
    other.emplace(*file, made.nonce);
    meeting.emplace(file, 0, std::vector<board_member>{{0, ::getpid()}, {1, other->pid()}},
                    MPI_COMM_NULL);
  }
  std::uint64_t arrivals() const {
    constexpr std::uint64_t closed = std::uint64_t{1} << 63;
    return file->layout().arrived.value.load() & ~closed;
  }

  std::shared_ptr<board_file> file;
  std::optional<stepping_rank> other;
  std::optional<board> meeting;
};

enum class first_to_come { this_rank, stepping_rank };

class BoardStepsTest : public testing::TestWithParam<first_to_come> {
 protected:
  // What becomes of the round here, if `happens` after each number of changes in turn.
  static void at_each_change(std::function<void(job&)> const& happens,
                             std::function<void(job&, outcome)> const& check) {
    auto const before = footprint::now();
    int changes = 0;
    for (bool is_there = true; is_there; ++changes) {
      SCOPED_TRACE("after " + std::to_string(changes) + " changes");
      job now;
      outcome mine = outcome::other;
      std::thread waiting;
      if (GetParam() == first_to_come::this_rank) {
        waiting = std::thread([&] { mine = round_of(*now.meeting); });
        while (now.arrivals() == 0) ::sched_yield();
      }
      is_there = now.other->step_over(changes);
      happens(now);
      if (waiting.joinable()) {
        waiting.join();
      } else {
        mine = round_of(*now.meeting);
      }
      check(now, mine);
    }
    EXPECT_GT(changes, 4);
    EXPECT_TRUE(nothing_left_since(before));
  }
};

TEST_P(BoardStepsTest, ARankThatIsKilledIsLostUnlessItWasCounted) {
  at_each_change([](job& now) { now.other->kill(); },
                 [](job& now, outcome mine) {
                   EXPECT_EQ(mine, now.arrivals() == 2 ? outcome::complete : outcome::lost);
                 });
}

TEST_P(BoardStepsTest, ABoardThatIsBrokenCompletesARoundForAllOrForNone) {
  at_each_change([](job& now) { now.meeting->break_up(error_kind::timeout, "enough"); },
                 [](job& now, outcome mine) {
                   auto const expected = now.arrivals() == 2 ? outcome::complete : outcome::broken;
                   EXPECT_EQ(mine, expected);
                   EXPECT_EQ(now.other->finish(), expected);
                 });
}

INSTANTIATE_TEST_SUITE_P(First, BoardStepsTest,
                         testing::Values(first_to_come::this_rank, first_to_come::stepping_rank),
                         [](auto const& given) {
                           return given.param == first_to_come::this_rank ? "ThisRank"
                                                                          : "SteppingRank";
                         });

}  // namespace
}  // namespace rankshare::test
