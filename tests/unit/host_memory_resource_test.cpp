// SPDX-License-Identifier: Apache-2.0
// What is particular to host memory; what all pool resources have in common is in the conformance
// suite.
#include <rankshare/memory/host_memory_resource.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>

#include <exception>
#include <string>

#include <rankshare/base/error.hpp>
#include <rankshare/base/memory_limits.hpp>
#include <support/checked_host.hpp>
#include <support/fd_limit.hpp>
#include <support/throws.hpp>

namespace rankshare {
namespace {

using test::throws;

class HostMemoryResourceTest : public test::checked_host {};

TEST_F(HostMemoryResourceTest, ServesMemoryOfTheHostOnly) {
  host_memory_resource const memory({1 << 20});
  EXPECT_EQ(memory.device_id(), -1);
  EXPECT_TRUE(memory.is_host_accessible());
  EXPECT_FALSE(memory.is_device_accessible());
  auto const mine = memory.allocate(1);
  EXPECT_EQ(mine.device_id(), -1);
  EXPECT_TRUE(mine.is_host_accessible());
  EXPECT_FALSE(mine.is_device_accessible());
}

TEST_F(HostMemoryResourceTest, NewMemoryIsZero) {
  host_memory_resource const memory({1 << 20});
  auto const mine = memory.allocate(10000);
  for (std::size_t i = 0; i < mine.capacity(); ++i) ASSERT_EQ(mine.as<char>()[i], 0);
}

TEST_F(HostMemoryResourceTest, HoldsOneFileDescriptorThatIsClosedOnExec) {
  host_memory_resource const memory({1 << 20});
  EXPECT_EQ(::fcntl(memory.allocation_handle().fd(), F_GETFD), FD_CLOEXEC);
}

TEST_F(HostMemoryResourceTest, DefaultSizeIsTheMemoryOfTheMachine) {
  host_memory_resource const memory;
  EXPECT_NO_THROW(memory.allocate(1 << 20));
  EXPECT_TRUE(throws<out_of_memory>([&] { memory.allocate(machine_memory()); }, "available"));
  EXPECT_TRUE(
      throws<out_of_memory>([&] { memory.allocate(machine_memory() + 4096); }, "ask for less"));
}

TEST_F(HostMemoryResourceTest, TooLargeAMaxSizeIsRefused) {
  EXPECT_TRUE(throws<invalid_argument>([] { host_memory_resource({~std::size_t{0}}); },
                                       "max_size 18446744073709551615", "above the limit"));
}

TEST_F(HostMemoryResourceTest, NoFileDescriptorsLeftIsAnErrorThatNamesTheRemedy) {
  for (int const left : {0, 1}) {  // the pool needs two
    auto const thrown = test::run_with_fds_left(left, [] { host_memory_resource({1 << 20}); });
    ASSERT_NE(thrown, nullptr) << left;
    EXPECT_TRUE(
        throws<rankshare::system_error>([&] { std::rethrow_exception(thrown); }, "ulimit -n"));
  }
  EXPECT_EQ(test::run_with_fds_left(2, [] { host_memory_resource({1 << 20}); }), nullptr);
}

}  // namespace
}  // namespace rankshare
