// SPDX-License-Identifier: Apache-2.0
#include <rankshare/handle/event.hpp>

#include <gtest/gtest.h>

#include <type_traits>
#include <utility>

#include <rankshare/base/error.hpp>
#include <rankshare/handle/stream.hpp>
#include <rankshare/memory/host_memory_resource.hpp>
#include <support/checked_host.hpp>
#include <support/throws.hpp>

namespace rankshare {
namespace {

static_assert(!std::is_copy_constructible_v<event>);
static_assert(std::is_nothrow_move_constructible_v<event>);

class EventTest : public test::checked_host {};

TEST_F(EventTest, OwnsOneEventOfTheDriver) {
  {
    event first(checked_, stream_ref::legacy_default());
    event const second(std::move(first));
    EXPECT_EQ(checked_.live_objects()["events"], 1U);
  }
  EXPECT_EQ(checked_.calls("event_create"), 1U);
  EXPECT_EQ(checked_.calls("event_destroy"), 1U);
}

TEST_F(EventTest, WaitsForWhatWasEnqueuedBeforeIt) {
  host_memory_resource const memory({1 << 20});
  stream const order(device::host());
  auto target = memory.allocate(1, order);
  checked_.hold_back(true);
  event point(checked_, order);
  target.fill(std::byte{1}, order);
  point.record(order);
  target.fill(std::byte{2}, order);
  EXPECT_EQ(*target.as<char>(), 0);
  point.synchronize();
  EXPECT_EQ(*target.as<char>(), 1);
  checked_.hold_back(false);
  EXPECT_EQ(*target.as<char>(), 2);
}

TEST_F(EventTest, FailureToMakeOneLeavesNothing) {
  checked_.fail_call("event_create", 1);
  EXPECT_TRUE(test::throws<out_of_memory>(
      [&] { event const made(checked_, stream_ref::legacy_default()); }, "event_create"));
}

}  // namespace
}  // namespace rankshare
