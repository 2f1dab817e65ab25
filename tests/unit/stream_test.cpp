// SPDX-License-Identifier: Apache-2.0
#include <rankshare/handle/stream.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <type_traits>
#include <utility>

#include <rankshare/base/error.hpp>
#include <support/checked_host.hpp>
#include <support/throws.hpp>

namespace rankshare {
namespace {

using test::throws;

static_assert(!std::is_copy_constructible_v<stream>);
static_assert(std::is_nothrow_move_constructible_v<stream>);
static_assert(std::is_nothrow_move_assignable_v<stream>);

class StreamTest : public test::checked_host {};

TEST_F(StreamTest, OwnsOneStreamOfTheDriver) {
  {
    stream const made(device::host());
    EXPECT_FALSE(made.is_closed());
    EXPECT_NE(made.native_handle(), nullptr);
    EXPECT_EQ(made.device(), device::host());
    EXPECT_EQ(checked_.live_objects()["streams"], 1U);
  }
  EXPECT_EQ(checked_.calls("stream_create"), 1U);
  EXPECT_EQ(checked_.calls("stream_destroy"), 1U);
}

TEST_F(StreamTest, ConvertsToAReferenceThatKnowsItsDriver) {
  stream const made(device::host());
  stream_ref const reference = made;
  EXPECT_EQ(reference.native_handle(), made.native_handle());
  EXPECT_EQ(reference.served_by(), &checked_);
  EXPECT_FALSE(reference.is_default());
}

TEST_F(StreamTest, MovedFromIsClosed) {
  stream first(device::host());
  auto* const handle = first.native_handle();
  stream second(std::move(first));
  EXPECT_TRUE(first.is_closed());
  EXPECT_EQ(second.native_handle(), handle);
  stream third(device::host());
  third = std::move(second);
  EXPECT_TRUE(second.is_closed());
  EXPECT_EQ(third.native_handle(), handle);
  EXPECT_EQ(checked_.live_objects()["streams"], 1U);
}

TEST_F(StreamTest, SelfMoveKeepsIt) {
  stream made(device::host());
  auto& same = made;
  made = std::move(same);
  EXPECT_FALSE(made.is_closed());
}

TEST_F(StreamTest, CloseMayBeRepeated) {
  stream made(device::host());
  made.close();
  made.close();
  EXPECT_TRUE(made.is_closed());
  EXPECT_EQ(made.native_handle(), nullptr);
  EXPECT_EQ(checked_.calls("stream_destroy"), 1U);
}

TEST_F(StreamTest, ClosedOneIsAnErrorInUse) {
  stream made(device::host());
  made.close();
  auto const expect_closed = [](auto const& call) {
    EXPECT_TRUE(throws<closed_error>(call, "stream of host memory", "closed or moved from",
                                     "make a new one"));
  };
  expect_closed([&] { made.synchronize(); });
  expect_closed([&] { (void)made.is_idle(); });
  expect_closed([&] { [[maybe_unused]] stream_ref const reference = made; });
}

TEST_F(StreamTest, AsksAndWaitsThroughTheDriver) {
  stream const made(device::host());
  EXPECT_TRUE(made.is_idle());
  made.synchronize();
  EXPECT_EQ(checked_.calls("stream_query"), 1U);
  EXPECT_EQ(checked_.calls("stream_synchronize"), 1U);
}

TEST_F(StreamTest, FailureToMakeOneLeavesNothing) {
  checked_.fail_call("stream_create", 1);
  EXPECT_TRUE(throws<out_of_memory>([] { stream const made(device::host()); }, "stream_create"));
}

TEST_F(StreamTest, FailureToDestroyIsReportedAndNotThrown) {
  expect_reports();
  std::optional<stream> made(device::host());
  auto* const handle = made->native_handle();
  checked_.fail_call("stream_destroy", 1);
  EXPECT_NO_THROW(made.reset());
  EXPECT_NE(log_.text().find("destroying a stream: planted failure"), std::string::npos);
  checked_.stream_destroy(handle);
}

}  // namespace
}  // namespace rankshare
