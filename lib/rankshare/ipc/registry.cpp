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
void give_up(uuid const& id, std::shared_ptr<shared_pool> imported) {
  {
    std::lock_guard const lock(state().mutex);
    imported.reset();
    state().pools.erase(id);
  }
  state().given_up.notify_all();
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
  if (auto found = find_locked(lock, id)) {
    if (found->kind() == kind && found->where() == where) return found;
    throw invalid_descriptor("importing pool " + to_string(id) +
                             ": this process has it already, and its memory is of another kind or "
                             "on another device; use the resource type of its owner");
  }
  auto imported = shared_pool::import_from(where, kind, get_handle());
  // What is handed out owns the pool through a deleter that gives it up under the lock.
  auto* const raw = imported.get();
  std::shared_ptr<shared_pool> handed_out(
      raw, [id, imported = std::move(imported)](shared_pool*) mutable {
        give_up(id, std::move(imported));
      });
  state().pools[id] = handed_out;
  return handed_out;
}

std::size_t registry::size() {
  std::lock_guard const lock(state().mutex);
  std::size_t live = 0;
  for (auto const& entry : state().pools) live += entry.second.expired() ? 0 : 1;
  return live;
}

}  // namespace rankshare::detail
