// SPDX-License-Identifier: Apache-2.0
/// @file
/// A pool together with what sharing needs to know of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

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
  /// Makes a pool and exports it at once.
  static std::shared_ptr<shared_pool> create(device where, pool_properties properties);

  /// Imports a pool. Where the uuid is known, only the registry calls this, so that no
  /// pool is imported twice.
  static std::shared_ptr<shared_pool> import_from(device where, memory_kind kind,
                                                  allocation_handle handle);

  ~shared_pool();
  shared_pool(shared_pool const&) = delete;
  shared_pool& operator=(shared_pool const&) = delete;

  uuid const& id() const noexcept { return handle_.id(); }
  memory_kind kind() const noexcept { return kind_; }
  device where() const noexcept { return where_; }
  bool is_mapped() const noexcept { return is_mapped_; }
  std::size_t granularity() const noexcept { return granularity_; }
  pool& driver_pool() noexcept { return pool_; }
  allocation_handle const& handle() const noexcept { return handle_; }
  import_cache& imports() noexcept { return imports_; }
  published_leases& leases() noexcept { return leases_; }
  /// @return a number that no allocation of this pool had before; from 1
  std::uint64_t next_serial() noexcept { return ++last_serial_; }

  /// @return a stream for those who bring none; made at the first call. It lives as long as the
  ///         pool, so that whatever is allocated on it can be freed on it.
  stream const& own_stream();

  /// @return what represents this pool to users, as `set_resource` left it; null if that is gone
  std::shared_ptr<void> resource() const;
  /// Remembers what represents this pool to users, without holding it.
  void set_resource(std::weak_ptr<void> represented_by);

 private:
  shared_pool(device where, memory_kind kind, bool is_mapped, pool driver_pool,
              allocation_handle handle);

  device where_;
  memory_kind kind_;
  bool is_mapped_;
  pool pool_;
  std::size_t granularity_;
  allocation_handle handle_;
  import_cache imports_;
  std::atomic<std::uint64_t> last_serial_{0};
  mutable std::mutex resource_mutex_;
  std::weak_ptr<void> resource_;
  std::mutex stream_mutex_;
  std::optional<stream> own_stream_;  // after the pool: its work ends before the pool goes
  published_leases leases_;           // last: retired before the pool goes
};

}  // namespace rankshare::detail
