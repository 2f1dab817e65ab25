// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <rankshare/driver/host_driver.hpp>
#include <support/pool_conformance.hpp>

namespace rankshare::test {
namespace {

pool_under_test host(char const* name, bool is_checked) {
  pool_under_test one{name, memory_kind::host, is_checked, detail::current_host_driver,
                      [](driver* replacement) { detail::replace_host_driver(replacement); }};
  one.tells_freed_memory = true;
  return one;
}

auto const all = testing::Values(host("OnHostDriver", false), host("OnCheckedDriver", true));

INSTANTIATE_TEST_SUITE_P(HostMemory, PoolConformanceTest, all, name_of);
INSTANTIATE_TEST_SUITE_P(HostMemory, ForgedPayloadConformanceTest, all, name_of);
INSTANTIATE_TEST_SUITE_P(HostMemory, CheckedPoolConformanceTest,
                         testing::Values(host("OnCheckedDriver", true)), name_of);

}  // namespace
}  // namespace rankshare::test
