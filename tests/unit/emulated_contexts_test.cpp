// SPDX-License-Identifier: Apache-2.0
#include <rankshare/driver/emulated_contexts.hpp>

#include <gtest/gtest.h>

#include <thread>

#include <rankshare/base/error.hpp>
#include <support/throws.hpp>

namespace rankshare::detail {
namespace {

using test::throws;

CUctx_st* context_of_device_1() { return emulated_contexts(2).of(1); }

TEST(EmulatedContextsTest, OneIsAlwaysCurrent) {
  EXPECT_NE(emulated_contexts(0).current(), nullptr);
  EXPECT_EQ(emulated_contexts(0).current_device(), -1);
  EXPECT_NE(emulated_contexts(2).current(), nullptr);
  EXPECT_EQ(emulated_contexts(2).current_device(), 0);
  EXPECT_EQ(emulated_contexts(2).current(), emulated_contexts(2).of(0));
  EXPECT_NE(emulated_contexts(2).current(), emulated_contexts(0).current());
}

TEST(EmulatedContextsTest, LastPushedIsCurrent) {
  emulated_contexts const contexts(2);
  auto* const first = contexts.current();
  contexts.push(context_of_device_1());
  EXPECT_EQ(contexts.current(), context_of_device_1());
  EXPECT_EQ(contexts.current_device(), 1);
  contexts.push(first);
  EXPECT_EQ(contexts.current(), first);
  EXPECT_EQ(contexts.current_device(), 0);
  contexts.pop();
  EXPECT_EQ(contexts.current_device(), 1);
  contexts.pop();
  EXPECT_EQ(contexts.current_device(), 0);
}

TEST(EmulatedContextsTest, HostHasOneToPushWhereThereAreNoDevices) {
  emulated_contexts const none(0);
  none.push(none.current());
  EXPECT_EQ(none.current_device(), -1);
  none.pop();
}

TEST(EmulatedContextsTest, EachThreadHasItsOwn) {
  emulated_contexts const contexts(2);
  contexts.push(context_of_device_1());
  std::thread([&] {
    EXPECT_EQ(contexts.current_device(), 0);
    EXPECT_TRUE(throws<invalid_argument>([&] { contexts.pop(); }, "popping a context"));
  }).join();
  contexts.pop();
}

TEST(EmulatedContextsTest, OnlyContextsOfItsDevicesArePushed) {
  int other = 0;
  for (auto* const wrong : {static_cast<CUctx_st*>(nullptr), reinterpret_cast<CUctx_st*>(&other),
                            context_of_device_1(), emulated_contexts(0).current()}) {
    EXPECT_TRUE(throws<invalid_argument>([&] { emulated_contexts(1).push(wrong); },
                                         "pushing a context", "ctx_get_current"));
  }
  EXPECT_TRUE(throws<invalid_argument>(
      [] { emulated_contexts(0).push(emulated_contexts(1).current()); }, "pushing a context"));
}

TEST(EmulatedContextsTest, PoppingTooManyIsAnError) {
  emulated_contexts const contexts(1);
  EXPECT_TRUE(throws<invalid_argument>([&] { contexts.pop(); }, "popping", "pushed none"));
}

TEST(EmulatedContextsTest, PushingTooManyIsAnError) {
  emulated_contexts const contexts(1);
  for (int i = 0; i < 64; ++i) contexts.push(contexts.current());
  EXPECT_TRUE(throws<invalid_argument>([&] { contexts.push(contexts.current()); }, "pushed 64"));
  for (int i = 0; i < 64; ++i) contexts.pop();
}

TEST(EmulatedContextsTest, ContextOfADeviceThatIsNotThereIsNotCurrent) {
  emulated_contexts const two(2);
  two.push(context_of_device_1());
  EXPECT_EQ(emulated_contexts(1).current_device(), 0);
  EXPECT_EQ(emulated_contexts(0).current_device(), -1);
  two.pop();
}

}  // namespace
}  // namespace rankshare::detail
