// SPDX-License-Identifier: Apache-2.0
/// @file
/// A pool of the driver.
#pragma once

#include <cstddef>

#include <rankshare/driver/driver.hpp>
#include <rankshare/handle/stream_ref.hpp>

namespace rankshare {

/// Owns a pool that this process made or imported. Move-only; no policy: each function is one call
/// of the driver.
class RANKSHARE_EXPORT pool {
 public:
  /// Makes a pool.
  static pool create(driver& served_by, pool_properties const& properties);
  /// Owns a pool that the driver gave out.
  static pool own(driver& served_by, CUmemPoolHandle_st* handle) noexcept {
    return {served_by, handle};
  }
  /// Owns one more import of this pool, which the driver answered with the same handle.
  void own_another_import() noexcept { ++imports_; }

  pool(pool&& other) noexcept;
  pool& operator=(pool&&) = delete;
  ~pool();

  driver& served_by() const noexcept { return *driver_; }
  CUmemPoolHandle_st* native_handle() const noexcept { return handle_; }
  std::size_t granularity() const { return driver_->mem_pool_granularity(handle_); }

  void set_access(int device, bool granted) {
    driver_->mem_pool_set_access(handle_, device, granted);
  }
  device_pointer allocate(std::size_t bytes, stream_ref stream) {
    return driver_->mem_alloc_from_pool_async(handle_, bytes, stream.native_handle());
  }
  void free(device_pointer pointer, stream_ref stream) {
    driver_->mem_free_async(handle_, pointer, stream.native_handle());
  }
  unique_fd export_handle() const { return driver_->mem_pool_export_to_shareable_handle(handle_); }
  pointer_payload export_pointer(device_pointer pointer) const {
    return driver_->mem_pool_export_pointer(handle_, pointer);
  }
  device_pointer import_pointer(pointer_payload const& payload) {
    return driver_->mem_pool_import_pointer(handle_, payload);
  }
  std::size_t range_size(device_pointer pointer) const {
    return driver_->pointer_range_size(handle_, pointer);
  }

 private:
  pool(driver& served_by, CUmemPoolHandle_st* handle) noexcept
      : driver_(&served_by), handle_(handle) {}

  driver* driver_;
  CUmemPoolHandle_st* handle_;
  int imports_ = 1;  // that the driver counts; 1 where it was made here
};

}  // namespace rankshare
