// SPDX-License-Identifier: Apache-2.0
/// @file
/// What the copies of a pool resource share. Not for users.
#pragma once

#include <memory>

#include <rankshare/ipc/shared_pool.hpp>
#include <rankshare/memory/memory_resource.hpp>

namespace rankshare::detail {

/// A pool and whether its resource is closed.
class RANKSHARE_EXPORT pool_resource_state final : public resource_interface {
 public:
  explicit pool_resource_state(std::shared_ptr<shared_pool> source) noexcept;

  /// @return the state that represents `source` if it is open, else a new one
  static std::shared_ptr<pool_resource_state> open(std::shared_ptr<shared_pool> const& source);

  /// @return the pool
  /// @throws closed_error if the resource is closed
  std::shared_ptr<shared_pool> const& source() const;

  /// Allocates on the pool's own stream, and waits.
  buffer allocate(std::size_t size);

  buffer allocate(std::size_t size, stream_ref stream) override;
  void deallocate(device_pointer pointer, std::size_t size, stream_ref stream) override;
  void close() noexcept override;
  bool is_closed() const noexcept override { return source_ == nullptr; }
  bool is_mapped() const noexcept override { return is_mapped_; }
  bool is_host_accessible() const noexcept override { return kind_ != memory_kind::device; }
  bool is_device_accessible() const noexcept override { return kind_ != memory_kind::host; }
  int device_id() const noexcept override {
    return kind_ == memory_kind::device ? where_.id() : -1;
  }
  device where() const noexcept { return where_; }
  rankshare::uuid uuid() const noexcept override;

 private:
  void check_may_allocate(std::size_t size) const;

  std::shared_ptr<shared_pool> source_;  // null once closed
  bool is_mapped_;
  memory_kind kind_;
  device where_;
};

/// @return the resource that represents `source`, even if it is closed by now; a new one if it is
///         gone
RANKSHARE_EXPORT memory_resource resource_of(std::shared_ptr<shared_pool> const& source);

/// Allocates from a pool of this process.
RANKSHARE_EXPORT buffer allocate_from_pool(std::shared_ptr<shared_pool> const& source,
                                           std::size_t size, stream_ref stream);

/// Maps a buffer of an imported pool; see `buffer::from_ipc_descriptor` for what it throws.
RANKSHARE_EXPORT buffer import_from_pool(std::shared_ptr<shared_pool> const& source,
                                         buffer_descriptor const& descriptor, stream_ref stream);

/// @return the pool the buffer was allocated from, or is imported through
/// @throws not_shareable if it is not of a pool
RANKSHARE_EXPORT std::shared_ptr<shared_pool> const& pool_of(buffer const& of);

}  // namespace rankshare::detail
