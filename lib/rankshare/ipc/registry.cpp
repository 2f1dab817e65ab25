// SPDX-License-Identifier: Apache-2.0
#include <rankshare/ipc/registry.hpp>

#include <condition_variable>
#include <mutex>
#include <unordered_map>

#include <rankshare/base/error.hpp>

namespace rankshare::detail {
namespace {

// Never destroyed: buffers of static lifetime give their pools up after it would be.
struct registry_state {
  // Recursive: a failure after an import gives the pool up while `find_or_import` holds the lock.
  std::recursive_mutex mutex;
  std::condition_variable_any given_up;
  std::unordered_map<uuid, std::weak_ptr<shared_pool>> pools;
  // The driver gives one pool to all imports of a process, also where the uuid is not known.
  std::unordered_map<CUmemPoolHandle_st*, std::weak_ptr<shared_pool>> by_handle;
};

registry_state& state() {
  static auto* const instance = new registry_state;
  return *instance;
}

// An entry whose pool is gone, but which still stands, belongs to a pool that is being destroyed:
// it must be waited for, since the driver gives one pool to all imports of a process.
std::shared_ptr<shared_pool> find_locked(std::unique_lock<std::recursive_mutex>& lock,
                                         uuid const& id) {
  for (;;) {
    auto const entry = state().pools.find(id);
    if (entry == state().pools.end()) return nullptr;
    if (auto found = entry->second.lock()) return found;
    state().given_up.wait(lock);
  }
}

// Destroys an imported pool under the lock, so that nobody imports it meanwhile.
void give_up(std::shared_ptr<shared_pool> imported) {
  imported->imports().finish_releases();
  {
    std::lock_guard const lock(state().mutex);
    auto const id = imported->id();
    auto* const handle = imported->driver_pool().native_handle();
    imported.reset();
    if (!id.is_nil()) state().pools.erase(id);
    state().by_handle.erase(handle);
  }
  state().given_up.notify_all();
}

void check_same(shared_pool const& found, uuid const& id, device where, memory_kind kind) {
  if (!id.is_nil() && !found.id().is_nil() && found.id() != id) {
    throw stale_descriptor("importing pool " + to_string(id) +
                           ": its file descriptor is that of pool " + to_string(found.id()) +
                           ", so its owner has closed it since");
  }
  if (found.kind() == kind && found.where() == where) return;
  throw invalid_descriptor("importing pool " + to_string(found.id()) +
                           ": this process has it already, and its memory is of another kind or "
                           "on another device; use the resource type of its owner");
}

// What is handed out owns the pool through a deleter that gives it up under the lock.
std::shared_ptr<shared_pool> enter(std::shared_ptr<shared_pool> imported) {
  auto* const raw = imported.get();
  std::shared_ptr<shared_pool> handed_out(
      raw,
      [imported = std::move(imported)](shared_pool*) mutable { give_up(std::move(imported)); });
  if (!raw->id().is_nil()) state().pools[raw->id()] = handed_out;
  state().by_handle[raw->driver_pool().native_handle()] = handed_out;
  return handed_out;
}

// The driver counts the imports of a pool, and gives one up only when none of its memory is mapped:
// so each is kept until the pool goes.
std::shared_ptr<shared_pool> import_locked(std::unique_lock<std::recursive_mutex>& lock,
                                           device where, memory_kind kind,
                                           allocation_handle handle) {
  auto* const imported =
      where.driver().mem_pool_import_from_shareable_handle(handle.fd(), kind, handle.id());
  for (;;) {
    auto const entry = state().by_handle.find(imported);
    if (entry == state().by_handle.end()) {
      return enter(shared_pool::own_import(where, kind, std::move(handle),
                                           pool::own(where.driver(), imported)));
    }
    if (auto known = entry->second.lock()) {
      known->driver_pool().own_another_import();
      check_same(*known, handle.id(), where, kind);
      if (known->id().is_nil() && !handle.id().is_nil()) {
        state().pools[handle.id()] = known;
        known->set_id(handle.id());
      }
      return known;
    }
    state().given_up.wait(lock);  // then this import is the only one
  }
}

}  // namespace

std::shared_ptr<shared_pool> registry::find(uuid const& id) {
  std::unique_lock lock(state().mutex);
  return find_locked(lock, id);
}

std::shared_ptr<shared_pool> registry::find_or_import(uuid const& id, device where,
                                                      memory_kind kind,
                                                      importer const& get_handle) {
  std::unique_lock lock(state().mutex);
  if (auto found = id.is_nil() ? nullptr : find_locked(lock, id)) {
    check_same(*found, id, where, kind);
    return found;
  }
  return import_locked(lock, where, kind, get_handle());
}

std::size_t registry::size() {
  std::lock_guard const lock(state().mutex);
  std::size_t live = 0;
  for (auto const& entry : state().pools) live += entry.second.expired() ? 0 : 1;
  return live;
}

}  // namespace rankshare::detail
