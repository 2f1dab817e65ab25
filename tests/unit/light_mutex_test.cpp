// SPDX-License-Identifier: Apache-2.0
#include <rankshare/base/light_mutex.hpp>

#include <gtest/gtest.h>

#include <latch>
#include <mutex>
#include <thread>
#include <vector>

namespace rankshare {
namespace {

TEST(LightMutexTest, IsHeldByOneAtATime) {
  detail::light_mutex mutex;
  EXPECT_TRUE(mutex.try_lock());
  EXPECT_FALSE(mutex.try_lock());
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

TEST(LightMutexTest, ThreadsExcludeEachOther) {
  detail::light_mutex mutex;
  long count = 0;
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        std::lock_guard const lock(mutex);
        ++count;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(count, 80'000);
}

TEST(LightMutexTest, EveryOneThatWaitsIsWoken) {
  detail::light_mutex mutex;
  for (int round = 0; round < 100; ++round) {
    std::latch begin(4);
    std::vector<std::thread> threads;
    mutex.lock();
    for (int number = 0; number < 3; ++number) {
      threads.emplace_back([&] {
        begin.arrive_and_wait();
        std::lock_guard const lock(mutex);
      });
    }
    begin.arrive_and_wait();
    mutex.unlock();
    for (auto& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace rankshare
