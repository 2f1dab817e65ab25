// SPDX-License-Identifier: Apache-2.0
// Conformance of pool resources: allocating, closing, attributes.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <rankshare/handle/stream.hpp>
#include <rankshare/handle/stream_order.hpp>
#include <rankshare/memory/memory_resource.hpp>
#include <support/pool_conformance.hpp>

namespace rankshare::test {
namespace {

static_assert(std::is_copy_constructible_v<pool_memory_resource>);
static_assert(std::is_nothrow_move_constructible_v<pool_memory_resource>);
static_assert(std::is_convertible_v<pool_memory_resource, memory_resource>);

TEST_P(PoolConformanceTest, AllocatesAndCloses) {
  auto const memory = make();
  auto mine = memory.allocate(100);
  EXPECT_FALSE(mine.is_closed());
  EXPECT_NE(mine.handle(), 0U);
  EXPECT_EQ(mine.data(), reinterpret_cast<void*>(mine.handle()));
  EXPECT_EQ(mine.as<double>(), mine.data());
  EXPECT_EQ(mine.size(), 100U);
  EXPECT_GE(mine.capacity(), 100U);
  write_pattern(mine, 1);
  EXPECT_TRUE(has_pattern(mine, 1));
  mine.close();
  EXPECT_TRUE(mine.is_closed());
}

TEST_P(PoolConformanceTest, AllocatesInTheOrderOfAStream) {
  auto const memory = make();
  stream const own(where());
  for (stream_ref const on :
       {stream_ref(own), stream_ref::legacy_default(), stream_ref::per_thread_default()}) {
    auto mine = memory.allocate(100, on);
    detail::wait_for(on, where());
    write_pattern(mine, 1);
    EXPECT_TRUE(has_pattern(mine, 1));
    mine.fill(std::byte{7}, on);
    detail::wait_for(on, where());
    EXPECT_EQ(bytes_of(mine), std::vector<std::byte>(100, std::byte{7}));
    mine.close(own);
  }
}

TEST_P(PoolConformanceTest, SizeZeroIsAValue) {
  auto const memory = make();
  auto empty = memory.allocate(0);
  EXPECT_FALSE(empty.is_closed());
  EXPECT_EQ(empty.handle(), 0U);
  EXPECT_EQ(empty.data(), nullptr);
  EXPECT_EQ(empty.size(), 0U);
  EXPECT_EQ(empty.capacity(), 0U);
  EXPECT_EQ(empty.memory_resource(), memory_resource(memory));
  EXPECT_NO_THROW(empty.fill(std::byte{1}, order()));
  EXPECT_EQ(empty.ipc_descriptor().size(), 0U);
  empty.close();
  EXPECT_TRUE(empty.is_closed());
}

TEST_P(PoolConformanceTest, CapacityIsTheSizeRoundedUp) {
  auto const memory = make();
  auto const step = granularity_of(memory);
  for (auto const size : {std::size_t{1}, std::size_t{511}, std::size_t{4097}, step, step + 1,
                          2 * step - 1, 2 * step}) {
    auto mine = memory.allocate(size);
    EXPECT_EQ(mine.size(), size);
    EXPECT_EQ(mine.capacity(), (size + step - 1) / step * step);
    EXPECT_EQ(mine.handle() % step, 0U);
    write_pattern(mine, 2);
    EXPECT_TRUE(has_pattern(mine, 2));
  }
}

// Of a pool that is not shared: the size of what GPUs share has a limit of its own.
TEST_P(PoolConformanceTest, ImpossibleSizesAreOutOfMemory) {
  auto const memory = make(max_size, false);
  auto const step = granularity_of(memory);
  constexpr auto largest = std::numeric_limits<std::size_t>::max();
  for (auto const size :
       {largest, largest - step + 1, largest - step, largest / 2 + 1, max_size + 1}) {
    auto const before = footprint_now();
    try {
      auto const mine = memory.allocate(size);
      ADD_FAILURE() << size << " bytes were allocated";
    } catch (out_of_memory const& thrown) {
      EXPECT_EQ(thrown.bytes(), size);
      EXPECT_NE(std::string(thrown.what()).find(std::to_string(size)), std::string::npos)
          << thrown.what();
    }
    EXPECT_TRUE(nothing_left_since(before));
  }
  EXPECT_NO_THROW(memory.allocate(max_size));
}

TEST_P(PoolConformanceTest, SharedMemoryOfGpusHasASizeThatCanBeImported) {
  if (is_host()) return;
  auto const memory = make();
  constexpr auto most = std::size_t{2} << 30;
  for (auto const size : {most + 1, ~std::size_t{0}}) {
    checked_.reset_counts();
    EXPECT_TRUE(
        throws<not_supported>([&] { memory.allocate(size, order()); },
                              "allocating " + std::to_string(size) + " bytes of " + described(),
                              "2147483648", "several smaller ones", "ipc_enabled = false"));
    EXPECT_EQ(checked_.calls("mem_alloc_from_pool_async"), 0U);
  }
  EXPECT_TRUE(throws<out_of_memory>([&] { memory.allocate(most, order()); }));
}

TEST_P(PoolConformanceTest, PoolMayBeUsedUpAndUsedAgain) {
  auto const memory = make();
  for (int round = 0; round < 3; ++round) {
    auto const first = memory.allocate(max_size / 2);
    auto const second = memory.allocate(max_size / 2);
    EXPECT_TRUE(throws<out_of_memory>([&] { memory.allocate(1); }, "allocating 1 bytes"));
  }
}

TEST_P(PoolConformanceTest, LiveAllocationsAreDistinct) {
  auto const memory = make();
  auto const step = granularity_of(memory);
  std::vector<buffer> live;
  for (unsigned i = 0; i < 64; ++i) live.push_back(memory.allocate(1 + i * 37 % (4 * step)));
  for (unsigned i = 0; i < 64; i += 3) live[i] = memory.allocate(1 + i * 53 % (8 * step));
  for (unsigned i = 0; i < 64; ++i) write_pattern(live[i], i);
  for (unsigned i = 0; i < 64; ++i) EXPECT_TRUE(has_pattern(live[i], i)) << i;
}

TEST_P(PoolConformanceTest, BuffersMayCloseBeforeTheResource) {
  auto memory = make();
  auto first = memory.allocate(100);
  auto second = memory.allocate(100);
  second.close();
  first.close();
  memory.close();
  EXPECT_TRUE(memory.is_closed());
}

TEST_P(PoolConformanceTest, ResourceMayCloseBeforeItsBuffers) {
  auto memory = make();
  auto first = memory.allocate(100);
  auto second = memory.allocate(100, order());
  detail::wait_for(order(), where());
  memory.close();
  write_pattern(first, 1);
  write_pattern(second, 2);
  EXPECT_TRUE(has_pattern(first, 1));
  EXPECT_TRUE(has_pattern(second, 2));
  EXPECT_TRUE(first.memory_resource().is_closed());
  EXPECT_NO_THROW((void)first.ipc_descriptor());
  first.close();
  second.close();
}

TEST_P(PoolConformanceTest, CloseMayBeRepeated) {
  auto memory = make();
  auto mine = memory.allocate(100);
  mine.close();
  mine.close();
  mine.close(order());
  memory.close();
  memory.close();
}

TEST_P(PoolConformanceTest, OpenResourceTellsItsAttributes) {
  auto const memory = make();
  EXPECT_FALSE(memory.is_closed());
  EXPECT_FALSE(memory.is_mapped());
  EXPECT_TRUE(memory.is_ipc_enabled());
  EXPECT_TRUE(memory.is_handle_owned());
  EXPECT_FALSE(memory.uuid().is_nil());
  EXPECT_EQ(memory.device_id(), kind() == memory_kind::device ? where().id() : -1);
  EXPECT_EQ(memory.device(), where());
  EXPECT_EQ(memory.is_host_accessible(), kind() != memory_kind::device);
  EXPECT_EQ(memory.is_device_accessible(), kind() != memory_kind::host);
  EXPECT_NE(memory.native_handle(), nullptr);
  EXPECT_EQ(memory.allocation_handle().id(), memory.uuid());
  EXPECT_GE(memory.allocation_handle().fd(), 0);
  EXPECT_NE(make().uuid(), memory.uuid());
}

TEST_P(PoolConformanceTest, ClosedResourceTellsThatItIsClosed) {
  auto memory = make();
  memory.close();
  EXPECT_TRUE(memory.is_closed());
  EXPECT_FALSE(memory.is_mapped());
  EXPECT_FALSE(memory.is_ipc_enabled());
  EXPECT_FALSE(memory.is_handle_owned());
  EXPECT_TRUE(memory.uuid().is_nil());
  EXPECT_EQ(memory.device_id(), kind() == memory_kind::device ? where().id() : -1);
  EXPECT_EQ(memory.native_handle(), nullptr);
}

TEST_P(PoolConformanceTest, ClosedResourceIsAnErrorInUse) {
  auto memory = make();
  memory.close();
  auto const expect_closed = [&](auto const& call) {
    EXPECT_TRUE(throws<closed_error>(call, "memory resource of " + described(),
                                     "it has been closed", "make a new one"));
  };
  expect_closed([&] { memory.allocate(1); });
  expect_closed([&] { memory.allocate(0); });
  expect_closed([&] { memory.allocate(1, order()); });
  expect_closed([&] { memory.deallocate(4096, 1, order()); });
  expect_closed([&] { (void)memory.allocation_handle(); });
}

TEST_P(PoolConformanceTest, BufferTellsItsAttributes) {
  auto const memory = make();
  auto const mine = memory.allocate(100);
  EXPECT_FALSE(mine.is_mapped());
  EXPECT_FALSE(mine.is_managed());
  EXPECT_EQ(mine.device_id(), memory.device_id());
  EXPECT_EQ(mine.is_host_accessible(), memory.is_host_accessible());
  EXPECT_EQ(mine.is_device_accessible(), memory.is_device_accessible());
  EXPECT_EQ(mine.memory_resource(), memory_resource(memory));
  EXPECT_EQ(mine.memory_resource().uuid(), memory.uuid());
}

TEST_P(PoolConformanceTest, CopiesAreOneResource) {
  auto first = make();
  auto second = first;
  EXPECT_EQ(first, second);
  EXPECT_NE(first, make());
  second.close();
  EXPECT_TRUE(first.is_closed());
  EXPECT_EQ(first, second);
}

TEST_P(PoolConformanceTest, MovedFromResourceMayStillBeUsed) {
  auto first = make();
  auto const second = std::move(first);
  EXPECT_EQ(first, second);  // NOLINT: a move is a copy
  EXPECT_FALSE(first.is_closed());
  EXPECT_NO_THROW(first.allocate(1));
  memory_resource any = second;
  auto const other = std::move(any);
  EXPECT_EQ(any, other);  // NOLINT: a move is a copy
  EXPECT_EQ(any.uuid(), second.uuid());
}

TEST_P(PoolConformanceTest, ConvertsToAnyMemoryResource) {
  auto const memory = make();
  memory_resource any = memory;
  EXPECT_EQ(any.uuid(), memory.uuid());
  EXPECT_EQ(any.device_id(), memory.device_id());
  EXPECT_EQ(any.is_host_accessible(), memory.is_host_accessible());
  EXPECT_EQ(any.is_device_accessible(), memory.is_device_accessible());
  EXPECT_FALSE(any.is_mapped());
  {
    auto const mine = any.allocate(100, order());
    EXPECT_EQ(mine.memory_resource(), any);
  }
  any.close();
  EXPECT_TRUE(memory.is_closed());
  EXPECT_TRUE(any.is_closed());
}

TEST_P(PoolConformanceTest, DeallocatingWhatIsNoAllocationIsAnError) {
  expect_violations();
  auto const memory = make();
  auto const other = make().allocate(100);
  auto const mine = memory.allocate(2 * granularity_of(memory));
  std::vector<device_pointer> wrong_ones = {0, 4096, mine.handle() + 1,
                                            mine.handle() + mine.capacity() / 2};
  if (GetParam().tells_owners_apart) wrong_ones.push_back(other.handle());
  for (auto const wrong : wrong_ones) {
    EXPECT_TRUE(
        throws<invalid_argument>([&] { memory.deallocate(wrong, 100, order()); }, "allocation"));
    EXPECT_TRUE(throws<invalid_argument>(
        [&] { memory_resource(memory).deallocate(wrong, 100, order()); }, "allocation"));
  }
}

TEST_P(PoolConformanceTest, FillSetsEveryByteAndNoOther) {
  auto const memory = make();
  constexpr std::size_t size = 3000;
  auto mine = memory.allocate(size);
  write_pattern(mine, 1);
  auto content = mine.ipc_descriptor().content();
  content.offset = 1000;
  content.size = 1001;
  auto part = buffer::from_ipc_descriptor(import(memory), buffer_descriptor(content), order());
  part.fill(std::byte{0xA5}, order());
  detail::wait_for(order(), where());
  auto const bytes = bytes_of(mine);
  for (std::size_t i = 0; i < size; ++i) {
    bool const is_inside = i >= 1000 && i < 2001;
    ASSERT_EQ(bytes[i], is_inside ? std::byte{0xA5} : pattern_byte(i, 1)) << i;
  }
  mine.fill(std::byte{0x5A}, order());
  detail::wait_for(order(), where());
  EXPECT_EQ(bytes_of(mine), std::vector<std::byte>(size, std::byte{0x5A}));
}

TEST_P(PoolConformanceTest, CopiesAllBytesToABufferOfThatSize) {
  auto const memory = make();
  auto mine = memory.allocate(5000);
  auto other = memory.allocate(5000);
  auto smaller = memory.allocate(4999);
  write_pattern(mine, 1);
  write_pattern(other, 2);
  mine.copy_to(other, order());
  detail::wait_for(order(), where());
  EXPECT_TRUE(has_pattern(other, 1));
  EXPECT_TRUE(throws<invalid_argument>([&] { mine.copy_to(smaller, order()); }, "5000 bytes",
                                       "4999 bytes", "the sizes must be the same"));
  auto empty = memory.allocate(0);
  EXPECT_NO_THROW(empty.copy_to(empty, order()));
  smaller.close();
  EXPECT_TRUE(throws<closed_error>([&] { mine.copy_to(smaller, order()); }, "copying to a buffer"));
  EXPECT_TRUE(
      throws<closed_error>([&] { mine.copy_from(smaller, order()); }, "copying from a buffer"));
}

TEST_P(PoolConformanceTest, SeveralThreadsMayAllocate) {
  auto const memory = make();
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      for (std::size_t i = 0; i < 50; ++i) {
        auto mine = memory.allocate(1 + i * 97);
        write_pattern(mine, number);
        EXPECT_TRUE(has_pattern(mine, number));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace rankshare::test
