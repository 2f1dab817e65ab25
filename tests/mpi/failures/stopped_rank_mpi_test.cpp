// SPDX-License-Identifier: Apache-2.0
// A rank stops without ending: it is waited for as long as it lives, or as long as a limit says.
#include <gtest/gtest.h>
#include <mpi.h>
#include <sys/syscall.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <mpi/failures/failure_fixture.hpp>
#include <mpi/failures/system_calls.hpp>
#include <rankshare/base/process.hpp>

namespace rankshare::test {
namespace {

using std::chrono::milliseconds;

enum class place { first, last };

class StoppedRankTest : public failure_fixture, public testing::WithParamInterface<place> {
 protected:
  using collective = std::function<void(mpi::node_communicator&)>;

  int stopped() const { return GetParam() == place::first ? 0 : size_ - 1; }
  bool is_stopped() const { return rank_ == stopped(); }
  std::string stopped_name() const { return "rank " + std::to_string(stopped()); }
  // The rank that has a limit.
  int impatient() const { return (stopped() + 1) % size_; }
  bool is_impatient() const { return rank_ == impatient(); }

  void until_it_has_stopped() const {
    wait_until([&] { return process_state(watch_->pid(stopped())).rfind("state T", 0) == 0; },
               "the rank does not stop");
  }
  void let_it_go_on() const { ::kill(watch_->pid(stopped()), SIGCONT); }

  // Ranks that wait while one is stopped, but for the impatient one.
  std::vector<int> patient() const {
    std::vector<int> ranks;
    for (int const rank : all_but(stopped())) {
      if (rank != impatient()) ranks.push_back(rank);
    }
    return ranks;
  }

  // A node communicator that has a limit on the impatient rank, which comes last.
  mpi::node_communicator make_limited(milliseconds limit) {
    if (!is_impatient()) return mpi::node_communicator(communicator_);
    watch_->until_waiting(all_but(rank_));
    return mpi::node_communicator(communicator_, {limit});
  }

  // One rank stops before it calls `called`, or inside, at its first call of a function of the
  // driver. The impatient one waits there until that is so and all others wait. Where the rank does
  // not stop in the first half of the call, the impatient one comes last to that.
  void expect_timeout(collective const& called, std::string const& function,
                      char const* driver_function = nullptr, bool stops_at_once = true) {
    build_board();
    auto node = make_limited(milliseconds(100));
    auto const before = [&] {
      if (is_stopped()) ::raise(SIGSTOP);
      if (!is_impatient()) return;
      until_it_has_stopped();
      watch_->until_waiting(patient());
    };
    if (driver_function == nullptr) {
      before();
    } else {
      checked_.fail_call(driver_function, 1, before);
    }
    auto const call = [&] {
      if (is_impatient() && !stops_at_once) watch_->until_waiting(all_but(rank_));
      called(node);
    };
    if (is_stopped()) {
      EXPECT_TRUE(throws<mpi::broken_communicator>(call, stopped_name(), function));
    } else {
      EXPECT_TRUE(throws_for<mpi::timeout>({stopped()}, call, stopped_name(),
                                           "did not call " + function, "limit of 100 ms",
                                           "RANKSHARE_TIMEOUT"));
      if (is_impatient()) let_it_go_on();
    }
    expect_broken(node, stopped_name(), function);
    expect_a_new_one_works();
  }

  void expect_a_new_one_works() {
    MPI_Comm next = MPI_COMM_NULL;
    MPI_Comm_dup(communicator_, &next);
    {
      mpi::node_communicator node(next);
      expect_sharing_works(node);
    }
    MPI_Comm_free(&next);
  }

  void share_all(mpi::node_communicator& node) {
    host_memory_resource memory;
    buffer mine = make_buffer(memory, rank_);
    node.share_all(mine, stream());
  }
};

TEST_P(StoppedRankTest, WithoutALimitItIsWaitedFor) {
  build_board();
  mpi::node_communicator node(communicator_);
  std::vector<collective> const calls = {
      [](auto& of) { of.fence(stream()); },
      [&](auto& of) { share_all(of); },
      [&](auto&) { mpi::node_communicator next(communicator_); },
  };
  for (auto const& call : calls) {
    std::thread release;
    if (is_impatient()) {
      release = std::thread([&] {
        until_it_has_stopped();
        watch_->until_waiting(all_but(stopped()));
        let_it_go_on();
      });
    }
    if (is_stopped()) ::raise(SIGSTOP);
    EXPECT_NO_THROW(call(node));
    if (release.joinable()) release.join();
  }
  expect_sharing_works(node);
}

TEST_P(StoppedRankTest, ALimitEndsFence) {
  expect_timeout([](auto& node) { node.fence(stream()); }, "fence");
}

TEST_P(StoppedRankTest, ALimitEndsShareAll) {
  expect_timeout([&](auto& node) { share_all(node); }, "share_all");
}

TEST_P(StoppedRankTest, ALimitEndsShareFrom) {
  expect_timeout(
      [&](auto& node) {
        host_memory_resource memory;
        buffer mine = make_buffer(memory, rank_);
        node.share_from(is_stopped() ? &mine : nullptr, stopped(), stream());
      },
      "share_from");
}

TEST_P(StoppedRankTest, ALimitEndsShare) {
  expect_timeout(
      [](auto& node) {
        host_memory_resource memory;
        node.share(memory);
      },
      "share");
}

TEST_P(StoppedRankTest, ALimitEndsTheConstructor) {
  expect_timeout(
      [&](auto&) {
        mpi::node_communicator next(
            communicator_, {is_impatient() ? std::optional(milliseconds(100)) : std::nullopt});
      },
      "the constructor of node_communicator");
}

TEST_P(StoppedRankTest, ALimitEndsTheWaitForARankThatStoppedInsideItsPart) {
  expect_timeout([&](auto& node) { share_all(node); }, "share_all", "mem_pool_export_pointer");
}

TEST_P(StoppedRankTest, ALimitEndsTheWaitForARankThatStoppedWhileItMapped) {
  expect_timeout([&](auto& node) { share_all(node); }, "the second half of a share operation",
                 "mem_pool_import_pointer", false);
}

TEST_P(StoppedRankTest, ALimitEndsTheFirstConstructorWhereARankNeverCallsIt) {
  if (!is_stopped()) {
    EXPECT_TRUE(throws_for<mpi::timeout>(
        {}, [&] { mpi::node_communicator node(communicator_, {milliseconds(100)}); },
        "making a node communicator", "not every rank called it", "limit of 100 ms",
        "RANKSHARE_TIMEOUT"));
  }
  // Operations on it are unfinished, so it stays.
  communicator_ = MPI_COMM_NULL;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator_);
  build_board();
  mpi::node_communicator node(communicator_);
  expect_sharing_works(node);
}

TEST_P(StoppedRankTest, ALimitEndsTheFirstConstructorWhereARankStopsInIt) {
  auto const before = footprint::now(&checked_);
  auto const construct = [&] { mpi::node_communicator node(communicator_, {milliseconds(1000)}); };
  bool has_stopped = false;
  system_call_hook const hook([&](long number, system_call_hook::arguments const&) {
    if (!is_stopped() || number != SYS_pidfd_getfd || has_stopped) return;
    has_stopped = true;
    ::raise(SIGSTOP);
  });
  if (is_stopped()) {
    // It goes on when the others have given up: what it was to fetch is closed, or another file has
    // its number.
    error_kind kind = error_kind::none;
    try {
      construct();
    } catch (stale_descriptor const& thrown) {
      kind = thrown.kind();
    } catch (invalid_descriptor const& thrown) {
      kind = thrown.kind();
      EXPECT_NE(std::string(thrown.what()).find("its owner has given up"), std::string::npos);
    }
    EXPECT_NE(kind, error_kind::none);
  } else {
    EXPECT_TRUE(throws_for<mpi::timeout>({}, construct, "making a node communicator",
                                         "not every rank called it", "limit of 1000 ms"));
    watch_->reach(1);
    if (is_impatient()) {
      for (int const rank : all_but(stopped())) watch_->until_reached(rank, 1);
      until_it_has_stopped();
      let_it_go_on();
    }
  }
  EXPECT_TRUE(nothing_left_since(before));
  communicator_ = MPI_COMM_NULL;  // as above
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator_);
  build_board();
  mpi::node_communicator node(communicator_);
  expect_sharing_works(node);
}

INSTANTIATE_TEST_SUITE_P(Stopped, StoppedRankTest, testing::Values(place::first, place::last),
                         [](auto const& given) {
                           return given.param == place::first ? "First" : "Last";
                         });

}  // namespace
}  // namespace rankshare::test
