// SPDX-License-Identifier: Apache-2.0
#include <rankshare/driver/host_driver.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <rankshare/base/error.hpp>
#include <support/leftovers.hpp>
#include <support/scoped_host_driver.hpp>
#include <support/throws.hpp>

namespace rankshare {
namespace {

using test::throws;

class HostDriverTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_TRUE(test::nothing_left_since(before_)); }

  static pool_properties properties(memory_kind kind = memory_kind::host) {
    pool_properties made;
    made.kind = kind;
    made.max_size = 1 << 20;
    made.id = uuid::random();
    return made;
  }

  host_driver driver_;

 private:
  test::footprint before_ = test::footprint::now();
};

TEST_F(HostDriverTest, StreamsAreAlwaysDone) {
  EXPECT_STREQ(driver_.name(), "host");
  auto* const first = driver_.stream_create(-1);
  auto* const second = driver_.stream_create(-1);
  EXPECT_NE(first, second);
  EXPECT_TRUE(driver_.stream_query(first));
  EXPECT_FALSE(driver_.stream_is_capturing(first));
  EXPECT_NO_THROW(driver_.stream_synchronize(first));
  driver_.stream_destroy(first);
  driver_.stream_destroy(second);
}

TEST_F(HostDriverTest, EventsAreAlwaysDone) {
  auto* const stream = driver_.stream_create(-1);
  auto* const event = driver_.event_create(stream);
  driver_.event_record(event, stream);
  EXPECT_NO_THROW(driver_.event_synchronize(event));
  driver_.event_destroy(event);
  driver_.stream_destroy(stream);
}

TEST_F(HostDriverTest, ServesHostMemoryOnlyUnlessDevicesAreEmulated) {
  for (auto const kind : {memory_kind::device, memory_kind::pinned}) {
    EXPECT_TRUE(throws<invalid_argument>([&] { driver_.mem_pool_create(properties(kind)); },
                                         "host memory only", "choose a device",
                                         "RANKSHARE_HOST_DEVICES"));
    EXPECT_TRUE(throws<invalid_descriptor>(
        [&] { driver_.mem_pool_import_from_shareable_handle(0, kind, uuid{}); }, "host memory only",
        "RANKSHARE_HOST_DEVICES"));
  }
}

TEST_F(HostDriverTest, ThereAreNoDevicesUnlessTheyAreEmulated) {
  EXPECT_EQ(driver_.device_count(), 0);
  auto* const pool = driver_.mem_pool_create(properties());
  for (auto const& ask : std::vector<std::function<void()>>{
           [&] { driver_.device_uuid(0); }, [&] { driver_.device_name(0); },
           [&] { driver_.device_numa_node(0); }, [&] { driver_.stream_create(0); },
           [&] { driver_.context_of(0); }, [&] { driver_.mem_pool_set_access(pool, 0, true); }}) {
    EXPECT_TRUE(throws<invalid_argument>(ask, "no device 0", "sees 0", "RANKSHARE_HOST_DEVICES"));
  }
  driver_.mem_pool_destroy(pool);
}

TEST_F(HostDriverTest, OneContextIsAlwaysCurrent) {
  auto* const context = driver_.ctx_get_current();
  EXPECT_NE(context, nullptr);
  driver_.ctx_push_current(context);
  EXPECT_EQ(driver_.ctx_get_current(), context);
  driver_.ctx_pop_current();
  EXPECT_TRUE(throws<invalid_argument>([&] { driver_.ctx_pop_current(); }, "popping a context"));
}

TEST_F(HostDriverTest, RunsNoKernels) {
  for (auto const& ask : std::vector<std::function<void()>>{
           [&] { driver_.module_load_data(0, nullptr); }, [&] { driver_.module_unload(nullptr); },
           [&] { driver_.module_get_function(nullptr, "add"); },
           [&] { driver_.launch_kernel(nullptr, {}, nullptr, nullptr); }}) {
    EXPECT_TRUE(
        throws<not_supported>(ask, "host memory and emulated devices run no kernels", "use a GPU"));
  }
  EXPECT_TRUE(
      throws<not_supported>([&] { driver_.module_get_function(nullptr, "add"); }, "kernel add"));
}

TEST_F(HostDriverTest, MemsetIsDoneWhenItReturns) {
  auto* const pool = driver_.mem_pool_create(properties());
  auto* const stream = driver_.stream_create(-1);
  auto const memory = driver_.mem_alloc_from_pool_async(pool, 100, stream);
  EXPECT_EQ(driver_.pointer_range_size(pool, memory), driver_.mem_pool_granularity(pool));
  driver_.memset_d8_async(memory, std::byte{7}, 100, stream);
  auto const* const bytes = reinterpret_cast<std::byte const*>(memory);
  EXPECT_EQ(bytes[0], std::byte{7});
  EXPECT_EQ(bytes[99], std::byte{7});
  EXPECT_EQ(bytes[100], std::byte{0});
  driver_.mem_free_async(pool, memory, stream);
  driver_.stream_destroy(stream);
  driver_.mem_pool_destroy(pool);
}

TEST_F(HostDriverTest, CopyIsDoneWhenItReturns) {
  auto* const pool = driver_.mem_pool_create(properties());
  auto* const stream = driver_.stream_create(-1);
  auto const memory = driver_.mem_alloc_from_pool_async(pool, 100, stream);
  std::vector<std::byte> const from(100, std::byte{7});
  std::vector<std::byte> to(100);
  driver_.memcpy_async(memory, reinterpret_cast<device_pointer>(from.data()), 100, stream);
  driver_.memcpy_async(reinterpret_cast<device_pointer>(to.data()), memory, 100, stream);
  EXPECT_EQ(to, from);
  driver_.mem_free_async(pool, memory, stream);
  driver_.stream_destroy(stream);
  driver_.mem_pool_destroy(pool);
}

TEST_F(HostDriverTest, PoolThatIsNotShareableIsNotExported) {
  auto made_with = properties();
  made_with.shareable = false;
  auto* const pool = driver_.mem_pool_create(made_with);
  auto const memory = driver_.mem_alloc_from_pool_async(pool, 1, nullptr);
  EXPECT_TRUE(throws<invalid_argument>([&] { driver_.mem_pool_export_to_shareable_handle(pool); },
                                       "shareable = false", "shareable = true"));
  EXPECT_TRUE(throws<invalid_argument>([&] { driver_.mem_pool_export_pointer(pool, memory); },
                                       "shareable = false"));
  driver_.mem_free_async(pool, memory, nullptr);
  driver_.mem_pool_destroy(pool);
}

TEST_F(HostDriverTest, PoolIsImportedByItsHandle) {
  auto const made_with = properties();
  auto* const pool = driver_.mem_pool_create(made_with);
  auto const memory = driver_.mem_alloc_from_pool_async(pool, 1, nullptr);
  auto const fd = driver_.mem_pool_export_to_shareable_handle(pool);
  auto* const imported =
      driver_.mem_pool_import_from_shareable_handle(fd.get(), memory_kind::host, made_with.id);
  auto const seen =
      driver_.mem_pool_import_pointer(imported, driver_.mem_pool_export_pointer(pool, memory));
  *reinterpret_cast<char*>(memory) = 'x';
  EXPECT_EQ(*reinterpret_cast<char*>(seen), 'x');
  driver_.mem_free_async(imported, seen, nullptr);
  driver_.mem_pool_destroy(imported);
  driver_.mem_free_async(pool, memory, nullptr);
  driver_.mem_pool_destroy(pool);
}

TEST_F(HostDriverTest, OwnPoolNeedsNoImport) {
  auto* const pool = driver_.mem_pool_create(properties());
  auto const memory = driver_.mem_alloc_from_pool_async(pool, 1, nullptr);
  auto const payload = driver_.mem_pool_export_pointer(pool, memory);
  EXPECT_TRUE(throws<invalid_argument>([&] { driver_.mem_pool_import_pointer(pool, payload); },
                                       "made the pool", "use the buffer itself"));
  driver_.mem_free_async(pool, memory, nullptr);
  driver_.mem_pool_destroy(pool);
}

// The devices that a process of another view has; see the tests of emulated_memory and
// emulated_pool for what their memory does.
class EmulatingHostDriverTest : public HostDriverTest {
 protected:
  host_driver swapped_{emulated_devices(3, "2,0")};
};

TEST_F(EmulatingHostDriverTest, DevicesAreThoseThatItWasGiven) {
  EXPECT_EQ(swapped_.device_count(), 2);
  host_driver all(emulated_devices(3));
  EXPECT_EQ(swapped_.device_uuid(0), all.device_uuid(2));
  EXPECT_EQ(swapped_.device_uuid(1), all.device_uuid(0));
  EXPECT_NE(all.device_uuid(0), all.device_uuid(1));
  EXPECT_EQ(swapped_.device_name(0), "emulated device 2");
  EXPECT_EQ(swapped_.device_numa_node(1), 0);
  for (int const wrong : {-1, 2}) {
    EXPECT_TRUE(throws<invalid_argument>([&] { swapped_.device_uuid(wrong); }, "sees 2"));
    EXPECT_TRUE(throws<invalid_argument>([&] { swapped_.device_name(wrong); }, "sees 2"));
    EXPECT_TRUE(throws<invalid_argument>([&] { swapped_.device_numa_node(wrong); }, "sees 2"));
  }
}

TEST_F(EmulatingHostDriverTest, StreamsAreOfTheHostOrOfADeviceThatIsThere) {
  for (int const device : {-1, 0, 1}) {
    auto* const stream = swapped_.stream_create(device);
    EXPECT_TRUE(swapped_.stream_query(stream));
    EXPECT_FALSE(swapped_.stream_is_capturing(stream));
    swapped_.stream_destroy(stream);
  }
  for (int const wrong : {-2, 2}) {
    EXPECT_TRUE(throws<invalid_argument>([&] { swapped_.stream_create(wrong); }, "making a stream",
                                         "no device " + std::to_string(wrong)));
  }
}

TEST_F(EmulatingHostDriverTest, FirstDeviceIsCurrentUnlessAnotherWasPushed) {
  EXPECT_EQ(swapped_.ctx_get_current(), swapped_.context_of(0));
  swapped_.ctx_push_current(swapped_.context_of(1));
  EXPECT_EQ(swapped_.ctx_get_current(), swapped_.context_of(1));
  swapped_.ctx_pop_current();
  EXPECT_EQ(swapped_.ctx_get_current(), swapped_.context_of(0));
}

TEST_F(EmulatingHostDriverTest, EventsAreRecordedOnStreamsOfTheirDevice) {
  auto* const legacy = reinterpret_cast<CUstream_st*>(std::uintptr_t{1});
  auto* const first = swapped_.stream_create(0);
  auto* const second = swapped_.stream_create(1);
  auto* const event = swapped_.event_create(first);
  EXPECT_NO_THROW(swapped_.event_record(event, first));
  EXPECT_NO_THROW(swapped_.event_record(event, legacy));
  EXPECT_TRUE(throws<invalid_argument>([&] { swapped_.event_record(event, second); },
                                       "a stream of device 1", "made for a stream of device 0"));
  swapped_.ctx_push_current(swapped_.context_of(1));
  EXPECT_TRUE(throws<invalid_argument>([&] { swapped_.event_record(event, legacy); }));
  swapped_.ctx_pop_current();
  swapped_.event_destroy(event);
  swapped_.stream_destroy(second);
  swapped_.stream_destroy(first);
}

TEST_F(EmulatingHostDriverTest, RunsNoKernels) {
  EXPECT_TRUE(throws<not_supported>([&] { swapped_.module_load_data(0, nullptr); },
                                    "emulated devices run no kernels"));
}

TEST_F(HostDriverTest, AnotherDriverMayServeHostMemoryForAWhile) {
  auto& shipped = detail::current_host_driver();
  {
    test::scoped_host_driver const installed(driver_);
    EXPECT_EQ(&detail::current_host_driver(), &driver_);
  }
  EXPECT_EQ(&detail::current_host_driver(), &shipped);
  EXPECT_EQ(&detail::replace_host_driver(&driver_), &shipped);
  EXPECT_EQ(&detail::replace_host_driver(nullptr), &driver_);
  EXPECT_EQ(&detail::current_host_driver(), &shipped);
}

}  // namespace
}  // namespace rankshare
