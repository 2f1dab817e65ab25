// SPDX-License-Identifier: Apache-2.0
/// @file
/// A lock that costs two atomic operations and no call where nobody waits. Not for users.
#pragma once

#include <atomic>

#include <rankshare/base/export.hpp>

namespace rankshare::detail {

/// For work that takes little more than a lock. Who waits sleeps. Meets the requirements of
/// Lockable.
///
/// @par Source
/// futex(2); through std::atomic::wait.
class light_mutex {
 public:
  light_mutex() = default;
  light_mutex(light_mutex const&) = delete;
  light_mutex& operator=(light_mutex const&) = delete;

  void lock() noexcept {
    if (!try_lock()) lock_slowly();
  }
  bool try_lock() noexcept {
    int expected = free;
    return state_.compare_exchange_strong(expected, held, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void unlock() noexcept {
    if (state_.exchange(free, std::memory_order_release) == awaited) wake_one();
  }

 private:
  enum : int { free, held, awaited };

  RANKSHARE_EXPORT void lock_slowly() noexcept;
  RANKSHARE_EXPORT void wake_one() noexcept;

  std::atomic<int> state_{free};
};

}  // namespace rankshare::detail
