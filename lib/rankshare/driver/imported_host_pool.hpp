// SPDX-License-Identifier: Apache-2.0
/// @file
/// A host pool of another process.
#pragma once

#include <cstddef>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <rankshare/driver/host_pool.hpp>
#include <rankshare/driver/host_pool_file.hpp>

namespace rankshare::detail {

/// The importer's side of a host pool. It maps as much of the pool as its imports need.
class imported_host_pool final : public host_pool {
 public:
  /// Imports the pool behind `fd`, which stays the caller's.
  ///
  /// @param expected identity that it must have; nil: any
  /// @throws stale_descriptor   if it is not the pool `expected`, or not of host memory
  /// @throws invalid_descriptor if it is no pool of host memory and `expected` is nil
  imported_host_pool(int fd, uuid const& expected);
  ~imported_host_pool() override;

  /// @throws invalid_argument always: only the owner exports
  unique_fd export_handle() const override;
  /// @throws invalid_argument always: only the owner allocates
  device_pointer allocate(std::size_t bytes) override;
  void free(device_pointer pointer) override;
  /// @throws invalid_argument always: only the owner exports
  pointer_payload export_pointer(device_pointer pointer) override;
  device_pointer import_pointer(pointer_payload const& payload) override;
  std::size_t range_size(device_pointer pointer) const override;

 private:
  // A mapping of the file from `offset` on.
  struct view {
    std::byte* base;
    std::size_t offset;
    std::size_t bytes;
  };

  std::byte* map_view(std::size_t offset, std::size_t bytes);
  std::byte* view_until(std::size_t end);
  host_export_record const& record(std::uint32_t slot);
  void check_live(host_payload const& wanted);

  host_pool_layout layout_;
  unique_fd file_;
  mutable std::mutex mutex_;
  std::vector<view> views_;     // from the start of the file, each larger than the one before
  std::byte* table_ = nullptr;  // the records behind the memory; mapped when the first is needed
  // Several imports may be at one address: the owner may have freed the one and allocated the
  // other.
  struct import_at {
    std::size_t bytes;  // of the latest
    std::size_t users;
  };
  std::unordered_map<device_pointer, import_at> imported_;
};

}  // namespace rankshare::detail
