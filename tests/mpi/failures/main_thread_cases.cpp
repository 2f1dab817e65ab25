// SPDX-License-Identifier: Apache-2.0
// MPI_THREAD_SINGLE and MPI_THREAD_FUNNELED: only the main thread may call.
#include <gtest/gtest.h>
#include <mpi.h>

#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include <mpi/failures/failure_fixture.hpp>

namespace rankshare::test {
namespace {

// Calls in a thread of its own, and throws here what is thrown there.
void in_another_thread(std::function<void()> const& call) {
  std::exception_ptr thrown;
  std::thread([&] {
    try {
      call();
    } catch (...) {
      thrown = std::current_exception();
    }
  }).join();
  if (thrown) std::rethrow_exception(thrown);
}

class MainThreadTest : public failure_fixture {
 protected:
  // `call` is made by another thread on rank `culprit`.
  void expect_refused(int culprit, std::function<void()> const& call) const {
    if (rank_ == culprit) {
      EXPECT_TRUE(throws<invalid_argument>([&] { in_another_thread(call); }, "not the main thread",
                                           "MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED",
                                           "call from the main thread", "MPI_THREAD_MULTIPLE"));
    } else {
      EXPECT_TRUE(throws_remote(culprit, error_kind::invalid_argument, call, "not the main thread",
                                "MPI_THREAD_FUNNELED"));
    }
  }
};

TEST_F(MainThreadTest, CollectivesOfAnotherThreadAreRefusedAndTheBoardStaysWhole) {
  build_board();
  mpi::node_communicator node(communicator_);
  host_memory_resource memory;
  buffer mine = make_buffer(memory, rank_);
  for (int culprit = 0; culprit < size_; ++culprit) {
    expect_refused(culprit, [&] { node.fence(stream()); });
    expect_refused(culprit, [&] { node.share(memory); });
    expect_refused(culprit, [&] { node.share_all(mine, stream()); });
    expect_refused(culprit, [&] { node.share_from(rank_ == 0 ? &mine : nullptr, 0, stream()); });
    expect_sharing_works(node);
  }
}

TEST_F(MainThreadTest, WhereEveryRankCallsFromAnotherThreadEachSaysSo) {
  build_board();
  mpi::node_communicator node(communicator_);
  EXPECT_TRUE(throws<invalid_argument>([&] { in_another_thread([&] { node.fence(stream()); }); },
                                       "not the main thread"));
  expect_sharing_works(node);
}

TEST_F(MainThreadTest, TheConstructorIsRefusedInAnotherThreadWhileTheOthersWait) {
  for (int culprit = 0; culprit < size_; ++culprit) {
    // The first time there is no board yet.
    if (rank_ == culprit) {
      EXPECT_TRUE(throws<invalid_argument>(
          [&] { in_another_thread([&] { mpi::node_communicator node(communicator_); }); },
          "making a node communicator", "not the main thread", "MPI_THREAD_FUNNELED"));
    }
    mpi::node_communicator node(communicator_);
    expect_sharing_works(node);
  }
}

TEST_F(MainThreadTest, ClosingAndDestroyingAreAnyThreads) {
  build_board();
  auto node = std::make_unique<mpi::node_communicator>(communicator_);
  host_memory_resource memory;
  buffer mine = make_buffer(memory, rank_);
  auto all = node->share_all(mine, stream());
  node->fence(stream());
  in_another_thread([&] {
    all.close();
    mine.close();
    memory.close();
    node.reset();
  });
}

}  // namespace
}  // namespace rankshare::test
