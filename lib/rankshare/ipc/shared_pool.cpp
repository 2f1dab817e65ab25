// SPDX-License-Identifier: Apache-2.0
#include <rankshare/ipc/shared_pool.hpp>

#include <utility>

namespace rankshare::detail {

shared_pool::shared_pool(device where, memory_kind kind, bool is_mapped, pool driver_pool,
                         allocation_handle handle)
    : where_(where),
      kind_(kind),
      is_mapped_(is_mapped),
      pool_(std::move(driver_pool)),
      granularity_(pool_.granularity()),
      handle_(std::move(handle)),
      imports_(pool_) {}

shared_pool::~shared_pool() = default;

stream const& shared_pool::own_stream() {
  std::lock_guard const lock(stream_mutex_);
  if (!own_stream_) own_stream_.emplace(where_);
  return *own_stream_;
}

std::shared_ptr<void> shared_pool::resource() const {
  std::lock_guard const lock(resource_mutex_);
  return resource_.lock();
}

void shared_pool::set_resource(std::weak_ptr<void> represented_by) {
  std::lock_guard const lock(resource_mutex_);
  resource_ = std::move(represented_by);
}

std::shared_ptr<shared_pool> shared_pool::create(device where, pool_properties properties) {
  properties.id = uuid::random();
  pool made = pool::create(where.driver(), properties);
  allocation_handle handle(made.export_handle(), properties.id);
  return std::shared_ptr<shared_pool>(
      new shared_pool(where, properties.kind, false, std::move(made), std::move(handle)));
}

std::shared_ptr<shared_pool> shared_pool::import_from(device where, memory_kind kind,
                                                      allocation_handle handle) {
  pool imported = pool::import_from(where.driver(), handle.fd(), kind, handle.id());
  return std::shared_ptr<shared_pool>(
      new shared_pool(where, kind, true, std::move(imported), std::move(handle)));
}

}  // namespace rankshare::detail
