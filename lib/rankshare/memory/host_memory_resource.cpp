// SPDX-License-Identifier: Apache-2.0
#include <rankshare/memory/host_memory_resource.hpp>

#include <rankshare/ipc/shared_pool.hpp>
#include <rankshare/memory/pool_resource_state.hpp>

namespace rankshare {
namespace {

std::shared_ptr<detail::pool_resource_state> make_pool(host_memory_resource_options const& wanted) {
  pool_properties properties;
  properties.kind = memory_kind::host;
  properties.max_size = wanted.max_size;
  return detail::pool_resource_state::open(detail::shared_pool::create(device::host(), properties));
}

}  // namespace

host_memory_resource::host_memory_resource(options const& made_with)
    : host_memory_resource(make_pool(made_with)) {}

host_memory_resource host_memory_resource::from_allocation_handle(
    rankshare::allocation_handle const& handle) {
  return host_memory_resource(import_from(device::host(), memory_kind::host, handle));
}

host_memory_resource host_memory_resource::from_registry(rankshare::uuid const& id) {
  return host_memory_resource(find_in_registry(id, memory_kind::host));
}

}  // namespace rankshare
