// SPDX-License-Identifier: Apache-2.0
#include <rankshare/ipc/import_cache.hpp>

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include <rankshare/base/error.hpp>
#include <rankshare/handle/stream.hpp>
#include <support/checked_host.hpp>
#include <support/throws.hpp>

namespace rankshare::detail {
namespace {

using test::throws;

// An owner and an importer of one pool, both in this process.
class ImportCacheTest : public test::checked_host {
 protected:
  static pool_properties properties(uuid const& id) {
    pool_properties made;
    made.max_size = 1 << 20;
    made.id = id;
    return made;
  }

  void SetUp() override {
    first_ = owner_.allocate(1, order_);
    second_ = owner_.allocate(1, order_);
    first_payload_ = owner_.export_pointer(first_);
    second_payload_ = owner_.export_pointer(second_);
    checked_.reset_counts();
  }

  void TearDown() override {
    EXPECT_EQ(cache_.size(), 0U);
    owner_.free(first_, order_);
    owner_.free(second_, order_);
    EXPECT_EQ(checked_.violations(), std::vector<std::string>{});
    EXPECT_EQ(checked_.live_objects()["imports"], lost_imports_);
  }

  import_cache::mapping acquire(std::uint64_t serial, pointer_payload const& payload) {
    return cache_.acquire(serial, payload, kept());
  }
  void release(std::uint64_t serial) {
    cache_.release(serial, kept(), [this] { return kept(); });
  }
  kept_stream kept() const { return {order_, device::host()}; }

  uuid const id_ = uuid::random();
  stream const own_{device::host()};
  stream_ref const order_ = own_;
  pool owner_ = pool::create(checked_, properties(id_));
  pool importer_ = pool::own(checked_, checked_.mem_pool_import_from_shareable_handle(
                                           owner_.export_handle().get(), memory_kind::host, id_));
  import_cache cache_{importer_, device::host()};
  device_pointer first_ = 0;
  device_pointer second_ = 0;
  pointer_payload first_payload_{};
  pointer_payload second_payload_{};
  std::size_t lost_imports_ = 0;
};

TEST_F(ImportCacheTest, FirstImportAsksTheDriver) {
  auto const mapped = acquire(1, first_payload_);
  EXPECT_NE(mapped.address, 0U);
  EXPECT_EQ(mapped.extent, 4096U);
  EXPECT_EQ(checked_.calls("mem_pool_import_pointer"), 1U);
  EXPECT_EQ(checked_.calls("pointer_range_size"), 1U);
  EXPECT_EQ(checked_.total_calls(), 2U);
  release(1);
  EXPECT_EQ(checked_.calls("mem_free_async"), 1U);
  EXPECT_EQ(checked_.calls("stream_query"), 1U);
  EXPECT_EQ(checked_.total_calls(), 4U);
}

TEST_F(ImportCacheTest, RepeatedImportIsCountedWithoutTheDriver) {
  auto const mapped = acquire(1, first_payload_);
  checked_.reset_counts();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(acquire(1, first_payload_).address, mapped.address);
  }
  for (int i = 0; i < 3; ++i) release(1);
  EXPECT_EQ(cache_.size(), 1U);
  EXPECT_EQ(checked_.total_calls(), 0U);
  release(1);
  EXPECT_EQ(cache_.size(), 0U);
  EXPECT_EQ(checked_.calls("mem_free_async"), 1U);
}

TEST_F(ImportCacheTest, ReleasedAllocationIsImportedAnew) {
  acquire(1, first_payload_);
  release(1);
  acquire(1, first_payload_);
  EXPECT_EQ(checked_.calls("mem_pool_import_pointer"), 2U);
  release(1);
}

TEST_F(ImportCacheTest, ImportWaitsForAReleaseThatItsStreamHasNotComeTo) {
  checked_.hold_back(true);
  acquire(1, first_payload_);
  release(1);
  EXPECT_EQ(checked_.held_back(), 1U);
  auto const mapped = acquire(1, first_payload_);
  EXPECT_EQ(checked_.held_back(), 0U);
  EXPECT_EQ(*reinterpret_cast<char*>(mapped.address), 0);
  EXPECT_EQ(checked_.live_objects()["events"], 0U);
  release(1);
  checked_.hold_back(false);
  EXPECT_EQ(*reinterpret_cast<char*>(acquire(1, first_payload_).address), 0);
  release(1);
}

TEST_F(ImportCacheTest, ImportDoesNotWaitForReleasesOfOthers) {
  checked_.hold_back(true);
  acquire(1, first_payload_);
  release(1);
  acquire(2, second_payload_);
  EXPECT_EQ(checked_.held_back(), 1U);
  release(2);
  checked_.hold_back(false);
}

TEST_F(ImportCacheTest, FewReleasesAreRemembered) {
  checked_.hold_back(true);
  std::vector<device_pointer> memory;
  for (std::uint64_t serial = 1; serial <= 200; ++serial) {
    memory.push_back(owner_.allocate(1, order_));
    acquire(serial, owner_.export_pointer(memory.back()));
    release(serial);
    EXPECT_LE(checked_.live_objects()["events"], 64U);
  }
  for (auto const each : memory) owner_.free(each, order_);
  checked_.hold_back(false);
}

TEST_F(ImportCacheTest, SerialsAreIndependent) {
  auto const first = acquire(1, first_payload_);
  auto const second = acquire(2, second_payload_);
  EXPECT_NE(first.address, second.address);
  EXPECT_EQ(cache_.size(), 2U);
  release(1);
  EXPECT_EQ(cache_.size(), 1U);
  release(2);
}

TEST_F(ImportCacheTest, OneSerialHasOnePayload) {
  acquire(1, first_payload_);
  EXPECT_TRUE(throws<invalid_descriptor>([&] { acquire(1, second_payload_); },
                                         "importing allocation 1", "describes it otherwise"));
  release(1);
}

TEST_F(ImportCacheTest, OnePayloadHasOneSerial) {
  acquire(1, first_payload_);
  checked_.reset_counts();
  EXPECT_TRUE(throws<invalid_descriptor>([&] { acquire(2, first_payload_); },
                                         "importing allocation 2", "allocation 1",
                                         "send the bytes as its owner made them"));
  EXPECT_EQ(checked_.total_calls(), 0U);
  EXPECT_EQ(cache_.size(), 1U);
  release(1);
  acquire(2, first_payload_);
  release(2);
}

TEST_F(ImportCacheTest, FailedImportLeavesNothing) {
  for (char const* function : {"mem_pool_import_pointer", "pointer_range_size"}) {
    checked_.fail_call(function, 1);
    EXPECT_TRUE(throws<out_of_memory>([&] { acquire(1, first_payload_); }, function));
    EXPECT_EQ(cache_.size(), 0U);
    EXPECT_EQ(checked_.live_objects()["imports"], 0U);
  }
  EXPECT_TRUE(throws<invalid_descriptor>([&] { acquire(1, pointer_payload{}); }));
  EXPECT_EQ(cache_.size(), 0U);
}

// One case: the report comes once in a process.
TEST_F(ImportCacheTest, FailureToGiveAnImportBackIsReportedAndHidesNothing) {
  auto const mapped = acquire(1, first_payload_);
  checked_.fail_call("mem_free_async", 1);
  release(1);
  EXPECT_EQ(cache_.size(), 0U);
  EXPECT_NE(log_.text().find("giving up an import: planted failure"), std::string::npos);
  importer_.free(mapped.address, order_);

  checked_.fail_call("pointer_range_size", 1, [&] {
    checked_.fail_call("mem_free_async", 1);
    throw not_supported("first failure");
  });
  EXPECT_TRUE(throws<not_supported>([&] { acquire(1, first_payload_); }, "first failure"));
  EXPECT_EQ(cache_.size(), 0U);
  lost_imports_ = 1;
}

TEST_F(ImportCacheTest, ReleasingWhatWasNotImportedIsNoHarm) {
  release(1);
  EXPECT_EQ(checked_.total_calls(), 0U);
}

TEST_F(ImportCacheTest, SeveralThreadsImportAndReleaseOneAllocation) {
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        auto const mapped = acquire(1, first_payload_);
        EXPECT_EQ(*reinterpret_cast<char*>(mapped.address), 0);
        release(1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(checked_.calls("mem_pool_import_pointer"), checked_.calls("mem_free_async"));
}

}  // namespace
}  // namespace rankshare::detail
