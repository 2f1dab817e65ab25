// SPDX-License-Identifier: Apache-2.0
// What the MPI layer asks of buffers of pools.
#include <rankshare/memory/pool_resource_state.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include <rankshare/base/error.hpp>
#include <rankshare/ipc/lease_table.hpp>
#include <rankshare/memory/buffer_access.hpp>
#include <rankshare/memory/host_memory_resource.hpp>
#include <support/checked_host.hpp>
#include <support/throws.hpp>

namespace rankshare::detail {
namespace {

class PoolResourceStateTest : public test::checked_host {
 protected:
  static host_memory_resource make() { return host_memory_resource({1 << 20}); }

  static host_memory_resource import(host_memory_resource const& owner) {
    return host_memory_resource::from_allocation_handle(owner.allocation_handle());
  }

  static buffer import(host_memory_resource const& through, buffer const& mine) {
    return buffer::from_ipc_descriptor(through, mine.ipc_descriptor(),
                                       stream_ref::legacy_default());
  }

  static published_leases* leases_of(buffer const& of) {
    return buffer_access::state(of)->leases();
  }

  std::vector<lease_word> words_ = std::vector<lease_word>(8);
  std::shared_ptr<lease_table> table_ = std::make_shared<lease_table>(words_.data(), 8, nullptr);
  lease_view view_{words_.data(), 8};
};

TEST_F(PoolResourceStateTest, PoolOfABufferIsThatOfItsResource) {
  auto const memory = make();
  auto const mine = memory.allocate(100);
  auto const empty = memory.allocate(0);
  EXPECT_EQ(pool_of(mine), memory.source());
  EXPECT_EQ(pool_of(empty), memory.source());
  auto const mapped = import(memory);
  EXPECT_EQ(pool_of(import(mapped, mine)), mapped.source());
}

TEST_F(PoolResourceStateTest, ClosedBufferIsOfNoPool) {
  EXPECT_TRUE(test::throws<not_shareable>([] { pool_of(buffer()); }, "sharing a buffer"));
}

TEST_F(PoolResourceStateTest, LeaseOfABufferEndsWhenItCloses) {
  auto const memory = make();
  auto mine = memory.allocate(100);
  auto const held = leases_of(mine)->in(table_);
  EXPECT_TRUE(view_.is_current(held));
  mine.close();
  EXPECT_FALSE(view_.is_current(held));
  EXPECT_EQ(table_->published(), 0U);
}

TEST_F(PoolResourceStateTest, LeaseEndsBeforeTheMemoryIsFree) {
  auto const memory = make();
  auto mine = memory.allocate(100, stream_ref::legacy_default());
  auto const held = leases_of(mine)->in(table_);
  bool was_current = true;
  checked_.fail_call("mem_free_async", 1, [&] { was_current = view_.is_current(held); });
  mine.close();
  EXPECT_FALSE(was_current);
}

TEST_F(PoolResourceStateTest, LeaseOfAnAliasedBufferEndsWithTheLastAlias) {
  auto const memory = make();
  auto mine = memory.allocate(100);
  auto other = buffer_access::alias(mine);
  auto const held = leases_of(mine)->in(table_);
  mine.close();
  EXPECT_TRUE(view_.is_current(held));
  other.close();
  EXPECT_FALSE(view_.is_current(held));
}

TEST_F(PoolResourceStateTest, LeaseOfAPoolEndsWithThePool) {
  auto memory = make();
  auto mine = memory.allocate(100);
  auto const held = memory.source()->leases().in(table_);
  memory.close();
  EXPECT_TRUE(view_.is_current(held));
  mine.close();
  EXPECT_FALSE(view_.is_current(held));
}

TEST_F(PoolResourceStateTest, ImportedBufferHasNoLeasesToGive) {
  auto const memory = make();
  auto const mine = memory.allocate(100);
  EXPECT_EQ(leases_of(import(import(memory), mine)), nullptr);
}

TEST_F(PoolResourceStateTest, ResourceOfAPoolIsMadeAnewWhereItIsGone) {
  buffer mine;
  {
    auto const memory = make();
    mine = memory.allocate(100);
  }
  auto const memory = mine.memory_resource();
  EXPECT_FALSE(memory.is_closed());
  EXPECT_EQ(memory.uuid(), mine.ipc_descriptor().pool_id());
  EXPECT_EQ(mine.memory_resource(), memory);
}

}  // namespace
}  // namespace rankshare::detail
