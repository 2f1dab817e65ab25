// SPDX-License-Identifier: Apache-2.0
/// @file
/// Host memory that processes of one machine share.
#pragma once

#include <cstddef>

#include <rankshare/memory/pool_memory_resource.hpp>

namespace rankshare {

/// What a host memory resource is made with.
struct host_memory_resource_options {
  /// Bytes that the pool may hold at most; 0: the memory of the machine. Address space only: memory
  /// is taken when it is first written.
  std::size_t max_size = 0;
};

/// A pool of host memory in one memfd, which other processes map as far as they need.
///
/// An allocation that would need more memory than the machine (or the memory cgroup) has available
/// is refused. That is a hint: memory is taken when it is first written, and if others have used it
/// up by then, the kernel ends the process (SIGBUS or the OOM killer).
///
/// @par Thread safety
/// Several threads may allocate from one resource.
class RANKSHARE_EXPORT host_memory_resource : public pool_memory_resource {
 public:
  using options = host_memory_resource_options;

  /// Makes a new pool.
  ///
  /// @throws invalid_argument if `max_size` is too large for an address space
  /// @throws out_of_memory    if there is no address space for `max_size` bytes
  /// @throws system_error     if no file descriptors are left
  explicit host_memory_resource(options const& made_with = {});

  /// Imports a pool of another process. The handle stays the caller's.
  ///
  /// A pool that this process has imported already is not imported again.
  ///
  /// @throws closed_error       if `handle` is closed
  /// @throws invalid_descriptor if its descriptor is no host pool
  /// @throws stale_descriptor   if its descriptor is another pool than its uuid says
  static host_memory_resource from_allocation_handle(rankshare::allocation_handle const& handle);

  /// @return the mapped resource of pool `id`
  /// @throws not_registered   if this process has not imported it
  /// @throws invalid_argument if its memory is not host memory
  static host_memory_resource from_registry(rankshare::uuid const& id);

 private:
  using pool_memory_resource::pool_memory_resource;
};

}  // namespace rankshare
