// SPDX-License-Identifier: Apache-2.0
// Sharing memory that GPUs reach. The same cases run on emulated devices (tests/mpi) and on GPUs
// (tests/mpi_gpu).
#include <cstring>
#include <utility>

#include <rankshare/mpi/error.hpp>
#include <rankshare/mpi/peer_buffers.hpp>
#include <support/device_fixture.hpp>
#include <support/throws.hpp>

namespace rankshare::test {
namespace {

using DeviceSharingTest = device_fixture;

TEST_P(DeviceSharingTest, EveryRankReadsEveryPeersBytes) {
  auto const memory = make_memory();
  for (auto const bytes : {std::size_t{1}, std::size_t{4097}, std::size_t{3} << 20}) {
    auto mine = memory.allocate(bytes + static_cast<std::size_t>(rank_), *stream_);
    buffer staging;
    write_pattern(mine, staging, rank_);
    auto all = node_->share_all(mine, *stream_);  // waits for the copy
    for (int peer = 0; peer < size_; ++peer) {
      EXPECT_TRUE(has_pattern(all[peer], peer, bytes + static_cast<std::size_t>(peer)));
      EXPECT_EQ(all[peer].is_mapped(), peer != rank_);
      EXPECT_EQ(all[peer].is_device_accessible(), true);
      EXPECT_EQ(all[peer].is_host_accessible(), GetParam() == memory_kind::pinned);
    }
    node_->fence(*stream_);
  }
}

TEST_P(DeviceSharingTest, WritesOfPeersAreSeenAfterAFence) {
  auto const memory = make_memory();
  std::vector<buffer> mine;
  std::vector<mpi::peer_buffers> shared;
  for (int writer = 0; writer < size_; ++writer) {
    mine.push_back(memory.allocate(100'000, *stream_));
    mine.back().fill(std::byte{0}, *stream_);
    shared.push_back(node_->share_all(mine.back(), *stream_));
  }
  for (int peer = 0; peer < size_; ++peer) {
    shared[static_cast<std::size_t>(rank_)][peer].fill(std::byte(1 + rank_ + 16 * peer), *stream_);
  }
  node_->fence(*stream_);  // waits for the stream, then for all
  for (int writer = 0; writer < size_; ++writer) {
    auto const bytes = bytes_of(mine[static_cast<std::size_t>(writer)]);
    EXPECT_EQ(bytes.front(), std::byte(1 + writer + 16 * rank_));
    EXPECT_EQ(bytes.back(), std::byte(1 + writer + 16 * rank_));
  }
  shared.clear();
  node_->fence(*stream_);
}

TEST_P(DeviceSharingTest, EveryRankMayBeTheRoot) {
  auto const memory = make_memory();
  for (int root = 0; root < size_; ++root) {
    auto mine = memory.allocate(5000, *stream_);
    buffer staging;
    write_pattern(mine, staging, rank_);
    {
      auto const theirs = node_->share_from(rank_ == root ? &mine : nullptr, root, *stream_);
      EXPECT_TRUE(has_pattern(theirs, root, 5000));
    }
    node_->fence(*stream_);
  }
}

TEST_P(DeviceSharingTest, SizeZeroIsAValue) {
  auto const memory = make_memory();
  auto mine = memory.allocate(rank_ % 2 == 0 ? 0 : 77, *stream_);
  if (mine.size() != 0) mine.fill(std::byte{3}, *stream_);
  auto const all = node_->share_all(mine, *stream_);
  for (int peer = 0; peer < size_; ++peer) EXPECT_EQ(all[peer].size(), peer % 2 == 0 ? 0U : 77U);
  node_->fence(*stream_);
}

TEST_P(DeviceSharingTest, FurtherBuffersOfAPoolImportNoPool) {
  auto const memory = make_memory();
  auto first = memory.allocate(64, *stream_);
  auto const kept = node_->share_all(first, *stream_);
  EXPECT_EQ(checked_->calls("mem_pool_import_from_shareable_handle"),
            static_cast<std::size_t>(size_ - 1));
  checked_->reset_counts();
  for (int i = 0; i < 20; ++i) {
    auto const mine = memory.allocate(64, *stream_);
    auto const all = node_->share_all(mine, *stream_);
    node_->fence(*stream_);
  }
  EXPECT_EQ(checked_->calls("mem_pool_import_from_shareable_handle"), 0U);
  EXPECT_EQ(checked_->calls("mem_pool_set_access"), 0U);
  EXPECT_EQ(checked_->calls("mem_pool_import_pointer"), static_cast<std::size_t>(20 * (size_ - 1)));
  node_->fence(*stream_);
}

TEST_P(DeviceSharingTest, FenceTakesFewDriverCalls) {
  checked_->reset_counts();
  node_->fence(*stream_);
  EXPECT_EQ(checked_->calls("stream_is_capturing"), 1U);
  EXPECT_EQ(checked_->calls("stream_query"), 1U);
  EXPECT_EQ(checked_->total_calls(), 2U);
}

TEST_P(DeviceSharingTest, BuffersCloseInAnyOrderAndAfterTheNodeCommunicator) {
  auto memory = make_memory();
  auto mine = memory.allocate(5000, *stream_);
  buffer staging;
  write_pattern(mine, staging, rank_);
  auto all = node_->share_all(mine, *stream_);
  node_->fence(*stream_);
  node_.reset();
  memory.close();
  for (int peer = 0; peer < size_; ++peer) EXPECT_TRUE(has_pattern(all[peer], peer, 5000));
  MPI_Barrier(MPI_COMM_WORLD);
  mine.close();
  stream_.reset();
  all.close();
}

TEST_P(DeviceSharingTest, AResourceIsSharedBeforeItsBuffers) {
  auto const memory = make_memory();
  node_->share(memory);
  auto mine = memory.allocate(300, *stream_);
  buffer staging;
  write_pattern(mine, staging, rank_);
  auto const all = node_->share_all(mine, *stream_);
  for (int peer = 0; peer < size_; ++peer) EXPECT_TRUE(has_pattern(all[peer], peer, 300));
  node_->fence(*stream_);
}

TEST_P(DeviceSharingTest, AMistakeOfOneRankIsAnErrorOfAllAndNothingStays) {
  auto const memory = make_memory();
  auto mine = memory.allocate(1000, *stream_);
  int const last = size_ - 1;
  auto const not_shared = make_memory(false);
  auto const unshareable = not_shared.allocate(1000, *stream_);
  auto const share = [&] { node_->share_all(rank_ == last ? unshareable : mine, *stream_); };
  if (rank_ == last) {
    EXPECT_TRUE(throws<not_shareable>(share, "ipc_enabled"));
  } else {
    EXPECT_TRUE(throws<mpi::remote_error>(share, "rank " + std::to_string(last), "ipc_enabled"));
  }
  node_->fence(*stream_);
}

TEST_P(DeviceSharingTest, AFailedImportOfOneRankIsAnErrorOfAllAndNothingStays) {
  if (size_ == 1) return;  // it imports nothing
  auto const memory = make_memory();
  auto const mine = memory.allocate(1000, *stream_);
  for (auto const* const function : {"mem_pool_import_from_shareable_handle", "mem_pool_set_access",
                                     "mem_pool_import_pointer"}) {
    if (rank_ == 0) {
      checked_->fail_call(function, 1, [] { throw not_supported("planted"); });
      EXPECT_TRUE(throws<not_supported>([&] { node_->share_all(mine, *stream_); }, "planted"));
    } else {
      EXPECT_TRUE(throws<mpi::remote_error>([&] { node_->share_all(mine, *stream_); }, "rank 0",
                                            "planted"));
    }
    EXPECT_EQ(checked_->live_objects()["imports"], 0U) << function;
    EXPECT_EQ(checked_->live_objects()["imported pools"], 0U) << function;
  }
  auto const all = node_->share_all(mine, *stream_);
  node_->fence(*stream_);
}

TEST_P(DeviceSharingTest, AStreamOfTheHostDoesNotServeMemoryOfAGpu) {
  stream const host(device::host());
  auto const memory = make_memory();
  EXPECT_TRUE(throws<invalid_argument>([&] { memory.allocate(10, host); }, "another device",
                                       "resource.device()"));
}

TEST_P(DeviceSharingTest, HostMemoryTakesAStreamOfAGpu) {
  host_memory_resource const memory;
  auto const mine = memory.allocate(100, *stream_);
  std::memset(mine.data(), rank_, 100);
  auto const all = node_->share_all(mine, *stream_);
  for (int peer = 0; peer < size_; ++peer) EXPECT_EQ(all.pointer<char>(peer)[99], peer);
  node_->fence(*stream_);
}

INSTANTIATE_TEST_SUITE_P(Kinds, DeviceSharingTest,
                         testing::Values(memory_kind::device, memory_kind::pinned),
                         [](auto const& of) {
                           return of.param == memory_kind::device ? "Device" : "Pinned";
                         });

}  // namespace
}  // namespace rankshare::test
