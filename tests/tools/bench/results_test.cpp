// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/results.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

namespace rankshare::bench {
namespace {

TEST(ResultsTest, AreReadAsTheyWereWritten) {
  row ran;
  ran.key = "a";
  ran.ranks = 8;
  ran.found.repetitions = 15;
  ran.found.values = {{"ours", 3, "us", summary{1, 2, 3, 4, 5}}, {"ratio", 0.5, "ratio", {}}};
  row skipped;
  skipped.key = "b";
  skipped.skipped = "no \"reason\"";
  auto const path = testing::TempDir() + "/results.json";

  write_results(path, {machine_facts::now(), {ran, skipped}});
  auto const found = read_results(path);

  EXPECT_GT(found.machine.cores, 0);
  EXPECT_FALSE(found.machine.mpi.empty());
  ASSERT_EQ(found.rows.size(), 2U);
  auto const& first = found.rows[0];
  EXPECT_EQ(first.ranks, 8);
  EXPECT_EQ(first.found.repetitions, 15);
  ASSERT_EQ(first.found.values.size(), 2U);
  EXPECT_EQ(first.found.values[0].name, "ours");
  ASSERT_TRUE(first.found.values[0].spread);
  EXPECT_EQ(first.found.values[0].spread->upper_quartile, 4);
  EXPECT_FALSE(first.found.values[1].spread);
  EXPECT_EQ(found.rows[1].skipped, "no \"reason\"");
  EXPECT_EQ(found.find("b"), &found.rows[1]);
  EXPECT_EQ(found.find("c"), nullptr);
}

TEST(ResultsTest, OfAnotherShapeAreAnError) {
  auto const path = testing::TempDir() + "/other.json";
  std::ofstream(path) << "{\"rows\": []}";

  EXPECT_THROW(read_results(path), std::runtime_error);
  EXPECT_THROW(read_results(path + ".not"), std::runtime_error);
  EXPECT_THROW(write_results("/no/such/folder/results.json", {}), std::runtime_error);
}

}  // namespace
}  // namespace rankshare::bench
