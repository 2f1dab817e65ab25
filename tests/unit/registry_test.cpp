// SPDX-License-Identifier: Apache-2.0
#include <rankshare/ipc/registry.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include <rankshare/base/error.hpp>
#include <support/checked_host.hpp>
#include <support/throws.hpp>

namespace rankshare::detail {
namespace {

using test::throws;

class RegistryTest : public test::checked_host {
 protected:
  static std::shared_ptr<shared_pool> make_owner() {
    pool_properties properties;
    properties.max_size = 1 << 20;
    return shared_pool::create(device::host(), properties);
  }

  allocation_handle handle_of(shared_pool const& owner) {
    ++handles_;
    return {unique_fd::duplicate_of(owner.handle().fd()), owner.id()};
  }

  std::shared_ptr<shared_pool> import(shared_pool const& owner) {
    return registry::find_or_import(owner.id(), device::host(), memory_kind::host,
                                    [&] { return handle_of(owner); });
  }

  std::atomic<int> handles_{0};
};

TEST_F(RegistryTest, UnknownPoolIsNotFound) {
  EXPECT_EQ(registry::find(uuid::random()), nullptr);
  EXPECT_EQ(registry::find(uuid{}), nullptr);
  EXPECT_EQ(registry::size(), 0U);
}

TEST_F(RegistryTest, OwnPoolsAreNotInIt) {
  auto const owner = make_owner();
  EXPECT_EQ(registry::find(owner->id()), nullptr);
}

TEST_F(RegistryTest, ImportedPoolIsFoundWhileItLives) {
  auto const owner = make_owner();
  {
    auto const imported = import(*owner);
    EXPECT_TRUE(imported->is_mapped());
    EXPECT_EQ(imported->id(), owner->id());
    EXPECT_EQ(registry::find(owner->id()), imported);
    EXPECT_EQ(registry::size(), 1U);
  }
  EXPECT_EQ(registry::find(owner->id()), nullptr);
  EXPECT_EQ(registry::size(), 0U);
}

TEST_F(RegistryTest, PoolIsImportedOnce) {
  auto const owner = make_owner();
  auto const first = import(*owner);
  EXPECT_EQ(import(*owner), first);
  EXPECT_EQ(handles_, 1);
  EXPECT_EQ(checked_.calls("mem_pool_import_from_shareable_handle"), 1U);
}

TEST_F(RegistryTest, PoolThatWasGivenUpIsImportedAnew) {
  auto const owner = make_owner();
  import(*owner);
  EXPECT_EQ(checked_.live_objects()["imported pools"], 0U);
  import(*owner);
  EXPECT_EQ(handles_, 2);
}

TEST_F(RegistryTest, FailureToGetTheHandleLeavesNothing) {
  auto const id = uuid::random();
  auto const before = test::footprint::now(&checked_);
  EXPECT_TRUE(throws<not_supported>(
      [&] {
        registry::find_or_import(id, device::host(), memory_kind::host,
                                 []() -> allocation_handle { throw not_supported("planted"); });
      },
      "planted"));
  EXPECT_TRUE(test::nothing_left_since(before));
  EXPECT_EQ(registry::find(id), nullptr);
  EXPECT_EQ(registry::size(), 0U);
}

TEST_F(RegistryTest, FailureOfTheDriverLeavesNothing) {
  auto const owner = make_owner();
  auto const before = test::footprint::now(&checked_);
  for (char const* function : {"mem_pool_import_from_shareable_handle", "mem_pool_granularity"}) {
    checked_.fail_call(function, 1);
    EXPECT_TRUE(throws<out_of_memory>([&] { import(*owner); }, function));
    EXPECT_TRUE(test::nothing_left_since(before));
    EXPECT_EQ(registry::size(), 0U);
  }
  EXPECT_NO_THROW(import(*owner));
}

TEST_F(RegistryTest, AnotherPoolBehindTheHandleIsStale) {
  auto const owner = make_owner();
  auto const other = make_owner();
  EXPECT_TRUE(throws<stale_descriptor>(
      [&] {
        registry::find_or_import(owner->id(), device::host(), memory_kind::host, [&] {
          return allocation_handle(unique_fd::duplicate_of(other->handle().fd()), owner->id());
        });
      },
      to_string(owner->id()), to_string(other->id())));
  EXPECT_EQ(registry::size(), 0U);
}

// A driver that knows its imports answers with the same pool: see the tests on GPUs.
TEST_F(RegistryTest, PoolWithoutUuidIsImportedAndNotEntered) {
  auto const owner = make_owner();
  auto const import_bare = [&] {
    return registry::find_or_import({}, device::host(), memory_kind::host, [&] {
      return allocation_handle(unique_fd::duplicate_of(owner->handle().fd()), uuid{});
    });
  };
  {
    auto const first = import_bare();
    auto const second = import_bare();
    EXPECT_TRUE(first->is_mapped());
    EXPECT_TRUE(first->id().is_nil());
    EXPECT_NE(first, second);
    EXPECT_EQ(registry::find(owner->id()), nullptr);
    EXPECT_EQ(registry::find(uuid{}), nullptr);
    EXPECT_EQ(registry::size(), 0U);
    EXPECT_NE(import(*owner), first);
  }
  EXPECT_EQ(checked_.live_objects()["imported pools"], 0U);
}

TEST_F(RegistryTest, KnownPoolIsOfOneKind) {
  auto const owner = make_owner();
  auto const imported = import(*owner);
  auto const before = test::footprint::now(&checked_);
  EXPECT_TRUE(throws<invalid_descriptor>(
      [&] {
        registry::find_or_import(owner->id(), device::host(), memory_kind::pinned,
                                 [&] { return handle_of(*owner); });
      },
      to_string(owner->id()), "another kind", "the resource type of its owner"));
  EXPECT_TRUE(test::nothing_left_since(before));
}

TEST_F(RegistryTest, ThreadsThatImportAtOnceShareOneImport) {
  auto const owner = make_owner();
  for (int round = 0; round < 20; ++round) {
    checked_.reset_counts();
    std::vector<std::shared_ptr<shared_pool>> got(4);
    std::vector<std::thread> threads;
    for (auto& mine : got) threads.emplace_back([&] { mine = import(*owner); });
    for (auto& thread : threads) thread.join();
    for (auto const& mine : got) EXPECT_EQ(mine, got[0]);
    EXPECT_EQ(checked_.calls("mem_pool_import_from_shareable_handle"), 1U);
  }
}

// An import that meets the end of the same pool waits for it: never are there two at a time.
TEST_F(RegistryTest, ImportAndEndOfOnePoolExcludeEachOther) {
  auto const owner = make_owner();
  std::atomic<bool> two_at_a_time{false};
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        auto const imported = import(*owner);
        EXPECT_TRUE(imported->is_mapped());
        if (checked_.live_objects()["imported pools"] != 1) two_at_a_time = true;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(two_at_a_time);
  EXPECT_EQ(checked_.calls("mem_pool_import_from_shareable_handle"),
            checked_.calls("mem_pool_destroy"));
  EXPECT_EQ(registry::size(), 0U);
}

// The pool has lost its last owner, but is not given up yet, when somebody looks for it.
TEST_F(RegistryTest, SearchWaitsForAPoolThatIsBeingGivenUp) {
  auto const owner = make_owner();
  for (int round = 0; round < 50; ++round) {
    auto imported = import(*owner);
    std::weak_ptr<shared_pool> const watched = imported;
    std::promise<void> is_locked;
    std::promise<void> may_unlock;
    std::thread keeps_the_lock([&] {
      EXPECT_THROW(registry::find_or_import(uuid::random(), device::host(), memory_kind::host,
                                            [&]() -> allocation_handle {
                                              is_locked.set_value();
                                              may_unlock.get_future().wait();
                                              throw not_supported("planted");
                                            }),
                   not_supported);
    });
    is_locked.get_future().wait();
    std::thread gives_up([&] { imported.reset(); });
    while (!watched.expired()) std::this_thread::yield();
    std::thread searches([&] { EXPECT_EQ(registry::find(owner->id()), nullptr); });
    may_unlock.set_value();
    for (auto* thread : {&keeps_the_lock, &gives_up, &searches}) thread->join();
    EXPECT_EQ(checked_.live_objects()["imported pools"], 0U);
  }
}

}  // namespace
}  // namespace rankshare::detail
