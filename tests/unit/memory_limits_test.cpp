// SPDX-License-Identifier: Apache-2.0
#include <rankshare/base/memory_limits.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace rankshare {
namespace {

std::size_t total_of_meminfo() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  std::size_t kib = 0;
  while (file >> word) {
    if (word == "MemTotal:") file >> kib;
  }
  return kib * 1024;
}

TEST(MemoryLimitsTest, MachineMemoryIsWhatTheKernelSays) {
  EXPECT_EQ(machine_memory(), total_of_meminfo());
}

TEST(MemoryLimitsTest, AvailableMemoryIsPartOfTheMachine) {
  auto const now = available_memory::now();
  EXPECT_GT(now.bytes, 0U);
  EXPECT_LE(now.bytes, machine_memory());
}

TEST(MemoryLimitsTest, LimitSaysWhatBoundsIt) {
  auto const now = available_memory::now();
  EXPECT_TRUE(now.limit == "MemAvailable" ||
              now.limit.rfind("memory cgroup /sys/fs/cgroup", 0) == 0)
      << now.limit;
}

}  // namespace
}  // namespace rankshare
