// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <rankshare/base/error.hpp>
#include <rankshare/base/memory_limits.hpp>
#include <rankshare/driver/host_pool.hpp>
#include <rankshare/driver/host_pool_file.hpp>
#include <rankshare/driver/imported_host_pool.hpp>
#include <rankshare/driver/owned_host_pool.hpp>
#include <support/leftovers.hpp>
#include <support/throws.hpp>

namespace rankshare::detail {
namespace {

using test::throws;

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;

std::unique_ptr<host_pool> make_pool(std::size_t max_size, uuid const& id = uuid::random()) {
  pool_properties properties;
  properties.max_size = max_size;
  properties.id = id;
  return std::make_unique<owned_host_pool>(properties);
}

std::byte* at(device_pointer address) { return reinterpret_cast<std::byte*>(address); }

class HostPoolTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_TRUE(test::nothing_left_since(before_)); }

 private:
  test::footprint before_ = test::footprint::now();
};

TEST_F(HostPoolTest, FileIsSealedAndClosedOnExec) {
  auto const pool = make_pool(mib);
  auto const fd = pool->export_handle();
  EXPECT_EQ(::fcntl(fd.get(), F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  EXPECT_EQ(::fcntl(fd.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_NE(::ftruncate(fd.get(), 0), 0);
  EXPECT_NE(::ftruncate(fd.get(), off_t{1} << 40), 0);
}

TEST_F(HostPoolTest, PoolThatIsNotShareableIsNotExported) {
  pool_properties properties;
  properties.max_size = mib;
  properties.shareable = false;
  owned_host_pool pool(properties);
  auto const memory = pool.allocate(1);
  *at(memory) = std::byte{1};
  EXPECT_TRUE(throws<invalid_argument>([&] { (void)pool.export_handle(); }, "exporting",
                                       "shareable = false", "shareable = true"));
  EXPECT_TRUE(throws<invalid_argument>([&] { pool.export_pointer(memory); }, "shareable = false"));
  EXPECT_TRUE(throws<invalid_argument>([&] { pool.exported_place(memory); }, "shareable = false"));
  pool.free(memory);
}

TEST_F(HostPoolTest, PoolHoldsItsMemoryAndNoOther) {
  pool_properties properties;
  properties.max_size = mib;
  owned_host_pool pool(properties);
  auto const all = pool.allocate(mib);
  EXPECT_EQ(pool.exported_place(all).first, 0U);
  EXPECT_EQ(pool.exported_place(all).count, mib / host_page_bytes);
  EXPECT_TRUE(pool.holds(all, 1));
  EXPECT_TRUE(pool.holds(all + mib - 1, 1));
  EXPECT_TRUE(pool.holds(all - 1, 2));
  EXPECT_TRUE(pool.holds(all - 1, 2 * mib));
  EXPECT_TRUE(pool.holds(all + mib - 1, 2));
  EXPECT_FALSE(pool.holds(all - 1, 1));
  EXPECT_FALSE(pool.holds(all + mib, 1));
  EXPECT_FALSE(pool.holds(0, 4096));
  EXPECT_TRUE(throws<invalid_argument>([&] { pool.exported_place(all + 1); }, "exporting"));
  pool.free(all);
}

TEST_F(HostPoolTest, AllocationsAreWholePagesThatDoNotOverlap) {
  auto const pool = make_pool(mib);
  auto const first = pool->allocate(1);
  auto const second = pool->allocate(4097);
  EXPECT_EQ(first % host_page_bytes, 0U);
  EXPECT_EQ(pool->range_size(first), 4 * kib);
  EXPECT_EQ(pool->range_size(second), 8 * kib);
  std::memset(at(first), 1, 4 * kib);
  std::memset(at(second), 2, 8 * kib);
  EXPECT_EQ(at(first)[4095], std::byte{1});
  pool->free(first);
  pool->free(second);
}

TEST_F(HostPoolTest, MaxSizeIsRoundedUpToAPage) {
  auto const pool = make_pool(1);
  auto const all = pool->allocate(4 * kib);
  EXPECT_TRUE(throws<out_of_memory>([&] { pool->allocate(1); }, "allocating 1 bytes",
                                    "pool of 4096 bytes", "raise max_size"));
  pool->free(all);
  EXPECT_TRUE(throws<out_of_memory>([&] { pool->allocate(4 * kib + 1); }, "allocating 4097 bytes"));
}

TEST_F(HostPoolTest, HugeRequestsDoNotOverflow) {
  auto const pool = make_pool(mib);
  EXPECT_TRUE(throws<out_of_memory>([&] { pool->allocate(~std::size_t{0}); },
                                    "18446744073709551615 bytes"));
  EXPECT_TRUE(throws<invalid_argument>([] { make_pool((std::size_t{1} << 46) + 1); },
                                       "max_size 70368744177665", "limit of 70368744177664"));
  EXPECT_TRUE(throws<invalid_argument>([] { make_pool(~std::size_t{0}); }, "max_size"));
}

TEST_F(HostPoolTest, NoAddressSpaceLeftIsOutOfMemory) {
  std::vector<std::unique_ptr<host_pool>> pools;
  EXPECT_TRUE(throws<out_of_memory>(
      [&] {
        for (int i = 0; i < 3; ++i) pools.push_back(make_pool(std::size_t{1} << 46));
      },
      "no address space", "lower max_size"));
}

TEST_F(HostPoolTest, MoreThanTheMachineHasAvailableIsRefused) {
  auto const pool = make_pool(0);
  auto const bytes = machine_memory();
  try {
    pool->allocate(bytes);
    FAIL() << "it was not refused";
  } catch (out_of_memory const& thrown) {
    EXPECT_EQ(thrown.bytes(), bytes);
    std::string const text = thrown.what();
    EXPECT_NE(text.find("allocating " + std::to_string(bytes)), std::string::npos) << text;
    EXPECT_NE(text.find("are available"), std::string::npos) << text;
    EXPECT_NE(text.find("give the job more memory"), std::string::npos) << text;
  }
  auto const small = pool->allocate(4 * kib);  // what was refused is not taken
  EXPECT_TRUE(throws<out_of_memory>([&] { pool->allocate(bytes - 4 * kib); }, "available"));
  pool->free(small);
}

TEST_F(HostPoolTest, FreeingWhatIsNoAllocationIsAnError) {
  auto const pool = make_pool(mib);
  auto const other = make_pool(mib);
  auto const live = pool->allocate(8 * kib);
  auto const foreign = other->allocate(1);
  auto const freed = pool->allocate(1);
  pool->free(freed);
  for (auto const wrong : {device_pointer{0}, device_pointer{1}, live + 1, live + 4 * kib, foreign,
                           freed, ~device_pointer{0}}) {
    EXPECT_TRUE(throws<invalid_argument>([&] { pool->free(wrong); },
                                         "freeing host memory at address " + std::to_string(wrong),
                                         "no allocation of this pool begins there"));
    EXPECT_TRUE(throws<invalid_argument>([&] { pool->export_pointer(wrong); }, "exporting"));
    EXPECT_TRUE(throws<invalid_argument>([&] { (void)pool->range_size(wrong); }, "measuring"));
  }
  pool->free(live);
  other->free(foreign);
}

// Importing within one process is a second mapping of the same file.
class HostPoolImportTest : public HostPoolTest {
 protected:
  uuid const id_ = uuid::random();
  std::unique_ptr<host_pool> owner_ = make_pool(mib, id_);
  std::unique_ptr<host_pool> importer_ =
      std::make_unique<imported_host_pool>(owner_->export_handle().get(), id_);

  void TearDown() override {
    importer_.reset();
    owner_.reset();
    HostPoolTest::TearDown();
  }
};

TEST_F(HostPoolImportTest, ImportedMemoryIsTheSame) {
  auto const own = owner_->allocate(8 * kib);
  auto const seen = importer_->import_pointer(owner_->export_pointer(own));
  EXPECT_NE(own, seen);
  EXPECT_EQ(importer_->range_size(seen), 8 * kib);
  at(own)[5000] = std::byte{42};
  EXPECT_EQ(at(seen)[5000], std::byte{42});
  at(seen)[1] = std::byte{43};
  EXPECT_EQ(at(own)[1], std::byte{43});
  importer_->free(seen);
  owner_->free(own);
}

TEST_F(HostPoolImportTest, ExportOfOneAllocationIsTheSameAtEachCall) {
  auto const own = owner_->allocate(1);
  EXPECT_EQ(owner_->export_pointer(own), owner_->export_pointer(own));
  auto const first = owner_->export_pointer(own);
  owner_->free(own);
  ASSERT_EQ(owner_->allocate(1), own);
  EXPECT_NE(owner_->export_pointer(own), first);
}

TEST_F(HostPoolImportTest, FreedAllocationIsStale) {
  auto const own = owner_->allocate(1);
  auto const payload = owner_->export_pointer(own);
  owner_->free(own);
  EXPECT_TRUE(throws<stale_descriptor>([&] { importer_->import_pointer(payload); },
                                       "its owner has freed it", "share it again"));
  ASSERT_EQ(owner_->allocate(1), own);
  EXPECT_TRUE(throws<stale_descriptor>([&] { importer_->import_pointer(payload); }, "freed"));
  owner_->export_pointer(own);
  EXPECT_TRUE(throws<stale_descriptor>([&] { importer_->import_pointer(payload); }, "freed"));
}

TEST_F(HostPoolImportTest, ImporterNeitherAllocatesNorExports) {
  EXPECT_TRUE(throws<invalid_argument>([&] { importer_->allocate(1); }, "allocating 1 bytes",
                                       "imported the pool", "only its owner"));
  EXPECT_TRUE(
      throws<invalid_argument>([&] { (void)importer_->export_handle(); }, "imported the pool"));
  auto const own = owner_->allocate(1);
  auto const seen = importer_->import_pointer(owner_->export_pointer(own));
  EXPECT_TRUE(throws<invalid_argument>([&] { importer_->export_pointer(seen); }, "exporting"));
}

// Bytes of address space that mappings of pools take.
std::size_t mapped_pool_bytes() {
  std::ifstream maps("/proc/self/maps");
  std::size_t total = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("rankshare-pool") == std::string::npos) continue;
    auto const dash = line.find('-');
    total += std::stoull(line.substr(dash + 1), nullptr, 16) - std::stoull(line, nullptr, 16);
  }
  return total;
}

TEST_F(HostPoolTest, ImportersMapWhatTheyNeedAndAddressesStay) {
  uuid const id = uuid::random();
  auto const owner = make_pool(1024 * mib, id);
  auto const before = mapped_pool_bytes();
  imported_host_pool importer(owner->export_handle().get(), id);
  auto const mapped = [&] { return mapped_pool_bytes() - before; };
  auto const small = owner->allocate(kib);
  auto const large = owner->allocate(100 * mib);
  auto const far = owner->allocate(kib);
  *at(small) = std::byte{1};
  *at(large) = std::byte{2};
  *at(far) = std::byte{3};

  auto const near_seen = importer.import_pointer(owner->export_pointer(small));
  EXPECT_EQ(mapped(), 64 * mib);
  auto const far_seen = importer.import_pointer(owner->export_pointer(far));
  auto const large_seen = importer.import_pointer(owner->export_pointer(large));

  EXPECT_EQ(mapped(), (64 + 128) * mib);
  EXPECT_EQ(*at(near_seen), std::byte{1});
  EXPECT_EQ(*at(large_seen), std::byte{2});
  EXPECT_EQ(*at(far_seen), std::byte{3});
  EXPECT_EQ(importer.range_size(large_seen), 100 * mib);
  *at(far_seen) = std::byte{4};
  EXPECT_EQ(*at(far), std::byte{4});
}

TEST_F(HostPoolTest, MoreExportsThanTheFirstPageHoldsAreSeenByImporters) {
  uuid const id = uuid::random();
  auto const owner = make_pool(16 * mib, id);
  imported_host_pool importer(owner->export_handle().get(), id);
  for (int i = 0; i < 300; ++i) {
    auto const made = owner->allocate(1);
    *at(made) = static_cast<std::byte>(i);
    auto const seen = importer.import_pointer(owner->export_pointer(made));
    ASSERT_EQ(*at(seen), static_cast<std::byte>(i));
  }
}

// The owner freed the one and allocated the other in its place.
TEST_F(HostPoolImportTest, TwoImportsAtOneAddressEndOneAfterTheOther) {
  auto const first = owner_->allocate(1);
  auto const first_seen = importer_->import_pointer(owner_->export_pointer(first));
  owner_->free(first);
  auto const second = owner_->allocate(2);
  ASSERT_EQ(second, first);
  auto const second_seen = importer_->import_pointer(owner_->export_pointer(second));
  EXPECT_EQ(second_seen, first_seen);
  importer_->free(first_seen);
  EXPECT_EQ(importer_->range_size(second_seen), 4 * kib);
  importer_->free(second_seen);
  EXPECT_TRUE(throws<invalid_argument>([&] { importer_->free(second_seen); }, "nothing is"));
}

TEST_F(HostPoolImportTest, ImporterFreesOnlyWhatItImported) {
  auto const own = owner_->allocate(1);
  auto const seen = importer_->import_pointer(owner_->export_pointer(own));
  EXPECT_TRUE(throws<invalid_argument>([&] { importer_->free(own); }, "giving up the import"));
  EXPECT_TRUE(throws<invalid_argument>([&] { importer_->free(seen + 1); }, "giving up the import"));
  importer_->free(seen);
  EXPECT_TRUE(throws<invalid_argument>([&] { importer_->free(seen); }, "giving up the import"));
  EXPECT_TRUE(throws<invalid_argument>([&] { (void)importer_->range_size(seen); }, "measuring"));
}

TEST_F(HostPoolImportTest, PayloadThatClaimsMoreIsRefused) {
  auto const own = owner_->allocate(4 * kib);
  auto payload = owner_->export_pointer(own);
  std::uint64_t const pages = 2;
  std::memcpy(payload.data() + 24, &pages, sizeof pages);
  EXPECT_TRUE(
      throws<invalid_descriptor>([&] { importer_->import_pointer(payload); }, "claims 8192 bytes"));
}

TEST_F(HostPoolTest, SeveralThreadsMayUseOnePool) {
  auto const pool = make_pool(64 * mib);
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      for (std::size_t i = 0; i < 500; ++i) {
        auto const mine = pool->allocate(1 + i % 9 * 4 * kib);
        *at(mine) = std::byte(number);
        pool->export_pointer(mine);
        EXPECT_EQ(*at(mine), std::byte(number));
        pool->free(mine);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  auto const all = pool->allocate(64 * mib);
  pool->free(all);
}

}  // namespace
}  // namespace rankshare::detail
