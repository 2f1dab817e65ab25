// SPDX-License-Identifier: Apache-2.0
#include <rankshare/ipc/published_leases.hpp>

#include <algorithm>

namespace rankshare::detail {

lease published_leases::in(std::shared_ptr<lease_table> const& table) {
  std::lock_guard const lock(mutex_);
  leases_.erase(std::remove_if(leases_.begin(), leases_.end(),
                               [](auto const& entry) { return entry.first.expired(); }),
                leases_.end());
  for (auto const& [known, held] : leases_) {
    if (known.lock() == table) return held;
  }
  leases_.reserve(leases_.size() + 1);  // so that nothing fails after the lease is published
  leases_.emplace_back(table, table->publish());
  return leases_.back().second;
}

void published_leases::retire_all() noexcept {
  std::lock_guard const lock(mutex_);
  for (auto const& [known, held] : leases_) {
    if (auto const table = known.lock()) table->retire(held);
  }
  leases_.clear();
}

}  // namespace rankshare::detail
