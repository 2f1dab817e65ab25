// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a buffer keeps alive. Not for users.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include <rankshare/handle/device.hpp>
#include <rankshare/handle/stream_order.hpp>
#include <rankshare/ipc/buffer_descriptor.hpp>
#include <rankshare/ipc/published_leases.hpp>

namespace rankshare {

class memory_resource;

namespace detail {

/// Memory that goes back to where it came from when its last buffer closes.
class allocation {
 public:
  allocation(device_pointer address, std::size_t size, std::size_t capacity, device where,
             kept_stream order) noexcept
      : address_(address),
        size_(size),
        capacity_(capacity),
        where_(where),
        order_(std::move(order)) {}
  virtual ~allocation() = default;
  allocation(allocation const&) = delete;
  allocation& operator=(allocation const&) = delete;

  device_pointer address() const noexcept { return address_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }
  /// @return the device that serves the memory; for pinned memory a GPU
  device where() const noexcept { return where_; }
  /// @return the stream that orders the end of the memory
  kept_stream const& order() const noexcept { return order_; }
  void set_order(kept_stream order) noexcept { order_ = std::move(order); }

  virtual bool is_mapped() const noexcept = 0;
  virtual memory_kind kind() const noexcept = 0;
  virtual rankshare::memory_resource resource() const = 0;
  /// @throws not_shareable if the memory cannot be shared
  virtual buffer_descriptor const& descriptor() = 0;
  /// @return where the leases of the memory are kept; null for an import
  virtual published_leases* leases() = 0;

 private:
  device_pointer address_;
  std::size_t size_;
  std::size_t capacity_;
  device where_;
  kept_stream order_;
};

}  // namespace detail
}  // namespace rankshare
