// SPDX-License-Identifier: Apache-2.0
/// @file
/// A pool together with what sharing needs to know of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <rankshare/handle/device.hpp>
#include <rankshare/handle/pool.hpp>
#include <rankshare/handle/stream.hpp>
#include <rankshare/ipc/allocation_handle.hpp>
#include <rankshare/ipc/import_cache.hpp>
#include <rankshare/ipc/published_leases.hpp>

namespace rankshare::detail {

/// The one owner in this process of a pool that was made or imported here. Resources and buffers
/// hold it; it goes with the last of them.
class RANKSHARE_EXPORT shared_pool {
 public:
  /// Makes a pool, lets GPUs reach it, and exports it at once if it is shareable.
  static std::shared_ptr<shared_pool> create(device where, pool_properties properties);

  /// Takes a pool that was imported, and lets GPUs of this process reach it. Only the registry
  /// calls this, so that no pool is owned twice.
  static std::shared_ptr<shared_pool> own_import(device where, memory_kind kind,
                                                 allocation_handle handle, pool imported);

  ~shared_pool();
  shared_pool(shared_pool const&) = delete;
  shared_pool& operator=(shared_pool const&) = delete;

  /// @return identity of the pool; nil while it is not known
  uuid id() const noexcept { return has_id_.load(std::memory_order_acquire) ? id_ : uuid{}; }
  /// Tells the identity of a pool that was imported without. The registry calls this, once.
  void set_id(uuid const& id) noexcept;
  /// @return where its memory is, for messages
  std::string description() const;
  bool is_shareable() const noexcept { return handle_.has_value(); }
  memory_kind kind() const noexcept { return kind_; }
  device where() const noexcept { return where_; }
  bool is_mapped() const noexcept { return is_mapped_; }
  std::size_t granularity() const noexcept { return granularity_; }
  pool& driver_pool() noexcept { return pool_; }
  /// @throws not_shareable if the pool was made without
  allocation_handle const& handle() const;
  import_cache& imports() noexcept { return imports_; }
  published_leases& leases() noexcept { return leases_; }
  /// @return a number that no allocation of this pool had before; from 1
  std::uint64_t next_serial() noexcept { return ++last_serial_; }

  /// @return a stream for those who bring none; made at the first call. It lives as long as the
  ///         pool, so that whatever is allocated on it can be freed on it.
  stream const& own_stream();

  /// Gives an allocation back once earlier work on `order` is done; if that captures a graph, at
  /// once on a stream of the pool's own, which is reported. So are failures.
  void give_back(device_pointer pointer, kept_stream const& order) noexcept;
  /// Drops a user of an import, in the same way.
  void give_back_import(std::uint64_t serial, kept_stream const& order) noexcept;

  /// @return what represents this pool to users, as `set_resource` left it; null if that is gone
  std::shared_ptr<void> resource() const;
  /// Remembers what represents this pool to users, without holding it.
  void set_resource(std::weak_ptr<void> represented_by);

 private:
  shared_pool(device where, memory_kind kind, bool is_mapped, pool driver_pool, uuid const& id,
              std::optional<allocation_handle> handle);

  kept_stream own_order();

  device where_;
  memory_kind kind_;
  bool is_mapped_;
  pool pool_;
  std::size_t granularity_;
  uuid id_;  // does not change once `has_id_`
  std::atomic<bool> has_id_;
  std::optional<allocation_handle> handle_;
  import_cache imports_;
  std::atomic<std::uint64_t> last_serial_{0};
  mutable std::mutex resource_mutex_;
  std::weak_ptr<void> resource_;
  std::mutex stream_mutex_;
  std::optional<stream> own_stream_;  // after the pool: its work ends before the pool goes
  published_leases leases_;           // last: retired before the pool goes
};

}  // namespace rankshare::detail
