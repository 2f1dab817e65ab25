// SPDX-License-Identifier: Apache-2.0
// The contract of CUDA that a checked driver holds every other driver's users to.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include <rankshare/base/error.hpp>
#include <rankshare/driver/emulated_devices.hpp>
#include <rankshare/driver/host_driver.hpp>
#include <support/checked_driver.hpp>
#include <support/throws.hpp>

namespace rankshare::test {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t gib = std::size_t{1} << 30;

CUstream_st* token(std::uintptr_t value) { return reinterpret_cast<CUstream_st*>(value); }

class CheckedDriverContractTest : public testing::Test {
 protected:
  /// A pool, exported, and the same pool imported.
  struct shared {
    CUmemPoolHandle_st* owned;
    CUmemPoolHandle_st* imported;
  };

  void SetUp() override {
    for (int device = 0; device < 2; ++device) streams_[device] = driver_.stream_create(device);
  }

  void TearDown() override {
    driver_.hold_back(false);
    for (auto* const stream : streams_) driver_.stream_destroy(stream);
    EXPECT_EQ(driver_.live_total(), 0U);
    EXPECT_EQ(driver_.violations().size(), violations_)
        << testing::PrintToString(driver_.violations());
  }

  CUmemPoolHandle_st* make_pool(memory_kind kind, std::size_t max_size = 32 * mib) {
    pool_properties properties;
    properties.kind = kind;
    properties.location = kind == memory_kind::host ? -1 : 0;
    properties.max_size = max_size;
    properties.id = uuid::random();
    id_ = properties.id;
    return driver_.mem_pool_create(properties);
  }

  shared make_shared_pool(memory_kind kind, std::size_t max_size = 32 * mib) {
    auto* const owned = make_pool(kind, max_size);
    auto const fd = driver_.mem_pool_export_to_shareable_handle(owned);
    return {owned, driver_.mem_pool_import_from_shareable_handle(fd.get(), kind, id_)};
  }

  device_pointer allocate(CUmemPoolHandle_st* pool, CUstream_st* stream) {
    return driver_.mem_alloc_from_pool_async(pool, 4096, stream);
  }

  void set(device_pointer memory, CUstream_st* stream) {
    driver_.memset_d8_async(memory, std::byte{7}, 4096, stream);
  }

  void destroy(shared const& pools) {
    driver_.mem_pool_destroy(pools.imported);
    driver_.mem_pool_destroy(pools.owned);
  }

  /// Expects that `call` is a violation whose text has the words.
  template <class Call, class... Words>
  testing::AssertionResult violates(Call const& call, Words const&... words) {
    auto const result = throws<invalid_argument>(call, words...);
    if (!result) return result;
    if (driver_.violations().size() != ++violations_) {
      return testing::AssertionFailure() << "the violation was not kept";
    }
    return testing::AssertionSuccess();
  }

  host_driver inner_{emulated_devices(2)};
  checked_driver driver_{inner_};
  CUstream_st* streams_[2] = {};
  uuid id_;                     // of the pool made last
  std::size_t violations_ = 0;  // that were expected
};

TEST_F(CheckedDriverContractTest, PointersAreExportedAfterTheirPool) {
  auto* const pool = make_pool(memory_kind::host);
  auto const memory = allocate(pool, token(1));
  EXPECT_TRUE(violates([&] { driver_.mem_pool_export_pointer(pool, memory); },
                       "mem_pool_export_pointer", "has not been exported"));
  driver_.mem_pool_export_to_shareable_handle(pool);
  EXPECT_NO_THROW(driver_.mem_pool_export_pointer(pool, memory));
  driver_.mem_free_async(pool, memory, token(1));
  driver_.mem_pool_destroy(pool);
}

TEST_F(CheckedDriverContractTest, SecondImportIsAnAliasThatEndsWithTheFirst) {
  for (auto const kind : {memory_kind::device, memory_kind::pinned}) {
    auto const pools = make_shared_pool(kind);
    auto const memory = allocate(pools.owned, streams_[0]);
    auto const payload = driver_.mem_pool_export_pointer(pools.owned, memory);
    auto const before = driver_.aliased_imports();
    auto const seen = driver_.mem_pool_import_pointer(pools.imported, payload);
    EXPECT_EQ(driver_.aliased_imports(), before);
    EXPECT_EQ(driver_.mem_pool_import_pointer(pools.imported, payload), seen);
    EXPECT_EQ(driver_.aliased_imports(), before + 1);
    EXPECT_EQ(driver_.live_objects()["imports"], 1U);
    driver_.mem_free_async(pools.imported, seen, streams_[0]);
    EXPECT_TRUE(violates([&] { driver_.mem_free_async(pools.imported, seen, streams_[0]); },
                         "no live allocation or import"));
    EXPECT_EQ(driver_.mem_pool_import_pointer(pools.imported, payload), seen);
    EXPECT_EQ(driver_.aliased_imports(), before + 1);
    driver_.mem_free_async(pools.imported, seen, streams_[0]);
    driver_.mem_free_async(pools.owned, memory, streams_[0]);
    destroy(pools);
  }
}

TEST_F(CheckedDriverContractTest, ImportBeforeAFreeHasRunEndsWithIt) {
  auto const pools = make_shared_pool(memory_kind::device);
  auto const memory = allocate(pools.owned, streams_[0]);
  auto const payload = driver_.mem_pool_export_pointer(pools.owned, memory);
  auto const seen = driver_.mem_pool_import_pointer(pools.imported, payload);
  driver_.hold_back(true);
  driver_.mem_free_async(pools.imported, seen, streams_[0]);
  EXPECT_EQ(driver_.mem_pool_import_pointer(pools.imported, payload), seen);
  EXPECT_EQ(driver_.aliased_imports(), 1U);
  EXPECT_NO_THROW(driver_.pointer_range_size(pools.imported, seen));
  driver_.stream_synchronize(streams_[0]);
  EXPECT_TRUE(
      violates([&] { driver_.pointer_range_size(pools.imported, seen); }, "no live allocation"));
  EXPECT_TRUE(violates([&] { set(seen, streams_[0]); }, "not inside a live"));
  driver_.mem_free_async(pools.owned, memory, streams_[0]);
  driver_.stream_synchronize(streams_[0]);
  destroy(pools);
}

TEST_F(CheckedDriverContractTest, ImportsOfHostMemoryAreCounted) {
  auto const pools = make_shared_pool(memory_kind::host);
  auto const memory = allocate(pools.owned, token(1));
  auto const payload = driver_.mem_pool_export_pointer(pools.owned, memory);
  auto const seen = driver_.mem_pool_import_pointer(pools.imported, payload);
  EXPECT_EQ(driver_.mem_pool_import_pointer(pools.imported, payload), seen);
  EXPECT_EQ(driver_.aliased_imports(), 1U);
  EXPECT_EQ(driver_.live_objects()["imports"], 2U);
  driver_.mem_free_async(pools.imported, seen, token(1));
  driver_.mem_free_async(pools.imported, seen, token(1));
  EXPECT_EQ(driver_.mem_pool_import_pointer(pools.imported, payload), seen);
  EXPECT_EQ(driver_.aliased_imports(), 1U);
  driver_.mem_free_async(pools.imported, seen, token(1));
  driver_.mem_free_async(pools.owned, memory, token(1));
  destroy(pools);
}

TEST_F(CheckedDriverContractTest, AnotherDeviceNeedsAccess) {
  auto* const pool = make_pool(memory_kind::device);
  auto const memory = allocate(pool, streams_[0]);
  EXPECT_NO_THROW(set(memory, streams_[0]));
  EXPECT_NO_THROW(set(memory, token(1)));
  EXPECT_TRUE(violates([&] { set(memory, streams_[1]); }, "device 1", "no access"));
  driver_.mem_pool_set_access(pool, 1, true);
  EXPECT_NO_THROW(set(memory, streams_[1]));
  driver_.mem_pool_set_access(pool, 1, false);
  EXPECT_TRUE(violates([&] { set(memory, streams_[1]); }, "no access"));
  EXPECT_TRUE(violates([&] { driver_.mem_pool_set_access(pool, 0, false); }, "device 0"));
  EXPECT_NO_THROW(driver_.mem_pool_set_access(pool, 0, true));
  driver_.mem_free_async(pool, memory, streams_[0]);
  driver_.mem_pool_destroy(pool);
}

TEST_F(CheckedDriverContractTest, PinnedMemoryNeedsAccessInOwnerAndImporter) {
  auto const pools = make_shared_pool(memory_kind::pinned);
  auto const memory = allocate(pools.owned, streams_[0]);
  EXPECT_TRUE(violates([&] { set(memory, streams_[0]); }, "device 0", "no access"));
  driver_.mem_pool_set_access(pools.owned, 0, true);
  EXPECT_NO_THROW(set(memory, streams_[0]));
  auto const seen = driver_.mem_pool_import_pointer(
      pools.imported, driver_.mem_pool_export_pointer(pools.owned, memory));
  EXPECT_TRUE(violates([&] { set(seen, streams_[0]); }, "device 0", "no access"));
  driver_.mem_pool_set_access(pools.imported, 0, true);
  EXPECT_NO_THROW(set(seen, streams_[0]));
  driver_.mem_free_async(pools.imported, seen, streams_[0]);
  driver_.mem_free_async(pools.owned, memory, streams_[0]);
  destroy(pools);
}

TEST_F(CheckedDriverContractTest, WhoseMemoryAnImportedPoolIsTheDriverKnows) {
  auto const pools = make_shared_pool(memory_kind::device);
  auto const memory = allocate(pools.owned, streams_[0]);
  auto const seen = driver_.mem_pool_import_pointer(
      pools.imported, driver_.mem_pool_export_pointer(pools.owned, memory));
  EXPECT_NO_THROW(set(seen, streams_[0]));
  EXPECT_TRUE(throws<invalid_argument>([&] { set(seen, streams_[1]); }, "no access"));
  driver_.mem_pool_set_access(pools.imported, 1, true);
  EXPECT_NO_THROW(set(seen, streams_[1]));
  driver_.mem_free_async(pools.imported, seen, streams_[0]);
  driver_.mem_free_async(pools.owned, memory, streams_[0]);
  destroy(pools);
}

TEST_F(CheckedDriverContractTest, CopyNeedsAccessToBothSides) {
  auto* const near = make_pool(memory_kind::device);
  auto* const pinned = make_pool(memory_kind::pinned);
  auto const one = allocate(near, streams_[0]);
  auto const other = allocate(pinned, streams_[0]);
  auto const copy = [&](device_pointer to, device_pointer from) {
    driver_.memcpy_async(to, from, 4096, streams_[0]);
  };
  EXPECT_TRUE(violates([&] { copy(one, other); }, "memcpy_async", "no access"));
  EXPECT_TRUE(violates([&] { copy(other, one); }, "memcpy_async", "no access"));
  driver_.mem_pool_set_access(pinned, 0, true);
  EXPECT_NO_THROW(copy(one, other));
  EXPECT_NO_THROW(copy(other, one));
  driver_.mem_free_async(near, one, streams_[0]);
  driver_.mem_free_async(pinned, other, streams_[0]);
  driver_.mem_pool_destroy(near);
  driver_.mem_pool_destroy(pinned);
}

TEST_F(CheckedDriverContractTest, SharedMemoryAboveTheLimitIsRefused) {
  auto const pools = make_shared_pool(memory_kind::device, 3 * gib);
  EXPECT_TRUE(
      violates([&] { driver_.mem_alloc_from_pool_async(pools.owned, 2 * gib + 1, streams_[0]); },
               "2147483649 bytes", "2 GiB"));
  auto const memory = driver_.mem_alloc_from_pool_async(pools.owned, 2 * gib, streams_[0]);
  auto const seen = driver_.mem_pool_import_pointer(
      pools.imported, driver_.mem_pool_export_pointer(pools.owned, memory));
  driver_.mem_free_async(pools.imported, seen, streams_[0]);
  driver_.mem_free_async(pools.owned, memory, streams_[0]);
  auto const larger = inner_.mem_alloc_from_pool_async(pools.owned, 2 * gib + 1, streams_[0]);
  auto const payload = inner_.mem_pool_export_pointer(pools.owned, larger);
  EXPECT_TRUE(violates([&] { driver_.mem_pool_import_pointer(pools.imported, payload); },
                       "mem_pool_import_pointer", "2 GiB"));
  inner_.mem_free_async(pools.owned, larger, streams_[0]);
  destroy(pools);
}

TEST_F(CheckedDriverContractTest, MemoryIsFreedAfterAllWorkThatTouchesIt) {
  auto* const pool = make_pool(memory_kind::device);
  auto const memory = allocate(pool, streams_[0]);
  auto* const other = driver_.stream_create(0);
  driver_.hold_back(true);
  set(memory, other);
  for (auto* const stream : {streams_[0], token(1)}) {
    EXPECT_TRUE(violates([&] { driver_.mem_free_async(pool, memory, stream); }, "mem_free_async",
                         "still touches"));
  }
  EXPECT_EQ(driver_.live_objects()["allocations"], 1U);
  driver_.stream_synchronize(other);
  EXPECT_NO_THROW(driver_.mem_free_async(pool, memory, streams_[0]));
  driver_.stream_synchronize(streams_[0]);
  driver_.stream_destroy(other);
  driver_.mem_pool_destroy(pool);
}

TEST_F(CheckedDriverContractTest, PoolGoesAfterAllWorkThatTouchesIt) {
  auto* const pool = make_pool(memory_kind::device);
  auto const memory = allocate(pool, streams_[0]);
  driver_.hold_back(true);
  set(memory, streams_[0]);
  driver_.mem_pool_destroy(pool);
  ++violations_;
  ASSERT_FALSE(driver_.violations().empty());
  EXPECT_NE(driver_.violations().back().find("work of stream"), std::string::npos);
}

TEST_F(CheckedDriverContractTest, WhatACapturingStreamMustNotBeAskedSpoilsTheCapture) {
  auto* const pool = make_pool(memory_kind::device);
  auto* const event = driver_.event_create(streams_[0]);
  auto* const stream = streams_[0];
  driver_.set_capturing(stream, true);
  EXPECT_TRUE(violates([&] { driver_.stream_query(stream); }, "stream_query", "spoils"));
  EXPECT_EQ(driver_.spoilt_captures(), 1U);
  EXPECT_TRUE(violates([&] { driver_.stream_synchronize(stream); }, "stream_synchronize"));
  EXPECT_TRUE(violates([&] { driver_.event_record(event, stream); }, "event_record"));
  EXPECT_TRUE(violates([&] { allocate(pool, stream); }, "mem_alloc_from_pool_async"));
  EXPECT_EQ(driver_.spoilt_captures(), 1U);
  EXPECT_NO_THROW(driver_.stream_query(streams_[1]));
  driver_.set_capturing(stream, false);
  EXPECT_NO_THROW(driver_.stream_query(stream));
  driver_.set_capturing(stream, true);
  EXPECT_TRUE(violates([&] { driver_.stream_query(stream); }, "stream_query"));
  EXPECT_EQ(driver_.spoilt_captures(), 2U);
  driver_.set_capturing(stream, false);
  driver_.event_destroy(event);
  driver_.mem_pool_destroy(pool);
}

TEST_F(CheckedDriverContractTest, WorkOfACaptureNeverRunsAndNothingIsFreed) {
  auto* const pool = make_pool(memory_kind::host);
  auto const memory = allocate(pool, token(1));
  driver_.set_capturing(streams_[0], true);
  set(memory, streams_[0]);
  driver_.memcpy_async(memory, memory + 1, 1, streams_[0]);
  EXPECT_TRUE(throws<capture_error>([&] { driver_.mem_free_async(pool, memory, streams_[0]); },
                                    "mem_free_async", "capturing"));
  EXPECT_EQ(driver_.live_objects()["allocations"], 1U);
  EXPECT_EQ(driver_.spoilt_captures(), 0U);
  driver_.set_capturing(streams_[0], false);
  EXPECT_EQ(*reinterpret_cast<char*>(memory), 0);
  driver_.mem_free_async(pool, memory, streams_[0]);
  driver_.mem_pool_destroy(pool);
}

TEST_F(CheckedDriverContractTest, DefaultStreamsNeedAContext) {
  auto* const before = driver_.ctx_get_current();
  driver_.set_context_current(false);
  EXPECT_EQ(driver_.ctx_get_current(), nullptr);
  for (auto* const stream : {token(1), token(2)}) {
    EXPECT_TRUE(throws<no_context>([&] { driver_.stream_query(stream); }, "stream_query",
                                   "no CUDA context"));
    EXPECT_TRUE(throws<no_context>([&] { driver_.stream_is_capturing(stream); }));
    EXPECT_TRUE(throws<no_context>([&] { driver_.event_create(stream); }));
  }
  EXPECT_NO_THROW(driver_.stream_query(streams_[0]));
  driver_.ctx_push_current(before);
  EXPECT_EQ(driver_.ctx_get_current(), before);
  EXPECT_NO_THROW(driver_.stream_query(token(1)));
  driver_.ctx_pop_current();
  EXPECT_TRUE(throws<no_context>([&] { driver_.stream_query(token(1)); }));
  driver_.set_context_current(true);
  EXPECT_EQ(driver_.ctx_get_current(), before);
}

TEST_F(CheckedDriverContractTest, ThreadsPopWhatTheyPush) {
  auto* const context = driver_.ctx_get_current();
  EXPECT_TRUE(violates([&] { driver_.ctx_pop_current(); }, "ctx_pop_current"));
  driver_.ctx_push_current(context);
  driver_.ctx_push_current(context);
  EXPECT_EQ(driver_.contexts_pushed(), 2U);
  EXPECT_EQ(driver_.live_objects()["pushed contexts"], 2U);
  std::thread([&] {
    EXPECT_TRUE(violates([&] { driver_.ctx_pop_current(); }, "this thread"));
    driver_.ctx_push_current(context);
    driver_.ctx_pop_current();
  }).join();
  std::thread([&] { driver_.ctx_push_current(context); }).join();
  ++violations_;
  EXPECT_NE(driver_.violations().back().find("a thread ended with 1"), std::string::npos);
  EXPECT_EQ(driver_.contexts_pushed(), 2U);
  driver_.ctx_pop_current();
  driver_.ctx_pop_current();
}

TEST_F(CheckedDriverContractTest, EventsAreRecordedOnStreamsOfTheirDevice) {
  auto* const event = driver_.event_create(streams_[0]);
  EXPECT_TRUE(violates([&] { driver_.event_record(event, streams_[1]); }, "event_record",
                       "device 0", "device 1"));
  EXPECT_NO_THROW(driver_.event_record(event, streams_[0]));
  EXPECT_NO_THROW(driver_.event_record(event, token(1)));
  driver_.event_destroy(event);
}

TEST_F(CheckedDriverContractTest, UnknownModulesAndKernelsAreRefused) {
  auto* const nothing = reinterpret_cast<CUmod_st*>(&violations_);
  auto* const kernel = reinterpret_cast<CUfunc_st*>(&violations_);
  EXPECT_TRUE(violates([&] { driver_.module_get_function(nothing, "add"); }, "unknown"));
  EXPECT_TRUE(violates([&] { driver_.module_unload(nothing); }, "module_unload"));
  EXPECT_TRUE(
      violates([&] { driver_.launch_kernel(kernel, {}, nullptr, streams_[0]); }, "launch_kernel"));
}

}  // namespace
}  // namespace rankshare::test
