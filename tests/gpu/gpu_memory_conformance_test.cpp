// SPDX-License-Identifier: Apache-2.0
// Device and pinned memory of a GPU.
#include <gtest/gtest.h>

#include <gpu/raw_cuda.hpp>
#include <rankshare/driver/cuda_driver.hpp>
#include <rankshare/driver/gpu_driver.hpp>
#include <rankshare/driver/host_driver.hpp>
#include <support/needs_gpu.hpp>
#include <support/pool_conformance.hpp>

namespace rankshare::test {
namespace {

driver& cuda() {
  static auto& known = device::count() > 0 ? detail::cuda_driver() : detail::current_host_driver();
  return known;
}

pool_under_test memory(char const* name, memory_kind kind, bool is_checked) {
  pool_under_test one{name, kind, is_checked, cuda,
                      [](driver* replacement) { detail::replace_gpu_driver(replacement); }};
  one.tells_pools_apart = false;
  one.tells_owners_apart = is_checked;
  one.is_asynchronous = true;
  one.why_not = why_no_gpu_here;
  one.context = raw_cuda::primary_context;
  return one;
}

auto const device_checked = memory("DeviceOnCheckedDriver", memory_kind::device, true);
auto const pinned_checked = memory("PinnedOnCheckedDriver", memory_kind::pinned, true);

INSTANTIATE_TEST_SUITE_P(GpuMemory, PoolConformanceTest,
                         testing::Values(memory("Device", memory_kind::device, false),
                                         memory("Pinned", memory_kind::pinned, false),
                                         device_checked, pinned_checked),
                         name_of);
INSTANTIATE_TEST_SUITE_P(GpuMemory, CheckedPoolConformanceTest,
                         testing::Values(device_checked, pinned_checked), name_of);

}  // namespace
}  // namespace rankshare::test
