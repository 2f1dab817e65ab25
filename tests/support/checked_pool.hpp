// SPDX-License-Identifier: Apache-2.0
/// @file
/// A pool that a checked driver knows.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include <rankshare/driver/driver.hpp>

namespace rankshare::test {

class checked_violations;

/// A pool and what lives in it. Work that is held back owns it too: the driver's pool goes with the
/// last owner. The checked driver's mutex guards it, but for what does not change.
class checked_pool {
 public:
  /// What the driver gave out of the pool.
  struct piece {
    std::size_t bytes = 0;
    std::size_t users = 0;  ///< of an import of host memory; else 1
  };
  struct origin {
    memory_kind kind = memory_kind::host;
    std::optional<int> location;  ///< device or NUMA node; none: not known
    bool is_shareable = true;
    bool is_imported = false;
  };

  /// Most bytes of an allocation that is shared: above, importing is not safe.
  static constexpr std::size_t largest_shared = std::size_t{2} << 30;

  checked_pool(driver& inner, CUmemPoolHandle_st* handle, origin from,
               std::shared_ptr<checked_violations> violations)
      : inner_(inner), handle_(handle), from_(from), violations_(std::move(violations)) {}
  checked_pool(checked_pool const&) = delete;
  checked_pool& operator=(checked_pool const&) = delete;
  ~checked_pool();

  CUmemPoolHandle_st* handle() const noexcept { return handle_; }
  origin const& from() const noexcept { return from_; }
  /// @return whether the driver refuses to share `bytes` of it
  bool is_too_large(std::size_t bytes) const noexcept;
  /// @return whether the pool is known to be memory of `device`
  bool is_memory_of(int device) const noexcept;
  /// @return whether work of `device`, -1 for the host, may touch the memory. What is not known
  ///         here, the driver knows.
  bool is_reached_by(int device) const;
  void set_access(int device, bool granted);

  std::map<device_pointer, piece> const& pieces() const noexcept { return pieces_; }
  /// @return whether the bytes lie inside a live allocation or import
  bool holds(device_pointer start, std::size_t bytes) const;
  /// @return whether one of the bytes was ever given out, and is mapped still
  bool knows(device_pointer start, std::size_t bytes) const;

  void add_allocation(device_pointer pointer, std::size_t bytes);
  void add_import(device_pointer pointer, std::size_t bytes, pointer_payload const& payload);
  /// @return whether the payload is imported at this time
  bool is_imported(pointer_payload const& payload) const;
  /// Imports once more what is imported, or is about to be given up, where that is a mere alias.
  /// @return the import; none: the driver is to be asked
  std::optional<device_pointer> alias(pointer_payload const& payload);
  /// Ends an allocation or an import for whoever uses it.
  void remove(device_pointer pointer);
  /// The driver has ended it now, and with it what aliases it.
  void driver_removed(device_pointer pointer);

  std::mutex importing;     ///< held while a payload is imported
  std::size_t owners = 0;   ///< handles in use; a driver may give the same one twice
  std::size_t imports = 0;  ///< that the driver has counted, and each of which is to be destroyed
  bool was_exported = false;

 private:
  struct mapping {
    device_pointer pointer;
    std::size_t bytes;
  };

  bool aliases() const noexcept { return from_.is_imported && from_.kind != memory_kind::host; }
  void remember(device_pointer pointer, std::size_t bytes);
  void forget_mapping(device_pointer pointer);

  driver& inner_;
  CUmemPoolHandle_st* handle_;
  origin from_;
  std::shared_ptr<checked_violations> violations_;
  std::set<int> granted_;
  std::map<device_pointer, piece> pieces_;
  std::map<device_pointer, std::size_t> given_out_;  // and mapped still, in bytes
  std::map<pointer_payload, mapping> mappings_;      // of the driver
};

}  // namespace rankshare::test
