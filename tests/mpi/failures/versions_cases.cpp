// SPDX-License-Identifier: Apache-2.0
// Ranks with different versions of rankshare. This program is built with each of them, and
// versions_test.sh starts several builds as one job.
//
// VERSIONS_TEXTS in the environment: what every rank must read, separated by '|'
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>
#include <sstream>
#include <string>

#include <rankshare/base/version.hpp>
#include <rankshare/mpi/node_communicator.hpp>
#include <support/checked_host.hpp>
#include <support/throws.hpp>

namespace rankshare::test {
namespace {

class VersionsTest : public checked_host {};

TEST_F(VersionsTest, DifferentOnesAreRefusedOnEveryRankAndNamed) {
  char const* const wanted = std::getenv("VERSIONS_TEXTS");
  ASSERT_NE(wanted, nullptr);
  // Twice: what failed leaves the communicator as it was.
  for (int round = 0; round < 2; ++round) {
    std::istringstream texts(wanted);
    std::string text;
    while (std::getline(texts, text, '|')) {
      EXPECT_TRUE(throws<not_supported>([] { mpi::node_communicator node(MPI_COMM_WORLD); },
                                        "making a node communicator", version_string, text,
                                        "link all ranks with the same rankshare"));
    }
  }
}

}  // namespace
}  // namespace rankshare::test
