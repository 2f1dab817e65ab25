// SPDX-License-Identifier: Apache-2.0
#include <rankshare/ipc/allocation_handle.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>

#include <type_traits>
#include <utility>

#include <rankshare/base/error.hpp>
#include <support/leftovers.hpp>
#include <support/throws.hpp>

namespace rankshare {
namespace {

using test::throws;

static_assert(!std::is_copy_constructible_v<allocation_handle>);
static_assert(std::is_nothrow_move_constructible_v<allocation_handle>);

unique_fd open_something() { return unique_fd(::open("/dev/null", O_RDWR | O_CLOEXEC)); }

TEST(AllocationHandleTest, OwnsItsDescriptor) {
  auto const before = test::footprint::now();
  {
    auto const id = uuid::random();
    auto fd = open_something();
    int const number = fd.get();
    allocation_handle const handle(std::move(fd), id);
    EXPECT_EQ(handle.fd(), number);
    EXPECT_EQ(handle.id(), id);
    EXPECT_FALSE(handle.is_closed());
  }
  EXPECT_TRUE(test::nothing_left_since(before));
}

TEST(AllocationHandleTest, NeedsADescriptor) {
  EXPECT_TRUE(throws<invalid_argument>([] { allocation_handle(unique_fd(), uuid::random()); },
                                       "allocation handle", "negative", "pass an open one"));
}

TEST(AllocationHandleTest, ClosedOneIsAnErrorInUse) {
  auto const before = test::footprint::now();
  auto const id = uuid::random();
  allocation_handle handle(open_something(), id);
  handle.close();
  handle.close();
  EXPECT_TRUE(test::nothing_left_since(before));
  EXPECT_TRUE(handle.is_closed());
  EXPECT_EQ(handle.id(), id);
  EXPECT_TRUE(throws<closed_error>([&] { (void)handle.fd(); }, to_string(id), "closed"));
}

TEST(AllocationHandleTest, MovedFromIsClosed) {
  allocation_handle first(open_something(), uuid{});
  allocation_handle const second(std::move(first));
  EXPECT_TRUE(first.is_closed());
  EXPECT_FALSE(second.is_closed());
  EXPECT_TRUE(second.id().is_nil());
}

}  // namespace
}  // namespace rankshare
