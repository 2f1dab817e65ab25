// SPDX-License-Identifier: Apache-2.0
// A program that uses host memory only leaves CUDA alone, also where there is a GPU.
#include <gtest/gtest.h>

#include <string>

#include <rankshare/base/text_file.hpp>
#include <rankshare/driver/cuda_driver.hpp>
#include <rankshare/handle/stream.hpp>
#include <rankshare/memory/host_memory_resource.hpp>

namespace rankshare {
namespace {

void use_host_memory(stream_ref order) {
  host_memory_resource const memory({1 << 20});
  auto mine = memory.allocate(1000, order);
  auto other = memory.allocate(1000);
  mine.fill(std::byte{1}, order);
  mine.copy_to(other, order);
  auto const mapped = host_memory_resource::from_allocation_handle(memory.allocation_handle());
  auto seen = buffer::from_ipc_descriptor(mapped, other.ipc_descriptor(), order);
  EXPECT_EQ(seen.as<char>()[999], 1);
  seen.close(order);
}

TEST(HostMemoryOnlyTest, CudaIsNotTouched) {
  use_host_memory(stream(device::host()));
  use_host_memory(stream_ref::legacy_default());
  use_host_memory(stream_ref::per_thread_default());
  EXPECT_FALSE(detail::cuda_driver_was_asked_for());
  EXPECT_EQ(text_of_file("/proc/self/maps").find("libcuda"), std::string::npos);
}

}  // namespace
}  // namespace rankshare
