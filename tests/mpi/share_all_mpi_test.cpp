// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include <rankshare/memory/memory_resource.hpp>
#include <rankshare/mpi/error.hpp>
#include <support/node_fixture.hpp>
#include <support/throws.hpp>

namespace rankshare::test {
namespace {

class ShareAllTest : public node_fixture {
 protected:
  // Shares a buffer of `bytes(rank)` bytes with its pattern, and returns all of them.
  template <class Bytes>
  mpi::peer_buffers share_pattern(host_memory_resource& memory, buffer& mine, Bytes const& bytes) {
    mine = memory.allocate(bytes(rank_), *stream_);
    write_pattern(mine, rank_);
    return node_->share_all(mine, *stream_);
  }
};

TEST_F(ShareAllTest, EveryRankReadsEveryPeersBytesThroughItsOwnMapping) {
  host_memory_resource memory;
  buffer mine;
  auto const bytes = [](int rank) { return std::size_t{10'000} * static_cast<unsigned>(rank + 1); };

  auto all = share_pattern(memory, mine, bytes);

  ASSERT_EQ(all.size(), size_);
  for (int peer = 0; peer < size_; ++peer) {
    EXPECT_TRUE(all.is_reachable(peer));
    EXPECT_TRUE(has_pattern(all[peer], peer, bytes(peer)));
    EXPECT_EQ(all[peer].is_mapped(), peer != rank_);
    EXPECT_EQ(all.pointer<std::byte>(peer), all[peer].as<std::byte>());
  }
  node_->fence(*stream_);
}

TEST_F(ShareAllTest, WritesOfPeersAreSeenByTheOwnerAfterAFence) {
  host_memory_resource memory;
  buffer mine;
  auto all = share_pattern(memory, mine, [&](int) { return static_cast<std::size_t>(size_); });
  node_->fence(*stream_);

  for (int peer = 0; peer < size_; ++peer) {
    all.pointer<unsigned char>(peer)[rank_] = static_cast<unsigned char>(100 + rank_);
  }
  node_->fence(*stream_);

  for (int peer = 0; peer < size_; ++peer) {
    EXPECT_EQ(mine.as<unsigned char>()[peer], 100 + peer);
  }
  node_->fence(*stream_);
}

TEST_F(ShareAllTest, OwnEntryIsAnAliasThatKeepsTheMemory) {
  host_memory_resource memory;
  buffer mine;
  auto all = share_pattern(memory, mine, [](int) { return std::size_t{4096}; });

  EXPECT_EQ(all[rank_].handle(), mine.handle());
  node_->fence(*stream_);
  mine.close();
  EXPECT_TRUE(has_pattern(all[rank_], rank_, 4096));
  all.close();
}

TEST_F(ShareAllTest, ABufferOfSizeZeroIsAValue) {
  host_memory_resource memory;
  buffer mine;
  auto const bytes = [](int rank) { return rank % 2 == 0 ? std::size_t{0} : std::size_t{77}; };

  auto all = share_pattern(memory, mine, bytes);

  for (int peer = 0; peer < size_; ++peer) {
    EXPECT_FALSE(all[peer].is_closed());
    EXPECT_TRUE(has_pattern(all[peer], peer, bytes(peer)));
    EXPECT_EQ(all.pointer<char>(peer) == nullptr, bytes(peer) == 0);
  }
  node_->fence(*stream_);
}

TEST_F(ShareAllTest, MappedBuffersOutliveTheNodeCommunicatorAndTheirExporter) {
  host_memory_resource memory;
  buffer mine;
  auto all = share_pattern(memory, mine, [](int) { return std::size_t{5000}; });
  node_->fence(*stream_);

  node_.reset();
  memory.close();

  for (int peer = 0; peer < size_; ++peer) EXPECT_TRUE(has_pattern(all[peer], peer, 5000));
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_F(ShareAllTest, EntriesCanBeMovedOutAndClosedInAnyOrder) {
  host_memory_resource memory;
  buffer mine;
  auto all = share_pattern(memory, mine, [](int) { return std::size_t{300}; });
  node_->fence(*stream_);

  int const other = (rank_ + 1) % size_;
  buffer taken = std::move(all[other]);
  all.close();
  EXPECT_EQ(all.size(), 0);
  EXPECT_TRUE(has_pattern(taken, other, 300));
  node_->fence(*stream_);
}

TEST_F(ShareAllTest, FurtherBuffersOfAPoolImportNoPoolAndEachOnlyItself) {
  host_memory_resource memory;
  buffer first;
  auto const kept = share_pattern(memory, first, [](int) { return std::size_t{64}; });
  auto const pools = checked_.calls("mem_pool_import_from_shareable_handle");
  auto const pointers = checked_.calls("mem_pool_import_pointer");
  EXPECT_EQ(pools, static_cast<std::size_t>(size_ - 1));

  for (int round = 0; round < 100; ++round) {
    buffer mine;
    auto const all = share_pattern(memory, mine, [](int) { return std::size_t{64}; });
    node_->fence(*stream_);
  }

  EXPECT_EQ(checked_.calls("mem_pool_import_from_shareable_handle"), pools);
  EXPECT_EQ(checked_.calls("mem_pool_import_pointer"),
            pointers + 100 * static_cast<std::size_t>(size_ - 1));
}

TEST_F(ShareAllTest, SharingOneBufferAgainMapsNothing) {
  host_memory_resource memory;
  buffer mine;
  auto const first = share_pattern(memory, mine, [](int) { return std::size_t{64}; });
  auto const pointers = checked_.calls("mem_pool_import_pointer");
  auto const exports = checked_.calls("mem_pool_export_pointer");

  auto const second = node_->share_all(mine, *stream_);

  for (int peer = 0; peer < size_; ++peer) EXPECT_EQ(first[peer].handle(), second[peer].handle());
  EXPECT_EQ(checked_.calls("mem_pool_import_pointer"), pointers);
  EXPECT_EQ(checked_.calls("mem_pool_export_pointer"), exports);
  node_->fence(*stream_);
}

TEST_F(ShareAllTest, WorkThatIsStillEnqueuedIsDoneBeforeThePeersMap) {
  host_memory_resource memory;
  buffer mine = memory.allocate(4096, *stream_);
  checked_.hold_back(true);
  mine.fill(std::byte{0xA5}, *stream_);
  EXPECT_NE(mine.as<std::byte>()[0], std::byte{0xA5}) << "the work is not held back";

  auto const all = node_->share_all(mine, *stream_);

  for (int peer = 0; peer < size_; ++peer) {
    for (std::size_t i = 0; i < 4096; ++i) {
      ASSERT_EQ(all.pointer<std::byte>(peer)[i], std::byte{0xA5}) << "rank " << peer;
    }
  }
  checked_.hold_back(false);
  node_->fence(*stream_);
}

TEST_F(ShareAllTest, AFenceWaitsForTheStream) {
  host_memory_resource memory;
  buffer mine;
  auto const all = share_pattern(memory, mine, [](int) { return std::size_t{4096}; });
  checked_.hold_back(true);
  mine.fill(std::byte{0x3C}, *stream_);

  node_->fence(*stream_);

  for (int peer = 0; peer < size_; ++peer) {
    EXPECT_EQ(all.pointer<std::byte>(peer)[4095], std::byte{0x3C}) << "rank " << peer;
  }
  checked_.hold_back(false);
  node_->fence(*stream_);
}

TEST_F(ShareAllTest, ImportedPoolsStandInTheRegistryWhileTheyAreHeld) {
  host_memory_resource memory;
  buffer mine;
  auto all = share_pattern(memory, mine, [](int) { return std::size_t{64}; });

  for (int peer = 0; peer < size_; ++peer) {
    auto const id = all[peer].memory_resource().uuid();
    if (peer == rank_) {
      EXPECT_EQ(id, memory.uuid());
      continue;
    }
    auto const mapped = host_memory_resource::from_registry(id);
    EXPECT_TRUE(mapped.is_mapped());
    EXPECT_TRUE(
        throws<mapped_resource_error>([&] { mapped.allocate(1, *stream_); }, "another process"));
  }
  node_->fence(*stream_);
}

TEST_F(ShareAllTest, PoolsThatTheirOwnersClosedAreLetGoAtTheNextCall) {
  {
    host_memory_resource memory;
    buffer mine;
    auto const all = share_pattern(memory, mine, [](int) { return std::size_t{64}; });
    node_->fence(*stream_);
  }
  MPI_Barrier(MPI_COMM_WORLD);

  node_->fence(*stream_);

  EXPECT_EQ(checked_.live_objects().at("imported pools"), 0U);
}

TEST_F(ShareAllTest, AClosedBufferIsAnErrorOnEveryRankAndLeavesNothing) {
  host_memory_resource memory;
  int const culprit = size_ - 1;
  buffer mine = memory.allocate(64, *stream_);
  if (rank_ == culprit) mine.close();

  auto const share = [&] { node_->share_all(mine, *stream_); };
  if (rank_ == culprit) {
    EXPECT_TRUE(throws<closed_error>(share, "buffer has been closed"));
  } else {
    EXPECT_TRUE(throws<mpi::remote_error>(share, "rank " + std::to_string(culprit), "closed_error",
                                          "buffer has been closed"));
  }
  EXPECT_EQ(checked_.live_objects().at("imported pools"), 0U);

  mine = memory.allocate(64, *stream_);
  write_pattern(mine, rank_);
  auto const all = node_->share_all(mine, *stream_);
  EXPECT_TRUE(has_pattern(all[culprit], culprit, 64));
  node_->fence(*stream_);
}

TEST_F(ShareAllTest, AnImportedBufferIsNotSharedFurther) {
  host_memory_resource memory;
  buffer mine;
  auto const all = share_pattern(memory, mine, [](int) { return std::size_t{64}; });
  if (size_ == 1) return;

  EXPECT_TRUE(throws<not_shareable>([&] { node_->share_all(all[(rank_ + 1) % size_], *stream_); },
                                    "another process", "share it from there"));
  node_->fence(*stream_);
}

TEST_F(ShareAllTest, LookingUpARankThatIsNotThereIsAnError) {
  host_memory_resource memory;
  buffer mine;
  auto const all = share_pattern(memory, mine, [](int) { return std::size_t{64}; });

  EXPECT_TRUE(throws<invalid_argument>([&] { all[size_]; }, "rank " + std::to_string(size_)));
  EXPECT_TRUE(throws<invalid_argument>([&] { all[-1]; }, "rank -1"));
  node_->fence(*stream_);
}

}  // namespace
}  // namespace rankshare::test
