// SPDX-License-Identifier: Apache-2.0
#include <support/held_work.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace rankshare::test {
namespace {

CUstream_st* legacy_default() { return reinterpret_cast<CUstream_st*>(std::uintptr_t{1}); }

}  // namespace

bool held_work::covers(CUstream_st* waited_for, CUstream_st* stream) {
  return waited_for == stream || waited_for == legacy_default();
}

void held_work::hold_back(bool held) {
  std::lock_guard const lock(mutex_);
  held_ = held;
  if (!held) run_locked(legacy_default(), everything);
}

void held_work::enqueue(CUstream_st* stream, work what) {
  {
    std::lock_guard const lock(mutex_);
    ++last_;
    if (held_) {
      entries_.push_back({stream, last_, std::move(what)});
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

}  // namespace rankshare::test
