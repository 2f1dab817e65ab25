// SPDX-License-Identifier: Apache-2.0
// A pool has one owner in a process, however it was imported: the driver gives one pool to all
// imports.
#include <gtest/gtest.h>

#include <latch>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gpu/gpu_fixture.hpp>
#include <rankshare/driver/cuda_driver.hpp>
#include <support/checked_driver.hpp>
#include <support/scoped_gpu_driver.hpp>

namespace rankshare::test {
namespace {

// Owner and importer of one pool, and the calls that reach the driver.
class PoolsGpuTest : public gpu_fixture {
 protected:
  void TearDown() override {
    if (checked_) {
      EXPECT_EQ(checked_->violations(), std::vector<std::string>{});
      installed_.reset();
    }
    gpu_fixture::TearDown();
  }

  void SetUp() override {
    gpu_fixture::SetUp();
    if (IsSkipped()) return;
    checked_.emplace(detail::cuda_driver());
    installed_.emplace(*checked_);
  }

  device_memory_resource make() const {
    return device_memory_resource(device::gpu(0), {true, 32 * mib});
  }
  static device_memory_resource import_bare(device_memory_resource const& owner) {
    return import_as(owner, uuid{});
  }
  static device_memory_resource import_named(device_memory_resource const& owner) {
    return import_as(owner, owner.uuid());
  }
  static device_memory_resource import_as(device_memory_resource const& owner, uuid const& id) {
    allocation_handle const copy(unique_fd::duplicate_of(owner.allocation_handle().fd()), id);
    return device_memory_resource::from_allocation_handle(device::gpu(0), copy);
  }
  void expect_usable(device_memory_resource const& mapped, device_memory_resource const& owner) {
    auto mine = owner.allocate(1000);
    test::fill(mine, 9, device::gpu(0));
    stream const order(device::gpu(0));
    EXPECT_TRUE(test::is_full_of(9, import_buffer(mapped, mine, order), device::gpu(0)));
  }

  std::optional<checked_driver> checked_;
  std::optional<scoped_gpu_driver> installed_;
};

TEST_F(PoolsGpuTest, BareDescriptorsOfOnePoolAreOneResource) {
  auto const owner = make();
  auto const first = import_bare(owner);
  {
    auto const second = import_bare(owner);
    EXPECT_EQ(first, second);
    EXPECT_TRUE(first.uuid().is_nil());
  }
  expect_usable(first, owner);
}

TEST_F(PoolsGpuTest, BareDescriptorFindsThePoolThatIsKnownByItsUuid) {
  auto const owner = make();
  auto const named = import_named(owner);
  {
    auto const bare = import_bare(owner);
    EXPECT_EQ(named, bare);
    EXPECT_EQ(bare.uuid(), owner.uuid());
  }
  expect_usable(named, owner);
}

TEST_F(PoolsGpuTest, UuidBecomesKnownLater) {
  auto const owner = make();
  auto const bare = import_bare(owner);
  EXPECT_TRUE(throws<not_registered>([&] { device_memory_resource::from_registry(owner.uuid()); }));
  {
    auto const named = import_named(owner);
    EXPECT_EQ(named, bare);
    EXPECT_EQ(bare.uuid(), owner.uuid());
  }
  EXPECT_EQ(device_memory_resource::from_registry(owner.uuid()), bare);
  expect_usable(bare, owner);
}

TEST_F(PoolsGpuTest, DescriptorOfAnotherPoolIsStaleIfThatIsKnown) {
  auto const owner = make();
  auto const other = make();
  auto const mapped = import_named(other);
  EXPECT_TRUE(throws<stale_descriptor>([&] { import_as(other, owner.uuid()); },
                                       to_string(owner.uuid()), to_string(other.uuid())));
  expect_usable(mapped, other);
  expect_usable(import_named(owner), owner);
}

TEST_F(PoolsGpuTest, ClosedResourceLeavesItsBuffersAndMayBeImportedAgain) {
  auto const owner = make();
  auto mine = owner.allocate(1000);
  test::fill(mine, 8, device::gpu(0));
  stream const order(device::gpu(0));
  auto first = import_bare(owner);
  auto const seen = import_buffer(first, mine, order);
  first.close();
  auto const second = import_named(owner);
  EXPECT_FALSE(second.is_closed());
  EXPECT_TRUE(test::is_full_of(8, seen, device::gpu(0)));
  auto const again = import_buffer(second, mine, order);
  EXPECT_EQ(again.handle(), seen.handle());
  EXPECT_TRUE(test::is_full_of(8, again, device::gpu(0)));
}

TEST_F(PoolsGpuTest, PoolIsOfOneKind) {
  auto const owner = make();
  auto const mapped = import_named(owner);
  EXPECT_TRUE(throws<invalid_descriptor>(
      [&] {
        pinned_memory_resource::from_allocation_handle(device::gpu(0), owner.allocation_handle());
      },
      to_string(owner.uuid()), "another kind"));
  expect_usable(mapped, owner);
}

// Every way of importing at once, and the ends of what was imported among them.
TEST_F(PoolsGpuTest, SeveralThreadsGetOneResource) {
  auto const owner = make();
  auto mine = owner.allocate(1000);
  test::fill(mine, 6, device::gpu(0));
  (void)mine.ipc_descriptor();
  std::latch begin(4);
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      stream const order(device::gpu(0));
      begin.arrive_and_wait();
      for (int i = 0; i < 50; ++i) {
        auto const mapped = (i + number) % 2 == 0 ? import_bare(owner) : import_named(owner);
        auto const seen = import_buffer(mapped, mine, order);
        if (i % 10 != 0) continue;
        EXPECT_TRUE(test::is_full_of(6, seen, device::gpu(0)));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(checked_->aliased_imports(), 0U);
  EXPECT_EQ(checked_->live_objects()["imported pools"], 0U);
  EXPECT_EQ(checked_->live_objects()["imports"], 0U);
}

}  // namespace
}  // namespace rankshare::test
