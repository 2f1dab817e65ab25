// SPDX-License-Identifier: Apache-2.0
/// @file
/// A pool of emulated memory of another process.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include <rankshare/driver/emulated_pool.hpp>
#include <rankshare/driver/host_pool_file.hpp>

namespace rankshare::detail {

/// The importer's side, as on CUDA: a payload is mapped once, however often it is imported, and the
/// first free ends that; whether its memory was freed is not asked. Who touches memory after that
/// free gets SIGSEGV.
class imported_emulated_pool final : public emulated_pool {
 public:
  /// Imports the pool behind `fd`, which stays the caller's.
  ///
  /// @param kind     device or pinned
  /// @param expected identity that it must have; nil: any
  /// @throws stale_descriptor   if it is not the pool `expected`, or of another kind
  /// @throws invalid_descriptor if it is no pool of that kind and `expected` is nil
  imported_emulated_pool(int fd, memory_kind kind, uuid const& expected);
  ~imported_emulated_pool() override;

  /// @throws invalid_argument always: only the owner exports
  unique_fd export_handle() const override;
  /// @throws invalid_argument always: only the owner allocates
  device_pointer allocate(std::size_t bytes) override;
  void free(device_pointer pointer) override;
  /// @throws invalid_argument always: only the owner exports
  pointer_payload export_pointer(device_pointer pointer) override;
  device_pointer import_pointer(pointer_payload const& payload) override;
  std::size_t range_size(device_pointer pointer) const override;
  bool holds(device_pointer begin, std::size_t bytes) const override;

 private:
  // What one payload names, and where it is mapped.
  struct mapping {
    std::byte* base;
    std::size_t offset;  // in the file
    std::size_t bytes;
  };

  imported_emulated_pool(int fd, memory_kind kind, uuid const& expected,
                         host_pool_found const& found);
  mapping place_of(pointer_payload const& payload) const;
  std::vector<mapping>::const_iterator find(device_pointer pointer) const;

  host_pool_layout layout_;
  unique_fd file_;
  mutable std::mutex mutex_;
  std::vector<mapping> imported_;
};

}  // namespace rankshare::detail
