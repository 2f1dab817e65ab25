// SPDX-License-Identifier: Apache-2.0
/// @file
/// A fixture for tests under mpirun: a node communicator of all ranks, and all as before at the
/// end.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <optional>
#include <vector>

#include <rankshare/driver/host_driver.hpp>
#include <rankshare/handle/device.hpp>
#include <rankshare/handle/stream.hpp>
#include <rankshare/memory/host_memory_resource.hpp>
#include <rankshare/mpi/node_communicator.hpp>
#include <support/captured_log.hpp>
#include <support/checked_driver.hpp>
#include <support/leftovers.hpp>
#include <support/scoped_host_driver.hpp>

namespace rankshare::test {

/// Derive the fixture of a test from it. A case closes what it made before it ends.
class node_fixture : public testing::Test {
 protected:
  void SetUp() override {
    mpi::node_communicator const board_maker(MPI_COMM_WORLD);  // its board stays with the world
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    before_.emplace(footprint::now(&checked_));
    node_.emplace(MPI_COMM_WORLD);
    stream_.emplace(device::host());
  }

  void TearDown() override {
    stream_.reset();
    node_.reset();
    EXPECT_EQ(checked_.violations(), std::vector<std::string>{});
    EXPECT_EQ(checked_.held_back(), 0U);
    EXPECT_TRUE(nothing_left_since(*before_));
    MPI_Barrier(MPI_COMM_WORLD);
  }

  /// The byte at `offset` of what `rank` shares in these tests.
  static std::byte pattern(int rank, std::size_t offset) {
    return static_cast<std::byte>((static_cast<std::size_t>(rank) * 37 + offset * 11 + 5) & 0xFF);
  }
  static void write_pattern(buffer const& target, int rank) {
    for (std::size_t i = 0; i < target.size(); ++i) target.as<std::byte>()[i] = pattern(rank, i);
  }
  static testing::AssertionResult has_pattern(buffer const& source, int rank, std::size_t size) {
    if (source.size() != size) {
      return testing::AssertionFailure() << "size " << source.size() << ", not " << size;
    }
    for (std::size_t i = 0; i < size; ++i) {
      if (source.as<std::byte>()[i] == pattern(rank, i)) continue;
      return testing::AssertionFailure() << "wrong byte at offset " << i << " of rank " << rank;
    }
    return testing::AssertionSuccess();
  }

 private:
  host_driver inner_;

 protected:
  checked_driver checked_{inner_};
  int rank_ = -1;
  int size_ = 0;

 private:
  scoped_host_driver installed_{checked_};
  std::optional<footprint> before_;

 protected:
  std::optional<mpi::node_communicator> node_;
  std::optional<stream> stream_;
};

}  // namespace rankshare::test
