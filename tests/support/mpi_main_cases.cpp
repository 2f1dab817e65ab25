// SPDX-License-Identifier: Apache-2.0
// Cases with planted results, by which mpi_main_test.sh sees how the ranks' results are merged.
#include <gtest/gtest.h>
#include <mpi.h>

#include <stdexcept>

namespace {

int rank() {
  int number = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &number);
  return number;
}

TEST(Planted, PassesEverywhere) {}

TEST(Planted, FailsOnRank1) { EXPECT_NE(rank(), 1) << "planted text"; }

TEST(Planted, ThrowsOnRank0) {
  if (rank() == 0) throw std::runtime_error("planted exception");
}

TEST(Planted, IsSkippedOnRank1) {
  if (rank() == 1) GTEST_SKIP() << "planted reason";
}

TEST(Planted, IsSkippedEverywhere) { GTEST_SKIP() << "planted for all"; }

TEST(Planted, FailsOnRank0AndIsSkippedOnRank1) {
  if (rank() == 1) GTEST_SKIP() << "planted reason";
  EXPECT_NE(rank(), 0);
}

TEST(Planted, HasThreadLevelMultiple) {
  int level = 0;
  MPI_Query_thread(&level);
  EXPECT_EQ(level, MPI_THREAD_MULTIPLE);
}

}  // namespace
