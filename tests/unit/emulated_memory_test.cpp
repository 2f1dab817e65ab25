// SPDX-License-Identifier: Apache-2.0
// Which device reaches which memory, as the host driver enforces it where devices are emulated.
#include <rankshare/driver/emulated_memory.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include <rankshare/base/error.hpp>
#include <rankshare/driver/host_driver.hpp>
#include <support/leftovers.hpp>
#include <support/throws.hpp>

namespace rankshare {
namespace {

using test::throws;

constexpr std::size_t bytes = 4096;

CUstream_st* token(std::uintptr_t value) { return reinterpret_cast<CUstream_st*>(value); }

std::byte* at(device_pointer address) { return reinterpret_cast<std::byte*>(address); }

/// A pool and one allocation of it, or import.
struct piece {
  host_driver* from;
  CUmemPoolHandle_st* pool;
  device_pointer memory;

  piece(host_driver& driver, CUmemPoolHandle_st* of, device_pointer made)
      : from(&driver), pool(of), memory(made) {}
  piece(piece const&) = delete;
  ~piece() {
    from->mem_free_async(pool, memory, token(1));
    from->mem_pool_destroy(pool);
  }
};

class EmulatedMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    for (int device = -1; device < 3; ++device) streams_.push_back(driver_.stream_create(device));
  }
  void TearDown() override {
    for (auto* const stream : streams_) driver_.stream_destroy(stream);
    EXPECT_TRUE(test::nothing_left_since(before_));
  }

  CUstream_st* on(int device) const { return streams_[static_cast<std::size_t>(device + 1)]; }

  piece make(memory_kind kind, int location) {
    pool_properties properties;
    properties.kind = kind;
    properties.location = location;
    properties.max_size = std::size_t{1} << 20;
    properties.id = uuid::random();
    auto* const pool = driver_.mem_pool_create(properties);
    return {driver_, pool, driver_.mem_alloc_from_pool_async(pool, bytes, token(1))};
  }

  /// The same memory as another process of `driver` has it.
  piece import(piece const& owned, memory_kind kind, host_driver& driver) {
    auto const fd = owned.from->mem_pool_export_to_shareable_handle(owned.pool);
    auto* const pool = driver.mem_pool_import_from_shareable_handle(fd.get(), kind, uuid{});
    auto const payload = owned.from->mem_pool_export_pointer(owned.pool, owned.memory);
    return {driver, pool, driver.mem_pool_import_pointer(pool, payload)};
  }

  void set(piece const& on_what, int device, std::byte value = std::byte{7}) {
    driver_.memset_d8_async(on_what.memory, value, bytes, on(device));
  }

  /// Whether work on a stream of the device may touch it; if not, it must not.
  bool reaches(int device, piece const& memory) {
    auto const before = *at(memory.memory);
    auto const changed = before ^ std::byte{0xFF};
    try {
      set(memory, device, changed);
    } catch (invalid_argument const&) {
      EXPECT_EQ(*at(memory.memory), before);
      return false;
    }
    EXPECT_EQ(*at(memory.memory), changed);
    return true;
  }

  host_driver driver_{emulated_devices(3)};

 private:
  std::vector<CUstream_st*> streams_;
  test::footprint before_ = test::footprint::now();
};

TEST_F(EmulatedMemoryTest, HostMemoryIsReachedByAll) {
  auto const memory = make(memory_kind::host, -1);
  for (int device = -1; device < 3; ++device) EXPECT_TRUE(reaches(device, memory)) << device;
}

TEST_F(EmulatedMemoryTest, MemoryOfADeviceIsReachedByThatDevice) {
  auto const memory = make(memory_kind::device, 1);
  for (int device = -1; device < 3; ++device) EXPECT_EQ(reaches(device, memory), device == 1);
  EXPECT_TRUE(throws<invalid_argument>(
      [&] { set(memory, 2); }, "filling 4096 bytes", "on device 2 (emulated device 2)",
      "memory of emulated device 1", "has no access", "mem_pool_set_access(pool, 2, true)"));
  EXPECT_TRUE(throws<invalid_argument>([&] { set(memory, -1); }, "on the host",
                                       "memory of emulated device 1", "use a stream of a device"));
}

TEST_F(EmulatedMemoryTest, AnotherDeviceReachesItWhileAccessIsGranted) {
  auto const memory = make(memory_kind::device, 1);
  driver_.mem_pool_set_access(memory.pool, 0, true);
  EXPECT_TRUE(reaches(0, memory));
  EXPECT_FALSE(reaches(2, memory));
  driver_.mem_pool_set_access(memory.pool, 0, false);
  EXPECT_FALSE(reaches(0, memory));
  EXPECT_TRUE(reaches(1, memory));
}

TEST_F(EmulatedMemoryTest, PinnedMemoryIsReachedByTheHostAndByWhoeverIsGrantedAccess) {
  auto const memory = make(memory_kind::pinned, 0);
  EXPECT_TRUE(reaches(-1, memory));
  EXPECT_TRUE(throws<invalid_argument>([&] { set(memory, 0); }, "on device 0",
                                       "pinned memory of NUMA node 0",
                                       "mem_pool_set_access(pool, 0, true)"));
  driver_.mem_pool_set_access(memory.pool, 0, true);
  EXPECT_TRUE(reaches(0, memory));
  EXPECT_FALSE(reaches(1, memory));
  driver_.mem_pool_set_access(memory.pool, 0, false);
  EXPECT_FALSE(reaches(0, memory));
  EXPECT_TRUE(reaches(-1, memory));
}

TEST_F(EmulatedMemoryTest, AccessIsForOnePool) {
  auto const one = make(memory_kind::device, 1);
  auto const other = make(memory_kind::device, 1);
  driver_.mem_pool_set_access(one.pool, 0, true);
  EXPECT_TRUE(reaches(0, one));
  EXPECT_FALSE(reaches(0, other));
}

TEST_F(EmulatedMemoryTest, AccessIsForOneProcess) {
  host_driver other(emulated_devices(3));
  for (auto const kind : {memory_kind::device, memory_kind::pinned}) {
    auto const owned = make(kind, 0);
    driver_.mem_pool_set_access(owned.pool, 1, true);
    auto const imported = import(owned, kind, other);
    auto* const stream = other.stream_create(1);
    auto const fill = [&] { other.memset_d8_async(imported.memory, std::byte{7}, bytes, stream); };
    EXPECT_TRUE(throws<invalid_argument>(fill, "has no access"));
    other.mem_pool_set_access(imported.pool, 1, true);
    EXPECT_NO_THROW(fill());
    EXPECT_EQ(*at(owned.memory), std::byte{7});
    other.stream_destroy(stream);
  }
}

TEST_F(EmulatedMemoryTest, ImporterThatSeesTheDeviceReachesItsMemoryByIt) {
  auto const owned = make(memory_kind::device, 1);
  host_driver swapped(emulated_devices(3, "2,1"));
  auto const imported = import(owned, memory_kind::device, swapped);
  for (int ordinal = 0; ordinal < 2; ++ordinal) {
    auto* const stream = swapped.stream_create(ordinal);
    auto const fill = [&] { swapped.memset_d8_async(imported.memory, std::byte{7}, 1, stream); };
    if (ordinal == 1) {
      EXPECT_NO_THROW(fill());
    } else {
      EXPECT_TRUE(throws<invalid_argument>(fill, "device 0 (emulated device 2)",
                                           "memory of emulated device 1"));
    }
    swapped.stream_destroy(stream);
  }
}

TEST_F(EmulatedMemoryTest, ImporterThatDoesNotSeeTheDeviceNeedsAccess) {
  auto const owned = make(memory_kind::device, 1);
  host_driver blind(emulated_devices(3, "0"));
  auto const imported = import(owned, memory_kind::device, blind);
  auto* const stream = blind.stream_create(0);
  auto const fill = [&] { blind.memset_d8_async(imported.memory, std::byte{7}, 1, stream); };
  EXPECT_TRUE(throws<invalid_argument>(fill, "memory of emulated device 1"));
  blind.mem_pool_set_access(imported.pool, 0, true);
  EXPECT_NO_THROW(fill());
  blind.stream_destroy(stream);
}

TEST_F(EmulatedMemoryTest, AccessThatNobodyCanWithdraw) {
  auto const own = make(memory_kind::device, 1);
  EXPECT_NO_THROW(driver_.mem_pool_set_access(own.pool, 1, true));
  EXPECT_TRUE(throws<invalid_argument>([&] { driver_.mem_pool_set_access(own.pool, 1, false); },
                                       "withdrawing access", "device 1",
                                       "memory of emulated device 1"));
  EXPECT_TRUE(reaches(1, own));
  auto const host = make(memory_kind::host, -1);
  EXPECT_NO_THROW(driver_.mem_pool_set_access(host.pool, 1, true));
  EXPECT_TRUE(throws<invalid_argument>([&] { driver_.mem_pool_set_access(host.pool, 1, false); },
                                       "host memory", "always reaches"));
}

TEST_F(EmulatedMemoryTest, AccessIsForDevicesThatAreThere) {
  auto const memory = make(memory_kind::device, 0);
  for (int const wrong : {-1, 3}) {
    EXPECT_TRUE(
        throws<invalid_argument>([&] { driver_.mem_pool_set_access(memory.pool, wrong, true); },
                                 "access to a pool", "sees 3"));
  }
}

TEST_F(EmulatedMemoryTest, OneByteInSuchMemoryIsEnough) {
  auto const memory = make(memory_kind::device, 1);
  auto const fill = [&](device_pointer begin, std::size_t count) {
    driver_.memset_d8_async(begin, std::byte{7}, count, on(0));
  };
  EXPECT_TRUE(throws<invalid_argument>([&] { fill(memory.memory, 1); }));
  EXPECT_TRUE(throws<invalid_argument>([&] { fill(memory.memory + bytes - 1, 2); }));
  EXPECT_TRUE(throws<invalid_argument>([&] { fill(memory.memory - 1, 2); }));
  EXPECT_NO_THROW(fill(memory.memory, 0));
}

TEST_F(EmulatedMemoryTest, CopyNeedsAccessToBothSides) {
  auto const near = make(memory_kind::device, 0);
  auto const far = make(memory_kind::device, 1);
  auto const pinned = make(memory_kind::pinned, 0);
  *at(near.memory) = std::byte{1};
  *at(far.memory) = std::byte{2};
  for (auto const* other : {&far, &pinned}) {
    EXPECT_TRUE(throws<invalid_argument>(
        [&] { driver_.memcpy_async(near.memory, other->memory, bytes, on(0)); },
        "copying from 4096 bytes"));
    EXPECT_TRUE(throws<invalid_argument>(
        [&] { driver_.memcpy_async(other->memory, near.memory, bytes, on(0)); },
        "copying to 4096 bytes"));
  }
  EXPECT_EQ(*at(near.memory), std::byte{1});
  EXPECT_EQ(*at(far.memory), std::byte{2});
  driver_.mem_pool_set_access(far.pool, 0, true);
  driver_.memcpy_async(near.memory, far.memory, bytes, on(0));
  EXPECT_EQ(*at(near.memory), std::byte{2});
}

TEST_F(EmulatedMemoryTest, OrdinaryMemoryIsCopiedToAndFrom) {
  auto const memory = make(memory_kind::device, 0);
  std::vector<std::byte> from(bytes, std::byte{3});
  std::vector<std::byte> to(bytes);
  driver_.memcpy_async(memory.memory, reinterpret_cast<device_pointer>(from.data()), bytes, on(0));
  driver_.memcpy_async(reinterpret_cast<device_pointer>(to.data()), memory.memory, bytes, on(0));
  EXPECT_EQ(to, from);
}

TEST_F(EmulatedMemoryTest, DefaultStreamIsOneOfTheCurrentDevice) {
  auto const memory = make(memory_kind::device, 1);
  auto const fill = [&](CUstream_st* stream) {
    driver_.memset_d8_async(memory.memory, std::byte{7}, bytes, stream);
  };
  for (std::uintptr_t const value : {1U, 2U}) {
    EXPECT_TRUE(throws<invalid_argument>([&] { fill(token(value)); }, "on device 0"));
    driver_.ctx_push_current(driver_.context_of(1));
    EXPECT_NO_THROW(fill(token(value)));
    driver_.ctx_pop_current();
  }
}

TEST_F(EmulatedMemoryTest, PoolThatIsGoneIsForgotten) {
  device_pointer place = 0;
  {
    auto const memory = make(memory_kind::device, 1);
    place = memory.memory;
  }
  std::byte here{};
  EXPECT_NO_THROW(
      driver_.memset_d8_async(reinterpret_cast<device_pointer>(&here), std::byte{7}, 1, on(0)));
  detail::emulated_memory books;
  EXPECT_NO_THROW(books.check(place, bytes, {0, 0}, "filling"));
}

}  // namespace
}  // namespace rankshare
