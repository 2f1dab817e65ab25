// SPDX-License-Identifier: Apache-2.0
#include <rankshare/handle/pool.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <type_traits>
#include <utility>

#include <rankshare/base/error.hpp>
#include <support/checked_host.hpp>
#include <support/throws.hpp>

namespace rankshare {
namespace {

static_assert(!std::is_copy_constructible_v<pool>);
static_assert(std::is_nothrow_move_constructible_v<pool>);

class PoolTest : public test::checked_host {
 protected:
  pool_properties properties() const {
    pool_properties made;
    made.max_size = 1 << 20;
    made.id = id_;
    return made;
  }

  pool import(unique_fd const& fd, uuid const& id) {
    return pool::own(
        checked_, checked_.mem_pool_import_from_shareable_handle(fd.get(), memory_kind::host, id));
  }

  uuid const id_ = uuid::random();
};

TEST_F(PoolTest, OwnsOnePoolOfTheDriver) {
  {
    auto first = pool::create(checked_, properties());
    pool const second(std::move(first));
    EXPECT_EQ(first.native_handle(), nullptr);
    EXPECT_NE(second.native_handle(), nullptr);
    EXPECT_EQ(&second.served_by(), &checked_);
    EXPECT_EQ(checked_.live_objects()["pools"], 1U);
  }
  EXPECT_EQ(checked_.calls("mem_pool_create"), 1U);
  EXPECT_EQ(checked_.calls("mem_pool_destroy"), 1U);
}

TEST_F(PoolTest, EachFunctionIsOneCallOfTheDriver) {
  auto owner = pool::create(checked_, properties());
  auto const fd = owner.export_handle();
  auto importer = import(fd, id_);
  auto const order = stream_ref::legacy_default();
  EXPECT_EQ(owner.granularity(), 4096U);
  auto const own = owner.allocate(1, order);
  auto const seen = importer.import_pointer(owner.export_pointer(own));
  EXPECT_EQ(importer.range_size(seen), 4096U);
  importer.free(seen, order);
  owner.free(own, order);
  EXPECT_EQ(checked_.total_calls(), 10U);
}

TEST_F(PoolTest, FailureToMakeOneLeavesNothing) {
  checked_.fail_call("mem_pool_create", 1);
  EXPECT_TRUE(test::throws<out_of_memory>([&] { pool::create(checked_, properties()); }));
}

TEST_F(PoolTest, FailureToDestroyIsReportedAndNotThrown) {
  expect_reports();
  std::optional<pool> made(pool::create(checked_, properties()));
  auto* const handle = made->native_handle();
  checked_.fail_call("mem_pool_destroy", 1);
  EXPECT_NO_THROW(made.reset());
  EXPECT_NE(log_.text().find("destroying a pool: planted failure"), std::string::npos);
  checked_.mem_pool_destroy(handle);
}

}  // namespace
}  // namespace rankshare
