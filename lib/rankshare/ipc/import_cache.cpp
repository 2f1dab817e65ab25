// SPDX-License-Identifier: Apache-2.0
#include <rankshare/ipc/import_cache.hpp>

#include <rankshare/base/error.hpp>
#include <rankshare/base/log.hpp>

namespace rankshare::detail {

import_cache::mapping import_cache::acquire(std::uint64_t serial, pointer_payload const& payload) {
  std::lock_guard const lock(mutex_);
  if (auto const found = entries_.find(serial); found != entries_.end()) {
    if (found->second.payload != payload) {
      throw invalid_descriptor(
          "importing allocation " + std::to_string(serial) +
          ": it is mapped already, and this descriptor describes it otherwise; "
          "send the bytes as its owner made them");
    }
    ++found->second.users;
    return found->second.mapped;
  }
  if (auto const other = serials_.find(payload); other != serials_.end()) {
    throw invalid_descriptor("importing allocation " + std::to_string(serial) +
                             ": the same memory is mapped as allocation " +
                             std::to_string(other->second) +
                             "; send the bytes as its owner made them");
  }
  auto const added = entries_.emplace(serial, entry{{}, payload, 1}).first;
  try {
    serials_.emplace(payload, serial);
    added->second.mapped = import(payload);
  } catch (...) {
    forget(added);
    throw;
  }
  return added->second.mapped;
}

import_cache::mapping import_cache::import(pointer_payload const& payload) {
  mapping made{source_->import_pointer(payload), 0};
  try {
    made.extent = source_->range_size(made.address);
  } catch (...) {
    give_up(made.address, stream_ref::legacy_default());
    throw;
  }
  return made;
}

void import_cache::give_up(device_pointer address, stream_ref stream) noexcept {
  try {
    source_->free(address, stream);
  } catch (...) {
    log_once(log_level::error, "release import", "giving up an import: " + current_error_text());
  }
}

void import_cache::forget(entry_map::iterator gone) noexcept {
  serials_.erase(gone->second.payload);
  entries_.erase(gone);
}

void import_cache::release(std::uint64_t serial, stream_ref stream) noexcept {
  std::lock_guard const lock(mutex_);
  auto const found = entries_.find(serial);
  if (found == entries_.end() || --found->second.users != 0) return;
  give_up(found->second.mapped.address, stream);
  forget(found);
}

std::size_t import_cache::size() const {
  std::lock_guard const lock(mutex_);
  return entries_.size();
}

}  // namespace rankshare::detail
