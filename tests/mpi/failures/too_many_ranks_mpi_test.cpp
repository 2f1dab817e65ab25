// SPDX-License-Identifier: Apache-2.0
// One rank more than a board holds.
#include <gtest/gtest.h>
#include <mpi.h>

#include <rankshare/handle/stream_ref.hpp>
#include <rankshare/mpi/node_communicator.hpp>
#include <support/checked_host.hpp>
#include <support/leftovers.hpp>
#include <support/throws.hpp>

namespace rankshare::test {
namespace {

class TooManyRanksTest : public checked_host {};

TEST_F(TooManyRanksTest, AreRefusedAndOneFewerWorks) {
  int size = 0;
  int rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  ASSERT_EQ(size, 257);
  auto const before = footprint::now(&checked_);

  EXPECT_TRUE(throws<not_supported>([] { mpi::node_communicator node(MPI_COMM_WORLD); },
                                    "257 ranks are on one node", "a board holds 256",
                                    "split the communicator into smaller ones"));
  EXPECT_TRUE(nothing_left_since(before));

  MPI_Comm fewer = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 256 ? MPI_UNDEFINED : 0, rank, &fewer);
  if (fewer == MPI_COMM_NULL) return;
  {
    mpi::node_communicator node(fewer);
    EXPECT_EQ(node.local_size(), 256);
    for (int round = 0; round < 3; ++round) node.fence(stream_ref::legacy_default());
  }
  MPI_Comm_free(&fewer);
}

}  // namespace
}  // namespace rankshare::test
