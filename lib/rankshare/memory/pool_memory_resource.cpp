// SPDX-License-Identifier: Apache-2.0
#include <rankshare/memory/pool_memory_resource.hpp>

#include <rankshare/base/error.hpp>
#include <rankshare/ipc/registry.hpp>
#include <rankshare/memory/pool_resource_state.hpp>

namespace rankshare {

pool_memory_resource::pool_memory_resource(
    std::shared_ptr<detail::pool_resource_state> state) noexcept
    : state_(std::move(state)) {}

buffer pool_memory_resource::allocate(std::size_t size) const { return state_->allocate(size); }

buffer pool_memory_resource::allocate(std::size_t size, stream_ref stream) const {
  return state_->allocate(size, stream);
}

void pool_memory_resource::deallocate(device_pointer pointer, std::size_t size,
                                      stream_ref stream) const {
  state_->deallocate(pointer, size, stream);
}

void pool_memory_resource::close() noexcept { state_->close(); }

CUmemPoolHandle_st* pool_memory_resource::native_handle() const noexcept {
  return is_closed() ? nullptr : source()->driver_pool().native_handle();
}

allocation_handle const& pool_memory_resource::allocation_handle() const {
  return source()->handle();
}

uuid pool_memory_resource::uuid() const noexcept { return state_->uuid(); }
int pool_memory_resource::device_id() const noexcept { return state_->device_id(); }
device pool_memory_resource::device() const noexcept { return state_->where(); }
bool pool_memory_resource::is_ipc_enabled() const noexcept {
  return !is_closed() && state_->source()->is_shareable();
}
bool pool_memory_resource::is_closed() const noexcept { return state_->is_closed(); }
bool pool_memory_resource::is_mapped() const noexcept { return state_->is_mapped(); }

bool pool_memory_resource::is_host_accessible() const noexcept {
  return state_->is_host_accessible();
}

bool pool_memory_resource::is_device_accessible() const noexcept {
  return state_->is_device_accessible();
}

pool_memory_resource::operator memory_resource() const { return memory_resource(state_); }

std::shared_ptr<detail::shared_pool> const& pool_memory_resource::source() const {
  return state_->source();
}

std::shared_ptr<detail::pool_resource_state> pool_memory_resource::import_from(
    rankshare::device where, memory_kind kind, rankshare::allocation_handle const& handle) {
  int const fd = handle.fd();  // a closed handle is an error even if its pool is known
  auto const copy = [&] {
    return rankshare::allocation_handle(unique_fd::duplicate_of(fd), handle.id());
  };
  return detail::pool_resource_state::open(
      detail::registry::find_or_import(handle.id(), where, kind, copy));
}

std::shared_ptr<detail::pool_resource_state> pool_memory_resource::find_in_registry(
    rankshare::uuid const& id, memory_kind kind) {
  auto const found = detail::registry::find(id);
  if (found == nullptr) {
    throw not_registered(
        "looking up pool " + to_string(id) +
        ": this process has not imported it; import it first, or share the resource "
        "through a node communicator");
  }
  if (found->kind() != kind) {
    throw invalid_argument("looking up pool " + to_string(id) +
                           ": its memory is of another kind; use the resource type of its owner");
  }
  return detail::pool_resource_state::open(found);
}

buffer buffer::from_ipc_descriptor(pool_memory_resource const& resource,
                                   buffer_descriptor const& descriptor, stream_ref stream) {
  if (!resource.is_mapped()) {
    throw invalid_argument(
        "importing a buffer through a resource that was not imported: pass the "
        "mapped resource of pool " +
        to_string(descriptor.pool_id()));
  }
  return detail::import_from_pool(resource.source(), descriptor, stream);
}

}  // namespace rankshare
