// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/statistics.hpp"

#include <gtest/gtest.h>

#include "tools/bench/number.hpp"

namespace rankshare::bench {
namespace {

TEST(SummaryTest, OfOneElementIsThatElement) {
  auto const found = summarize({7});

  EXPECT_EQ(found.min, 7);
  EXPECT_EQ(found.lower_quartile, 7);
  EXPECT_EQ(found.median, 7);
  EXPECT_EQ(found.upper_quartile, 7);
  EXPECT_EQ(found.max, 7);
}

TEST(SummaryTest, DoesNotDependOnTheOrder) {
  auto const found = summarize({5, 1, 4, 2, 3});

  EXPECT_EQ(found.min, 1);
  EXPECT_EQ(found.lower_quartile, 2);
  EXPECT_EQ(found.median, 3);
  EXPECT_EQ(found.upper_quartile, 4);
  EXPECT_EQ(found.max, 5);
}

TEST(SummaryTest, MedianOfAnEvenNumberIsBetweenTheTwoInTheMiddle) {
  auto const found = summarize({1, 2, 10, 20});

  EXPECT_DOUBLE_EQ(found.lower_quartile, 1.75);
  EXPECT_DOUBLE_EQ(found.median, 6);
  EXPECT_DOUBLE_EQ(found.upper_quartile, 12.5);
}

TEST(SummaryTest, OfNothingIsAnError) { EXPECT_THROW(summarize({}), std::invalid_argument); }

TEST(NumberTest, HasThreeDigitsOrAllInFrontOfThePoint) {
  EXPECT_EQ(number(0), "0");
  EXPECT_EQ(number(3), "3");
  EXPECT_EQ(number(0.98765), "0.988");
  EXPECT_EQ(number(3.204), "3.20");
  EXPECT_EQ(number(61.64), "61.6");
  EXPECT_EQ(number(117.5), "118");
  EXPECT_EQ(number(66641.2), "66641");
  EXPECT_EQ(number(1e300).find('.'), std::string::npos);
}

}  // namespace
}  // namespace rankshare::bench
