// SPDX-License-Identifier: Apache-2.0
#include <rankshare/base/light_mutex.hpp>

namespace rankshare::detail {

void light_mutex::lock_slowly() noexcept {
  constexpr int spins = 64;  // the holder may be done in a moment
  for (int attempts = 0; attempts < spins; ++attempts) {
    if (state_.load(std::memory_order_relaxed) == free && try_lock()) return;
  }
  while (state_.exchange(awaited, std::memory_order_acquire) != free) {
    state_.wait(awaited, std::memory_order_relaxed);
  }
}

void light_mutex::wake_one() noexcept { state_.notify_one(); }

}  // namespace rankshare::detail
