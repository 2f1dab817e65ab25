// SPDX-License-Identifier: Apache-2.0
/// @file
/// Host memory that GPUs reach, and that processes of one machine share.
#pragma once

#include <cstddef>
#include <limits>

#include <rankshare/memory/pool_memory_resource.hpp>

namespace rankshare {

/// What a pinned memory resource is made with.
struct pinned_memory_resource_options {
  /// NUMA node that the memory is on; -1: the one nearest to the GPU.
  int numa_node = -1;
  /// Other processes may import the pool. Without, its allocations may be larger than 2 GiB.
  bool ipc_enabled = true;
  /// Bytes that the pool may hold at most, which the driver rounds up; 0: no limit.
  std::size_t max_size = 0;
  /// Bytes that the pool keeps when its memory is free, for its next buffers.
  std::size_t release_threshold = std::numeric_limits<std::size_t>::max();
};

/// A stream-ordered pool of page-locked host memory. The host and every GPU of the processes that
/// made or imported it read and write it in place. `device_id()` is -1.
///
/// @par Thread safety
/// Several threads may allocate from one resource.
/// @par Source
/// cuMemPoolCreate with a HOST_NUMA location, in the CUDA driver API.
class RANKSHARE_EXPORT pinned_memory_resource : public pool_memory_resource {
 public:
  using options = pinned_memory_resource_options;

  /// Makes a new pool.
  ///
  /// @param where a GPU, whose streams order the memory
  /// @throws invalid_argument if `where` is the host, or there is no such NUMA node
  /// @throws not_supported    if the GPU has no shareable pools of host memory, or does not say
  ///                          which NUMA node is nearest
  explicit pinned_memory_resource(rankshare::device where, options const& made_with = {});

  /// Imports a pool of another process. The handle stays the caller's.
  ///
  /// A pool that this process has imported already is not imported again.
  ///
  /// @param where a GPU, whose streams order the imports
  /// @throws closed_error       if `handle` is closed
  /// @throws invalid_argument   if `where` is the host
  /// @throws invalid_descriptor if its descriptor is no pool
  /// @throws stale_descriptor   if its descriptor is another pool than its uuid says, where the
  ///                            driver can tell
  static pinned_memory_resource from_allocation_handle(rankshare::device where,
                                                       rankshare::allocation_handle const& handle);

  /// @return the mapped resource of pool `id`
  /// @throws not_registered   if this process has not imported it
  /// @throws invalid_argument if its memory is not pinned host memory
  static pinned_memory_resource from_registry(rankshare::uuid const& id);

 private:
  using pool_memory_resource::pool_memory_resource;
};

}  // namespace rankshare
