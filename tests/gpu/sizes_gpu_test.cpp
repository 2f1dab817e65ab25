// SPDX-License-Identifier: Apache-2.0
// How much memory there is, how much of it can be shared, and when it goes back.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>

#include <gpu/gpu_fixture.hpp>
#include <rankshare/driver/cuda_driver.hpp>
#include <support/checked_driver.hpp>
#include <support/scoped_gpu_driver.hpp>

namespace rankshare::test {
namespace {

/// Imports the last `bytes` of a buffer.
buffer end_of(pool_memory_resource const& mapped, buffer const& of, std::size_t bytes,
              stream_ref order) {
  auto content = of.ipc_descriptor().content();
  content.offset = of.size() - bytes;
  content.size = bytes;
  return buffer::from_ipc_descriptor(mapped, buffer_descriptor(content), order);
}

class SizesGpuTest : public gpu_fixture {
 protected:
  /// @return whether the byte at `offset` is `value`
  bool has_byte_at(buffer const& of, std::size_t offset, int value) const {
    stream const order(where());
    std::byte got{};
    where().driver().memcpy_async(reinterpret_cast<device_pointer>(&got), of.handle() + offset, 1,
                                  order.native_handle());
    order.synchronize();
    return got == std::byte(value);
  }
};

TEST_F(SizesGpuTest, PoolThatIsNotSharedHasNoLimitButCannotBeShared) {
  device_memory_resource const memory(where(), {false});
  EXPECT_FALSE(memory.is_ipc_enabled());
  EXPECT_TRUE(throws<not_shareable>([&] { (void)memory.allocation_handle(); },
                                    "sharing a pool of memory of GPU 0", "ipc_enabled = true"));
  auto mine = memory.allocate(2 * gib + 1);
  fill(mine, 5);
  EXPECT_TRUE(has_byte_at(mine, 0, 5));
  EXPECT_TRUE(has_byte_at(mine, 2 * gib, 5));
  EXPECT_TRUE(throws<not_shareable>([&] { (void)mine.ipc_descriptor(); }, "ipc_enabled = true"));
  EXPECT_TRUE(throws<not_shareable>([&] { (void)memory.allocate(0).ipc_descriptor(); }));
}

TEST_F(SizesGpuTest, TwoGibibytesCanBeShared) {
  device_memory_resource const memory(where());
  auto mine = memory.allocate(2 * gib);
  fill(mine, 6);
  stream const order(where());
  auto const mapped = import_pool(memory);
  auto const whole = import_buffer(mapped, mine, order);
  EXPECT_EQ(whole.size(), 2 * gib);
  auto part = end_of(mapped, mine, 1000, order);
  EXPECT_EQ(part.handle(), whole.handle() + 2 * gib - 1000);
  EXPECT_TRUE(is_full_of(6, part));
  fill(part, 7);
  EXPECT_TRUE(has_byte_at(mine, 2 * gib - 1, 7));
  EXPECT_TRUE(has_byte_at(mine, 2 * gib - 1001, 6));
}

TEST_F(SizesGpuTest, MoreThanTwoGibibytesOfASharedPoolAreRefused) {
  checked_driver checked(detail::cuda_driver());
  scoped_gpu_driver const installed(checked);
  for (bool const is_pinned : {false, true}) {
    auto const memory = is_pinned ? pool_memory_resource(pinned_memory_resource(device::gpu(0)))
                                  : pool_memory_resource(device_memory_resource(device::gpu(0)));
    checked.reset_counts();
    EXPECT_TRUE(throws<not_supported>([&] { memory.allocate(2 * gib + 1); },
                                      "allocating 2147483649 bytes", "several smaller ones",
                                      "ipc_enabled = false"));
    EXPECT_EQ(checked.calls("mem_alloc_from_pool_async"), 0U);
  }
}

TEST_F(SizesGpuTest, MoreThanThereIsIsOutOfMemory) {
  device_memory_resource const memory(where(), {false});
  for (std::size_t const bytes : {raw_cuda::total_memory() + gib, 1024 * gib}) {
    try {
      auto const mine = memory.allocate(bytes);
      ADD_FAILURE() << bytes << " bytes were allocated";
    } catch (out_of_memory const& thrown) {
      EXPECT_EQ(thrown.bytes(), bytes);
      EXPECT_NE(std::string(thrown.what()).find(std::to_string(bytes)), std::string::npos);
    }
  }
  auto mine = memory.allocate(64 * mib);
  fill(mine, 1);
  EXPECT_TRUE(has_byte_at(mine, 64 * mib - 1, 1));
}

// What the pool holds is seen in what the GPU has left. Nobody else uses it meanwhile.
class KeptMemoryGpuTest : public gpu_fixture {
 protected:
  static constexpr std::size_t size = gib;
  static constexpr std::size_t slack = 128 * mib;

  void SetUp() override {
    gpu_fixture::SetUp();
    if (IsSkipped()) return;
    device_memory_resource const memory(where());
    stream const order(where());
    auto mine = memory.allocate(mib, order);  // what the driver takes for good
    fill(mine, 1);
  }

  /// @return whether the GPU comes to have that much left: what is given back goes later
  static testing::AssertionResult has_left(std::size_t expected) {
    auto const limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    for (;;) {
      auto const free = raw_cuda::free_memory();
      if (free + slack > expected && free < expected + slack) return testing::AssertionSuccess();
      if (std::chrono::steady_clock::now() < limit) continue;
      return testing::AssertionFailure() << free << " bytes are free, and not " << expected;
    }
  }
};

TEST_F(KeptMemoryGpuTest, StaysWithThePoolAndGoesBackWithIt) {
  auto const before = raw_cuda::free_memory();
  device_memory_resource memory(where());
  stream const order(where());
  auto mine = memory.allocate(size, order);
  order.synchronize();
  EXPECT_TRUE(has_left(before - size));
  mine.close();
  order.synchronize();
  EXPECT_TRUE(has_left(before - size));
  memory.allocate(size, order).close();
  order.synchronize();
  EXPECT_TRUE(has_left(before - size));
  memory.close();
  EXPECT_TRUE(has_left(before));
}

TEST_F(KeptMemoryGpuTest, GoesBackAtOnceWhereThePoolIsToKeepNone) {
  auto const before = raw_cuda::free_memory();
  device_memory_resource_options wanted;
  wanted.release_threshold = 0;
  device_memory_resource const memory(where(), wanted);
  stream const order(where());
  auto mine = memory.allocate(size, order);
  order.synchronize();
  EXPECT_TRUE(has_left(before - size));
  mine.close();
  order.synchronize();
  EXPECT_TRUE(has_left(before));
}

TEST_F(KeptMemoryGpuTest, StaysWhileAnImportUsesIt) {
  auto const before = raw_cuda::free_memory();
  device_memory_resource memory(where());
  stream const order(where());
  auto mine = memory.allocate(size);
  mine.fill(std::byte{4}, order);
  order.synchronize();
  auto mapped = import_pool(memory);
  auto seen = end_of(mapped, mine, 1000, order);
  mine.close();
  memory.close();
  EXPECT_TRUE(has_left(before - size));
  EXPECT_TRUE(is_full_of(4, seen));
  seen.close();
  mapped.close();
  order.synchronize();
  EXPECT_TRUE(has_left(before));
}

}  // namespace
}  // namespace rankshare::test
