// SPDX-License-Identifier: Apache-2.0
// MPI_THREAD_MULTIPLE: each thread may have a communicator; two at one board are an error for all.
#include <gtest/gtest.h>
#include <mpi.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <mpi/failures/failure_fixture.hpp>

namespace rankshare::test {
namespace {

enum class call { fence, share, share_all, share_from, constructor };

char const* name_of(call which) {
  switch (which) {
    case call::fence:
      return "fence";
    case call::share:
      return "share";
    case call::share_all:
      return "share_all";
    case call::share_from:
      return "share_from";
    case call::constructor:
      return "constructor";
  }
  return "";
}

class ThreadsTest : public failure_fixture, public testing::WithParamInterface<call> {
 protected:
  // Makes the call that the case is about.
  void make_call(mpi::node_communicator& node) const {
    host_memory_resource memory;
    buffer mine = make_buffer(memory, rank_);
    switch (GetParam()) {
      case call::fence:
        return node.fence(stream());
      case call::share:
        return node.share(memory);
      case call::share_all:
        return node.share_all(mine, stream()).close();
      case call::share_from:
        return node.share_from(rank_ == 0 ? &mine : nullptr, 0, stream()).close();
      case call::constructor:
        mpi::node_communicator next(communicator_);
        return;
    }
  }

  std::string culprit_text() const {
    return "two threads of rank " + std::to_string(culprit) + " were in collectives";
  }

  // On the culprit: the first thread is in a collective, and the second one comes.
  void come_as_second_thread(mpi::node_communicator& node) const {
    EXPECT_TRUE(throws<invalid_argument>([&] { make_call(node); }, culprit_text(),
                                         name_of(GetParam()), "one after the other",
                                         "node communicator for each thread"));
  }
  void expect_first_thread_breaks(std::function<void()> const& call_of_first) const {
    EXPECT_TRUE(throws<mpi::broken_communicator>(call_of_first, culprit_text()));
  }

  static constexpr int culprit = 1;
};

// The first thread waits for another rank; other ranks wait too.
TEST_P(ThreadsTest, TheSecondThreadInACollectiveEndsTheWaitsOfAll) {
  build_board();
  mpi::node_communicator node(communicator_);
  int const absent = 0;
  if (rank_ == culprit) {
    std::thread first([&] { expect_first_thread_breaks([&] { node.fence(stream()); }); });
    watch_->until_waiting(all_but(absent));
    come_as_second_thread(node);
    first.join();
    watch_->reach(1);
  } else if (rank_ == absent) {
    watch_->until_reached(culprit, 1);
    EXPECT_TRUE(throws<mpi::broken_communicator>([&] { node.fence(stream()); }, culprit_text()));
  } else {
    EXPECT_TRUE(throws_remote(
        culprit, error_kind::invalid_argument, [&] { node.fence(stream()); }, culprit_text()));
  }
  expect_broken(node, culprit_text());
}

// The first thread is inside its part of a collective; all other ranks wait for it.
TEST_P(ThreadsTest, TheSecondThreadMayComeWhileTheFirstDoesItsPart) {
  build_board();
  mpi::node_communicator node(communicator_);
  host_memory_resource memory;
  buffer mine = make_buffer(memory, rank_);
  auto const share = [&] { node.share_all(mine, stream()); };
  if (rank_ == culprit) {
    std::atomic<bool> is_inside = false;
    std::atomic<bool> may_go_on = false;
    checked_.fail_call("mem_pool_export_pointer", 1, [&] {
      is_inside = true;
      wait_until([&] { return may_go_on.load(); }, "the second thread is not done");
    });
    std::thread first([&] { expect_first_thread_breaks(share); });
    wait_until([&] { return is_inside.load(); }, "the first thread does not come");
    watch_->until_waiting(all_but(culprit));
    come_as_second_thread(node);
    may_go_on = true;
    first.join();
  } else {
    EXPECT_TRUE(throws_remote(culprit, error_kind::invalid_argument, share, culprit_text()));
  }
  expect_broken(node, culprit_text());
}

INSTANTIATE_TEST_SUITE_P(Second, ThreadsTest,
                         testing::Values(call::fence, call::share, call::share_all,
                                         call::share_from, call::constructor),
                         [](auto const& given) { return name_of(given.param); });

using OwnCommunicatorsTest = failure_fixture;

TEST_F(OwnCommunicatorsTest, ThreadsWithTheirOwnCommunicatorsWorkAtTheSameTime) {
  constexpr int threads = 3;
  std::vector<MPI_Comm> communicators(threads, MPI_COMM_NULL);
  for (auto& one : communicators) MPI_Comm_dup(communicator_, &one);
  std::vector<std::thread> running;
  for (auto const one : communicators) {
    running.emplace_back([one] {
      for (int round = 0; round < 10; ++round) {
        mpi::node_communicator node(one);
        for (int i = 0; i < 5; ++i) expect_sharing_works(node);
      }
    });
  }
  for (auto& one : running) one.join();
  for (auto& one : communicators) MPI_Comm_free(&one);
}

TEST_F(OwnCommunicatorsTest, AnyThreadMayCallOneAfterTheOther) {
  build_board();
  mpi::node_communicator node(communicator_);
  for (int round = 0; round < 5; ++round) {
    std::thread([&] { expect_sharing_works(node); }).join();
    expect_sharing_works(node);
  }
}

}  // namespace
}  // namespace rankshare::test
