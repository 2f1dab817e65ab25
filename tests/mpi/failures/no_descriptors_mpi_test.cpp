// SPDX-License-Identifier: Apache-2.0
// One rank runs out of file descriptors: it says so, the others hear of it, and once there are
// more, the same calls succeed.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cerrno>
#include <exception>
#include <functional>

#include <mpi/failures/failure_fixture.hpp>
#include <support/fd_limit.hpp>

namespace rankshare::test {
namespace {

class NoDescriptorsTest : public failure_fixture {
 protected:
  // Makes the call with 0, 1, 2, ... descriptors left on `culprit` until it succeeds. What fails
  // leaves no driver objects, and nothing more than `before`.
  // @return with how many it did
  int until_it_succeeds(int culprit, std::function<void()> const& call,
                        footprint const* before = nullptr) {
    for (int left = 0; left < 50; ++left) {
      auto const objects = checked_.live_objects();
      auto const thrown = rank_ == culprit ? run_with_fds_left(left, call) : run(call);
      if (thrown == nullptr) return left;
      expect_error(culprit, thrown);
      EXPECT_EQ(checked_.live_objects(), objects) << left << " descriptors were left";
      EXPECT_TRUE(before == nullptr || nothing_left_since(*before)) << left << " were left";
    }
    ADD_FAILURE() << "it needs more than 50 descriptors";
    return 50;
  }

 private:
  static std::exception_ptr run(std::function<void()> const& call) {
    try {
      call();
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  void expect_error(int culprit, std::exception_ptr const& thrown) const {
    auto const rethrow = [&] { std::rethrow_exception(thrown); };
    if (rank_ != culprit) {
      EXPECT_TRUE(throws_remote(culprit, error_kind::system, rethrow, "ulimit -n"));
      return;
    }
    int code = 0;
    EXPECT_TRUE(throws<system_error>(
        [&] {
          try {
            rethrow();
          } catch (system_error const& caught) {
            code = caught.code().value();
            throw;
          }
        },
        "ulimit -n"));
    EXPECT_EQ(code, EMFILE);
  }
};

// First: some of what a process reads at its first node communicator it keeps.
TEST_F(NoDescriptorsTest, AtTheFirstConstructorOfAProcess) {
  for (int const culprit : {0, size_ - 1}) {
    MPI_Comm fresh = MPI_COMM_NULL;
    MPI_Comm_dup(communicator_, &fresh);
    auto const before = footprint::now(&checked_);
    EXPECT_GT(until_it_succeeds(
                  culprit, [&] { mpi::node_communicator node(fresh); }, &before),
              0);
    {
      mpi::node_communicator node(fresh);
      expect_sharing_works(node);
    }
    MPI_Comm_free(&fresh);
  }
}

TEST_F(NoDescriptorsTest, AtTheFirstUseOfPools) {
  for (int const culprit : {0, size_ - 1}) {
    MPI_Comm fresh = MPI_COMM_NULL;
    MPI_Comm_dup(communicator_, &fresh);
    {
      mpi::node_communicator node(fresh);
      host_memory_resource memory;
      buffer mine = make_buffer(memory, rank_);
      mpi::peer_buffers all;
      int const needed = until_it_succeeds(culprit, [&] { all = node.share_all(mine, stream()); });
      EXPECT_GE(needed, size_ - 1);
      for (int rank = 0; rank < size_; ++rank) expect_bytes(all[rank], rank);
      node.fence(stream());
    }
    MPI_Comm_free(&fresh);
  }
}

TEST_F(NoDescriptorsTest, AtTheFirstUseOfAPoolOfOneRank) {
  build_board();
  for (int const culprit : {0, size_ - 1}) {
    mpi::node_communicator node(communicator_);
    host_memory_resource memory;
    buffer mine = make_buffer(memory, rank_);
    buffer theirs;
    int const root = (culprit + 1) % size_;
    EXPECT_GT(
        until_it_succeeds(
            culprit,
            [&] { theirs = node.share_from(rank_ == root ? &mine : nullptr, root, stream()); }),
        0);
    expect_bytes(theirs, root);
    node.fence(stream());
  }
}

TEST_F(NoDescriptorsTest, FurtherCallsNeedNone) {
  build_board();
  mpi::node_communicator node(communicator_);
  host_memory_resource memory;
  buffer first = make_buffer(memory, rank_);
  auto const all = node.share_all(first, stream());
  node.fence(stream());
  EXPECT_EQ(until_it_succeeds(size_ - 1,
                              [&] {
                                buffer next = make_buffer(memory, rank_);
                                auto const more = node.share_all(next, stream());
                                mpi::node_communicator again(communicator_);
                                node.share(memory);
                                node.fence(stream());
                              }),
            0);
}

}  // namespace
}  // namespace rankshare::test
