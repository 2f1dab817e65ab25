// SPDX-License-Identifier: Apache-2.0
#include <rankshare/base/host_identity.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace rankshare {
namespace {

TEST(HostIdentityTest, IsTheSameAtEachCall) {
  EXPECT_EQ(host_identity::of_this_process(), host_identity::of_this_process());
}

TEST(HostIdentityTest, NamesBootAndNamespaces) {
  auto const here = host_identity::of_this_process();
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(file, boot);
  EXPECT_EQ(to_string(here.boot), boot);
  EXPECT_NE(here.pid_namespace, 0U);
  EXPECT_NE(here.user_namespace, 0U);
  EXPECT_NE(here.pid_namespace, here.user_namespace);
}

TEST(HostIdentityTest, EachPartCounts) {
  auto const here = host_identity::of_this_process();
  auto other = here;
  other.boot = uuid::random();
  EXPECT_NE(other, here);
  other = here;
  ++other.pid_namespace;
  EXPECT_NE(other, here);
  other = here;
  ++other.user_namespace;
  EXPECT_NE(other, here);
}

}  // namespace
}  // namespace rankshare
