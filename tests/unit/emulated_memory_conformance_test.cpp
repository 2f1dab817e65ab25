// SPDX-License-Identifier: Apache-2.0
// Device and pinned memory, on devices that the host driver emulates.
#include <gtest/gtest.h>

#include <rankshare/driver/emulated_devices.hpp>
#include <rankshare/driver/gpu_driver.hpp>
#include <rankshare/driver/host_driver.hpp>
#include <support/pool_conformance.hpp>

namespace rankshare::test {
namespace {

driver& emulated() {
  static auto* const instance = new host_driver(emulated_devices(2));
  return *instance;
}

pool_under_test memory(char const* name, memory_kind kind, bool is_checked) {
  return {name, kind, is_checked, emulated,
          [](driver* replacement) { detail::replace_gpu_driver(replacement); }};
}

auto const device_checked = memory("DeviceOnCheckedDriver", memory_kind::device, true);
auto const pinned_checked = memory("PinnedOnCheckedDriver", memory_kind::pinned, true);

INSTANTIATE_TEST_SUITE_P(EmulatedMemory, PoolConformanceTest,
                         testing::Values(memory("Device", memory_kind::device, false),
                                         memory("Pinned", memory_kind::pinned, false),
                                         device_checked, pinned_checked),
                         name_of);
INSTANTIATE_TEST_SUITE_P(EmulatedMemory, CheckedPoolConformanceTest,
                         testing::Values(device_checked, pinned_checked), name_of);

}  // namespace
}  // namespace rankshare::test
