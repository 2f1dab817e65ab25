// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <rankshare/driver/host_driver.hpp>
#include <rankshare/memory/host_memory_resource.hpp>
#include <support/pool_conformance.hpp>

namespace rankshare::test {
namespace {

pool_under_test host(char const* name, bool is_checked) {
  return {
      name,
      is_checked,
      true,
      detail::current_host_driver,
      detail::replace_host_driver,
      device::host,
      [](std::size_t max_size) -> pool_memory_resource { return host_memory_resource({max_size}); },
      [](allocation_handle const& handle) -> pool_memory_resource {
        return host_memory_resource::from_allocation_handle(handle);
      },
      [](uuid const& id) -> pool_memory_resource {
        return host_memory_resource::from_registry(id);
      }};
}

INSTANTIATE_TEST_SUITE_P(HostMemory, PoolConformanceTest,
                         testing::Values(host("OnHostDriver", false),
                                         host("OnCheckedDriver", true)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(HostMemory, CheckedPoolConformanceTest,
                         testing::Values(host("OnCheckedDriver", true)), name_of);

}  // namespace
}  // namespace rankshare::test
