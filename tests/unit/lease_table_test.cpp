// SPDX-License-Identifier: Apache-2.0
#include <rankshare/ipc/lease_table.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <rankshare/base/error.hpp>
#include <support/throws.hpp>

namespace rankshare::detail {
namespace {

class LeaseTableTest : public testing::Test {
 protected:
  static constexpr std::uint32_t slots = 64;

  bool throws_in_child() {
    return bool(test::throws<not_shareable>([&] { table_.publish(); }, "forked from"));
  }

  std::vector<lease_word> words_ = std::vector<lease_word>(slots);
  lease_table table_{words_.data(), slots, nullptr};
  lease_view view_{words_.data(), slots};
};

TEST_F(LeaseTableTest, PublishedLeaseIsCurrentUntilRetired) {
  auto const held = table_.publish();
  EXPECT_FALSE(held.is_none());
  EXPECT_TRUE(view_.is_current(held));
  EXPECT_EQ(table_.published(), 1U);
  table_.retire(held);
  EXPECT_FALSE(view_.is_current(held));
  EXPECT_EQ(table_.published(), 0U);
}

TEST_F(LeaseTableTest, SlotIsUsedAgainUnderAnotherGeneration) {
  auto const first = table_.publish();
  table_.retire(first);
  auto const second = table_.publish();
  EXPECT_EQ(second.slot, first.slot);
  EXPECT_GT(second.generation, first.generation);
  EXPECT_FALSE(view_.is_current(first));
  EXPECT_TRUE(view_.is_current(second));
}

TEST_F(LeaseTableTest, RetiringTwiceIsNoHarm) {
  auto const first = table_.publish();
  table_.retire(first);
  table_.retire(first);
  auto const second = table_.publish();
  auto const third = table_.publish();
  EXPECT_NE(second.slot, third.slot);
  table_.retire(first);
  EXPECT_TRUE(view_.is_current(second));
  EXPECT_EQ(table_.published(), 2U);
}

TEST_F(LeaseTableTest, RetiringWhatWasNeverPublishedIsNoHarm) {
  table_.retire(lease{});
  table_.retire({slots + 1, 1});
  table_.retire({0, 1});
  EXPECT_EQ(table_.published(), 0U);
}

TEST_F(LeaseTableTest, NoOtherLeaseIsCurrent) {
  auto const held = table_.publish();
  EXPECT_FALSE(view_.is_current(lease{}));
  EXPECT_FALSE(view_.is_current({held.slot, 0}));
  EXPECT_FALSE(view_.is_current({held.slot, held.generation + 1}));
  EXPECT_FALSE(view_.is_current({held.slot + 1, held.generation}));
  EXPECT_FALSE(view_.is_current({slots, held.generation}));
  EXPECT_FALSE(view_.is_current({lease::no_slot - 1, held.generation}));
}

TEST_F(LeaseTableTest, EmptySlotIsNotCurrentUnderGeneration0) {
  EXPECT_FALSE(view_.is_current({3, 0}));
}

TEST_F(LeaseTableTest, FullTableIsAnErrorThatNamesItsSize) {
  std::vector<lease> held;
  for (std::uint32_t i = 0; i < slots; ++i) held.push_back(table_.publish());
  EXPECT_TRUE(test::throws<not_shareable>([&] { table_.publish(); }, "all 64 lease slots",
                                          "close buffers"));
  table_.retire(held.back());
  EXPECT_EQ(table_.publish().slot, held.back().slot);
}

TEST_F(LeaseTableTest, BelievesNothingThatOthersWrite) {
  auto const held = table_.publish();
  words_[held.slot] = 1000;
  EXPECT_FALSE(view_.is_current(held));
  table_.retire(held);
  auto const next = table_.publish();
  EXPECT_EQ(next.slot, held.slot);
  EXPECT_TRUE(view_.is_current(next));
}

TEST_F(LeaseTableTest, ForkedChildEndsNoLease) {
  auto const held = table_.publish();
  pid_t const child = ::fork();
  if (child == 0) {
    table_.retire(held);
    ::_exit(view_.is_current(held) && throws_in_child() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(view_.is_current(held));
}

TEST_F(LeaseTableTest, SeveralThreadsNeverShareALease) {
  constexpr int threads = 4;
  constexpr int rounds = 1000;
  std::vector<std::vector<std::pair<std::uint32_t, std::uint64_t>>> seen(threads);
  std::vector<std::thread> running;
  for (auto& mine : seen) {
    running.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) {
        auto const held = table_.publish();
        EXPECT_TRUE(view_.is_current(held));
        mine.emplace_back(held.slot, held.generation);
        table_.retire(held);
        EXPECT_FALSE(view_.is_current(held));
      }
    });
  }
  for (auto& thread : running) thread.join();
  std::set<std::pair<std::uint32_t, std::uint64_t>> all;
  for (auto const& mine : seen) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), static_cast<std::size_t>(threads) * rounds);
  EXPECT_EQ(table_.published(), 0U);
}

TEST(LeaseTableOwnershipTest, KeepsItsMemoryMapped) {
  auto memory = std::make_shared<std::vector<lease_word>>(1);
  std::weak_ptr<void> const watched = memory;
  {
    auto* const words = memory->data();
    lease_table table(words, 1, std::move(memory));
    EXPECT_FALSE(watched.expired());
    table.publish();
  }
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace rankshare::detail
