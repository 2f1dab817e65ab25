// SPDX-License-Identifier: Apache-2.0
#include <rankshare/ipc/published_leases.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include <rankshare/base/error.hpp>
#include <support/throws.hpp>

namespace rankshare::detail {
namespace {

class PublishedLeasesTest : public testing::Test {
 protected:
  static std::shared_ptr<lease_table> make_table(std::vector<lease_word>& words) {
    return std::make_shared<lease_table>(words.data(), static_cast<std::uint32_t>(words.size()),
                                         nullptr);
  }

  std::vector<lease_word> first_words_ = std::vector<lease_word>(2);
  std::vector<lease_word> second_words_ = std::vector<lease_word>(2);
  std::shared_ptr<lease_table> first_ = make_table(first_words_);
  std::shared_ptr<lease_table> second_ = make_table(second_words_);
};

TEST_F(PublishedLeasesTest, HoldsOneLeaseInEachTable) {
  published_leases leases;
  auto const one = leases.in(first_);
  auto const again = leases.in(first_);
  EXPECT_EQ(one.slot, again.slot);
  EXPECT_EQ(one.generation, again.generation);
  leases.in(second_);
  EXPECT_EQ(first_->published(), 1U);
  EXPECT_EQ(second_->published(), 1U);
}

TEST_F(PublishedLeasesTest, RetiresAll) {
  published_leases leases;
  auto const one = leases.in(first_);
  leases.in(second_);
  leases.retire_all();
  EXPECT_EQ(first_->published(), 0U);
  EXPECT_EQ(second_->published(), 0U);
  EXPECT_FALSE((lease_view{first_words_.data(), 2}.is_current(one)));
  EXPECT_NE(leases.in(first_).generation, one.generation);
}

TEST_F(PublishedLeasesTest, RetiresAllAtItsEnd) {
  { published_leases{}.in(first_); }
  EXPECT_EQ(first_->published(), 0U);
}

TEST_F(PublishedLeasesTest, FullTableLeavesNothing) {
  published_leases one, two, three;
  one.in(first_);
  two.in(first_);
  EXPECT_TRUE(test::throws<not_shareable>([&] { three.in(first_); }, "all 2 lease slots"));
  three.in(second_);
  one.retire_all();
  three.in(first_);
  EXPECT_EQ(first_->published(), 2U);
}

TEST_F(PublishedLeasesTest, KeepsNoTableAndForgetsThoseThatAreGone) {
  std::weak_ptr<void> const watched = first_;
  published_leases leases;
  leases.in(first_);
  first_.reset();
  EXPECT_TRUE(watched.expired());
  auto const held = leases.in(second_);
  EXPECT_EQ(leases.in(second_).generation, held.generation);
  leases.retire_all();
  EXPECT_EQ(second_->published(), 0U);
}

TEST_F(PublishedLeasesTest, SeveralThreadsGetOneLease) {
  published_leases leases;
  std::vector<lease> got(4);
  std::vector<std::thread> threads;
  for (auto& mine : got) threads.emplace_back([&] { mine = leases.in(first_); });
  for (auto& thread : threads) thread.join();
  for (auto const& mine : got) EXPECT_EQ(mine.generation, got[0].generation);
  EXPECT_EQ(first_->published(), 1U);
}

}  // namespace
}  // namespace rankshare::detail
