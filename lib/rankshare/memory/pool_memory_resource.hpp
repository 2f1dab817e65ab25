// SPDX-License-Identifier: Apache-2.0
/// @file
/// What all resources over a pool of the driver have in common.
#pragma once

#include <cstddef>
#include <memory>

#include <rankshare/base/uuid.hpp>
#include <rankshare/handle/device.hpp>
#include <rankshare/ipc/allocation_handle.hpp>
#include <rankshare/memory/memory_resource.hpp>

namespace rankshare {

namespace detail {
class pool_resource_state;
class shared_pool;
}  // namespace detail

/// A handle to a stream-ordered pool, made here or imported from another process (then it is
/// *mapped*: it receives buffers and cannot allocate). Cheap to copy; all copies are the same
/// resource.
///
/// @par Thread safety
/// Several threads may allocate from one resource; closing it while another uses it is an error.
class RANKSHARE_EXPORT pool_memory_resource {
 public:
  // Declared, so that a move copies: the resource that is moved from stays a handle to the same
  // one.
  pool_memory_resource(pool_memory_resource const&) noexcept = default;
  pool_memory_resource& operator=(pool_memory_resource const&) noexcept = default;
  ~pool_memory_resource() = default;

  /// Allocates memory on a stream of the resource's own, and waits until it is there.
  ///
  /// @param size bytes; 0 is allowed and gives a buffer without an address
  /// @throws out_of_memory         if there is not enough
  /// @throws closed_error          if the resource is closed
  /// @throws mapped_resource_error if the resource was imported
  /// @throws not_supported         if the pool is shareable, its memory is not host memory, and
  ///                               `size` is above 2 GiB: the CUDA driver cannot share that
  buffer allocate(std::size_t size) const;

  /// Allocates memory in the order of `stream`, which also orders its end unless `close` names
  /// another.
  ///
  /// @param stream of the device that serves the pool; host memory takes any, and waits for it
  /// where
  ///               it has to
  /// @throws capture_error    if `stream` is capturing
  /// @throws no_context       if it is a default stream of a GPU, and no context is current
  /// @throws invalid_argument if it is a stream of another device; otherwise as `allocate(size)`
  buffer allocate(std::size_t size, stream_ref stream) const;

  /// Frees memory that no buffer owns.
  ///
  /// @throws invalid_argument      if `pointer` is no allocation of this pool; on a GPU only if it
  ///                               is one of no pool: the driver frees what others allocated
  /// @throws mapped_resource_error if the resource was imported
  /// @throws closed_error     if the resource is closed
  void deallocate(device_pointer pointer, std::size_t size, stream_ref stream) const;

  /// Closes the resource. Its buffers stay; the pool goes with the last of them. Later calls do
  /// nothing. Whoever lets go of an imported pool last waits for the streams that its buffers were
  /// closed on, unless its memory is host memory.
  void close() noexcept;

  /// @return the pool as the driver knows it; null if closed
  CUmemPoolHandle_st* native_handle() const noexcept;
  /// @return what shares the pool with other processes; made with the pool, owned by the resource
  /// @throws closed_error  if the resource is closed
  /// @throws not_shareable if it was made with `ipc_enabled = false`
  rankshare::allocation_handle const& allocation_handle() const;
  /// @return identity of the pool in all processes; nil if closed
  rankshare::uuid uuid() const noexcept;
  /// @return ordinal of the GPU in this process; -1 for host memory, pinned or not
  int device_id() const noexcept;
  /// @return the device whose streams order the memory; for pinned memory a GPU
  rankshare::device device() const noexcept;
  bool is_closed() const noexcept;
  /// @return whether the pool was imported from another process
  bool is_mapped() const noexcept;
  /// @return whether other processes may import the pool; false if closed
  bool is_ipc_enabled() const noexcept;
  /// @return whether the pool goes with the resource and its buffers; false if closed
  bool is_handle_owned() const noexcept { return !is_closed(); }
  bool is_host_accessible() const noexcept;
  bool is_device_accessible() const noexcept;

  operator memory_resource() const;  // NOLINT: conversion is the purpose

  friend bool operator==(pool_memory_resource const& a, pool_memory_resource const& b) noexcept {
    return a.state_ == b.state_;
  }
  friend bool operator!=(pool_memory_resource const& a, pool_memory_resource const& b) noexcept {
    return !(a == b);
  }

  /// Not for users.
  /// @throws closed_error if the resource is closed
  std::shared_ptr<detail::shared_pool> const& source() const;

 protected:
  explicit pool_memory_resource(std::shared_ptr<detail::pool_resource_state> state) noexcept;

  static std::shared_ptr<detail::pool_resource_state> import_from(
      rankshare::device where, memory_kind kind, rankshare::allocation_handle const& handle);
  static std::shared_ptr<detail::pool_resource_state> find_in_registry(rankshare::uuid const& id,
                                                                       memory_kind kind);

 private:
  std::shared_ptr<detail::pool_resource_state> state_;
};

}  // namespace rankshare
