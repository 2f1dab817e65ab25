// SPDX-License-Identifier: Apache-2.0
// Conformance of pool resources: importing pools and buffers. Owner and importer are one process
// here, which a driver serves like two.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <rankshare/handle/stream.hpp>
#include <rankshare/memory/memory_resource.hpp>
#include <support/pool_conformance.hpp>

namespace rankshare::test {
namespace {

TEST_P(PoolConformanceTest, ImportedResourceIsMapped) {
  auto const memory = make();
  auto const mapped = import(memory);
  EXPECT_TRUE(mapped.is_mapped());
  EXPECT_FALSE(mapped.is_closed());
  EXPECT_TRUE(mapped.is_ipc_enabled());
  EXPECT_EQ(mapped.uuid(), memory.uuid());
  EXPECT_EQ(mapped.device_id(), memory.device_id());
  EXPECT_EQ(mapped.is_host_accessible(), memory.is_host_accessible());
  EXPECT_EQ(mapped.is_device_accessible(), memory.is_device_accessible());
  EXPECT_NE(mapped, memory);
}

TEST_P(PoolConformanceTest, ImportedBufferIsTheSameMemory) {
  auto const memory = make();
  auto mine = memory.allocate(5000);
  write_pattern(mine, 1);
  auto const mapped = import(memory);
  auto seen = import_buffer(mapped, mine);
  EXPECT_TRUE(seen.is_mapped());
  EXPECT_FALSE(seen.is_closed());
  EXPECT_EQ(seen.size(), mine.size());
  EXPECT_EQ(seen.capacity(), mine.capacity());
  EXPECT_NE(seen.handle(), mine.handle());
  EXPECT_EQ(seen.memory_resource(), memory_resource(mapped));
  EXPECT_EQ(seen.is_host_accessible(), mine.is_host_accessible());
  EXPECT_TRUE(has_pattern(seen, 1));
  write_pattern(seen, 2);
  EXPECT_TRUE(has_pattern(mine, 2));
}

TEST_P(PoolConformanceTest, ImportedResourceCannotAllocate) {
  auto const memory = make();
  auto const mapped = import(memory);
  auto const id = to_string(memory.uuid());
  auto const before = footprint_now();
  EXPECT_TRUE(throws<mapped_resource_error>([&] { mapped.allocate(100); }, "allocating 100 bytes",
                                            "pool " + id, "belongs to another process",
                                            "use a resource of your own"));
  EXPECT_TRUE(throws<mapped_resource_error>([&] { mapped.allocate(0, order()); }, id));
  EXPECT_TRUE(nothing_left_since(before));
}

TEST_P(PoolConformanceTest, ImportedResourceFreesNothing) {
  auto const memory = make();
  auto mine = memory.allocate(100);
  write_pattern(mine, 1);
  auto const mapped = import(memory);
  auto const seen = import_buffer(mapped, mine);
  EXPECT_TRUE(throws<mapped_resource_error>(
      [&] { mapped.deallocate(seen.handle(), seen.size(), order()); },
      "pool " + to_string(memory.uuid()), "belongs to another process", "close the buffer"));
  EXPECT_TRUE(has_pattern(seen, 1));
}

TEST_P(PoolConformanceTest, BufferIsImportedThroughAMappedResourceOnly) {
  auto memory = make();
  auto const mine = memory.allocate(100);
  EXPECT_TRUE(throws<invalid_argument>([&] { import_buffer(memory, mine); }, "was not imported",
                                       "pool " + to_string(memory.uuid())));
  auto mapped = import(memory);
  mapped.close();
  EXPECT_TRUE(throws<closed_error>([&] { import_buffer(mapped, mine); }, "closed"));
}

TEST_P(PoolConformanceTest, PoolIsImportedOnce) {
  auto const memory = make();
  auto const first = import(memory);
  auto const second = import(memory);
  EXPECT_EQ(first, second);
  EXPECT_EQ(first.native_handle(), second.native_handle());
}

TEST_P(PoolConformanceTest, RepeatedImportIsTheSameMapping) {
  auto const memory = make();
  auto mine = memory.allocate(100);
  auto const mapped = import(memory);
  auto first = import_buffer(mapped, mine);
  auto second = import_buffer(mapped, mine);
  EXPECT_EQ(first.handle(), second.handle());
  first.close();
  write_pattern(mine, 3);
  EXPECT_TRUE(has_pattern(second, 3));
  second.close();
  auto const third = import_buffer(mapped, mine);
  EXPECT_TRUE(has_pattern(third, 3));
}

TEST_P(PoolConformanceTest, MappedResourceMayCloseBeforeItsBuffers) {
  auto const memory = make();
  auto mine = memory.allocate(100);
  write_pattern(mine, 4);
  auto mapped = import(memory);
  auto const seen = import_buffer(mapped, mine);
  mapped.close();
  EXPECT_TRUE(has_pattern(seen, 4));
  EXPECT_TRUE(seen.memory_resource().is_closed());
  EXPECT_TRUE(import(memory).is_mapped());
  EXPECT_TRUE(has_pattern(import_buffer(import(memory), mine), 4));
}

TEST_P(PoolConformanceTest, MappingOutlivesItsOwner) {
  auto memory = make();
  auto mine = memory.allocate(100);
  write_pattern(mine, 5);
  auto const mapped = import(memory);
  auto const seen = import_buffer(mapped, mine);
  mine.close();
  memory.close();
  EXPECT_TRUE(has_pattern(seen, 5));
}

TEST_P(PoolConformanceTest, SizeZeroIsShared) {
  auto const memory = make();
  auto const empty = memory.allocate(0);
  auto const seen = import_buffer(import(memory), empty);
  EXPECT_TRUE(seen.is_mapped());
  EXPECT_FALSE(seen.is_closed());
  EXPECT_EQ(seen.size(), 0U);
  EXPECT_EQ(seen.handle(), 0U);
}

TEST_P(PoolConformanceTest, DescriptorIsMadeOnce) {
  auto const memory = make();
  auto const mine = memory.allocate(100);
  auto const& first = mine.ipc_descriptor();
  EXPECT_EQ(&mine.ipc_descriptor(), &first);
  EXPECT_EQ(first.size(), 100U);
  EXPECT_EQ(first.pool_id(), memory.uuid());
  EXPECT_TRUE(first.content().lease.is_none());
  EXPECT_NE(memory.allocate(100).ipc_descriptor().content().serial, first.content().serial);
}

TEST_P(PoolConformanceTest, ImportedBufferReturnsTheDescriptorItCameFrom) {
  auto const memory = make();
  auto const mine = memory.allocate(100);
  auto const seen = import_buffer(import(memory), mine);
  EXPECT_EQ(seen.ipc_descriptor().bytes(), mine.ipc_descriptor().bytes());
}

TEST_P(PoolConformanceTest, RegistryKnowsImportedPools) {
  auto const memory = make();
  auto mapped = import(memory);
  EXPECT_EQ(find(memory.uuid()), mapped);
  auto const id = memory.uuid();
  auto const seen = import_buffer(mapped, memory.allocate(1));
  mapped.close();
  EXPECT_TRUE(find(id).is_mapped()) << "its buffers keep the pool";
}

TEST_P(PoolConformanceTest, RegistryMissNamesThePool) {
  auto const memory = make();
  auto const id = memory.uuid();
  auto const expect_miss = [&](uuid const& missed) {
    EXPECT_TRUE(throws<not_registered>([&] { find(missed); }, "pool " + to_string(missed),
                                       "has not imported it", "import it first"));
  };
  expect_miss(id);  // its own pools are not in it
  expect_miss(uuid::random());
  expect_miss(uuid{});
  auto mapped = import(memory);
  mapped.close();
  expect_miss(id);
}

TEST_P(PoolConformanceTest, ClosedHandleIsAnError) {
  auto const memory = make();
  allocation_handle handle(unique_fd::duplicate_of(memory.allocation_handle().fd()), memory.uuid());
  handle.close();
  EXPECT_TRUE(throws<closed_error>([&] { import(handle); }, to_string(memory.uuid()), "closed"));
  auto const mapped = import(memory);
  EXPECT_TRUE(throws<closed_error>([&] { import(handle); })) << "even if the pool is known";
}

TEST_P(PoolConformanceTest, HandleStaysTheCallersOwn) {
  auto const memory = make();
  allocation_handle handle(unique_fd::duplicate_of(memory.allocation_handle().fd()), memory.uuid());
  auto const mapped = import(handle);
  EXPECT_FALSE(handle.is_closed());
  handle.close();
  auto mine = memory.allocate(100);
  write_pattern(mine, 6);
  EXPECT_TRUE(has_pattern(import_buffer(mapped, mine), 6));
}

TEST_P(PoolConformanceTest, HandleWithoutUuidGivesAPoolWithoutUuid) {
  auto const memory = make();
  allocation_handle const handle(unique_fd::duplicate_of(memory.allocation_handle().fd()), uuid{});
  auto const mapped = import(handle);
  EXPECT_TRUE(mapped.is_mapped());
  EXPECT_TRUE(mapped.uuid().is_nil());
}

TEST_P(PoolConformanceTest, HandleOfAnotherPoolIsStaleWhereThatCanBeTold) {
  auto const memory = make();
  auto const other = make();
  allocation_handle const wrong(unique_fd::duplicate_of(other.allocation_handle().fd()),
                                memory.uuid());
  auto const before = footprint_now();
  if (GetParam().tells_pools_apart) {
    EXPECT_TRUE(throws<stale_descriptor>([&] { import(wrong); }, to_string(memory.uuid())));
  } else {
    EXPECT_TRUE(import(wrong).is_mapped());
  }
  EXPECT_TRUE(nothing_left_since(before));
}

TEST_P(PoolConformanceTest, HandleThatIsNoPoolIsRefused) {
  auto const before = footprint_now();
  auto const open_null = [] { return unique_fd(::open("/dev/null", O_RDWR | O_CLOEXEC)); };
  EXPECT_TRUE(throws<invalid_descriptor>([&] { import(allocation_handle(open_null(), uuid{})); },
                                         "pass the fd of an allocation handle"));
  auto const id = uuid::random();
  EXPECT_TRUE(throws<stale_descriptor>([&] { import(allocation_handle(open_null(), id)); },
                                       "its owner has closed pool " + to_string(id)));
  EXPECT_TRUE(nothing_left_since(before));
}

TEST_P(PoolConformanceTest, SeveralThreadsMayImportAndCloseOneBuffer) {
  auto const memory = make();
  auto mine = memory.allocate(100);
  write_pattern(mine, 7);
  auto const mapped = import(memory);
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        auto const seen = import_buffer(mapped, mine);
        EXPECT_TRUE(has_pattern(seen, 7));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_P(PoolConformanceTest, ThreadsThatImportOnePoolAtOnceGetOneResource) {
  auto const memory = make();
  for (int round = 0; round < 100; ++round) {
    std::vector<std::optional<pool_memory_resource>> got(4);
    std::latch begin(4);
    std::vector<std::thread> threads;
    for (auto& mine : got) {
      threads.emplace_back([&] {
        begin.arrive_and_wait();
        mine = import(memory);
      });
    }
    for (auto& thread : threads) thread.join();
    for (auto const& mine : got) ASSERT_EQ(*mine, *got[0]) << "round " << round;
  }
}

TEST_P(PoolConformanceTest, SeveralThreadsMayImportManyBuffers) {
  auto const memory = make();
  std::vector<buffer> mine;
  for (unsigned i = 0; i < 16; ++i) {
    mine.push_back(memory.allocate(100));
    write_pattern(mine.back(), i);
  }
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      for (unsigned i = 0; i < 64; ++i) {
        unsigned const which = (i * 7 + number * 3) % 16;
        auto const seen = import_buffer(import(memory), mine[which]);
        EXPECT_TRUE(has_pattern(seen, which));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace rankshare::test
