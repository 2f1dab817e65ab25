// SPDX-License-Identifier: Apache-2.0
#include <rankshare/driver/host_block_map.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <vector>

namespace rankshare::detail {
namespace {

using page = host_block_map::page;

TEST(HostBlockMapTest, TakesTheWholeRangeOnce) {
  host_block_map map(100);
  EXPECT_EQ(map.take(100), page{0});
  EXPECT_EQ(map.taken(), 1U);
  EXPECT_EQ(map.take(1), std::nullopt);
  EXPECT_TRUE(map.give_back(0));
  EXPECT_EQ(map.taken(), 0U);
  EXPECT_EQ(map.take(100), page{0});
}

TEST(HostBlockMapTest, RefusesNothingAndTooMuch) {
  host_block_map map(100);
  EXPECT_EQ(map.take(0), std::nullopt);
  EXPECT_EQ(map.take(101), std::nullopt);
  EXPECT_EQ(map.take(~page{0}), std::nullopt);
  EXPECT_EQ(map.high_water(), 0U);
}

TEST(HostBlockMapTest, ServesARangeOfOnePage) {
  host_block_map map(1);
  EXPECT_EQ(map.take(1), page{0});
  EXPECT_EQ(map.take(1), std::nullopt);
  EXPECT_TRUE(map.give_back(0));
  EXPECT_EQ(map.take(1), page{0});
}

TEST(HostBlockMapTest, ServesTheLargestRange) {
  host_block_map map(page{1} << 34);  // 2^46 bytes of 4 KiB pages
  EXPECT_EQ(map.take(page{1} << 33), page{0});
  EXPECT_EQ(map.take((page{1} << 33) + 1), std::nullopt);
  EXPECT_EQ(map.take(page{1} << 33), page{1} << 33);
  EXPECT_TRUE(map.give_back(0));
  EXPECT_TRUE(map.give_back(page{1} << 33));
  EXPECT_EQ(map.take(page{1} << 34), page{0});
}

TEST(HostBlockMapTest, GivesBackOnlyWhatBeginsThere) {
  host_block_map map(100);
  auto const first = map.take(10);
  ASSERT_TRUE(first);
  EXPECT_FALSE(map.give_back(*first + 1));
  EXPECT_FALSE(map.give_back(100));
  EXPECT_FALSE(map.give_back(~page{0}));
  EXPECT_TRUE(map.give_back(*first));
  EXPECT_FALSE(map.give_back(*first));
}

TEST(HostBlockMapTest, FindsWhatIsTaken) {
  host_block_map map(100);
  auto const first = map.take(10);
  ASSERT_TRUE(first);
  auto const found = map.find(*first);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, *first);
  EXPECT_EQ(found->count, 10U);
  EXPECT_FALSE(map.find(*first + 1));
  EXPECT_FALSE(map.find(100));
  map.give_back(*first);
  EXPECT_FALSE(map.find(*first));
}

TEST(HostBlockMapTest, NeighboursAreMergedInAnyOrder) {
  std::vector<int> order = {0, 1, 2, 3};
  do {
    host_block_map map(40);
    std::vector<page> first;
    for (int i = 0; i < 4; ++i) first.push_back(map.take(10).value());
    for (int const i : order) EXPECT_TRUE(map.give_back(first[static_cast<std::size_t>(i)]));
    EXPECT_EQ(map.take(40), page{0});
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(HostBlockMapTest, UndoRestoresTheHighWaterMark) {
  host_block_map map(100);
  map.take(10);
  auto const former = map.high_water();
  auto const second = map.take(50);
  ASSERT_TRUE(second);
  EXPECT_EQ(map.high_water(), 60U);
  map.undo_take(*second, former);
  EXPECT_EQ(map.high_water(), 10U);
  EXPECT_EQ(map.taken(), 1U);
  EXPECT_EQ(map.take(90), page{10});
}

// What a plain map from the first page to the number of pages says.
class reference_model {
 public:
  explicit reference_model(page pages) : pages_(pages) {}

  bool is_free(page first, page count) const {
    if (first + count > pages_) return false;
    auto const after = blocks_.lower_bound(first);
    if (after != blocks_.end() && after->first < first + count) return false;
    if (after == blocks_.begin()) return true;
    auto const before = std::prev(after);
    return before->first + before->second <= first;
  }

  page largest_gap() const {
    page largest = 0;
    page end = 0;
    for (auto const& [first, count] : blocks_) {
      largest = std::max(largest, first - end);
      end = first + count;
    }
    return std::max(largest, pages_ - end);
  }

  void take(page first, page count) {
    blocks_.emplace(first, count);
    high_water_ = std::max(high_water_, first + count);
  }

  page give_back_any(std::size_t number) {
    auto const chosen = std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(number));
    auto const first = chosen->first;
    blocks_.erase(chosen);
    return first;
  }

  std::size_t taken() const { return blocks_.size(); }
  page high_water() const { return high_water_; }
  std::map<page, page> const& blocks() const { return blocks_; }

 private:
  page pages_;
  page high_water_ = 0;
  std::map<page, page> blocks_;
};

// Sizes of all orders: most are small, few are a large part of the range.
page random_count(std::mt19937_64& random, page pages) {
  auto const bits = std::uniform_int_distribution<int>(0, 13)(random);
  return std::min(pages, 1 + random() % (page{1} << bits));
}

void follow_random_trace(page pages, std::size_t most_blocks, int steps, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  host_block_map map(pages);
  reference_model model(pages);
  for (int step = 0; step < steps; ++step) {
    bool const gives_back =
        model.taken() >= most_blocks || (model.taken() > 0 && random() % 2 == 0);
    if (gives_back) {
      ASSERT_TRUE(map.give_back(model.give_back_any(random() % model.taken()))) << step;
    } else {
      auto const count = random_count(random, pages);
      auto const first = map.take(count);
      if (first) {
        ASSERT_TRUE(model.is_free(*first, count)) << step;
        model.take(*first, count);
      } else {
        ASSERT_LT(model.largest_gap(), count) << step;
      }
    }
    ASSERT_EQ(map.taken(), model.taken()) << step;
    ASSERT_EQ(map.high_water(), model.high_water()) << step;
  }
  for (auto const& [first, count] : model.blocks()) {
    auto const found = map.find(first);
    ASSERT_TRUE(found);
    ASSERT_EQ(found->count, count);
    ASSERT_TRUE(map.give_back(first));
  }
  EXPECT_EQ(map.take(pages), page{0}) << "the blocks are not merged";
}

TEST(HostBlockMapTest, FollowsARandomTraceInAWideRange) {
  follow_random_trace(page{1} << 30, 100, 50000, 1);
}

TEST(HostBlockMapTest, FollowsARandomTraceInACrowdedRange) {
  follow_random_trace(20000, 100, 50000, 2);
}

}  // namespace
}  // namespace rankshare::detail
