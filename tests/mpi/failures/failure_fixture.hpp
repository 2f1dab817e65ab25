// SPDX-License-Identifier: Apache-2.0
/// @file
/// A fixture for cases in which a node communicator may break: each has a communicator of its own.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <mpi/failures/expectations.hpp>
#include <mpi/failures/rank_watch.hpp>
#include <rankshare/handle/stream_ref.hpp>
#include <rankshare/memory/host_memory_resource.hpp>
#include <rankshare/mpi/node_communicator.hpp>
#include <support/checked_host.hpp>
#include <support/leftovers.hpp>
#include <support/throws.hpp>

namespace rankshare::test {

/// At the end of a case all must be as before: with the board still there, and once more, after
/// its communicator was freed, as at the beginning.
class failure_fixture : public checked_host {
 protected:
  failure_fixture() {
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator_);
    MPI_Comm_rank(communicator_, &rank_);
    MPI_Comm_size(communicator_, &size_);
    watch_.emplace(communicator_);
  }

  /// Builds the board of `communicator_`; from now on all is to be as it is then.
  void build_board() {
    { mpi::node_communicator const maker(communicator_); }
    built_.emplace(footprint::now(&checked_));
  }

  void TearDown() override {
    if (built_) {
      EXPECT_TRUE(nothing_left_since(*built_));
    }
    if (communicator_ != MPI_COMM_NULL) MPI_Comm_free(&communicator_);
    checked_host::TearDown();
  }

  std::vector<int> all_but(int rank) const {
    std::vector<int> ranks;
    for (int other = 0; other < size_; ++other) {
      if (other != rank) ranks.push_back(other);
    }
    return ranks;
  }

  static stream_ref stream() { return stream_ref::legacy_default(); }

  /// What a rank shares in these cases: `size` bytes, each its rank.
  static buffer make_buffer(host_memory_resource& memory, int rank, std::size_t size = 5000) {
    buffer made = memory.allocate(size, stream());
    made.fill(static_cast<std::byte>(rank), stream());
    return made;
  }

  static void expect_bytes(buffer const& shared, int rank, std::size_t size = 5000) {
    ASSERT_EQ(shared.size(), size);
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_EQ(shared.as<std::byte>()[i], static_cast<std::byte>(rank)) << "offset " << i;
    }
  }

  /// Shares a buffer of each rank of `node`, and reads all.
  static void expect_sharing_works(mpi::node_communicator& node) {
    host_memory_resource memory;
    buffer mine = make_buffer(memory, node.rank());
    auto all = node.share_all(mine, stream());
    for (int rank = 0; rank < node.size(); ++rank) expect_bytes(all[rank], rank);
    node.fence(stream());
  }

  /// Every collective of `node` throws `broken_communicator` with all `words`, and so does the
  /// constructor.
  template <class... Words>
  void expect_broken(mpi::node_communicator& node, Words const&... words) {
    host_memory_resource memory;
    buffer mine = make_buffer(memory, rank_);
    std::string const remedy = "make a new one from a new communicator of the ranks that are left";
    auto const broken = [&](auto const& call) {
      return throws<mpi::broken_communicator>(call, "is broken", remedy, words...);
    };
    EXPECT_TRUE(broken([&] { node.fence(stream()); }));
    EXPECT_TRUE(broken([&] { node.share(memory); }));
    EXPECT_TRUE(broken([&] { node.share_all(mine, stream()); }));
    EXPECT_TRUE(broken([&] { node.share_from(rank_ == 0 ? &mine : nullptr, 0, stream()); }));
    EXPECT_TRUE(broken([&] { mpi::node_communicator again(communicator_); }));
  }

  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = -1;
  int size_ = 0;
  std::optional<rank_watch> watch_;
  std::optional<footprint> built_;
};

}  // namespace rankshare::test
