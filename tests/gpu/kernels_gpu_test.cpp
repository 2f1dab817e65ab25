// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

#include <gpu/fill_pattern.hpp>
#include <gpu/gpu_fixture.hpp>
#include <rankshare/handle/kernels.hpp>

namespace rankshare::test {
namespace {

constexpr unsigned count = 10'000;
constexpr launch_shape shape{{(count + 255) / 256, 1, 1}, {256, 1, 1}};

class KernelsGpuTest : public gpu_fixture {
 protected:
  void SetUp() override {
    gpu_fixture::SetUp();
    if (!IsSkipped() && kernels::fill_pattern_image() == nullptr) {
      GTEST_SKIP() << "no kernels: this build had no nvcc";
    }
  }

  testing::AssertionResult holds_multiples_of(unsigned factor, buffer const& source) const {
    auto const bytes = bytes_of(source, where());
    std::vector<unsigned> values(count);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    for (unsigned at = 0; at < count; ++at) {
      if (values[at] == at * factor) continue;
      return testing::AssertionFailure() << "element " << at << " is " << values[at];
    }
    return testing::AssertionSuccess();
  }
};

TEST_F(KernelsGpuTest, WriteDeviceAndPinnedMemoryAndImports) {
  kernel_module const loaded(where(), kernels::fill_pattern_image());
  auto const write_index = loaded.find("write_index");
  stream const order(where());
  device_memory_resource const on_device(where());
  pinned_memory_resource const on_host(where());
  auto const mapped = import_pool(on_device);
  auto const on_device_first = on_device.allocate(count * sizeof(unsigned), order);
  auto const pinned = on_host.allocate(count * sizeof(unsigned), order);
  write_index.launch(order, shape, on_device_first.as<unsigned>(), count, 3U);
  write_index.launch(order, shape, pinned.as<unsigned>(), count, 5U);
  order.synchronize();
  EXPECT_TRUE(holds_multiples_of(3, on_device_first));
  EXPECT_EQ(pinned.as<unsigned>()[count - 1], (count - 1) * 5);
  auto const seen = import_buffer(mapped, on_device_first, order);
  write_index.launch(order, shape, seen.as<unsigned>(), count, 7U);
  order.synchronize();
  EXPECT_TRUE(holds_multiples_of(7, on_device_first));
}

TEST_F(KernelsGpuTest, NoContextIsTouched) {
  foreign_context const current;
  kernel_module loaded(where(), kernels::fill_pattern_image());
  EXPECT_EQ(raw_cuda::current_context(), current.handle());
  auto const moved = std::move(loaded);
  stream const order(where());
  device_memory_resource const memory(where());
  auto const mine = memory.allocate(count * sizeof(unsigned), order);
  moved.find("write_index").launch(order, shape, mine.as<unsigned>(), count, 2U);
  order.synchronize();
  EXPECT_EQ(raw_cuda::current_context(), current.handle());
  EXPECT_TRUE(holds_multiples_of(2, mine));
}

TEST_F(KernelsGpuTest, LoadAndUnloadLeaveACaptureIntact) {
  stream const capturing(where());
  scoped_capture capture(capturing.native_handle());
  { kernel_module const loaded(where(), kernels::fill_pattern_image()); }
  EXPECT_TRUE(capture.end());
}

TEST_F(KernelsGpuTest, UnknownNameIsAnError) {
  kernel_module const loaded(where(), kernels::fill_pattern_image());
  EXPECT_TRUE(throws<invalid_argument>([&] { loaded.find("read_index"); }, "read_index"));
}

TEST_F(KernelsGpuTest, ShapeThatCannotRunIsAnError) {
  kernel_module const loaded(where(), kernels::fill_pattern_image());
  auto const write_index = loaded.find("write_index");
  stream const order(where());
  EXPECT_TRUE(throws<invalid_argument>(
      [&] {
        write_index.launch(order, launch_shape{{1, 1, 1}, {100'000, 1, 1}},
                           static_cast<unsigned*>(nullptr), 0U, 1U);
      },
      "launching a kernel"));
  stream const of_host(device::host());
  EXPECT_TRUE(throws<invalid_argument>(
      [&] { write_index.launch(of_host, shape, static_cast<unsigned*>(nullptr), 0U, 1U); },
      "by a stream of another device"));
}

TEST_F(KernelsGpuTest, ImageThatIsNoneIsAnError) {
  EXPECT_TRUE(throws<not_supported>([&] { kernel_module(where(), nullptr); }, "without nvcc",
                                    "install a CUDA toolkit"));
  EXPECT_ANY_THROW(kernel_module(where(), "no kernels at all"));
}

}  // namespace
}  // namespace rankshare::test
