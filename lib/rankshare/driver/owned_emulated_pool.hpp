// SPDX-License-Identifier: Apache-2.0
/// @file
/// A pool of emulated memory of this process.
#pragma once

#include <rankshare/driver/emulated_pool.hpp>
#include <rankshare/driver/owned_host_pool.hpp>

namespace rankshare::detail {

/// The owner's side: a host pool whose payloads are as CUDA's. They name the place of a block; the
/// next block of that size there has the same.
class owned_emulated_pool final : public emulated_pool {
 public:
  /// @param properties with the location that every process knows
  /// @throws what `owned_host_pool` throws
  explicit owned_emulated_pool(pool_properties const& properties)
      : emulated_pool(properties.kind, properties.location), pool_(properties) {}

  unique_fd export_handle() const override { return pool_.export_handle(); }
  device_pointer allocate(std::size_t bytes) override { return pool_.allocate(bytes); }
  void free(device_pointer pointer) override { pool_.free(pointer); }
  pointer_payload export_pointer(device_pointer pointer) override;
  device_pointer import_pointer(pointer_payload const& payload) override {
    return pool_.import_pointer(payload);
  }
  std::size_t range_size(device_pointer pointer) const override {
    return pool_.range_size(pointer);
  }
  bool holds(device_pointer begin, std::size_t bytes) const override {
    return pool_.holds(begin, bytes);
  }

 private:
  owned_host_pool pool_;
};

}  // namespace rankshare::detail
