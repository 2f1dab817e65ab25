// SPDX-License-Identifier: Apache-2.0
#include <rankshare/handle/device.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include <rankshare/base/error.hpp>
#include <rankshare/driver/emulated_devices.hpp>
#include <rankshare/driver/host_driver.hpp>
#include <support/scoped_gpu_driver.hpp>
#include <support/scoped_host_driver.hpp>
#include <support/throws.hpp>

namespace rankshare {
namespace {

using test::throws;

TEST(DeviceTest, HostIsServedByTheHostDriver) {
  auto const host = device::host();
  EXPECT_TRUE(host.is_host());
  EXPECT_EQ(host.id(), -1);
  EXPECT_EQ(host.description(), "host memory");
  EXPECT_EQ(&host.driver(), &detail::current_host_driver());
}

TEST(DeviceTest, ThereIsAGpuOrAReason) {
  EXPECT_EQ(device::count() == 0, device::why_no_gpu() != "");
  if (device::count() != 0) return;
  EXPECT_EQ(device::find_gpu(uuid::random()), std::nullopt);
  EXPECT_TRUE(throws<not_supported>([] { device::gpu(0); }, "using GPU 0: ", device::why_no_gpu()));
}

TEST(DeviceTest, GpusAreNumberedFromZero) {
  host_driver two(emulated_devices(2));
  test::scoped_gpu_driver const installed(two);
  EXPECT_EQ(device::count(), 2);
  EXPECT_EQ(device::why_no_gpu(), "");
  for (int ordinal : {0, 1}) {
    auto const gpu = device::gpu(ordinal);
    EXPECT_EQ(gpu.id(), ordinal);
    EXPECT_FALSE(gpu.is_host());
    EXPECT_EQ(&gpu.driver(), &two);
    EXPECT_EQ(device::find_gpu(gpu.uuid()), gpu);
    EXPECT_NE(gpu.description().find("memory of GPU " + std::to_string(ordinal)),
              std::string::npos);
  }
  EXPECT_NE(device::gpu(0), device::gpu(1));
  EXPECT_NE(device::gpu(0).uuid(), device::gpu(1).uuid());
  EXPECT_EQ(device::find_gpu(uuid::random()), std::nullopt);
  for (int ordinal : {-1, 2}) {
    EXPECT_TRUE(throws<invalid_argument>([&] { device::gpu(ordinal); },
                                         "using GPU " + std::to_string(ordinal),
                                         "this process sees 2", "CUDA_VISIBLE_DEVICES"));
  }
}

TEST(DeviceTest, AllGpusMayBeHidden) {
  host_driver none(emulated_devices(2, ""));
  test::scoped_gpu_driver const installed(none);
  EXPECT_EQ(device::count(), 0);
  EXPECT_NE(device::why_no_gpu().find("CUDA_VISIBLE_DEVICES"), std::string::npos);
}

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
