// SPDX-License-Identifier: Apache-2.0
/// @file
/// What travels in a share operation, and how the receiver turns it into a buffer. Not for users.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include <rankshare/ipc/pool_descriptor.hpp>
#include <rankshare/ipc/shared_pool.hpp>
#include <rankshare/memory/buffer.hpp>
#include <rankshare/memory/pool_memory_resource.hpp>
#include <rankshare/mpi/communicator_state.hpp>
#include <rankshare/mpi/fd_transport.hpp>

namespace rankshare::mpi::detail {

/// One end of the share operations of a node communicator: publishes what this rank shares, and
/// maps what others published. Makes no MPI call.
///
/// A published object carries a lease of the board. The receiver looks at it before it fetches the
/// file descriptor, after that, and after the import, so that memory which its owner has freed
/// meanwhile is never taken for what was described.
///
/// @par Thread safety
/// One thread at a time.
class RANKSHARE_EXPORT exchange {
 public:
  explicit exchange(std::shared_ptr<communicator_state> state) noexcept
      : state_(std::move(state)) {}

  /// @return the record of a pool of this process
  /// @throws closed_error          if the resource is closed
  /// @throws mapped_resource_error if the pool belongs to another process
  std::vector<std::byte> publish(pool_memory_resource const& resource);

  /// @return the record of a buffer and of its pool
  /// @throws closed_error  if the buffer is closed
  /// @throws not_shareable if it belongs to another process, or its memory cannot be shared
  std::vector<std::byte> publish(buffer const& shared);

  /// Remembers the pool in a record of `publish(resource)` that `local_rank` sent. Maps nothing.
  /// @throws invalid_descriptor if the record is forged
  void remember_pool(int local_rank, std::vector<std::byte> const& record);

  /// Maps the buffer in a record of `publish(buffer)` that `local_rank` sent.
  ///
  /// @throws invalid_descriptor if the record is forged or foreign
  /// @throws stale_descriptor   if its owner has freed the memory or the pool
  /// @throws not_supported, system_error if the pool cannot be fetched
  buffer import_buffer(int local_rank, std::vector<std::byte> const& record, stream_ref stream);

  /// Begins an operation: lets go of pools whose owners have closed them.
  void begin();

  /// Forgets pools that became known since `begin`, and lets go of those that were mapped since:
  /// the operation failed on some rank.
  void undo() noexcept;

 private:
  struct known_pool {
    int local_rank;
    lease published;
    std::shared_ptr<rankshare::detail::shared_pool> pool;  // null until the first use
    std::set<int> granted;                                 // GPUs of this process that reach it
  };

  pool_descriptor describe(rankshare::detail::shared_pool& source);
  void check_sender(int local_rank, pool_descriptor::fields const& content) const;
  void check_current(int local_rank, lease const& published, char const* what) const;
  known_pool& enter(int local_rank, pool_descriptor const& descriptor);
  known_pool& map_pool(int local_rank, pool_descriptor const& descriptor);
  void grant_access(known_pool& known, stream_ref stream) const;

  std::shared_ptr<communicator_state> state_;
  fd_transport transport_;
  std::unordered_map<uuid, known_pool> pools_;
  std::vector<uuid> new_pools_;     // known since `begin`
  std::vector<uuid> mapped_pools_;  // mapped since `begin`
};

}  // namespace rankshare::mpi::detail
