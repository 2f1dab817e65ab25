// SPDX-License-Identifier: Apache-2.0
#include <support/checked_pool.hpp>

#include <algorithm>

#include <rankshare/base/error.hpp>
#include <support/checked_violations.hpp>
#include <support/held_work.hpp>

// Note [Imports of one payload]
//
// Rationale: CUDA maps a payload once in a process. A second import gives the same pointer, and the
// first free that runs ends both; also an import that was made while that free waited in its
// stream. The host driver counts instead, and no test would see what goes wrong on a GPU.
//
// Approach: for device and pinned memory `mappings_` holds what the driver has mapped, `pieces_`
// what its users think they have. A piece goes when it is freed, its mapping when the free has run;
// an import between the two finds the mapping, and loses its piece with it.
//
// Limits: one pool that the driver gave two handles for counts as two.

namespace rankshare::test {

checked_pool::~checked_pool() {
  try {
    for (; imports > 0; --imports) inner_.mem_pool_destroy(handle_);
  } catch (...) {
    violations_->add("mem_pool_destroy failed: " + current_error_text());
  }
}

bool checked_pool::is_too_large(std::size_t bytes) const noexcept {
  return from_.is_shareable && from_.kind != memory_kind::host && bytes > largest_shared;
}

bool checked_pool::is_memory_of(int device) const noexcept {
  return from_.kind == memory_kind::device && from_.location == device;
}

bool checked_pool::is_reached_by(int device) const {
  switch (from_.kind) {
    case memory_kind::host:
      return true;
    case memory_kind::pinned:
      return device < 0 || granted_.count(device) != 0;
    case memory_kind::device:
      break;
  }
  return !from_.location || is_memory_of(device) || granted_.count(device) != 0;
}

void checked_pool::set_access(int device, bool granted) {
  if (granted) {
    granted_.insert(device);
  } else {
    granted_.erase(device);
  }
}

bool checked_pool::holds(device_pointer start, std::size_t bytes) const {
  auto const after = pieces_.upper_bound(start);
  if (after == pieces_.begin()) return false;
  auto const& [begin, held] = *std::prev(after);
  return start - begin <= held.bytes && bytes <= held.bytes - (start - begin);
}

bool checked_pool::knows(device_pointer start, std::size_t bytes) const {
  touched_range const asked{start, bytes};
  return std::any_of(given_out_.begin(), given_out_.end(), [&](auto const& one) {
    return touched_range{one.first, one.second}.overlaps(asked);
  });
}

void checked_pool::remember(device_pointer pointer, std::size_t bytes) {
  auto& known = given_out_[pointer];
  known = std::max(known, bytes);
}

void checked_pool::add_allocation(device_pointer pointer, std::size_t bytes) {
  pieces_[pointer] = {bytes, 1};
  remember(pointer, bytes);
}

void checked_pool::add_import(device_pointer pointer, std::size_t bytes,
                              pointer_payload const& payload) {
  auto& here = pieces_[pointer];
  here.bytes = bytes;
  ++here.users;
  mappings_[payload] = {pointer, bytes};
  remember(pointer, bytes);
}

bool checked_pool::is_imported(pointer_payload const& payload) const {
  return mappings_.count(payload) != 0;
}

std::optional<device_pointer> checked_pool::alias(pointer_payload const& payload) {
  auto const found = mappings_.find(payload);
  if (!aliases() || found == mappings_.end()) return std::nullopt;
  pieces_[found->second.pointer] = {found->second.bytes, 1};
  return found->second.pointer;
}

void checked_pool::remove(device_pointer pointer) {
  auto const found = pieces_.find(pointer);
  if (--found->second.users != 0) return;
  pieces_.erase(found);
  if (!aliases()) forget_mapping(pointer);
}

void checked_pool::driver_removed(device_pointer pointer) {
  if (!aliases()) return;
  pieces_.erase(pointer);
  given_out_.erase(pointer);  // unmapped: anything may come to lie there
  forget_mapping(pointer);
}

void checked_pool::forget_mapping(device_pointer pointer) {
  std::erase_if(mappings_, [&](auto const& one) { return one.second.pointer == pointer; });
}

}  // namespace rankshare::test
