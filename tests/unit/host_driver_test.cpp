// SPDX-License-Identifier: Apache-2.0
#include <rankshare/driver/host_driver.hpp>

#include <gtest/gtest.h>

#include <cstddef>

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
  auto* const event = driver_.event_create();
  driver_.event_record(event, stream);
  EXPECT_NO_THROW(driver_.event_synchronize(event));
  driver_.event_destroy(event);
  driver_.stream_destroy(stream);
}

TEST_F(HostDriverTest, ServesHostMemoryOnly) {
  for (auto const kind : {memory_kind::device, memory_kind::pinned}) {
    EXPECT_TRUE(throws<invalid_argument>([&] { driver_.mem_pool_create(properties(kind)); },
                                         "host memory only", "choose a device"));
    EXPECT_TRUE(throws<invalid_descriptor>(
        [&] { driver_.mem_pool_import_from_shareable_handle(0, kind, uuid{}); },
        "host memory only"));
  }
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
