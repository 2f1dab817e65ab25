// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include <rankshare/mpi/error.hpp>
#include <support/node_fixture.hpp>
#include <support/throws.hpp>

namespace rankshare::test {
namespace {

class ShareFromTest : public node_fixture {};

TEST_F(ShareFromTest, EveryRankCanBeTheRoot) {
  host_memory_resource memory;
  for (int root = 0; root < size_; ++root) {
    auto const bytes = static_cast<std::size_t>(1000 + root);
    buffer mine = memory.allocate(bytes, *stream_);
    write_pattern(mine, rank_);

    buffer const shared = node_->share_from(rank_ == root ? &mine : nullptr, root, *stream_);

    EXPECT_TRUE(has_pattern(shared, root, bytes));
    EXPECT_EQ(shared.is_mapped(), rank_ != root);
    if (rank_ == root) {
      EXPECT_EQ(shared.handle(), mine.handle());
    }
    node_->fence(*stream_);
  }
}

TEST_F(ShareFromTest, OnlyThePoolOfTheRootIsImported) {
  host_memory_resource memory;
  buffer const mine = memory.allocate(64, *stream_);

  buffer const shared = node_->share_from(rank_ == 0 ? &mine : nullptr, 0, *stream_);

  EXPECT_EQ(checked_.calls("mem_pool_import_from_shareable_handle"), rank_ == 0 ? 0U : 1U);
  node_->fence(*stream_);
}

TEST_F(ShareFromTest, AnEmptyBufferIsAValue) {
  host_memory_resource memory;
  buffer const mine = memory.allocate(0, *stream_);

  buffer const shared = node_->share_from(rank_ == 0 ? &mine : nullptr, 0, *stream_);

  EXPECT_FALSE(shared.is_closed());
  EXPECT_EQ(shared.size(), 0U);
  EXPECT_EQ(shared.data(), nullptr);
  node_->fence(*stream_);
}

TEST_F(ShareFromTest, ARootThatIsNoRankIsAnErrorEverywhere) {
  for (int const root : {-1, size_}) {
    EXPECT_TRUE(throws<invalid_argument>([&] { node_->share_from(nullptr, root, *stream_); },
                                         "rank " + std::to_string(root), "no such rank"));
  }
  node_->fence(*stream_);
}

TEST_F(ShareFromTest, RanksThatPassDifferentRootsAreToldSo) {
  if (size_ == 1) return;
  host_memory_resource memory;
  buffer const mine = memory.allocate(64, *stream_);
  int const root = rank_ == size_ - 1 ? size_ - 1 : 0;

  EXPECT_TRUE(throws<invalid_argument>(
      [&] { node_->share_from(rank_ == root ? &mine : nullptr, root, *stream_); }, "passed root",
      "the same root on every rank"));
  node_->fence(*stream_);
}

TEST_F(ShareFromTest, ARootWithoutABufferIsItsErrorAndTheOthersHearOfIt) {
  auto const share = [&] { node_->share_from(nullptr, 0, *stream_); };
  if (rank_ == 0) {
    EXPECT_TRUE(throws<invalid_argument>(share, "pass the buffer on that rank"));
  } else {
    EXPECT_TRUE(throws<mpi::remote_error>(share, "rank 0", "pass the buffer on that rank"));
  }
  node_->fence(*stream_);
}

TEST_F(ShareFromTest, ABufferOnARankThatIsNotTheRootIsItsError) {
  if (size_ == 1) return;
  host_memory_resource memory;
  buffer const mine = memory.allocate(64, *stream_);
  bool const passes = rank_ == 0 || rank_ == size_ - 1;

  auto const share = [&] { node_->share_from(passes ? &mine : nullptr, 0, *stream_); };
  if (rank_ == size_ - 1) {
    EXPECT_TRUE(throws<invalid_argument>(share, "null pointer elsewhere"));
  } else {
    EXPECT_TRUE(throws<mpi::remote_error>(share, "rank " + std::to_string(size_ - 1)));
  }
  node_->fence(*stream_);
}

TEST_F(ShareFromTest, DifferentCollectivesAtATimeAreAnErrorThatNamesThem) {
  if (size_ == 1) return;
  host_memory_resource memory;
  buffer const mine = memory.allocate(64, *stream_);

  auto const call = [&] {
    if (rank_ == 0) {
      node_->fence(*stream_);
    } else {
      node_->share_all(mine, *stream_);
    }
  };
  EXPECT_TRUE(throws<invalid_argument>(call, "rank 0 called fence", "rank 1 called share_all",
                                       "same order on every rank"));

  node_->fence(*stream_);  // they are in step again
}

}  // namespace
}  // namespace rankshare::test
