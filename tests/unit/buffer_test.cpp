// SPDX-License-Identifier: Apache-2.0
// What holds for buffers of every kind; those of pools have the conformance suite.
#include <rankshare/memory/buffer.hpp>

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <utility>

#include <rankshare/base/error.hpp>
#include <rankshare/handle/stream.hpp>
#include <rankshare/memory/buffer_access.hpp>
#include <rankshare/memory/host_memory_resource.hpp>
#include <support/checked_host.hpp>
#include <support/throws.hpp>

namespace rankshare {
namespace {

using test::throws;

static_assert(!std::is_copy_constructible_v<buffer>);
static_assert(!std::is_copy_assignable_v<buffer>);
static_assert(std::is_nothrow_default_constructible_v<buffer>);
static_assert(std::is_nothrow_move_constructible_v<buffer>);
static_assert(std::is_nothrow_move_assignable_v<buffer>);

class BufferTest : public test::checked_host {
 protected:
  static void expect_closed(buffer const& closed) {
    EXPECT_TRUE(closed.is_closed());
    EXPECT_EQ(closed.handle(), 0U);
    EXPECT_EQ(closed.data(), nullptr);
    EXPECT_EQ(closed.as<double>(), nullptr);
    EXPECT_EQ(closed.size(), 0U);
    EXPECT_EQ(closed.capacity(), 0U);
    EXPECT_EQ(closed.device_id(), -1);
    EXPECT_FALSE(closed.is_mapped());
    EXPECT_FALSE(closed.is_managed());
    EXPECT_FALSE(closed.is_host_accessible());
    EXPECT_FALSE(closed.is_device_accessible());
  }

  host_memory_resource make_resource() const { return host_memory_resource({1 << 20}); }
};

TEST_F(BufferTest, DefaultIsClosed) { expect_closed(buffer()); }

TEST_F(BufferTest, ClosedOneHasNoProperties) {
  auto made = make_resource().allocate(100);
  made.close();
  expect_closed(made);
  made.close();
  made.close(stream_ref::legacy_default());
  expect_closed(made);
  EXPECT_EQ(checked_.calls("mem_free_async"), 1U);
}

TEST_F(BufferTest, ClosedOneIsAnErrorInUse) {
  buffer closed;
  EXPECT_TRUE(throws<closed_error>([&] { (void)closed.ipc_descriptor(); }, "describing a buffer",
                                   "closed or moved from"));
  EXPECT_TRUE(throws<closed_error>([&] { (void)closed.memory_resource(); },
                                   "asking a buffer for its memory resource"));
  EXPECT_TRUE(throws<closed_error>([&] { closed.fill({}, stream_ref::legacy_default()); },
                                   "filling a buffer"));
}

TEST_F(BufferTest, MovedFromIsClosed) {
  auto first = make_resource().allocate(100);
  auto const address = first.handle();
  buffer second(std::move(first));
  expect_closed(first);
  EXPECT_EQ(second.handle(), address);
  EXPECT_EQ(second.size(), 100U);
  buffer third;
  third = std::move(second);
  expect_closed(second);
  EXPECT_EQ(third.handle(), address);
  EXPECT_EQ(checked_.live_objects()["allocations"], 1U);
}

TEST_F(BufferTest, MoveAssignmentClosesTheFormerOne) {
  auto const memory = make_resource();
  auto first = memory.allocate(100);
  auto second = memory.allocate(200);
  first = std::move(second);
  EXPECT_EQ(first.size(), 200U);
  EXPECT_EQ(checked_.live_objects()["allocations"], 1U);
}

TEST_F(BufferTest, SelfMoveKeepsIt) {
  auto made = make_resource().allocate(100);
  auto& same = made;
  made = std::move(same);
  EXPECT_FALSE(made.is_closed());
  EXPECT_EQ(made.size(), 100U);
}

TEST_F(BufferTest, IsFreedOnTheStreamItWasAllocatedOn) {
  auto const memory = make_resource();
  stream const first(device::host());
  stream const second(device::host());
  auto made = memory.allocate(1, first);
  checked_.hold_back(true);
  made.close();
  EXPECT_FALSE(first.is_idle());
  EXPECT_TRUE(second.is_idle());
  first.synchronize();
}

TEST_F(BufferTest, IsFreedOnTheStreamThatCloseNames) {
  auto const memory = make_resource();
  stream const first(device::host());
  stream const second(device::host());
  auto made = memory.allocate(1, first);
  checked_.hold_back(true);
  made.close(second);
  EXPECT_TRUE(first.is_idle());
  EXPECT_FALSE(second.is_idle());
  second.synchronize();
}

TEST_F(BufferTest, MemoryGoesWithTheLastAlias) {
  auto first = make_resource().allocate(100);
  auto second = detail::buffer_access::alias(first);
  EXPECT_EQ(second.handle(), first.handle());
  first.close();
  EXPECT_EQ(checked_.calls("mem_free_async"), 0U);
  EXPECT_EQ(second.size(), 100U);
  second.close();
  EXPECT_EQ(checked_.calls("mem_free_async"), 1U);
}

TEST_F(BufferTest, AddressOfAWrongAlignmentIsAnError) {
  auto const memory = make_resource();
  auto const owner = memory.allocate(100);
  EXPECT_NO_THROW((void)owner.as<double>());
  auto content = owner.ipc_descriptor().content();
  content.offset = 1;
  content.size = 99;
  auto const seen = buffer::from_ipc_descriptor(
      host_memory_resource::from_allocation_handle(memory.allocation_handle()),
      buffer_descriptor(content), stream_ref::legacy_default());
  EXPECT_EQ(seen.as<char>(), seen.data());
  EXPECT_TRUE(throws<invalid_argument>([&] { (void)seen.as<double>(); }, "buffer of 99 bytes",
                                       "address " + std::to_string(seen.handle()), "alignment 8",
                                       "use data()"));
}

TEST_F(BufferTest, FailureToFreeIsReportedAndNotThrown) {
  expect_reports();
  auto memory = make_resource();
  auto made = memory.allocate(100, stream_ref::legacy_default());
  auto const address = made.handle();
  checked_.fail_call("mem_free_async", 1);
  EXPECT_NO_THROW(made.close());
  EXPECT_TRUE(made.is_closed());
  EXPECT_NE(log_.text().find("closing a buffer of host memory: planted failure"),
            std::string::npos);
  memory.deallocate(address, 100, stream_ref::legacy_default());
}

}  // namespace
}  // namespace rankshare
