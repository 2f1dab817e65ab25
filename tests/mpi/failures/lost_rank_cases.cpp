// SPDX-License-Identifier: Apache-2.0
// A rank ends while the others wait for it: they all hear which one, and can go on without it.
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <mpi/failures/failure_fixture.hpp>
#include <mpi/failures/survivors.hpp>
#include <mpi/failures/system_calls.hpp>

namespace rankshare::test {
namespace {

enum class place { first, last };

class LostRankTest : public failure_fixture, public testing::WithParamInterface<place> {
 protected:
  using collective = std::function<void(mpi::node_communicator&)>;

  int victim() const { return GetParam() == place::first ? 0 : size_ - 1; }
  bool is_victim() const { return rank_ == victim(); }
  std::string victim_name() const { return "rank " + std::to_string(victim()); }

  [[noreturn]] static void die() {
    write_verdict("ends");
    ::raise(SIGKILL);
    std::abort();
  }

  // The victim ends by `end` once all others wait in `called`.
  void lose_before(collective const& called, std::string const& function,
                   std::function<void()> const& end = die) {
    build_board();
    mpi::node_communicator node(communicator_);
    if (is_victim()) {
      watch_->until_waiting(all_but(rank_));
      end();
    }
    expect_lost(node, called, function);
  }

  // The victim ends inside `called`, at its first call of a function of the driver, once all others
  // wait.
  void lose_in_driver(char const* driver_function, collective const& called,
                      std::string const& function) {
    build_board();
    mpi::node_communicator node(communicator_);
    if (is_victim()) {
      checked_.fail_call(driver_function, 1, [&] {
        watch_->until_waiting(all_but(rank_));
        die();
      });
    }
    expect_lost(node, called, function);
  }

  void expect_lost(mpi::node_communicator& node, collective const& called,
                   std::string const& function) {
    EXPECT_TRUE(throws_for<mpi::peer_lost>(
        {victim()}, [&] { called(node); }, victim_name(), "has ended before calling " + function,
        "see the output of that process"));
    expect_broken(node, victim_name(), function);
    expect_survivors_share();
  }

  // Those that are left make a new node communicator, and share.
  void expect_survivors_share() {
    MPI_Group everyone = MPI_GROUP_NULL;
    MPI_Group left = MPI_GROUP_NULL;
    MPI_Comm survivors = MPI_COMM_NULL;
    int const gone = victim();
    MPI_Comm_group(MPI_COMM_WORLD, &everyone);
    MPI_Group_excl(everyone, 1, &gone, &left);
    ASSERT_EQ(MPI_Comm_create_group(MPI_COMM_WORLD, left, 7, &survivors), MPI_SUCCESS);
    {
      mpi::node_communicator node(survivors);
      EXPECT_EQ(node.size(), size_ - 1);
      for (int round = 0; round < 3; ++round) expect_sharing_works(node);
    }
    MPI_Comm_free(&survivors);
    MPI_Group_free(&left);
    MPI_Group_free(&everyone);
  }

  void share_all(mpi::node_communicator& node) {
    host_memory_resource memory;
    buffer mine = make_buffer(memory, rank_);
    node.share_all(mine, stream());
  }
  void share_from(mpi::node_communicator& node, int root) {
    host_memory_resource memory;
    buffer mine = make_buffer(memory, rank_);
    node.share_from(rank_ == root ? &mine : nullptr, root, stream());
  }
};

TEST_P(LostRankTest, KilledBeforeFence) {
  lose_before([](auto& node) { node.fence(stream()); }, "fence");
}

TEST_P(LostRankTest, KilledBeforeShareAll) {
  lose_before([&](auto& node) { share_all(node); }, "share_all");
}

TEST_P(LostRankTest, KilledBeforeShareFromThisRank) {
  lose_before([&](auto& node) { share_from(node, victim()); }, "share_from");
}

TEST_P(LostRankTest, KilledBeforeShareFromAnotherRank) {
  lose_before([&](auto& node) { share_from(node, (victim() + 1) % size_); }, "share_from");
}

TEST_P(LostRankTest, KilledBeforeShare) {
  lose_before(
      [](auto& node) {
        host_memory_resource memory;
        node.share(memory);
      },
      "share");
}

TEST_P(LostRankTest, KilledBeforeTheNextNodeCommunicator) {
  lose_before([&](auto&) { mpi::node_communicator next(communicator_); },
              "the constructor of node_communicator");
}

TEST_P(LostRankTest, KilledWhileItAnnouncesItsBuffer) {
  lose_in_driver(
      "mem_pool_export_pointer", [&](auto& node) { share_all(node); }, "share_all");
}

TEST_P(LostRankTest, KilledWhileItMapsTheOthersPools) {
  lose_in_driver(
      "mem_pool_import_from_shareable_handle", [&](auto& node) { share_all(node); },
      "the second half of a share operation");
}

TEST_P(LostRankTest, KilledWhileItMapsTheOthersBuffers) {
  lose_in_driver(
      "mem_pool_import_pointer", [&](auto& node) { share_all(node); },
      "the second half of a share operation");
}

TEST_P(LostRankTest, ExitsWithoutCalling) {
  lose_before([](auto& node) { node.fence(stream()); }, "fence",
              [] {
                write_verdict("ends");
                ::_exit(0);
              });
}

TEST_P(LostRankTest, LeavesMainWithoutCalling) {
  lose_before([](auto& node) { node.fence(stream()); }, "fence",
              [] {
                write_verdict("ends");
                std::exit(0);  // with atexit handlers and static destructors
              });
}

// Buffers of the lost rank stay mapped in those that have them, and close.
TEST_P(LostRankTest, WhatItSharedStaysReadable) {
  build_board();
  mpi::node_communicator node(communicator_);
  {
    host_memory_resource memory;
    buffer mine = make_buffer(memory, rank_);
    auto all = node.share_all(mine, stream());
    if (is_victim()) {
      watch_->until_waiting(all_but(rank_));
      die();
    }
    EXPECT_TRUE(throws_for<mpi::peer_lost>({victim()}, [&] { node.fence(stream()); }));
    for (int rank = 0; rank < size_; ++rank) expect_bytes(all[rank], rank);
  }
  expect_survivors_share();
}

// It comes last, so that the round is complete; it does not come to wake the others.
TEST_P(LostRankTest, KilledAfterItCompletedARound) {
  build_board();
  mpi::node_communicator node(communicator_);
  system_call_hook const hook([&](long number, system_call_hook::arguments const& passed) {
    if (is_victim() && number == SYS_futex && passed[1] == FUTEX_WAKE) die();
  });
  if (is_victim()) watch_->until_waiting(all_but(rank_));
  EXPECT_NO_THROW(node.fence(stream()));
  EXPECT_TRUE(throws_for<mpi::peer_lost>(
      {victim()}, [&] { node.fence(stream()); }, "fence"));
  expect_broken(node, victim_name());
  expect_survivors_share();
}

TEST_P(LostRankTest, KilledWhileItFetchesTheBoard) {
  system_call_hook const hook([&](long number, system_call_hook::arguments const&) {
    if (is_victim() && number == SYS_pidfd_getfd) die();
  });
  EXPECT_TRUE(throws_for<mpi::peer_lost>(
      {victim()}, [&] { mpi::node_communicator node(communicator_); }, victim_name() + " has ended",
      "making a node communicator", "see the output of that process"));
  expect_survivors_share();
}

INSTANTIATE_TEST_SUITE_P(Victim, LostRankTest, testing::Values(place::first, place::last),
                         [](auto const& given) {
                           return given.param == place::first ? "First" : "Last";
                         });

}  // namespace
}  // namespace rankshare::test
