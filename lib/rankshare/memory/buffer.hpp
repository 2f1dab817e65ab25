// SPDX-License-Identifier: Apache-2.0
/// @file
/// A piece of memory, allocated here or mapped from another process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <rankshare/base/export.hpp>
#include <rankshare/driver/driver.hpp>
#include <rankshare/handle/stream_ref.hpp>
#include <rankshare/ipc/buffer_descriptor.hpp>

namespace rankshare {

class memory_resource;
class pool_memory_resource;

namespace detail {
class allocation;
struct buffer_access;
}  // namespace detail

/// Holds memory and gives it back when it closes. Move-only; a moved-from buffer is closed.
///
/// Buffers are made by a memory resource, or from a descriptor. A buffer keeps what it needs alive:
/// resources, streams' devices and node communicators may be closed before it. A size of 0 bytes is
/// a value: such a buffer is open, has no address, and can be shared.
///
/// The stream that a buffer was allocated or imported on orders the end of its memory. A
/// `rankshare::stream` may be closed before the buffer, and lives on until then; a `CUstream` that
/// was given must be kept until then, or the buffer closed on another stream. A buffer that closes
/// while its stream captures a graph is given back without waiting for that stream, which is
/// reported.
///
/// @par Thread safety
/// Several threads may read one buffer; closing or moving it while another uses it is an error.
class RANKSHARE_EXPORT buffer {
 public:
  /// Makes a closed buffer.
  buffer() noexcept;
  buffer(buffer&& other) noexcept;
  buffer& operator=(buffer&& other) noexcept;
  ~buffer();

  /// Maps a buffer of another process.
  ///
  /// A second import of a buffer that this process has mapped maps nothing and asks nobody: it
  /// counts one more user. That the owner has not freed it meanwhile is known only for buffers that
  /// came through a node communicator.
  ///
  /// @param resource   the mapped resource of the pool that the buffer was allocated from
  /// @param descriptor from the `ipc_descriptor` of the owner's buffer; untrusted
  /// @param stream     orders the end of the mapping
  /// @return a buffer for which `is_mapped()`
  /// @throws closed_error       if `resource` is closed
  /// @throws invalid_descriptor if the descriptor is of another pool, larger than the allocation,
  ///                            or forged
  /// @throws stale_descriptor   if the owner has freed the memory, where the driver can tell
  /// @throws invalid_argument   if `resource` was not imported
  static buffer from_ipc_descriptor(pool_memory_resource const& resource,
                                    buffer_descriptor const& descriptor, stream_ref stream);

  /// @return address of the first byte; 0 if closed or of size 0
  device_pointer handle() const noexcept { return address_; }
  /// @return address of the first byte; null if closed or of size 0
  void* data() const noexcept { return reinterpret_cast<void*>(address_); }
  /// @return the address as a pointer to `T`
  /// @throws invalid_argument if the address is not aligned for `T`
  template <class T>
  T* as() const {
    if (address_ % alignof(T) != 0) throw_misaligned(alignof(T));
    return reinterpret_cast<T*>(address_);
  }
  /// @return bytes that were asked for; 0 if closed
  std::size_t size() const noexcept { return size_; }
  /// @return bytes that are there, at least `size()`; 0 if closed
  std::size_t capacity() const noexcept;
  /// @return ordinal of the GPU in this process; -1 for host memory or if closed
  int device_id() const noexcept;

  bool is_closed() const noexcept { return state_ == nullptr; }
  /// @return whether the memory was imported from another process
  bool is_mapped() const noexcept;
  /// @return whether the memory is CUDA managed memory
  bool is_managed() const noexcept { return false; }
  bool is_host_accessible() const noexcept;
  bool is_device_accessible() const noexcept;

  /// @return what names this buffer to other processes; made at the first call and kept. The
  ///         receiver is not known, so it carries no lease: see that this buffer stays open until
  ///         the last receiver has closed its own. An imported buffer returns the descriptor that
  ///         it came from.
  /// @throws closed_error  if the buffer is closed
  /// @throws not_shareable if this memory cannot be shared
  buffer_descriptor const& ipc_descriptor() const;

  /// @return the resource it was allocated from, or the mapped one it was imported through
  /// @throws closed_error if the buffer is closed
  rankshare::memory_resource memory_resource() const;

  /// Sets every byte.
  ///
  /// @param value  of each byte
  /// @param stream orders the work
  /// @throws closed_error     if the buffer is closed
  /// @throws invalid_argument if the stream is of another device, or its device does not reach the
  ///                          memory
  /// @throws no_context       if it is a default stream of a GPU, and no context is current
  void fill(std::byte value, stream_ref stream);

  /// Copies all bytes to another buffer. One of the two may be host memory.
  ///
  /// @param target as large as this one; it is on this device, or one that reaches this memory
  /// @param stream orders the work; of the GPU that is involved, if one is
  /// @throws closed_error     if one of the two is closed
  /// @throws invalid_argument if the sizes differ, the stream is of another device, or the stream's
  ///                          device does not reach one of the two
  void copy_to(buffer& target, stream_ref stream) const;

  /// Copies all bytes of another buffer to this one; otherwise as `copy_to`.
  void copy_from(buffer const& source, stream_ref stream);

  /// Gives the memory back once earlier work is done on the stream that it was allocated or
  /// imported on. Later calls do nothing.
  void close() noexcept;

  /// As `close()`, on `stream`, which replaces the recorded one. Where it cannot (a stream of
  /// another device, a default stream without a current context), that is reported, and the
  /// recorded one is used.
  void close(stream_ref stream) noexcept;

 private:
  friend struct detail::buffer_access;

  explicit buffer(std::shared_ptr<detail::allocation> state) noexcept;
  [[noreturn]] void throw_misaligned(std::size_t alignment) const;
  void check_open(char const* doing) const;

  std::shared_ptr<detail::allocation> state_;
  device_pointer address_ = 0;
  std::size_t size_ = 0;
};

}  // namespace rankshare
