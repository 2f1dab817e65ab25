// SPDX-License-Identifier: Apache-2.0
/// @file
/// A lock that costs one atomic operation where nobody waits. Not for users.
#pragma once

#include <sched.h>

#include <atomic>

namespace rankshare::detail {

/// For work that is short as a rule. Who waits spins a little, then yields its core again and
/// again; the holder may sleep. Meets the requirements of Lockable.
class spin_mutex {
 public:
  spin_mutex() = default;
  spin_mutex(spin_mutex const&) = delete;
  spin_mutex& operator=(spin_mutex const&) = delete;

  void lock() noexcept {
    for (int attempts = 0; !try_lock(); ++attempts) {
      if (attempts >= spins) ::sched_yield();
    }
  }
  bool try_lock() noexcept {
    return !held_.load(std::memory_order_relaxed) &&
           !held_.exchange(true, std::memory_order_acquire);
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  static constexpr int spins = 64;

  std::atomic<bool> held_{false};
};

}  // namespace rankshare::detail
