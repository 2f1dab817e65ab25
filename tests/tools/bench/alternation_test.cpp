// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/alternation.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rankshare::bench {
namespace {

/// Writes down what is called.
class noted_side final : public side {
 public:
  noted_side(std::string name, std::string& notes) : side(std::move(name)), notes_(notes) {}

  void prepare() override { notes_ += name() + "("; }
  void run() override { notes_ += "."; }
  void verify() override { notes_ += "v"; }
  void finish() override { notes_ += ")"; }
  int operations() const override { return 10; }

 private:
  std::string& notes_;
};

TEST(AlternateTest, TakesTurnsAfterARoundThatIsVerifiedAndDoesNotCount) {
  std::string notes;
  noted_side a("a", notes);
  noted_side b("b", notes);

  auto const times = alternate(rank_group(), {&a, &b}, 3);

  EXPECT_EQ(notes,
            "a(.v)b(.v)"
            "a(.)b(.)"
            "b(.)a(.)"
            "a(.)b(.)");
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0].name, "a");
  EXPECT_EQ(times[0].seconds.size(), 3U);
  EXPECT_EQ(times[1].name, "b");
  EXPECT_EQ(times[1].seconds.size(), 3U);
}

TEST(MedianTest, IsInTheUnitThatIsAskedFor) {
  auto const found = median_of({"ours", {3e-6, 1e-6, 2e-6}}, "us", 1e6);

  EXPECT_EQ(found.name, "ours");
  EXPECT_DOUBLE_EQ(found.amount, 2);
  EXPECT_EQ(found.unit, "us");
  ASSERT_TRUE(found.spread);
  EXPECT_DOUBLE_EQ(found.spread->max, 3);
}

TEST(RatioTest, IsThatOfTheMedians) {
  auto const found = ratio_of("ratio", {"ours", {1, 6, 7}}, {"baseline", {2, 3, 100}});

  EXPECT_DOUBLE_EQ(found.amount, 2);
  EXPECT_EQ(found.unit, "ratio");
}

TEST(RatioTest, OfARankWithoutTimesIsNothing) {
  EXPECT_EQ(ratio_of("ratio", {"ours", {}}, {"baseline", {}}).name, "");
  EXPECT_EQ(median_of({"ours", {}}, "us", 1e6).name, "");
}

}  // namespace
}  // namespace rankshare::bench
