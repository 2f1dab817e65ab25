// SPDX-License-Identifier: Apache-2.0
#include <support/checked_driver.hpp>

#include <cstdint>
#include <sstream>
#include <utility>

#include <rankshare/base/error.hpp>

namespace rankshare::test {
namespace {

template <class Handle>
std::string text_of(Handle handle) {
  std::ostringstream text;
  text << reinterpret_cast<void const*>(handle);
  return text.str();
}

bool is_token(CUstream_st* stream) {
  auto const value = reinterpret_cast<std::uintptr_t>(stream);
  return value == 1 || value == 2;
}

}  // namespace

struct checked_driver::pool_record {
  pool_record(checked_driver& checked, CUmemPoolHandle_st* pool, bool imported)
      : owner(checked), handle(pool), is_imported(imported) {}
  pool_record(pool_record const&) = delete;
  pool_record& operator=(pool_record const&) = delete;
  ~pool_record() {
    try {
      owner.inner_->mem_pool_destroy(handle);
    } catch (...) {
      owner.note("mem_pool_destroy failed: " + current_error_text());
    }
  }

  struct piece {
    std::size_t bytes = 0;
    std::size_t users = 0;  // of an import; 1 for an allocation
  };

  checked_driver& owner;
  CUmemPoolHandle_st* handle;
  bool is_imported;
  std::map<device_pointer, piece> pieces;  // guarded by the owner's mutex
};

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
  auto record = std::make_shared<pool_record>(*this, pool, is_imported);
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

// Streams and events.

CUstream_st* checked_driver::stream_create(int device) {
  counter_.enter("stream_create");
  auto* const stream = inner_->stream_create(device);
  std::lock_guard const lock(mutex_);
  streams_.insert(stream);
  return stream;
}

void checked_driver::stream_destroy(CUstream_st* stream) {
  counter_.enter("stream_destroy");
  if (is_token(stream)) violate("stream_destroy: a default stream cannot be destroyed");
  check_stream(stream, "stream_destroy");
  work_.run(stream);
  {
    std::lock_guard const lock(mutex_);
    streams_.erase(stream);
    capturing_.erase(stream);
  }
  inner_->stream_destroy(stream);
}

bool checked_driver::stream_query(CUstream_st* stream) {
  counter_.enter("stream_query");
  check_stream(stream, "stream_query");
  return work_.is_idle(stream) && inner_->stream_query(stream);
}

void checked_driver::stream_synchronize(CUstream_st* stream) {
  counter_.enter("stream_synchronize");
  check_stream(stream, "stream_synchronize");
  work_.run(stream);
  inner_->stream_synchronize(stream);
}

bool checked_driver::stream_is_capturing(CUstream_st* stream) {
  counter_.enter("stream_is_capturing");
  check_stream(stream, "stream_is_capturing");
  std::lock_guard const lock(mutex_);
  return capturing_.count(stream) != 0 || inner_->stream_is_capturing(stream);
}

CUevent_st* checked_driver::event_create() {
  counter_.enter("event_create");
  auto* const event = inner_->event_create();
  std::lock_guard const lock(mutex_);
  events_.emplace(event, event_record_point{});
  return event;
}

void checked_driver::event_destroy(CUevent_st* event) {
  counter_.enter("event_destroy");
  check_event(event, "event_destroy");
  {
    std::lock_guard const lock(mutex_);
    events_.erase(event);
  }
  inner_->event_destroy(event);
}

void checked_driver::event_record(CUevent_st* event, CUstream_st* stream) {
  counter_.enter("event_record");
  check_event(event, "event_record");
  check_stream(stream, "event_record");
  inner_->event_record(event, stream);
  std::lock_guard const lock(mutex_);
  events_[event] = {stream, work_.last_enqueued()};
}

void checked_driver::event_synchronize(CUevent_st* event) {
  counter_.enter("event_synchronize");
  check_event(event, "event_synchronize");
  event_record_point point;
  {
    std::lock_guard const lock(mutex_);
    point = events_.at(event);
  }
  work_.run(point.stream, point.last);
  inner_->event_synchronize(event);
}

// Pools.

CUmemPoolHandle_st* checked_driver::mem_pool_create(pool_properties const& properties) {
  counter_.enter("mem_pool_create");
  return keep(inner_->mem_pool_create(properties), false);
}

void checked_driver::mem_pool_destroy(CUmemPoolHandle_st* pool) {
  counter_.enter("mem_pool_destroy");
  auto const record = find(pool, "mem_pool_destroy");
  std::size_t left = 0;
  {
    std::lock_guard const lock(mutex_);
    left = record->pieces.size();
    pools_.erase(pool);
  }
  if (left != 0) {
    note("mem_pool_destroy: pool " + text_of(pool) + " still has " + std::to_string(left) +
         " allocations or imports");
  }
}

std::size_t checked_driver::mem_pool_granularity(CUmemPoolHandle_st* pool) {
  counter_.enter("mem_pool_granularity");
  find(pool, "mem_pool_granularity");
  return inner_->mem_pool_granularity(pool);
}

unique_fd checked_driver::mem_pool_export_to_shareable_handle(CUmemPoolHandle_st* pool) {
  counter_.enter("mem_pool_export_to_shareable_handle");
  find(pool, "mem_pool_export_to_shareable_handle");
  return inner_->mem_pool_export_to_shareable_handle(pool);
}

CUmemPoolHandle_st* checked_driver::mem_pool_import_from_shareable_handle(int fd, memory_kind kind,
                                                                          uuid const& expected) {
  counter_.enter("mem_pool_import_from_shareable_handle");
  return keep(inner_->mem_pool_import_from_shareable_handle(fd, kind, expected), true);
}

// Memory.

device_pointer checked_driver::mem_alloc_from_pool_async(CUmemPoolHandle_st* pool,
                                                         std::size_t bytes, CUstream_st* stream) {
  counter_.enter("mem_alloc_from_pool_async");
  auto const record = find(pool, "mem_alloc_from_pool_async");
  check_stream(stream, "mem_alloc_from_pool_async");
  auto const pointer = inner_->mem_alloc_from_pool_async(pool, bytes, stream);
  auto const range = inner_->pointer_range_size(pool, pointer);
  std::lock_guard const lock(mutex_);
  record->pieces[pointer] = {range, 1};
  return pointer;
}

void checked_driver::mem_free_async(CUmemPoolHandle_st* pool, device_pointer pointer,
                                    CUstream_st* stream) {
  counter_.enter("mem_free_async");
  auto const record = find_live(pool, pointer, "mem_free_async");
  check_stream(stream, "mem_free_async");
  {
    std::lock_guard const lock(mutex_);
    auto const piece = record->pieces.find(pointer);
    if (--piece->second.users == 0) record->pieces.erase(piece);
  }
  work_.enqueue(stream, [this, record, pointer, stream] {
    inner_->mem_free_async(record->handle, pointer, stream);
  });
}

pointer_payload checked_driver::mem_pool_export_pointer(CUmemPoolHandle_st* pool,
                                                        device_pointer pointer) {
  counter_.enter("mem_pool_export_pointer");
  find_live(pool, pointer, "mem_pool_export_pointer");
  return inner_->mem_pool_export_pointer(pool, pointer);
}

device_pointer checked_driver::mem_pool_import_pointer(CUmemPoolHandle_st* pool,
                                                       pointer_payload const& payload) {
  counter_.enter("mem_pool_import_pointer");
  auto const record = find(pool, "mem_pool_import_pointer");
  auto const pointer = inner_->mem_pool_import_pointer(pool, payload);
  auto const range = inner_->pointer_range_size(pool, pointer);
  std::lock_guard const lock(mutex_);
  auto& piece = record->pieces[pointer];
  piece.bytes = range;
  ++piece.users;
  return pointer;
}

std::size_t checked_driver::pointer_range_size(CUmemPoolHandle_st* pool, device_pointer pointer) {
  counter_.enter("pointer_range_size");
  find_live(pool, pointer, "pointer_range_size");
  return inner_->pointer_range_size(pool, pointer);
}

void checked_driver::memset_d8_async(device_pointer target, std::byte value, std::size_t bytes,
                                     CUstream_st* stream) {
  counter_.enter("memset_d8_async");
  check_stream(stream, "memset_d8_async");
  auto const record = find_around(target, bytes);
  work_.enqueue(stream, [this, record, target, value, bytes, stream] {
    inner_->memset_d8_async(target, value, bytes, stream);
  });
}

}  // namespace rankshare::test
