// SPDX-License-Identifier: Apache-2.0
// Conformance of pool resources: what they ask of the driver, in which order, and what they leave
// behind where it fails.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rankshare/handle/stream.hpp>
#include <rankshare/memory/memory_resource.hpp>
#include <support/pool_conformance.hpp>

namespace rankshare::test {
namespace {

TEST_P(CheckedPoolConformanceTest, MakingAResourceTakesFewCalls) {
  auto const memory = make();
  EXPECT_EQ(checked_.calls("mem_pool_create"), 1U);
  EXPECT_EQ(checked_.calls("mem_pool_export_to_shareable_handle"), 1U);
  EXPECT_EQ(checked_.calls("mem_pool_granularity"), 1U);
  EXPECT_EQ(checked_.total_calls(), calls_to_make());
}

TEST_P(CheckedPoolConformanceTest, AllocationTakesTwoCallsAndCloseOne) {
  auto const memory = make();
  checked_.reset_counts();
  auto mine = memory.allocate(100, order());
  EXPECT_EQ(checked_.calls("stream_is_capturing"), 1U);
  EXPECT_EQ(checked_.calls("mem_alloc_from_pool_async"), 1U);
  EXPECT_EQ(checked_.total_calls(), 2U);
  mine.close();
  EXPECT_EQ(checked_.calls("mem_free_async"), 1U);
  EXPECT_EQ(checked_.total_calls(), 3U);
}

TEST_P(CheckedPoolConformanceTest, AllocationWithoutAStreamWaitsOnOneOfThePool) {
  auto const memory = make();
  checked_.reset_counts();
  auto const first = memory.allocate(100);
  EXPECT_EQ(checked_.calls("stream_create"), 1U);
  EXPECT_EQ(checked_.calls("stream_synchronize"), 1U);
  EXPECT_EQ(checked_.calls("stream_is_capturing"), 2U);
  EXPECT_EQ(checked_.total_calls(), 5U);
  auto const second = memory.allocate(100);
  EXPECT_EQ(checked_.calls("stream_create"), 1U);
  EXPECT_EQ(checked_.total_calls(), 9U);
}

TEST_P(CheckedPoolConformanceTest, SizeZeroTakesNoMemoryOfTheDriver) {
  auto const memory = make();
  auto const mapped = import(memory);
  {
    auto const empty = memory.allocate(0, order());
    auto const seen = import_buffer(mapped, empty);
  }
  EXPECT_EQ(checked_.calls("mem_alloc_from_pool_async"), 0U);
  EXPECT_EQ(checked_.calls("mem_pool_export_pointer"), 0U);
  EXPECT_EQ(checked_.calls("mem_pool_import_pointer"), 0U);
  EXPECT_EQ(checked_.calls("mem_free_async"), 0U);
}

TEST_P(CheckedPoolConformanceTest, AttributesTakeNoCall) {
  auto const memory = make();
  auto const mine = memory.allocate(100, order());
  checked_.reset_counts();
  (void)memory.is_closed();
  (void)memory.is_mapped();
  (void)memory.is_ipc_enabled();
  (void)memory.is_handle_owned();
  (void)memory.is_host_accessible();
  (void)memory.is_device_accessible();
  (void)memory.device_id();
  (void)memory.uuid();
  (void)memory.native_handle();
  (void)memory.allocation_handle();
  (void)mine.handle();
  (void)mine.size();
  (void)mine.capacity();
  (void)mine.device_id();
  (void)mine.is_mapped();
  (void)mine.is_host_accessible();
  (void)mine.is_device_accessible();
  (void)mine.memory_resource().uuid();
  EXPECT_EQ(checked_.total_calls(), 0U);
}

TEST_P(CheckedPoolConformanceTest, DescriptorTakesOneCallOnce) {
  auto const memory = make();
  auto const mine = memory.allocate(100, order());
  checked_.reset_counts();
  (void)mine.ipc_descriptor();
  EXPECT_EQ(checked_.calls("mem_pool_export_pointer"), 1U);
  EXPECT_EQ(checked_.total_calls(), 1U);
  (void)mine.ipc_descriptor();
  EXPECT_EQ(checked_.total_calls(), 1U);
}

TEST_P(CheckedPoolConformanceTest, ImportOfAPoolTakesFewCallsOnce) {
  auto const memory = make();
  checked_.reset_counts();
  auto const mapped = import(memory);
  EXPECT_EQ(checked_.calls("mem_pool_import_from_shareable_handle"), 1U);
  EXPECT_EQ(checked_.calls("mem_pool_granularity"), 1U);
  EXPECT_EQ(checked_.total_calls(), calls_to_import());
  auto const again = import(memory);
  auto const found = find(memory.uuid());
  EXPECT_EQ(checked_.total_calls(), calls_to_import());
}

TEST_P(CheckedPoolConformanceTest, ImportOfABufferTakesTwoCallsOnce) {
  auto const memory = make();
  auto const mine = memory.allocate(100, order());
  (void)mine.ipc_descriptor();
  auto const mapped = import(memory);
  checked_.reset_counts();
  auto first = import_buffer(mapped, mine);
  EXPECT_EQ(checked_.calls("mem_pool_import_pointer"), 1U);
  EXPECT_EQ(checked_.calls("pointer_range_size"), 1U);
  EXPECT_EQ(checked_.total_calls(), 2U);
  auto second = import_buffer(mapped, mine);
  first.close();
  (void)second.ipc_descriptor();
  EXPECT_EQ(checked_.total_calls(), 2U);
  second.close();
  EXPECT_EQ(checked_.calls("mem_free_async"), 1U);
  EXPECT_EQ(checked_.calls("stream_query"), 1U);
  // Whether a stream of a GPU captures is asked before it is given anything, and the end of the
  // import is marked on it.
  EXPECT_EQ(checked_.calls("stream_is_capturing"), is_host() ? 0U : 1U);
  EXPECT_EQ(checked_.calls("event_record"), is_host() ? 0U : 1U);
  EXPECT_EQ(checked_.total_calls(), is_host() ? 4U : 7U);
}

TEST_P(CheckedPoolConformanceTest, FurtherBuffersOfAPoolTakeNoPoolImport) {
  auto const memory = make();
  auto const mapped = import(memory);
  checked_.reset_counts();
  for (int i = 0; i < 100; ++i) {
    auto const mine = memory.allocate(100, order());
    auto const seen = import_buffer(import(memory), mine);
  }
  EXPECT_EQ(checked_.calls("mem_pool_import_from_shareable_handle"), 0U);
  EXPECT_EQ(checked_.calls("mem_pool_import_pointer"), 100U);
}

TEST_P(CheckedPoolConformanceTest, FillTakesOneCall) {
  auto const memory = make();
  auto mine = memory.allocate(100, order());
  checked_.reset_counts();
  mine.fill(std::byte{1}, order());
  EXPECT_EQ(checked_.calls("memset_d8_async"), 1U);
  EXPECT_EQ(checked_.total_calls(), 1U);
}

TEST_P(CheckedPoolConformanceTest, FailedMakingLeavesNothing) {
  EXPECT_EQ(fail_each_call([&] { return make(); }), calls_to_make());
}

TEST_P(CheckedPoolConformanceTest, FailedAllocationLeavesNothing) {
  auto const memory = make();
  EXPECT_EQ(fail_each_call([&] { return memory.allocate(100, order()); }), 2U);
  checked_.fail_call("stream_create", 1);
  EXPECT_TRUE(throws<out_of_memory>([&] { memory.allocate(100); }, "stream_create"));
  memory.allocate(1);  // makes the stream, which stays with the pool
  EXPECT_EQ(fail_each_call([&] { return memory.allocate(100); }), 4U);
}

TEST_P(CheckedPoolConformanceTest, FailedExportLeavesNothing) {
  auto const memory = make();
  auto const mine = memory.allocate(100, order());
  checked_.fail_call("mem_pool_export_pointer", 1);
  EXPECT_TRUE(throws<out_of_memory>([&] { (void)mine.ipc_descriptor(); }));
  auto const allocate_and_export = [&] {
    auto made = memory.allocate(100, order());
    (void)made.ipc_descriptor();
    return made;
  };
  EXPECT_EQ(fail_each_call(allocate_and_export), 3U);
  EXPECT_EQ(mine.ipc_descriptor().size(), 100U);
}

TEST_P(CheckedPoolConformanceTest, FailedImportLeavesNothing) {
  auto const memory = make();
  auto const mine = memory.allocate(100, order());
  (void)mine.ipc_descriptor();
  EXPECT_EQ(fail_each_call([&] { return import(memory); }), calls_to_import());
  EXPECT_EQ(fail_each_call([&] { return import_buffer(import(memory), mine); }),
            calls_to_import() + 2);
  auto const mapped = import(memory);
  import_buffer(mapped, mine).close();  // the mark of its end stays with the pool
  EXPECT_EQ(fail_each_call([&] { return import_buffer(mapped, mine); }), 2U);
  auto const seen = import_buffer(mapped, mine);
  EXPECT_EQ(fail_each_call([&] { return import_buffer(mapped, mine); }), 0U);
}

TEST_P(CheckedPoolConformanceTest, CapturingStreamIsRefused) {
  auto const memory = make();
  stream const capturing(where());
  checked_.set_capturing(capturing.native_handle(), true);
  EXPECT_TRUE(throws<capture_error>([&] { memory.allocate(100, capturing); },
                                    "allocating 100 bytes of " + described(), "capturing a graph",
                                    "before the capture begins"));
  EXPECT_EQ(checked_.calls("mem_alloc_from_pool_async"), 0U);
  checked_.set_capturing(capturing.native_handle(), false);
  EXPECT_NO_THROW(memory.allocate(100, capturing));
}

TEST_P(CheckedPoolConformanceTest, FillIsDoneWhenTheStreamIs) {
  auto const memory = make();
  stream const first(where());
  auto mine = memory.allocate(100, first);
  first.synchronize();
  write_pattern(mine, 1);
  auto const seen = import_buffer(import(memory), mine);
  checked_.hold_back(true);
  mine.fill(std::byte{7}, first);
  EXPECT_TRUE(has_pattern(seen, 1));
  first.synchronize();
  EXPECT_EQ(bytes_of(seen), std::vector<std::byte>(100, std::byte{7}));
  checked_.hold_back(false);
}

TEST_P(CheckedPoolConformanceTest, ClosedMemoryIsUsedAgainOnlyInStreamOrder) {
  auto const memory = make();
  stream const first(where());
  auto mine = memory.allocate(max_size, first);
  checked_.hold_back(true);
  mine.close();
  EXPECT_TRUE(throws<out_of_memory>([&] { memory.allocate(max_size, first); }));
  first.synchronize();
  EXPECT_NO_THROW(memory.allocate(max_size, first));
  first.synchronize();
}

TEST_P(CheckedPoolConformanceTest, ImportWaitsForAReleaseThatItsStreamHasNotComeTo) {
  auto const memory = make();
  auto mine = memory.allocate(100);
  write_pattern(mine, 1);
  auto const mapped = import(memory);
  stream const first(where());
  checked_.hold_back(true);
  import_buffer(mapped, mine).close(first);
  EXPECT_EQ(checked_.held_back(), 1U);
  auto seen = import_buffer(mapped, mine);
  EXPECT_TRUE(has_pattern(seen, 1));
  first.synchronize();
  EXPECT_TRUE(has_pattern(seen, 1));
  seen.close(first);
  first.synchronize();
}

TEST_P(CheckedPoolConformanceTest, EverythingMayCloseWhileItsWorkIsHeldBack) {
  checked_.hold_back(true);
  auto const before = footprint_now();
  {
    auto memory = make();
    std::optional<stream> first(where());
    auto mine = memory.allocate(100, *first);
    auto other = memory.allocate(100);
    auto mapped = import(memory);
    auto seen = import_buffer(mapped, mine);
    mine.fill(std::byte{1}, *first);
    other.fill(std::byte{2}, *first);
    memory.close();
    mapped.close();
    seen.close(*first);
    mine.close();
    other.close(*first);
    first.reset();
  }
  EXPECT_EQ(checked_.held_back(), 0U);
  EXPECT_TRUE(nothing_left_since(before));
}

}  // namespace
}  // namespace rankshare::test
