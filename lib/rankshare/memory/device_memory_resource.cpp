// SPDX-License-Identifier: Apache-2.0
#include <rankshare/memory/device_memory_resource.hpp>

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

std::shared_ptr<detail::pool_resource_state> make_pool(
    device where, device_memory_resource_options const& wanted) {
  check_gpu(where, "making a device memory resource");
  pool_properties properties;
  properties.kind = memory_kind::device;
  properties.location = where.id();
  properties.shareable = wanted.ipc_enabled;
  properties.max_size = wanted.max_size;
  properties.release_threshold = wanted.release_threshold;
  return detail::pool_resource_state::open(detail::shared_pool::create(where, properties));
}

}  // namespace

device_memory_resource::device_memory_resource(rankshare::device where, options const& made_with)
    : device_memory_resource(make_pool(where, made_with)) {}

device_memory_resource device_memory_resource::from_allocation_handle(
    rankshare::device where, rankshare::allocation_handle const& handle) {
  check_gpu(where, "importing a pool of device memory");
  return device_memory_resource(import_from(where, memory_kind::device, handle));
}

device_memory_resource device_memory_resource::from_registry(rankshare::uuid const& id) {
  return device_memory_resource(find_in_registry(id, memory_kind::device));
}

}  // namespace rankshare
