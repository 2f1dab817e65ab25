// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <rankshare/mpi/error.hpp>
#include <support/node_fixture.hpp>
#include <support/throws.hpp>

namespace rankshare::test {
namespace {

class NodeCommunicatorTest : public node_fixture {};

// Shares one buffer of each rank of `node`, and checks every byte of every peer.
void expect_sharing_works(mpi::node_communicator& node) {
  stream work(device::host());
  host_memory_resource memory;
  buffer mine = memory.allocate(512, work);
  for (int i = 0; i < 512; ++i)
    mine.as<unsigned char>()[i] = static_cast<unsigned char>(node.rank());
  auto const all = node.share_all(mine, work);
  for (int peer = 0; peer < node.size(); ++peer) {
    for (int i = 0; i < 512; ++i) {
      ASSERT_EQ(all.pointer<unsigned char>(peer)[i], static_cast<unsigned char>(peer));
    }
  }
  node.fence(work);
}

TEST_F(NodeCommunicatorTest, KnowsItsRanksAndSaysWhatWasChosen) {
  EXPECT_EQ(node_->rank(), rank_);
  EXPECT_EQ(node_->size(), size_);
  EXPECT_EQ(node_->local_rank(), rank_);
  EXPECT_EQ(node_->local_size(), size_);
  EXPECT_TRUE(node_->is_local(0));
  EXPECT_FALSE(node_->is_local(size_));
  for (std::string const word : {"pidfd_getfd", "GPUs not looked for yet", "rank"}) {
    EXPECT_NE(node_->description().find(word), std::string::npos) << node_->description();
  }
}

TEST_F(NodeCommunicatorTest, FurtherOnesOfACommunicatorOpenNothing) {
  auto const before = footprint::now(&checked_);
  std::vector<mpi::node_communicator> further;
  for (int i = 0; i < 10; ++i) further.emplace_back(MPI_COMM_WORLD);
  EXPECT_TRUE(nothing_left_since(before));
}

TEST_F(NodeCommunicatorTest, EachCommunicatorHasItsOwnAndGivesItBackWhenFreed) {
  auto const before = footprint::now(&checked_);
  for (int i = 0; i < 20; ++i) {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    {
      mpi::node_communicator node(copy);
      expect_sharing_works(node);
    }
    MPI_Comm_free(&copy);
  }
  EXPECT_TRUE(nothing_left_since(before));
}

TEST_F(NodeCommunicatorTest, ALongLivedPoolAndBufferKeepNoBoard) {
  host_memory_resource memory;
  buffer mine = memory.allocate(100, *stream_);
  write_pattern(mine, rank_);
  auto const before = footprint::now(&checked_);
  for (int i = 0; i < 20; ++i) {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    {
      mpi::node_communicator node(copy);
      auto const all = node.share_all(mine, *stream_);
      EXPECT_TRUE(has_pattern(all[size_ - 1], size_ - 1, 100));
      node.fence(*stream_);
    }
    MPI_Comm_free(&copy);
  }
  EXPECT_TRUE(nothing_left_since(before));
}

TEST_F(NodeCommunicatorTest, ATimeoutThatIsNoneIsRefusedOnEveryRankAndBreaksNothing) {
  using std::chrono::milliseconds;
  for (auto const wrong : {milliseconds(0), milliseconds(-5), milliseconds::max()}) {
    auto const make = [&](MPI_Comm communicator) {
      mpi::node_communicator node(communicator, {rank_ == 0 ? wrong : milliseconds(60'000)});
    };
    MPI_Comm fresh = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
    for (MPI_Comm const communicator : {MPI_COMM_WORLD, fresh}) {
      if (rank_ == 0) {
        EXPECT_TRUE(throws<invalid_argument>([&] { make(communicator); },
                                             std::to_string(wrong.count()) + " ms", "above 0"));
      } else {
        EXPECT_TRUE(throws<mpi::remote_error>([&] { make(communicator); }, "rank 0", "above 0"));
      }
    }
    MPI_Comm_free(&fresh);
  }
  expect_sharing_works(*node_);
}

// What a child calls must not count as a call of the rank that it was forked from.
TEST_F(NodeCommunicatorTest, AForkedChildTakesNoPart) {
  pid_t const child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bool refused = false;
    try {
      node_->fence(*stream_);
    } catch (invalid_argument const& thrown) {
      refused = std::string(thrown.what()).find("forked from rank") != std::string::npos;
    } catch (...) {
    }
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  expect_sharing_works(*node_);
}

TEST_F(NodeCommunicatorTest, RanksAreThoseOfTheCommunicatorInAnyOrder) {
  MPI_Comm reversed = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, size_ - rank_, &reversed);
  {
    mpi::node_communicator node(reversed);
    EXPECT_EQ(node.rank(), size_ - 1 - rank_);
    expect_sharing_works(node);
  }
  MPI_Comm_free(&reversed);
}

TEST_F(NodeCommunicatorTest, SubCommunicatorsWorkSideBySide) {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank_ % 2, rank_, &half);
  {
    mpi::node_communicator node(half);
    EXPECT_EQ(node.size(), (size_ + 1 - rank_ % 2) / 2);
    expect_sharing_works(node);
    expect_sharing_works(*node_);
    expect_sharing_works(node);
  }
  MPI_Comm_free(&half);
}

TEST_F(NodeCommunicatorTest, TheSelfCommunicatorWorks) {
  auto const before = footprint::now(&checked_);
  MPI_Comm self = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_SELF, &self);
  {
    mpi::node_communicator node(self);
    EXPECT_EQ(node.size(), 1);
    expect_sharing_works(node);
  }
  MPI_Comm_free(&self);
  EXPECT_TRUE(nothing_left_since(before));
}

TEST_F(NodeCommunicatorTest, ADuplicateOfACommunicatorHasNoBoardOfItsOwnYet) {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_free(&copy);  // would free the board of the world, had the attribute been copied
  expect_sharing_works(*node_);
}

TEST_F(NodeCommunicatorTest, RefusesTheNullCommunicator) {
  EXPECT_TRUE(throws<invalid_argument>([] { mpi::node_communicator node(MPI_COMM_NULL); },
                                       "MPI_COMM_NULL"));
}

TEST_F(NodeCommunicatorTest, RefusesIntercommunicators) {
  if (size_ == 1) return;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm between = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank_ % 2, rank_, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank_ % 2 == 0 ? 1 : 0, 7, &between);

  EXPECT_TRUE(throws<invalid_argument>([&] { mpi::node_communicator node(between); },
                                       "intercommunicator", "MPI_Intercomm_merge"));

  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

TEST_F(NodeCommunicatorTest, WhatIsLeftOfAFreedCommunicatorClosesAndRefusesCalls) {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  mpi::node_communicator node(copy);
  host_memory_resource memory;
  buffer mine = memory.allocate(100, *stream_);
  write_pattern(mine, rank_);
  auto const all = node.share_all(mine, *stream_);

  MPI_Comm_free(&copy);

  EXPECT_TRUE(throws<closed_error>([&] { node.fence(*stream_); }, "has been freed"));
  EXPECT_TRUE(has_pattern(all[size_ - 1], size_ - 1, 100));
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_F(NodeCommunicatorTest, AMovedFromOneIsClosed) {
  mpi::node_communicator first(MPI_COMM_WORLD);
  mpi::node_communicator second = std::move(first);
  EXPECT_TRUE(throws<closed_error>([&] { first.fence(*stream_); }, "moved from"));
  EXPECT_TRUE(throws<closed_error>([&] { first.rank(); }, "moved from"));
  second.fence(*stream_);
}

TEST_F(NodeCommunicatorTest, SharingAResourceMapsNothingUntilItsFirstBuffer) {
  host_memory_resource memory;
  buffer mine = memory.allocate(64, *stream_);
  write_pattern(mine, rank_);

  node_->share(memory);
  EXPECT_EQ(checked_.calls("mem_pool_import_from_shareable_handle"), 0U);
  EXPECT_EQ(checked_.live_objects().at("imported pools"), 0U);

  auto const all = node_->share_all(mine, *stream_);
  EXPECT_EQ(checked_.calls("mem_pool_import_from_shareable_handle"),
            static_cast<std::size_t>(size_ - 1));
  EXPECT_TRUE(has_pattern(all[size_ - 1], size_ - 1, 64));
  node_->fence(*stream_);
}

TEST_F(NodeCommunicatorTest, PoolsThatWereSharedBeforeAreLetGoWhenTheirFirstBufferFails) {
  host_memory_resource memory;
  buffer const mine = memory.allocate(64, *stream_);
  node_->share(memory);
  if (size_ == 1) return;
  if (rank_ == 0) checked_.fail_call("mem_pool_import_pointer", 1);

  auto const share = [&] { node_->share_all(mine, *stream_); };
  if (rank_ == 0) {
    EXPECT_TRUE(throws<out_of_memory>(share));
  } else {
    EXPECT_TRUE(throws<mpi::remote_error>(share, "rank 0"));
  }

  EXPECT_EQ(checked_.live_objects().at("imported pools"), 0U);
  EXPECT_EQ(checked_.live_objects().at("imports"), 0U);
  auto const all = node_->share_all(mine, *stream_);
  EXPECT_EQ(all.size(), size_);
  node_->fence(*stream_);
}

TEST_F(NodeCommunicatorTest, SharingAClosedResourceIsAnErrorOnEveryRank) {
  host_memory_resource memory;
  if (rank_ == 0) memory.close();

  auto const share = [&] { node_->share(memory); };
  if (rank_ == 0) {
    EXPECT_TRUE(throws<closed_error>(share, "closed"));
  } else {
    EXPECT_TRUE(throws<mpi::remote_error>(share, "rank 0", "closed"));
  }
  node_->fence(*stream_);
}

TEST_F(NodeCommunicatorTest, SharingAMappedResourceIsRefused) {
  host_memory_resource memory;
  buffer const mine = memory.allocate(64, *stream_);
  auto const all = node_->share_all(mine, *stream_);
  if (size_ == 1) return;

  int const peer = (rank_ + 1) % size_;
  auto const mapped = host_memory_resource::from_registry(all[peer].memory_resource().uuid());
  EXPECT_TRUE(throws<mapped_resource_error>([&] { node_->share(mapped); }, "another process",
                                            "share it from there"));
  node_->fence(*stream_);
}

}  // namespace
}  // namespace rankshare::test
