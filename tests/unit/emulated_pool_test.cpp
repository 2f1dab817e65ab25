// SPDX-License-Identifier: Apache-2.0
// Pools of device and pinned memory where devices are emulated: their owner's and their importers'
// side, and what payloads mean. The two sides are two drivers, as in two processes.
#include <rankshare/driver/emulated_pool.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <rankshare/base/error.hpp>
#include <rankshare/driver/host_driver.hpp>
#include <rankshare/driver/imported_emulated_pool.hpp>
#include <rankshare/driver/owned_emulated_pool.hpp>
#include <support/leftovers.hpp>
#include <support/throws.hpp>

namespace rankshare::detail {
namespace {

using test::throws;

constexpr std::size_t kib = 1024;

std::byte* at(device_pointer address) { return reinterpret_cast<std::byte*>(address); }

class EmulatedPoolTest : public testing::TestWithParam<memory_kind> {
 protected:
  // Later than TearDown: what derived fixtures hold is gone.
  ~EmulatedPoolTest() override { EXPECT_TRUE(test::nothing_left_since(before_)); }

  static pool_properties properties(int location = 0) {
    pool_properties made;
    made.kind = GetParam();
    made.location = location;
    made.max_size = 1024 * kib;
    made.id = uuid::random();
    return made;
  }

  static memory_kind other_kind() {
    return GetParam() == memory_kind::device ? memory_kind::pinned : memory_kind::device;
  }

 private:
  test::footprint before_ = test::footprint::now();
};

INSTANTIATE_TEST_SUITE_P(Kinds, EmulatedPoolTest,
                         testing::Values(memory_kind::device, memory_kind::pinned),
                         [](auto const& kind) {
                           return kind.param == memory_kind::device ? "Device" : "Pinned";
                         });

TEST_P(EmulatedPoolTest, PoolKnowsItsKindAndPlace) {
  auto const made_with = properties();
  owned_emulated_pool const owned(made_with);
  imported_emulated_pool const imported(owned.export_handle().get(), GetParam(), made_with.id);
  for (emulated_pool const* pool :
       {static_cast<emulated_pool const*>(&owned), static_cast<emulated_pool const*>(&imported)}) {
    EXPECT_EQ(pool->kind(), GetParam());
    EXPECT_EQ(pool->location(), 0);
  }
}

TEST_P(EmulatedPoolTest, MemoryIsSharedThroughTheHandle) {
  host_driver owner(emulated_devices(2));
  host_driver importer(emulated_devices(2));
  auto const made_with = properties();
  auto* const pool = owner.mem_pool_create(made_with);
  auto const memory = owner.mem_alloc_from_pool_async(pool, 5 * kib, nullptr);
  auto const fd = owner.mem_pool_export_to_shareable_handle(pool);
  auto* const imported =
      importer.mem_pool_import_from_shareable_handle(fd.get(), GetParam(), made_with.id);
  auto const seen =
      importer.mem_pool_import_pointer(imported, owner.mem_pool_export_pointer(pool, memory));
  EXPECT_NE(seen, memory);
  EXPECT_EQ(importer.pointer_range_size(imported, seen), 8 * kib);
  EXPECT_EQ(owner.pointer_range_size(pool, memory), 8 * kib);
  at(memory)[5000] = std::byte{1};
  EXPECT_EQ(at(seen)[5000], std::byte{1});
  at(seen)[1] = std::byte{2};
  EXPECT_EQ(at(memory)[1], std::byte{2});
  importer.mem_free_async(imported, seen, nullptr);
  importer.mem_pool_destroy(imported);
  owner.mem_free_async(pool, memory, nullptr);
  owner.mem_pool_destroy(pool);
}

TEST_P(EmulatedPoolTest, FileSaysTheNumberOfTheDeviceInTheMachine) {
  if (GetParam() != memory_kind::device) return;
  host_driver swapped(emulated_devices(2, "1,0"));
  auto* const pool = swapped.mem_pool_create(properties(0));
  auto const fd = swapped.mem_pool_export_to_shareable_handle(pool);
  EXPECT_EQ(imported_emulated_pool(fd.get(), GetParam(), uuid{}).location(), 1);
  swapped.mem_pool_destroy(pool);
}

TEST_P(EmulatedPoolTest, PoolOfAnotherKindIsRefused) {
  host_driver driver(emulated_devices(1));
  auto const made_with = properties();
  auto* const pool = driver.mem_pool_create(made_with);
  auto const fd = driver.mem_pool_export_to_shareable_handle(pool);
  auto const import = [&](memory_kind kind, uuid const& id) {
    driver.mem_pool_import_from_shareable_handle(fd.get(), kind, id);
  };
  for (auto const wrong : {other_kind(), memory_kind::host}) {
    EXPECT_TRUE(throws<stale_descriptor>([&] { import(wrong, made_with.id); }, "it is a pool of",
                                         to_string(made_with.id)));
    EXPECT_TRUE(throws<invalid_descriptor>([&] { import(wrong, uuid{}); }, "it is a pool of"));
  }
  EXPECT_TRUE(throws<stale_descriptor>([&] { import(GetParam(), uuid::random()); }, "it is pool"));
  driver.mem_pool_destroy(pool);
}

TEST_P(EmulatedPoolTest, FileThatCannotBeWrittenIsRefused) {
  owned_emulated_pool const owned(properties());
  auto const file = owned.export_handle();
  auto const path = "/proc/self/fd/" + std::to_string(file.get());
  unique_fd const read_only(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(throws<invalid_descriptor>(
      [&] { imported_emulated_pool(read_only.get(), GetParam(), uuid{}); }, "written"));
}

TEST_P(EmulatedPoolTest, PoolThatIsNotShareableIsNotExported) {
  auto made_with = properties();
  made_with.shareable = false;
  owned_emulated_pool pool(made_with);
  auto const memory = pool.allocate(1);
  EXPECT_TRUE(throws<invalid_argument>([&] { (void)pool.export_handle(); }, "shareable = false"));
  EXPECT_TRUE(throws<invalid_argument>([&] { pool.export_pointer(memory); }, "shareable = false"));
  pool.free(memory);
}

TEST_P(EmulatedPoolTest, LocationMustBeThere) {
  host_driver driver(emulated_devices(2));
  for (int const wrong : {-1, 2}) {
    EXPECT_TRUE(throws<invalid_argument>([&] { driver.mem_pool_create(properties(wrong)); },
                                         std::to_string(wrong)));
  }
}

// Both sides in one process; importing is a second mapping of the same file.
class EmulatedPoolImportTest : public EmulatedPoolTest {
 protected:
  pool_properties const made_with_ = properties();
  owned_emulated_pool owner_{made_with_};
  imported_emulated_pool importer_{owner_.export_handle().get(), GetParam(), made_with_.id};
};

INSTANTIATE_TEST_SUITE_P(Kinds, EmulatedPoolImportTest,
                         testing::Values(memory_kind::device, memory_kind::pinned),
                         [](auto const& kind) {
                           return kind.param == memory_kind::device ? "Device" : "Pinned";
                         });

TEST_P(EmulatedPoolImportTest, PayloadNamesThePlaceAndNotWhatLivesThere) {
  auto const first = owner_.allocate(1);
  auto const payload = owner_.export_pointer(first);
  EXPECT_EQ(owner_.export_pointer(first), payload);
  owner_.free(first);
  auto const second = owner_.allocate(1);
  ASSERT_EQ(second, first);
  EXPECT_EQ(owner_.export_pointer(second), payload);
  auto const third = owner_.allocate(1);
  EXPECT_NE(owner_.export_pointer(third), payload);
}

TEST_P(EmulatedPoolImportTest, FreedAllocationIsStillImported) {
  auto const memory = owner_.allocate(1);
  auto const payload = owner_.export_pointer(memory);
  *at(memory) = std::byte{7};
  owner_.free(memory);
  auto const seen = importer_.import_pointer(payload);
  EXPECT_EQ(*at(seen), std::byte{7});
  importer_.free(seen);
}

TEST_P(EmulatedPoolImportTest, SecondImportIsTheFirstAndEndsWithIt) {
  auto const payload = owner_.export_pointer(owner_.allocate(1));
  auto const seen = importer_.import_pointer(payload);
  EXPECT_EQ(importer_.import_pointer(payload), seen);
  importer_.free(seen);
  EXPECT_TRUE(throws<invalid_argument>([&] { importer_.free(seen); }, "giving up the import",
                                       "nothing is imported there", "ends all"));
  EXPECT_TRUE(throws<invalid_argument>([&] { (void)importer_.range_size(seen); }, "measuring"));
  EXPECT_FALSE(importer_.holds(seen, 1));
  auto const again = importer_.import_pointer(payload);
  EXPECT_EQ(importer_.range_size(again), 4 * kib);
  importer_.free(again);
}

TEST_P(EmulatedPoolImportTest, BlocksOfDifferentSizeAtOnePlaceAreTwoImports) {
  auto const small = owner_.allocate(1);
  auto const small_seen = importer_.import_pointer(owner_.export_pointer(small));
  owner_.free(small);
  auto const large = owner_.allocate(8 * kib);
  ASSERT_EQ(large, small);
  auto const large_seen = importer_.import_pointer(owner_.export_pointer(large));
  EXPECT_NE(large_seen, small_seen);
  importer_.free(small_seen);
  EXPECT_EQ(importer_.range_size(large_seen), 8 * kib);
  importer_.free(large_seen);
}

TEST_P(EmulatedPoolImportTest, PayloadThatNamesNoRangeInsideThePoolIsRefused) {
  auto const good = owner_.export_pointer(owner_.allocate(1));
  std::uint64_t const pages = made_with_.max_size / host_page_bytes;
  struct {
    std::uint64_t first_page;
    std::uint64_t pages;
  } const cases[] = {{0, 0},     {0, pages + 1},        {pages, 1},
                     {1, pages}, {~std::uint64_t{}, 1}, {1, ~std::uint64_t{}}};
  auto const refused = [&](pointer_payload const& payload) {
    return throws<invalid_descriptor>([&] { importer_.import_pointer(payload); },
                                      "no range inside the pool", "as its owner made them");
  };
  for (auto const& one : cases) {
    auto wrong = good;
    std::memcpy(wrong.data() + 8, &one, sizeof one);
    EXPECT_TRUE(refused(wrong)) << one.first_page << " " << one.pages;
  }
  auto wrong = good;
  wrong[0] ^= std::byte{1};
  EXPECT_TRUE(refused(wrong));
  EXPECT_TRUE(refused(pointer_payload{}));
}

TEST_P(EmulatedPoolImportTest, PayloadOfAHostPoolIsRefused) {
  pool_properties properties;
  properties.max_size = 1024 * kib;
  owned_host_pool host(properties);
  auto const payload = host.export_pointer(host.allocate(1));
  EXPECT_TRUE(throws<invalid_descriptor>([&] { importer_.import_pointer(payload); }));
}

TEST_P(EmulatedPoolImportTest, ImporterNeitherAllocatesNorExports) {
  EXPECT_TRUE(throws<invalid_argument>([&] { importer_.allocate(1); }, "allocating 1 bytes",
                                       "imported the pool", "only its owner"));
  EXPECT_TRUE(
      throws<invalid_argument>([&] { (void)importer_.export_handle(); }, "imported the pool"));
  EXPECT_TRUE(throws<invalid_argument>([&] { importer_.export_pointer(1); }, "exporting"));
}

TEST_P(EmulatedPoolImportTest, OwnerNeedsNoImport) {
  auto const payload = owner_.export_pointer(owner_.allocate(1));
  EXPECT_TRUE(throws<invalid_argument>([&] { owner_.import_pointer(payload); }, "made the pool"));
}

TEST_P(EmulatedPoolImportTest, OnlyWhatBeginsThereIsFreedExportedAndMeasured) {
  auto const memory = owner_.allocate(8 * kib);
  auto const seen = importer_.import_pointer(owner_.export_pointer(memory));
  for (auto const wrong : {device_pointer{0}, memory + 1, memory + 4 * kib, seen}) {
    EXPECT_TRUE(throws<invalid_argument>([&] { owner_.free(wrong); }, "freeing"));
    EXPECT_TRUE(throws<invalid_argument>([&] { owner_.export_pointer(wrong); }, "exporting"));
    EXPECT_TRUE(throws<invalid_argument>([&] { (void)owner_.range_size(wrong); }, "measuring"));
  }
  for (auto const wrong : {device_pointer{0}, seen + 1, seen + 4 * kib, memory}) {
    EXPECT_TRUE(throws<invalid_argument>([&] { importer_.free(wrong); }, "giving up"));
    EXPECT_TRUE(throws<invalid_argument>([&] { (void)importer_.range_size(wrong); }));
  }
}

TEST_P(EmulatedPoolImportTest, PoolHoldsWhatIsMappedOfIt) {
  auto const memory = owner_.allocate(8 * kib);
  EXPECT_TRUE(owner_.holds(memory + 8 * kib - 1, 1));
  EXPECT_FALSE(importer_.holds(memory, 8 * kib));
  auto const seen = importer_.import_pointer(owner_.export_pointer(memory));
  EXPECT_TRUE(importer_.holds(seen, 1));
  EXPECT_TRUE(importer_.holds(seen - 1, 2));
  EXPECT_TRUE(importer_.holds(seen + 8 * kib - 1, 4));
  EXPECT_FALSE(importer_.holds(seen - 1, 1));
  EXPECT_FALSE(importer_.holds(seen + 8 * kib, 1));
  EXPECT_FALSE(owner_.holds(seen, 8 * kib));
}

TEST_P(EmulatedPoolImportTest, ForkedChildNeitherAllocatesNorFrees) {
  auto const memory = owner_.allocate(1);
  auto const child = ::fork();
  if (child == 0) {
    EXPECT_TRUE(throws<invalid_argument>([&] { owner_.allocate(1); }, "forked from"));
    EXPECT_TRUE(throws<invalid_argument>([&] { owner_.export_pointer(memory); }, "forked from"));
    EXPECT_NO_THROW(owner_.free(memory));
    EXPECT_NO_THROW(owner_.free(memory));
    ::_exit(HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  owner_.free(memory);
}

TEST_P(EmulatedPoolImportTest, SeveralThreadsMayImport) {
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        auto const mine = owner_.allocate(1);
        auto const seen = importer_.import_pointer(owner_.export_pointer(mine));
        *at(mine) = static_cast<std::byte>(i);
        EXPECT_EQ(*at(seen), static_cast<std::byte>(i));
        EXPECT_TRUE(importer_.holds(seen, 1));
        importer_.free(seen);
        owner_.free(mine);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace rankshare::detail
