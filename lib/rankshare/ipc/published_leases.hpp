// SPDX-License-Identifier: Apache-2.0
/// @file
/// The leases under which one object was published, in as many tables as there are receivers.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <rankshare/ipc/lease_table.hpp>

namespace rankshare::detail {

/// Owns at most one lease in each table, and keeps no table. What it belongs to retires them before
/// its memory goes.
///
/// @par Thread safety
/// Every function may be called from any thread.
class RANKSHARE_EXPORT published_leases {
 public:
  published_leases() = default;
  ~published_leases() { retire_all(); }
  published_leases(published_leases const&) = delete;
  published_leases& operator=(published_leases const&) = delete;

  /// @return the lease in `table`, which is published at the first call
  lease in(std::shared_ptr<lease_table> const& table);

  /// Ends all of them.
  void retire_all() noexcept;

 private:
  std::mutex mutex_;
  // A table goes with its board; then nobody is left who could look at the lease.
  std::vector<std::pair<std::weak_ptr<lease_table>, lease>> leases_;
};

}  // namespace rankshare::detail
