// SPDX-License-Identifier: Apache-2.0
#include <rankshare/memory/pinned_memory_resource.hpp>

#include <rankshare/base/error.hpp>
#include <rankshare/ipc/shared_pool.hpp>
#include <rankshare/memory/pool_resource_state.hpp>

namespace rankshare {
namespace {

void check_gpu(device where, char const* doing) {
  if (!where.is_host()) return;
  throw invalid_argument(std::string(doing) +
                         ": the device is the host; pass device::gpu(0), or use "
                         "host_memory_resource");
}

int node_near(device where) {
  int const node = where.driver().device_numa_node(where.id());
  if (node >= 0) return node;
  throw not_supported(
      "making a pinned memory resource: the driver does not say which NUMA node is "
      "nearest to GPU " +
      std::to_string(where.id()) + "; set the option numa_node");
}

std::shared_ptr<detail::pool_resource_state> make_pool(
    device where, pinned_memory_resource_options const& wanted) {
  check_gpu(where, "making a pinned memory resource");
  pool_properties properties;
  properties.kind = memory_kind::pinned;
  properties.location = wanted.numa_node == -1 ? node_near(where) : wanted.numa_node;
  properties.shareable = wanted.ipc_enabled;
  properties.max_size = wanted.max_size;
  properties.release_threshold = wanted.release_threshold;
  return detail::pool_resource_state::open(detail::shared_pool::create(where, properties));
}

}  // namespace

pinned_memory_resource::pinned_memory_resource(rankshare::device where, options const& made_with)
    : pinned_memory_resource(make_pool(where, made_with)) {}

pinned_memory_resource pinned_memory_resource::from_allocation_handle(
    rankshare::device where, rankshare::allocation_handle const& handle) {
  check_gpu(where, "importing a pool of pinned memory");
  return pinned_memory_resource(import_from(where, memory_kind::pinned, handle));
}

pinned_memory_resource pinned_memory_resource::from_registry(rankshare::uuid const& id) {
  return pinned_memory_resource(find_in_registry(id, memory_kind::pinned));
}

}  // namespace rankshare
