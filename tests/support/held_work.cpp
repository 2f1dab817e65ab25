// SPDX-License-Identifier: Apache-2.0
#include <support/held_work.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace rankshare::test {
namespace {

CUstream_st* legacy_default() { return reinterpret_cast<CUstream_st*>(std::uintptr_t{1}); }

CUstream_st* per_thread_default() { return reinterpret_cast<CUstream_st*>(std::uintptr_t{2}); }

bool is_default(CUstream_st* stream) {
  return stream == legacy_default() || stream == per_thread_default();
}

}  // namespace

bool held_work::covers(CUstream_st* waited_for, CUstream_st* stream) {
  return waited_for == stream || waited_for == legacy_default();
}

bool held_work::are_in_order(CUstream_st* one, CUstream_st* other) {
  return one == other || (is_default(one) && is_default(other));
}

void held_work::hold_back(bool held) {
  std::lock_guard const lock(mutex_);
  held_ = held;
  if (!held) run_locked(legacy_default(), everything);
}

bool held_work::entry::touches(touched_range const& range) const {
  return std::any_of(touched.begin(), touched.end(),
                     [&](touched_range const& one) { return one.overlaps(range); });
}

void held_work::enqueue(CUstream_st* stream, work what, std::vector<touched_range> touched) {
  {
    std::lock_guard const lock(mutex_);
    ++last_;
    if (held_) {
      entries_.push_back({stream, last_, std::move(what), std::move(touched)});
      return;
    }
  }
  what();
}

void held_work::run(CUstream_st* stream, number last) {
  std::lock_guard const lock(mutex_);
  run_locked(stream, last);
}

void held_work::run_locked(CUstream_st* stream, number last) {
  auto const is_due = [&](entry const& one) {
    return one.place <= last && covers(stream, one.stream);
  };
  for (auto next = std::find_if(entries_.begin(), entries_.end(), is_due); next != entries_.end();
       next = std::find_if(entries_.begin(), entries_.end(), is_due)) {
    auto const what = std::move(next->what);
    entries_.erase(next);
    what();
  }
}

bool held_work::is_idle(CUstream_st* stream) const {
  std::lock_guard const lock(mutex_);
  return std::none_of(entries_.begin(), entries_.end(),
                      [&](entry const& one) { return covers(stream, one.stream); });
}

std::size_t held_work::waiting() const {
  std::lock_guard const lock(mutex_);
  return entries_.size();
}

held_work::number held_work::last_enqueued() const {
  std::lock_guard const lock(mutex_);
  return last_;
}

CUstream_st* held_work::other_that_touches(touched_range const& range, CUstream_st* stream) const {
  std::lock_guard const lock(mutex_);
  for (auto const& one : entries_) {
    if (!are_in_order(stream, one.stream) && one.touches(range)) return one.stream;
  }
  return nullptr;
}

}  // namespace rankshare::test
