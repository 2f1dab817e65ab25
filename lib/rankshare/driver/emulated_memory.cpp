// SPDX-License-Identifier: Apache-2.0
#include <rankshare/driver/emulated_memory.hpp>

#include <string>

#include <rankshare/base/error.hpp>

// Note [Access to emulated memory]
//
// Rationale: a test that passes here must not fail on GPUs for want of access.
//
// Approach: the rules are CUDA's. Memory of a device is reached by work on its own streams, in the
// owner and in every importer that sees the device, and by another device once that was granted.
// Pinned memory is reached by the host, and by each device once that was granted. Work on a stream
// of the host does not reach memory of a device. Host pools, and memory that is in no pool, are
// reached by all.
//
// Limits: whoever uses a pointer itself is not watched; kernels there are none.

namespace rankshare::detail {
namespace {

std::string describe(emulated_device device) {
  if (device.ordinal < 0) return "the host";
  return "device " + std::to_string(device.ordinal) + " (" + name_of(device) + ")";
}

std::string describe(emulated_pool const& pool) {
  if (pool.kind() == memory_kind::device) {
    return "memory of " + name_of({0, pool.location()});
  }
  return "pinned memory of NUMA node " + std::to_string(pool.location());
}

std::string remedy(emulated_device device) {
  if (device.ordinal < 0) return "; use a stream of a device";
  return "; grant it in this process, with mem_pool_set_access(pool, " +
         std::to_string(device.ordinal) + ", true)";
}

}  // namespace

bool emulated_memory::entry::is_reached_by(emulated_device device) const {
  bool const is_pinned = pool->kind() == memory_kind::pinned;
  if (device.ordinal < 0) return is_pinned;
  return (!is_pinned && device.number == pool->location()) ||
         granted.test(static_cast<std::size_t>(device.number));
}

void emulated_memory::add(emulated_pool const& pool) {
  std::lock_guard const lock(mutex_);
  pools_.emplace(&pool, entry{&pool, {}});
}

void emulated_memory::remove(host_pool const* pool) noexcept {
  std::lock_guard const lock(mutex_);
  pools_.erase(pool);
}

void emulated_memory::set_access(host_pool const* pool, emulated_device device, bool granted) {
  std::lock_guard const lock(mutex_);
  auto const found = pools_.find(pool);
  bool const is_known = found != pools_.end();
  bool const is_own = is_known && found->second.pool->kind() == memory_kind::device &&
                      found->second.pool->location() == device.number;
  if (is_known && !is_own) {
    found->second.granted.set(static_cast<std::size_t>(device.number), granted);
  } else if (!granted) {
    throw invalid_argument("withdrawing access to a pool from " + describe(device) + ": it is " +
                           (is_known ? describe(*found->second.pool) : "host memory") +
                           ", which it always reaches");
  }
}

void emulated_memory::check(device_pointer begin, std::size_t bytes, emulated_device device,
                            char const* doing) const {
  if (bytes == 0) return;
  std::lock_guard const lock(mutex_);
  for (auto const& [known, rights] : pools_) {
    if (rights.is_reached_by(device) || !rights.pool->holds(begin, bytes)) continue;
    throw invalid_argument(std::string(doing) + " " + std::to_string(bytes) + " bytes at address " +
                           std::to_string(begin) + " on " + describe(device) + ": they are " +
                           describe(*rights.pool) + ", to which it has no access" + remedy(device));
  }
}

}  // namespace rankshare::detail
