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
  auto const slot = entries_.emplace(serial, entry{{}, payload, 1}).first;
  try {
    slot->second.mapped.address = source_->import_pointer(payload);
  } catch (...) {
    entries_.erase(slot);
    throw;
  }
  try {
    slot->second.mapped.extent = source_->range_size(slot->second.mapped.address);
  } catch (...) {
    source_->free(slot->second.mapped.address, stream_ref::legacy_default());
    entries_.erase(slot);
    throw;
  }
  return slot->second.mapped;
}

void import_cache::release(std::uint64_t serial, stream_ref stream) noexcept {
  std::lock_guard const lock(mutex_);
  auto const found = entries_.find(serial);
  if (found == entries_.end() || --found->second.users != 0) return;
  try {
    source_->free(found->second.mapped.address, stream);
  } catch (...) {
    log_once(log_level::error, "release import", "giving up an import: " + current_error_text());
  }
  entries_.erase(found);
}

std::size_t import_cache::size() const {
  std::lock_guard const lock(mutex_);
  return entries_.size();
}

}  // namespace rankshare::detail
