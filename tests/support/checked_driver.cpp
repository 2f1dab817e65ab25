// SPDX-License-Identifier: Apache-2.0
// What a checked driver knows. Its calls are in checked_driver_calls.cpp (devices, contexts,
// streams, events), checked_driver_memory.cpp (pools and what is in them) and
// checked_driver_work.cpp.
#include <support/checked_driver.hpp>

#include <cstdint>
#include <sstream>
#include <utility>

#include <rankshare/base/error.hpp>

// Note [The contract of CUDA]
//
// Rationale: tests run where no GPU is, on a driver that forgives what CUDA does not. What was
// measured of CUDA is therefore a rule here, for host memory too unless a rule names other kinds:
// - A pointer is exported after its pool, never before.
// - A payload is mapped once: Note [Imports of one payload] in checked_pool.cpp.
// - Work of a stream reaches memory of another device, and pinned memory, only after access was
//   granted on this very pool object. What device an imported pool is on, the inner driver knows.
// - Device and pinned memory that is shared comes in at most 2 GiB.
// - Memory is freed on a stream only when no work of another stream still touches it. A pool goes
// when
//   all in it was freed; the frees, and work before them, may still wait.
// - What must not be called on a capturing stream spoils the capture; a free there does not.
// - The default streams are those of the calling thread's context, and each thread pops what it
//   pushes. An event is recorded on streams of the device that it was made for.
//
// Approach: each rule is checked when the call is made, before the inner driver sees it.
//
// Limits: of a default stream the device is not known, so access and events are not checked.
// Whoever waits for the legacy default stream waits for all, but a free on it is in no other
// stream's order. The arguments of a kernel are not looked at.

namespace rankshare::test {

bool checked_driver::is_token(CUstream_st* stream) noexcept {
  auto const value = reinterpret_cast<std::uintptr_t>(stream);
  return value == 1 || value == 2;
}

std::string checked_driver::text_of(void const* handle) {
  std::ostringstream text;
  text << handle;
  return text.str();
}

std::string checked_driver::text_of(device_pointer pointer) {
  return text_of(reinterpret_cast<void const*>(pointer));
}

checked_driver::checked_driver(driver& inner)
    : inner_(&inner), violations_(std::make_shared<checked_violations>()), contexts_(violations_) {}

checked_driver::~checked_driver() {
  try {
    work_.hold_back(false);
  } catch (...) {
    note("work that was held back failed: " + current_error_text());
  }
}

std::map<std::string, std::size_t> checked_driver::live_objects() const {
  std::lock_guard const lock(mutex_);
  std::map<std::string, std::size_t> live = {
      {"streams", streams_.size()},
      {"events", events_.size()},
      {"pools", 0},
      {"imported pools", 0},
      {"allocations", 0},
      {"imports", 0},
      {"modules", modules_.size()},
      {"pushed contexts", contexts_.pushed()},
  };
  for (auto const& [handle, record] : pools_) {
    bool const is_imported = record->from().is_imported;
    live[is_imported ? "imported pools" : "pools"] += record->owners;
    for (auto const& [pointer, piece] : record->pieces()) {
      live[is_imported ? "imports" : "allocations"] += piece.users;
    }
  }
  return live;
}

std::size_t checked_driver::live_total() const {
  std::size_t total = 0;
  for (auto const& [kind, count] : live_objects()) total += count;
  return total;
}

std::size_t checked_driver::aliased_imports() const {
  std::lock_guard const lock(mutex_);
  return aliased_imports_;
}

std::size_t checked_driver::spoilt_captures() const {
  std::lock_guard const lock(mutex_);
  return spoilt_captures_;
}

void checked_driver::fail_call(std::string function, std::size_t nth, call_counter::thrower raise) {
  if (raise == nullptr) {
    raise = [name = function] { throw out_of_memory("planted failure of " + name, 0); };
  }
  counter_.fail_call(std::move(function), nth, std::move(raise));
}

void checked_driver::set_capturing(CUstream_st* stream, bool capturing) {
  std::lock_guard const lock(mutex_);
  if (capturing) {
    capturing_.emplace(stream, false);
  } else {
    capturing_.erase(stream);
  }
}

void checked_driver::violate(std::string const& text) const {
  note(text);
  throw invalid_argument("checked driver: " + text);
}

std::optional<int> checked_driver::check_stream(CUstream_st* stream, char const* function) const {
  if (is_token(stream)) {
    if (contexts_.is_current()) return std::nullopt;
    throw no_context(std::string(function) +
                     ": no CUDA context is current in this thread, and a default stream is that of "
                     "one; make a context current, or use a stream of your own");
  }
  {
    std::lock_guard const lock(mutex_);
    if (auto const found = streams_.find(stream); found != streams_.end()) return found->second;
  }
  violate(std::string(function) + ": stream " + text_of(stream) + " is unknown, or destroyed");
}

void checked_driver::check_event(CUevent_st* event, char const* function) const {
  {
    std::lock_guard const lock(mutex_);
    if (events_.count(event) != 0) return;
  }
  violate(std::string(function) + ": event " + text_of(event) + " is unknown, or destroyed");
}

void checked_driver::check_module(CUmod_st* module, char const* function) const {
  {
    std::lock_guard const lock(mutex_);
    if (modules_.count(module) != 0) return;
  }
  violate(std::string(function) + ": module " + text_of(module) + " is unknown, or unloaded");
}

bool checked_driver::is_capturing(CUstream_st* stream) const {
  std::lock_guard const lock(mutex_);
  return capturing_.count(stream) != 0;
}

void checked_driver::check_not_capturing(CUstream_st* stream, char const* function) {
  {
    std::lock_guard const lock(mutex_);
    auto const found = capturing_.find(stream);
    if (found == capturing_.end()) return;
    if (!std::exchange(found->second, true)) ++spoilt_captures_;
  }
  violate(std::string(function) + ": stream " + text_of(stream) +
          " is capturing, and the call spoils the capture");
}

CUmemPoolHandle_st* checked_driver::keep(CUmemPoolHandle_st* pool, checked_pool::origin from) {
  std::lock_guard const lock(mutex_);
  // The driver may give the handle of an imported pool again, also while held-back work keeps it.
  auto record = ever_[pool].lock();
  if (record == nullptr) {
    record = std::make_shared<checked_pool>(*inner_, pool, from, violations_);
    ever_[pool] = record;
  }
  ++record->owners;
  ++record->imports;
  pools_[pool] = std::move(record);
  return pool;
}

checked_driver::shared_record checked_driver::find(CUmemPoolHandle_st* pool,
                                                   char const* function) const {
  {
    std::lock_guard const lock(mutex_);
    if (auto const found = pools_.find(pool); found != pools_.end()) return found->second;
  }
  violate(std::string(function) + ": pool " + text_of(pool) + " is unknown, or destroyed");
}

checked_driver::shared_record checked_driver::find_live(CUmemPoolHandle_st* pool,
                                                        device_pointer pointer,
                                                        char const* function) const {
  auto record = find(pool, function);
  {
    std::lock_guard const lock(mutex_);
    if (record->pieces().count(pointer) != 0) return record;
  }
  violate(std::string(function) + ": pointer " + text_of(pointer) +
          " is no live allocation or import of its pool");
}

}  // namespace rankshare::test
