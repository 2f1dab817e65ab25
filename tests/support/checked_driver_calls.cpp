// SPDX-License-Identifier: Apache-2.0
// The functions of the driver that a checked driver stands for.
#include <support/checked_driver.hpp>

namespace rankshare::test {

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
