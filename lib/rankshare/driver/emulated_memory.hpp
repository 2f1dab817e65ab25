// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which emulated device reaches which memory.
#pragma once

#include <bitset>
#include <cstddef>
#include <mutex>
#include <unordered_map>

#include <rankshare/base/settings.hpp>
#include <rankshare/driver/emulated_devices.hpp>
#include <rankshare/driver/emulated_pool.hpp>

namespace rankshare::detail {

/// The emulated pools of one driver with the rights of devices to them. A right is for one pool
/// object: whoever imports a pool has rights of its own. Memory that is in none of these pools,
/// such as that of host pools, is reached by everybody.
///
/// @par Thread safety
/// Every function may be called from any thread.
class emulated_memory {
 public:
  /// @param pool not yet known; stays alive until it is removed
  void add(emulated_pool const& pool);
  /// Forgets a pool; does nothing with one that is not known.
  void remove(host_pool const* pool) noexcept;

  /// Grants or withdraws the right to a pool.
  /// @throws invalid_argument if `granted` is false, and the device reaches the memory whatever its
  ///                          rights: its own, or a host pool
  void set_access(host_pool const* pool, emulated_device device, bool granted);

  /// Checks what Note [Access to emulated memory] says.
  /// @param doing what is done with the range, for messages
  /// @throws invalid_argument if it may not be done on `device`
  void check(device_pointer begin, std::size_t bytes, emulated_device device,
             char const* doing) const;

 private:
  struct entry {
    emulated_pool const* pool;
    std::bitset<settings::most_host_devices> granted;  // by number in the machine

    bool is_reached_by(emulated_device device) const;
  };

  mutable std::mutex mutex_;
  std::unordered_map<host_pool const*, entry> pools_;
};

}  // namespace rankshare::detail
