// SPDX-License-Identifier: Apache-2.0
/// @file
/// Memory of a GPU that processes of one machine share.
#pragma once

#include <cstddef>
#include <limits>

#include <rankshare/memory/pool_memory_resource.hpp>

namespace rankshare {

/// What a device memory resource is made with.
struct device_memory_resource_options {
  /// Other processes may import the pool. Without, its allocations may be larger than 2 GiB.
  bool ipc_enabled = true;
  /// Bytes that the pool may hold at most, which the driver rounds up; 0: the memory of the GPU.
  std::size_t max_size = 0;
  /// Bytes that the pool keeps when its memory is free, for its next buffers; more goes back when a
  /// stream, event or context is synchronised.
  std::size_t release_threshold = std::numeric_limits<std::size_t>::max();
};

/// A stream-ordered pool of memory of one GPU.
///
/// Nothing that it does depends on which CUDA context is current, or changes that; nor does it
/// disturb the capture of a graph on another stream.
///
/// @par Thread safety
/// Several threads may allocate from one resource.
/// @par Source
/// cuMemPoolCreate and what follows it in the CUDA driver API.
class RANKSHARE_EXPORT device_memory_resource : public pool_memory_resource {
 public:
  using options = device_memory_resource_options;

  /// Makes a new pool.
  ///
  /// @param where a GPU
  /// @throws invalid_argument if `where` is the host
  /// @throws not_supported    if the GPU has no shareable pools
  /// @throws out_of_memory    if the driver has no memory for it
  explicit device_memory_resource(rankshare::device where, options const& made_with = {});

  /// Imports a pool of another process. The handle stays the caller's.
  ///
  /// A pool that this process has imported already is not imported again.
  ///
  /// @param where  a GPU of this process, which gets access: the one that the memory is on, or one
  ///               that reaches it
  /// @throws closed_error       if `handle` is closed
  /// @throws invalid_argument   if `where` is the host
  /// @throws invalid_descriptor if its descriptor is no pool
  /// @throws stale_descriptor   if its descriptor is another pool than its uuid says, where the
  ///                            driver can tell
  static device_memory_resource from_allocation_handle(rankshare::device where,
                                                       rankshare::allocation_handle const& handle);

  /// @return the mapped resource of pool `id`
  /// @throws not_registered   if this process has not imported it
  /// @throws invalid_argument if its memory is not a GPU's
  static device_memory_resource from_registry(rankshare::uuid const& id);

 private:
  using pool_memory_resource::pool_memory_resource;
};

}  // namespace rankshare
