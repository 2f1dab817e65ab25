// SPDX-License-Identifier: Apache-2.0
#include <rankshare/ipc/shared_pool.hpp>

#include <utility>

#include <rankshare/base/error.hpp>
#include <rankshare/base/log.hpp>

namespace rankshare::detail {
namespace {

// Access counts in this process only, so the owner and every importer grant their own.
void grant_access(pool& to, device where, memory_kind kind) {
  if (kind == memory_kind::host) return;
  if (kind == memory_kind::device) return to.set_access(where.id(), true);
  int const count = where.driver().device_count();
  for (int device = 0; device < count; ++device) to.set_access(device, true);
}

}  // namespace

shared_pool::shared_pool(device where, memory_kind kind, bool is_mapped, pool driver_pool,
                         uuid const& id, std::optional<allocation_handle> handle)
    : where_(where),
      kind_(kind),
      is_mapped_(is_mapped),
      pool_(std::move(driver_pool)),
      granularity_(pool_.granularity()),
      id_(id),
      has_id_(!id.is_nil()),
      handle_(std::move(handle)),
      imports_(pool_, where) {}

// What was freed on a stream goes back to the system when that is waited for, and nobody else waits
// for the pool's own.
shared_pool::~shared_pool() {
  if (!own_stream_ || where_.is_host()) return;
  try {
    own_stream_->synchronize();
  } catch (...) {
    log_once(log_level::error, "close pool",
             "closing a pool of " + description() + ": " + current_error_text());
  }
}

void shared_pool::set_id(uuid const& id) noexcept {
  id_ = id;
  has_id_.store(!id.is_nil(), std::memory_order_release);
}

std::string shared_pool::description() const { return describe(kind_, where_); }

allocation_handle const& shared_pool::handle() const {
  if (handle_) return *handle_;
  throw not_shareable("sharing a pool of " + description() +
                      ": it was made with ipc_enabled = false; make the resource with "
                      "ipc_enabled = true");
}

stream const& shared_pool::own_stream() {
  std::lock_guard const lock(stream_mutex_);
  if (!own_stream_) own_stream_.emplace(where_);
  return *own_stream_;
}

// The work of a capturing stream runs when its graph is launched, perhaps never: the end of the
// memory cannot wait for that.
kept_stream shared_pool::own_order() {
  log_once(log_level::error, "close on a capturing stream",
           "closing a buffer of " + description() +
               " whose stream is capturing a graph: the memory is given back without waiting for "
               "that stream; close buffers before the capture begins, or on another stream");
  return {own_stream(), where_};
}

void shared_pool::give_back(device_pointer pointer, kept_stream const& order) noexcept {
  try {
    try {
      stream_order const entered(order, where_);
      pool_.free(pointer, entered.handle());
    } catch (capture_error const&) {
      pool_.free(pointer, own_order().ref());
    }
  } catch (...) {
    log_once(log_level::error, "free buffer",
             "closing a buffer of " + description() + ": " + current_error_text());
  }
}

void shared_pool::give_back_import(std::uint64_t serial, kept_stream const& order) noexcept {
  imports_.release(serial, order, [this] { return own_order(); });
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
  if (properties.kind == memory_kind::pinned) grant_access(made, where, properties.kind);
  std::optional<allocation_handle> handle;
  if (properties.shareable) handle.emplace(made.export_handle(), properties.id);
  return std::shared_ptr<shared_pool>(new shared_pool(
      where, properties.kind, false, std::move(made), properties.id, std::move(handle)));
}

std::shared_ptr<shared_pool> shared_pool::own_import(device where, memory_kind kind,
                                                     allocation_handle handle, pool imported) {
  grant_access(imported, where, kind);
  auto const id = handle.id();
  return std::shared_ptr<shared_pool>(
      new shared_pool(where, kind, true, std::move(imported), id, std::move(handle)));
}

}  // namespace rankshare::detail
