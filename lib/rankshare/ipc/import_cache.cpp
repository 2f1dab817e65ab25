// SPDX-License-Identifier: Apache-2.0
#include <rankshare/ipc/import_cache.hpp>

#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include <rankshare/base/error.hpp>
#include <rankshare/base/log.hpp>

// Note [End of an import]
//
// Rationale: a free on a stream ends an import once the stream has come to it. Until then the CUDA
// driver has the mapping still, and a further import would be the same mapping, and end with it.
// And unless somebody waits for that stream afterwards (to ask whether it is idle is not enough),
// an imported pool that goes takes the memory with it: its owner's GPU never has it back.
//
// Approach: an event for each release that its stream has not come to, which a further import of
// that memory waits for; and one for each stream, behind its last release. The pool waits for all
// of them before it goes.
//
// Limits: whoever lets go of an imported pool last waits for the streams that it was used on.

namespace rankshare::detail {
namespace {

template <class Work>
void report_failures(char const* doing, Work const& work) noexcept {
  try {
    work();
  } catch (...) {
    log_once(log_level::error, doing, std::string(doing) + ": " + current_error_text());
  }
}

constexpr char giving_up[] = "giving up an import";

}  // namespace

import_cache::mapping import_cache::acquire(std::uint64_t serial, pointer_payload const& payload,
                                            kept_stream const& stream) {
  std::lock_guard const lock(mutex_);
  if (auto const found = entries_.find(serial); found != entries_.end()) {
    // The library compares arrays of bytes byte by byte.
    if (std::memcmp(found->second.payload.data(), payload.data(), payload.size()) != 0) {
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
    added->second.mapped = import(payload, stream);
  } catch (...) {
    forget(added);
    throw;
  }
  return added->second.mapped;
}

import_cache::mapping import_cache::import(pointer_payload const& payload,
                                           kept_stream const& stream) {
  wait_for_release_of(payload);
  mapping made{source_->import_pointer(payload), 0};
  try {
    made.extent = source_->range_size(made.address);
  } catch (...) {
    report_failures(giving_up, [&] { give_up({made, payload, 0}, stream); });
    throw;
  }
  return made;
}

void import_cache::give_up(entry const& last, kept_stream const& stream) {
  stream_order const order(stream, where_);
  source_->free(last.mapped.address, order.handle());
  report_failures("following the end of an import",
                  [&] { remember_release_of(last.payload, stream, order.handle()); });
}

bool import_cache::is_capturing(kept_stream const& stream) const {
  if (where_.is_host()) return false;
  stream_order const order(stream, where_);
  return where_.driver().stream_is_capturing(order.handle());
}

void import_cache::remember_release_of(pointer_payload const& payload, kept_stream const& stream,
                                       stream_ref given) {
  auto& served_by = source_->served_by();
  if (served_by.stream_query(given.native_handle())) {
    if (!where_.is_host()) mark_release_on(stream, given);
    return;
  }
  if (released_.size() == most_releases) wait_for_all_releases();
  event done(served_by, given);
  done.record(given);
  released_.emplace(payload, std::move(done));
}

void import_cache::mark_release_on(kept_stream const& stream, stream_ref given) {
  std::tuple const key(given.native_handle(), stream.context(), stream.thread());
  auto found = last_releases_.find(key);
  if (found == last_releases_.end()) {
    if (last_releases_.size() == most_releases) wait_for_all_releases();
    found = last_releases_.emplace(key, event(source_->served_by(), given)).first;
  }
  found->second.record(given);
}

void import_cache::wait_for_release_of(pointer_payload const& payload) {
  auto const found = released_.find(payload);
  if (found == released_.end()) return;
  found->second.synchronize();
  released_.erase(found);
}

void import_cache::wait_for_all_releases() {
  for (auto const& [payload, done] : released_) done.synchronize();
  released_.clear();
  for (auto const& [stream, done] : last_releases_) done.synchronize();
  last_releases_.clear();
}

void import_cache::finish_releases() noexcept {
  if (where_.is_host()) return;
  std::lock_guard const lock(mutex_);
  report_failures("waiting for the end of imports", [&] { wait_for_all_releases(); });
}

void import_cache::forget(entry_map::iterator gone) noexcept {
  serials_.erase(gone->second.payload);
  entries_.erase(gone);
}

void import_cache::release(std::uint64_t serial, kept_stream const& stream,
                           std::function<kept_stream()> const& instead) noexcept {
  std::lock_guard const lock(mutex_);
  auto const found = entries_.find(serial);
  if (found == entries_.end() || --found->second.users != 0) return;
  report_failures(giving_up, [&] {
    if (is_capturing(stream)) {
      give_up(found->second, instead());
    } else {
      give_up(found->second, stream);
    }
  });
  forget(found);
}

pointer_payload import_cache::payload_of(std::uint64_t serial) const {
  std::lock_guard const lock(mutex_);
  return entries_.at(serial).payload;
}

std::size_t import_cache::size() const {
  std::lock_guard const lock(mutex_);
  return entries_.size();
}

}  // namespace rankshare::detail
