// SPDX-License-Identifier: Apache-2.0
// What a checked driver knows; its calls are in checked_driver_calls.cpp.
#include <support/checked_driver.hpp>

#include <cstdint>
#include <sstream>
#include <utility>

#include <rankshare/base/error.hpp>

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

checked_driver::checked_driver(driver& inner) : inner_(&inner) {}

checked_driver::~checked_driver() { work_.hold_back(false); }

std::map<std::string, std::size_t> checked_driver::live_objects() const {
  std::lock_guard const lock(mutex_);
  std::map<std::string, std::size_t> live = {
      {"streams", streams_.size()}, {"events", events_.size()}, {"pools", 0},
      {"imported pools", 0},        {"allocations", 0},         {"imports", 0}};
  for (auto const& [handle, record] : pools_) {
    ++live[record->is_imported ? "imported pools" : "pools"];
    for (auto const& [pointer, piece] : record->pieces) {
      live[record->is_imported ? "imports" : "allocations"] += piece.users;
    }
  }
  return live;
}

std::size_t checked_driver::live_total() const {
  std::size_t total = 0;
  for (auto const& [kind, count] : live_objects()) total += count;
  return total;
}

std::vector<std::string> checked_driver::violations() const {
  std::lock_guard const lock(mutex_);
  return violations_;
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
    capturing_.insert(stream);
  } else {
    capturing_.erase(stream);
  }
}

void checked_driver::note(std::string const& text) const {
  std::lock_guard const lock(mutex_);
  violations_.push_back(text);
}

void checked_driver::violate(std::string const& text) const {
  note(text);
  throw invalid_argument("checked driver: " + text);
}

void checked_driver::check_stream(CUstream_st* stream, char const* function) const {
  if (is_token(stream)) return;
  {
    std::lock_guard const lock(mutex_);
    if (streams_.count(stream) != 0) return;
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

CUmemPoolHandle_st* checked_driver::keep(CUmemPoolHandle_st* pool, bool is_imported) {
  auto record = std::make_shared<checked_pool>(*inner_, pool, is_imported,
                                               [this](std::string const& text) { note(text); });
  std::lock_guard const lock(mutex_);
  pools_.emplace(pool, std::move(record));
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
    if (record->pieces.count(pointer) != 0) return record;
  }
  violate(std::string(function) + ": pointer " + text_of(pointer) +
          " is no live allocation or import of its pool");
}

checked_driver::shared_record checked_driver::find_around(device_pointer target,
                                                          std::size_t bytes) const {
  {
    std::lock_guard const lock(mutex_);
    for (auto const& [handle, record] : pools_) {
      auto after = record->pieces.upper_bound(target);
      if (after == record->pieces.begin()) continue;
      auto const& [start, piece] = *--after;
      if (target - start <= piece.bytes && bytes <= piece.bytes - (target - start)) return record;
    }
  }
  violate("memset_d8_async: " + std::to_string(bytes) + " bytes at " + text_of(target) +
          " are not inside a live allocation or import");
}

}  // namespace rankshare::test
