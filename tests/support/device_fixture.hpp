// SPDX-License-Identifier: Apache-2.0
/// @file
/// A fixture for tests under mpirun of memory that GPUs reach: the GPUs of this machine, or
/// emulated ones. All must be as before at the end of each case.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <rankshare/base/error.hpp>
#include <rankshare/driver/driver.hpp>
#include <rankshare/driver/gpu_driver.hpp>
#include <rankshare/handle/device.hpp>
#include <rankshare/handle/stream.hpp>
#include <rankshare/memory/buffer.hpp>
#include <rankshare/memory/device_memory_resource.hpp>
#include <rankshare/memory/host_memory_resource.hpp>
#include <rankshare/memory/pinned_memory_resource.hpp>
#include <rankshare/mpi/node_communicator.hpp>
#include <support/checked_driver.hpp>
#include <support/leftovers.hpp>
#include <support/settle.hpp>

namespace rankshare::test {

/// Derive the fixture of a test from it; the parameter is the kind of memory. A case closes what it
/// made before it ends.
class device_fixture : public testing::TestWithParam<memory_kind> {
 protected:
  void SetUp() override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    int mine = device::count();
    int fewest = 0;
    MPI_Allreduce(&mine, &fewest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (fewest == 0) GTEST_SKIP() << "no GPU: " << device::why_no_gpu();
    mpi::node_communicator const board_maker(MPI_COMM_WORLD);  // its board stays with the world
    where_.emplace(board_maker.device());
    inner_ = &where_->driver();
    settle(*inner_, where_->id());  // now it has opened what it needs for good
    checked_.emplace(*inner_);
    detail::replace_gpu_driver(&*checked_);
    where_.emplace(board_maker.device());
    before_.emplace(footprint::now(&*checked_));
    node_.emplace(MPI_COMM_WORLD);
    stream_.emplace(*where_);
  }

  void TearDown() override {
    if (!checked_) return;
    stream_.reset();
    node_.reset();
    EXPECT_EQ(checked_->violations(), std::vector<std::string>{});
    EXPECT_EQ(checked_->held_back(), 0U);
    EXPECT_EQ(checked_->aliased_imports(), 0U);
    MPI_Barrier(MPI_COMM_WORLD);  // peers have let go of what is to be taken back
    settle(*inner_, where_->id());
    EXPECT_TRUE(nothing_left_since(*before_));
    detail::replace_gpu_driver(nullptr);
    MPI_Barrier(MPI_COMM_WORLD);
  }

  pool_memory_resource make_memory(bool ipc_enabled = true) const {
    if (GetParam() == memory_kind::pinned) {
      return pinned_memory_resource(*where_, {-1, ipc_enabled});
    }
    return device_memory_resource(*where_, {ipc_enabled});
  }

  /// The byte at `offset` of what `rank` shares in these tests.
  static std::byte pattern(int rank, std::size_t offset) {
    return static_cast<std::byte>((static_cast<std::size_t>(rank) * 37 + offset * 11 + 5) & 0xFF);
  }

  /// Enqueues the pattern of `rank` on the fixture's stream; `staging` must live until it is done.
  void write_pattern(buffer& target, buffer& staging, int rank) {
    staging = host_.allocate(target.size());
    for (std::size_t i = 0; i < target.size(); ++i) {
      staging.as<std::byte>()[i] = pattern(rank, i);
    }
    target.copy_from(staging, *stream_);
  }

  testing::AssertionResult has_pattern(buffer const& source, int rank, std::size_t size) {
    if (source.size() != size) {
      return testing::AssertionFailure() << "size " << source.size() << ", not " << size;
    }
    auto const bytes = bytes_of(source);
    for (std::size_t i = 0; i < size; ++i) {
      if (bytes[i] == pattern(rank, i)) continue;
      return testing::AssertionFailure() << "wrong byte at offset " << i << " of rank " << rank;
    }
    return testing::AssertionSuccess();
  }

  /// @return the bytes, once the work on the fixture's stream is done
  std::vector<std::byte> bytes_of(buffer const& source) {
    auto copy = host_.allocate(source.size());
    source.copy_to(copy, *stream_);
    stream_->synchronize();
    auto const* const first = copy.as<std::byte>();
    return {first, first + copy.size()};
  }

  int rank_ = -1;
  int size_ = 0;
  std::optional<device> where_;
  std::optional<checked_driver> checked_;

 private:
  driver* inner_ = nullptr;
  host_memory_resource host_;
  std::optional<footprint> before_;

 protected:
  std::optional<mpi::node_communicator> node_;
  std::optional<stream> stream_;
};

}  // namespace rankshare::test
