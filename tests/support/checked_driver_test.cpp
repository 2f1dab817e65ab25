// SPDX-License-Identifier: Apache-2.0
#include <support/checked_driver.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <rankshare/base/error.hpp>
#include <rankshare/driver/host_driver.hpp>
#include <support/leftovers.hpp>
#include <support/throws.hpp>

namespace rankshare::test {
namespace {

CUstream_st* token(std::uintptr_t value) { return reinterpret_cast<CUstream_st*>(value); }

class CheckedDriverTest : public testing::Test {
 protected:
  CUmemPoolHandle_st* make_pool() {
    pool_properties properties;
    properties.max_size = 1 << 20;
    properties.id = id_;
    return driver_.mem_pool_create(properties);
  }

  char byte_at(device_pointer address) const { return *reinterpret_cast<char*>(address); }

  host_driver inner_;
  checked_driver driver_{inner_};
  uuid const id_ = uuid::random();
};

TEST_F(CheckedDriverTest, CountsCallsByName) {
  EXPECT_EQ(driver_.total_calls(), 0U);
  auto* const stream = driver_.stream_create(-1);
  driver_.stream_query(stream);
  driver_.stream_query(stream);
  EXPECT_EQ(driver_.calls("stream_create"), 1U);
  EXPECT_EQ(driver_.calls("stream_query"), 2U);
  EXPECT_EQ(driver_.calls("stream_destroy"), 0U);
  EXPECT_EQ(driver_.total_calls(), 3U);
  driver_.reset_counts();
  EXPECT_EQ(driver_.total_calls(), 0U);
  driver_.stream_destroy(stream);
  EXPECT_EQ(driver_.total_calls(), 1U);
}

TEST_F(CheckedDriverTest, CountsLiveObjectsByKind) {
  auto* const stream = driver_.stream_create(-1);
  auto* const event = driver_.event_create(stream);
  auto* const pool = make_pool();
  auto const memory = driver_.mem_alloc_from_pool_async(pool, 1, stream);
  auto const fd = driver_.mem_pool_export_to_shareable_handle(pool);
  auto* const imported =
      driver_.mem_pool_import_from_shareable_handle(fd.get(), memory_kind::host, id_);
  auto const seen =
      driver_.mem_pool_import_pointer(imported, driver_.mem_pool_export_pointer(pool, memory));
  std::map<std::string, std::size_t> const one_each = {
      {"streams", 1},     {"events", 1},  {"pools", 1},   {"imported pools", 1},
      {"allocations", 1}, {"imports", 1}, {"modules", 0}, {"pushed contexts", 0}};
  EXPECT_EQ(driver_.live_objects(), one_each);
  driver_.mem_free_async(imported, seen, stream);
  driver_.mem_pool_destroy(imported);
  driver_.mem_free_async(pool, memory, stream);
  driver_.mem_pool_destroy(pool);
  driver_.event_destroy(event);
  driver_.stream_destroy(stream);
  EXPECT_EQ(driver_.live_total(), 0U);
  EXPECT_TRUE(driver_.violations().empty());
}

TEST_F(CheckedDriverTest, RefusesWhatIsGone) {
  auto* const stream = driver_.stream_create(-1);
  auto* const event = driver_.event_create(stream);
  auto* const pool = make_pool();
  auto const memory = driver_.mem_alloc_from_pool_async(pool, 1, stream);
  driver_.mem_free_async(pool, memory, stream);
  EXPECT_TRUE(throws<invalid_argument>([&] { driver_.mem_free_async(pool, memory, stream); },
                                       "mem_free_async", "no live allocation"));
  EXPECT_TRUE(throws<invalid_argument>(
      [&] { driver_.memset_d8_async(memory, std::byte{}, 1, stream); }, "not inside a live"));
  driver_.mem_pool_destroy(pool);
  EXPECT_TRUE(throws<invalid_argument>([&] { driver_.mem_pool_destroy(pool); }, "unknown"));
  EXPECT_TRUE(throws<invalid_argument>([&] { driver_.mem_alloc_from_pool_async(pool, 1, stream); },
                                       "unknown, or destroyed"));
  driver_.event_destroy(event);
  EXPECT_TRUE(throws<invalid_argument>([&] { driver_.event_destroy(event); }, "event"));
  driver_.stream_destroy(stream);
  EXPECT_TRUE(throws<invalid_argument>([&] { driver_.stream_destroy(stream); }, "stream"));
  EXPECT_TRUE(throws<invalid_argument>([&] { driver_.stream_query(stream); }, "stream"));
  EXPECT_TRUE(throws<invalid_argument>([&] { driver_.stream_query(nullptr); }, "stream"));
  EXPECT_EQ(driver_.violations().size(), 8U);
}

TEST_F(CheckedDriverTest, RefusesToWriteBeyondAnAllocation) {
  auto* const pool = make_pool();
  auto const memory = driver_.mem_alloc_from_pool_async(pool, 4096, token(1));
  EXPECT_NO_THROW(driver_.memset_d8_async(memory + 1, std::byte{}, 4095, token(1)));
  EXPECT_TRUE(throws<invalid_argument>(
      [&] { driver_.memset_d8_async(memory + 1, std::byte{}, 4096, token(1)); }, "4096 bytes"));
  EXPECT_TRUE(throws<invalid_argument>(
      [&] { driver_.memset_d8_async(memory - 1, std::byte{}, 2, token(1)); }, "2 bytes"));
  driver_.mem_free_async(pool, memory, token(1));
  driver_.mem_pool_destroy(pool);
}

TEST_F(CheckedDriverTest, CopiesBetweenAnAllocationAndAnyMemory) {
  auto* const pool = make_pool();
  auto const memory = driver_.mem_alloc_from_pool_async(pool, 4096, token(1));
  auto const gone = driver_.mem_alloc_from_pool_async(pool, 4096, token(1));
  driver_.mem_free_async(pool, gone, token(1));
  char mine[2] = {5, 6};
  auto const own = reinterpret_cast<device_pointer>(mine);
  EXPECT_NO_THROW(driver_.memcpy_async(memory + 4094, own, 2, token(1)));
  EXPECT_EQ(byte_at(memory + 4094), 5);
  EXPECT_NO_THROW(driver_.memcpy_async(own, memory + 4095, 1, token(1)));
  EXPECT_EQ(mine[0], 6);
  EXPECT_NO_THROW(driver_.memcpy_async(memory, memory + 4094, 2, token(1)));
  EXPECT_TRUE(throws<invalid_argument>([&] { driver_.memcpy_async(own, own, 1, token(1)); },
                                       "memcpy_async", "neither"));
  EXPECT_TRUE(throws<invalid_argument>(
      [&] { driver_.memcpy_async(memory + 4095, own, 2, token(1)); }, "2 bytes", "not inside"));
  EXPECT_TRUE(throws<invalid_argument>([&] { driver_.memcpy_async(own, gone, 2, token(1)); },
                                       "2 bytes", "not inside"));
  EXPECT_EQ(driver_.violations().size(), 3U);
  driver_.mem_free_async(pool, memory, token(1));
  driver_.mem_pool_destroy(pool);
}

TEST_F(CheckedDriverTest, PoolThatGoesBeforeItsAllocationsIsAViolation) {
  auto* const pool = make_pool();
  driver_.mem_alloc_from_pool_async(pool, 1, token(1));
  driver_.mem_pool_destroy(pool);
  ASSERT_EQ(driver_.violations().size(), 1U);
  EXPECT_NE(driver_.violations()[0].find("still has 1"), std::string::npos);
}

TEST_F(CheckedDriverTest, NthCallOfAFunctionFailsOnce) {
  driver_.fail_call("event_create", 2);
  auto* const first = driver_.event_create(token(1));
  EXPECT_TRUE(
      throws<out_of_memory>([&] { driver_.event_create(token(1)); }, "planted", "event_create"));
  auto* const third = driver_.event_create(token(1));
  EXPECT_FALSE(driver_.cancel_failure());
  EXPECT_EQ(driver_.calls("event_create"), 3U);
  EXPECT_EQ(driver_.live_objects()["events"], 2U);
  driver_.event_destroy(first);
  driver_.event_destroy(third);
}

TEST_F(CheckedDriverTest, FailureMayBeOfAnyTypeAndCallAndMayBeCancelled) {
  auto* const stream = driver_.stream_create(-1);
  driver_.fail_call(call_counter::any_call, 2, [] { throw not_supported("planted"); });
  driver_.stream_query(stream);
  EXPECT_TRUE(throws<not_supported>([&] { driver_.stream_synchronize(stream); }));
  driver_.fail_call(call_counter::any_call, 1);
  driver_.stream_destroy(stream);  // gives back, and does not count
  EXPECT_TRUE(driver_.cancel_failure());
  EXPECT_NO_THROW(driver_.event_destroy(driver_.event_create(token(1))));
}

TEST_F(CheckedDriverTest, HiddenFunctionIsMissing) {
  driver_.hide("event_create");
  EXPECT_TRUE(throws<not_supported>([&] { driver_.event_create(token(1)); },
                                    "event_create: the CUDA driver has no cuEventCreate",
                                    "install an NVIDIA driver"));
  EXPECT_TRUE(throws<not_supported>([&] { driver_.event_create(token(1)); }));
  EXPECT_EQ(driver_.calls("event_create"), 2U);
  EXPECT_NO_THROW(driver_.stream_query(token(1)));
  driver_.unhide("event_create");
  EXPECT_NO_THROW(driver_.event_destroy(driver_.event_create(token(1))));
}

TEST_F(CheckedDriverTest, SymbolHidesAllThatNeedIt) {
  driver_.hide("cuPointerGetAttribute");
  EXPECT_TRUE(throws<not_supported>([&] { driver_.pointer_range_size(nullptr, 1); },
                                    "pointer_range_size", "no cuPointerGetAttribute"));
  driver_.hide("MemsetD8Async");
  EXPECT_TRUE(throws<not_supported>([&] { driver_.memset_d8_async(1, std::byte{}, 1, token(1)); },
                                    "no cuMemsetD8Async"));
  EXPECT_TRUE(driver_.violations().empty());
}

class HeldBackTest : public CheckedDriverTest {
 protected:
  void SetUp() override {
    pool_ = make_pool();
    first_ = driver_.stream_create(-1);
    second_ = driver_.stream_create(-1);
    memory_ = driver_.mem_alloc_from_pool_async(pool_, 4096, first_);
    driver_.hold_back(true);
  }

  void TearDown() override {
    driver_.hold_back(false);
    driver_.mem_free_async(pool_, memory_, token(1));
    driver_.mem_pool_destroy(pool_);
    driver_.stream_destroy(first_);
    driver_.stream_destroy(second_);
    EXPECT_EQ(driver_.live_total(), 0U);
    EXPECT_TRUE(driver_.violations().empty());
  }

  void set(char value, CUstream_st* stream) {
    driver_.memset_d8_async(memory_, std::byte(value), 4096, stream);
  }

  CUmemPoolHandle_st* pool_ = nullptr;
  CUstream_st* first_ = nullptr;
  CUstream_st* second_ = nullptr;
  device_pointer memory_ = 0;
};

TEST_F(HeldBackTest, WorkRunsWhenItsStreamIsSynchronized) {
  set(1, first_);
  EXPECT_EQ(byte_at(memory_), 0);
  EXPECT_FALSE(driver_.stream_query(first_));
  EXPECT_TRUE(driver_.stream_query(second_));
  driver_.stream_synchronize(second_);
  EXPECT_EQ(byte_at(memory_), 0);
  EXPECT_EQ(driver_.held_back(), 1U);
  driver_.stream_synchronize(first_);
  EXPECT_EQ(byte_at(memory_), 1);
  EXPECT_TRUE(driver_.stream_query(first_));
}

TEST_F(HeldBackTest, WorkOfOneStreamRunsInOrder) {
  set(1, first_);
  set(2, first_);
  driver_.stream_synchronize(first_);
  EXPECT_EQ(byte_at(memory_), 2);
}

TEST_F(HeldBackTest, CopiesWaitToo) {
  char const mine = 9;
  driver_.memcpy_async(memory_, reinterpret_cast<device_pointer>(&mine), 1, first_);
  set(1, second_);
  driver_.stream_synchronize(second_);
  EXPECT_EQ(byte_at(memory_), 1);
  driver_.stream_synchronize(first_);
  EXPECT_EQ(byte_at(memory_), 9);
}

TEST_F(HeldBackTest, EventCoversWhatCameBeforeIt) {
  auto* const event = driver_.event_create(first_);
  set(1, first_);
  driver_.event_record(event, first_);
  set(2, first_);
  driver_.event_synchronize(event);
  EXPECT_EQ(byte_at(memory_), 1);
  EXPECT_FALSE(driver_.stream_query(first_));
  driver_.event_record(event, second_);
  driver_.event_synchronize(event);
  EXPECT_EQ(byte_at(memory_), 1);
  driver_.event_destroy(event);
}

TEST_F(HeldBackTest, LegacyDefaultStreamWaitsForAll) {
  set(1, first_);
  set(2, token(2));
  driver_.stream_synchronize(token(2));
  EXPECT_EQ(byte_at(memory_), 2);
  EXPECT_FALSE(driver_.stream_query(token(1)));
  driver_.stream_synchronize(token(1));
  EXPECT_EQ(byte_at(memory_), 1);
  EXPECT_TRUE(driver_.stream_query(token(1)));
}

TEST_F(HeldBackTest, DestroyingAStreamRunsItsWork) {
  auto* const third = driver_.stream_create(-1);
  set(3, third);
  driver_.stream_destroy(third);
  EXPECT_EQ(byte_at(memory_), 3);
}

TEST_F(HeldBackTest, FreedMemoryIsReusedOnlyAfterTheFreeHasRun) {
  auto const other = driver_.mem_alloc_from_pool_async(pool_, 4096, first_);
  driver_.mem_free_async(pool_, other, first_);
  auto const third = driver_.mem_alloc_from_pool_async(pool_, 4096, first_);
  EXPECT_NE(third, other);
  driver_.stream_synchronize(first_);
  EXPECT_EQ(driver_.mem_alloc_from_pool_async(pool_, 4096, first_), other);
  driver_.mem_free_async(pool_, other, first_);
  driver_.mem_free_async(pool_, third, first_);
}

TEST_F(HeldBackTest, PoolGoesWithTheLastWorkThatTouchesIt) {
  auto const before = footprint::now();
  auto* const pool = make_pool();
  auto const memory = driver_.mem_alloc_from_pool_async(pool, 4096, first_);
  driver_.memset_d8_async(memory, std::byte{1}, 4096, first_);
  driver_.mem_free_async(pool, memory, first_);
  driver_.mem_pool_destroy(pool);
  EXPECT_EQ(driver_.live_objects()["pools"], 1U);
  EXPECT_FALSE(nothing_left_since(before));
  driver_.stream_synchronize(first_);
  EXPECT_TRUE(nothing_left_since(before));
}

TEST_F(HeldBackTest, NotHoldingBackAnyMoreRunsEverything) {
  set(1, first_);
  driver_.hold_back(false);
  EXPECT_EQ(byte_at(memory_), 1);
  set(2, second_);
  EXPECT_EQ(byte_at(memory_), 2);
}

TEST_F(CheckedDriverTest, SaysWhichStreamsCapture) {
  auto* const stream = driver_.stream_create(-1);
  EXPECT_FALSE(driver_.stream_is_capturing(stream));
  driver_.set_capturing(stream, true);
  EXPECT_TRUE(driver_.stream_is_capturing(stream));
  EXPECT_FALSE(driver_.stream_is_capturing(token(1)));
  driver_.set_capturing(stream, false);
  EXPECT_FALSE(driver_.stream_is_capturing(stream));
  driver_.stream_destroy(stream);
}

TEST_F(CheckedDriverTest, SeveralThreadsMayUseIt) {
  driver_.hold_back(true);
  auto* const pool = make_pool();
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&] {
      auto* const stream = driver_.stream_create(-1);
      for (int i = 0; i < 100; ++i) {
        auto const memory = driver_.mem_alloc_from_pool_async(pool, 1, stream);
        driver_.memset_d8_async(memory, std::byte{1}, 1, stream);
        driver_.mem_free_async(pool, memory, stream);
        if (i % 10 == 0) driver_.stream_synchronize(stream);
      }
      driver_.stream_destroy(stream);
    });
  }
  for (auto& thread : threads) thread.join();
  driver_.mem_pool_destroy(pool);
  EXPECT_EQ(driver_.live_total(), 0U);
  EXPECT_EQ(driver_.held_back(), 0U);
  EXPECT_TRUE(driver_.violations().empty());
}

}  // namespace
}  // namespace rankshare::test
