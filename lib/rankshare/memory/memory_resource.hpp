// SPDX-License-Identifier: Apache-2.0
/// @file
/// Any memory resource, as one type.
#pragma once

#include <cstddef>
#include <memory>

#include <rankshare/base/uuid.hpp>
#include <rankshare/memory/buffer.hpp>

namespace rankshare {

namespace detail {

/// What every resource can do. Not for users.
class resource_interface {
 public:
  virtual ~resource_interface() = default;
  virtual buffer allocate(std::size_t size, stream_ref stream) = 0;
  virtual void deallocate(device_pointer pointer, std::size_t size, stream_ref stream) = 0;
  virtual void close() noexcept = 0;
  virtual bool is_closed() const noexcept = 0;
  virtual bool is_mapped() const noexcept = 0;
  virtual bool is_host_accessible() const noexcept = 0;
  virtual bool is_device_accessible() const noexcept = 0;
  virtual int device_id() const noexcept = 0;
  virtual rankshare::uuid uuid() const noexcept = 0;
};

}  // namespace detail

/// A handle to some memory resource. Cheap to copy; all copies are the same resource.
///
/// @par Thread safety
/// Several threads may allocate from one resource; closing it while another uses it is an error.
class RANKSHARE_EXPORT memory_resource {
 public:
  /// Not for users: resources convert to this type.
  explicit memory_resource(std::shared_ptr<detail::resource_interface> state) noexcept
      : state_(std::move(state)) {}

  // Declared, so that a move copies: the resource that is moved from stays a handle to the same
  // one.
  memory_resource(memory_resource const&) noexcept = default;
  memory_resource& operator=(memory_resource const&) noexcept = default;
  ~memory_resource() = default;

  /// Allocates memory.
  ///
  /// @param size   bytes; 0 is allowed and gives a buffer without an address
  /// @param stream orders the allocation, and the end of it unless `close` names another stream
  /// @throws out_of_memory         if there is not enough
  /// @throws closed_error          if the resource is closed
  /// @throws mapped_resource_error if the resource was imported
  buffer allocate(std::size_t size, stream_ref stream) { return state_->allocate(size, stream); }

  /// Frees memory that no buffer owns.
  ///
  /// @param pointer address of the allocation
  /// @param size    bytes that were asked for
  /// @param stream  orders the end of the memory
  /// @throws invalid_argument      if `pointer` is no allocation of this resource; on a GPU only
  ///                               if it is one of no pool
  /// @throws mapped_resource_error if the resource was imported
  void deallocate(device_pointer pointer, std::size_t size, stream_ref stream) {
    state_->deallocate(pointer, size, stream);
  }

  /// Closes the resource; its buffers stay. Later calls do nothing.
  void close() noexcept { state_->close(); }
  bool is_closed() const noexcept { return state_->is_closed(); }
  /// @return whether the resource was imported from another process
  bool is_mapped() const noexcept { return state_->is_mapped(); }
  bool is_host_accessible() const noexcept { return state_->is_host_accessible(); }
  bool is_device_accessible() const noexcept { return state_->is_device_accessible(); }
  /// @return ordinal of the GPU in this process; -1 for host memory
  int device_id() const noexcept { return state_->device_id(); }
  /// @return identity of the resource in all processes; nil if it is not known or closed
  rankshare::uuid uuid() const noexcept { return state_->uuid(); }

  friend bool operator==(memory_resource const& a, memory_resource const& b) noexcept {
    return a.state_ == b.state_;
  }
  friend bool operator!=(memory_resource const& a, memory_resource const& b) noexcept {
    return !(a == b);
  }

 private:
  std::shared_ptr<detail::resource_interface> state_;
};

}  // namespace rankshare
