// SPDX-License-Identifier: Apache-2.0
#include <rankshare/handle/device.hpp>

#include <gtest/gtest.h>

#include <rankshare/driver/host_driver.hpp>
#include <support/scoped_host_driver.hpp>

namespace rankshare {
namespace {

TEST(DeviceTest, HostIsServedByTheHostDriver) {
  auto const host = device::host();
  EXPECT_TRUE(host.is_host());
  EXPECT_EQ(host.id(), -1);
  EXPECT_EQ(host.description(), "host memory");
  EXPECT_EQ(&host.driver(), &detail::current_host_driver());
}

TEST(DeviceTest, ThereIsNoGpu) { EXPECT_EQ(device::count(), 0); }

TEST(DeviceTest, ComparesByDriverAndNumber) {
  auto const host = device::host();
  EXPECT_EQ(host, device::host());
  host_driver other;
  test::scoped_host_driver const installed(other);
  EXPECT_NE(host, device::host());
  EXPECT_EQ(&host.driver(), &host.driver());
}

}  // namespace
}  // namespace rankshare
