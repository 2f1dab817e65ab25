// SPDX-License-Identifier: Apache-2.0
/// @file
/// What the host driver does with a pool, whoever made it.
#pragma once

#include <cstddef>

#include <rankshare/driver/driver.hpp>

namespace rankshare::detail {

/// A pool of host memory in one sparse memfd, as its owner or an importer sees it.
///
/// @par Thread safety
/// Every function may be called from any thread.
class host_pool {
 public:
  host_pool() = default;
  virtual ~host_pool() = default;
  host_pool(host_pool const&) = delete;
  host_pool& operator=(host_pool const&) = delete;

  virtual unique_fd export_handle() const = 0;
  virtual device_pointer allocate(std::size_t bytes) = 0;
  virtual void free(device_pointer pointer) = 0;
  virtual pointer_payload export_pointer(device_pointer pointer) = 0;
  virtual device_pointer import_pointer(pointer_payload const& payload) = 0;
  virtual std::size_t range_size(device_pointer pointer) const = 0;
};

}  // namespace rankshare::detail
