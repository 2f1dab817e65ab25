// SPDX-License-Identifier: Apache-2.0
// Pools of a checked driver, and what lives in them.
#include <support/checked_driver.hpp>

#include <cstdint>

#include <rankshare/base/error.hpp>

namespace rankshare::test {

// Pools.

CUmemPoolHandle_st* checked_driver::mem_pool_create(pool_properties const& properties) {
  counter_.enter("mem_pool_create");
  return keep(inner_->mem_pool_create(properties),
              {properties.kind, properties.location, properties.shareable, false});
}

void checked_driver::mem_pool_destroy(CUmemPoolHandle_st* pool) {
  counter_.enter("mem_pool_destroy");
  auto const record = find(pool, "mem_pool_destroy");
  std::map<device_pointer, checked_pool::piece> left;
  {
    std::lock_guard const lock(mutex_);
    left = record->pieces();
    if (--record->owners == 0) pools_.erase(pool);
  }
  if (left.empty()) return;
  auto text = "mem_pool_destroy: pool " + text_of(pool) + " still has " +
              std::to_string(left.size()) + " allocations or imports";
  for (auto const& [pointer, piece] : left) {
    auto* const stream = work_.other_that_touches({pointer, piece.bytes}, nullptr);
    if (stream != nullptr) text += ", and work of stream " + text_of(stream) + " touches them";
  }
  note(text);
}

std::size_t checked_driver::mem_pool_granularity(CUmemPoolHandle_st* pool) {
  counter_.enter("mem_pool_granularity");
  find(pool, "mem_pool_granularity");
  return inner_->mem_pool_granularity(pool);
}

void checked_driver::mem_pool_set_access(CUmemPoolHandle_st* pool, int device, bool granted) {
  counter_.enter("mem_pool_set_access");
  auto const record = find(pool, "mem_pool_set_access");
  if (!granted && record->is_memory_of(device)) {
    violate("mem_pool_set_access: the memory is that of device " + std::to_string(device) +
            ", which always reaches it");
  }
  inner_->mem_pool_set_access(pool, device, granted);
  std::lock_guard const lock(mutex_);
  record->set_access(device, granted);
}

unique_fd checked_driver::mem_pool_export_to_shareable_handle(CUmemPoolHandle_st* pool) {
  counter_.enter("mem_pool_export_to_shareable_handle");
  auto const record = find(pool, "mem_pool_export_to_shareable_handle");
  auto exported = inner_->mem_pool_export_to_shareable_handle(pool);
  std::lock_guard const lock(mutex_);
  record->was_exported = true;
  return exported;
}

CUmemPoolHandle_st* checked_driver::mem_pool_import_from_shareable_handle(int fd, memory_kind kind,
                                                                          uuid const& expected) {
  counter_.enter("mem_pool_import_from_shareable_handle");
  return keep(inner_->mem_pool_import_from_shareable_handle(fd, kind, expected),
              {kind, std::nullopt, true, true});
}

// Memory.

device_pointer checked_driver::mem_alloc_from_pool_async(CUmemPoolHandle_st* pool,
                                                         std::size_t bytes, CUstream_st* stream) {
  counter_.enter("mem_alloc_from_pool_async");
  auto const record = find(pool, "mem_alloc_from_pool_async");
  check_stream(stream, "mem_alloc_from_pool_async");
  check_not_capturing(stream, "mem_alloc_from_pool_async");
  if (record->is_too_large(bytes)) {
    violate("mem_alloc_from_pool_async: " + std::to_string(bytes) +
            " bytes of a shareable pool cannot be imported safely; the limit is 2 GiB");
  }
  auto const pointer = inner_->mem_alloc_from_pool_async(pool, bytes, stream);
  auto const range = inner_->pointer_range_size(pool, pointer);
  std::lock_guard const lock(mutex_);
  record->add_allocation(pointer, range);
  return pointer;
}

void checked_driver::check_untouched(checked_pool const& pool, device_pointer pointer,
                                     CUstream_st* stream) const {
  touched_range range{pointer, 0};
  {
    std::lock_guard const lock(mutex_);
    auto const found = pool.pieces().find(pointer);
    if (found != pool.pieces().end()) range.bytes = found->second.bytes;
  }
  auto* const other = work_.other_that_touches(range, stream);
  if (other == nullptr) return;
  violate("mem_free_async: work of stream " + text_of(other) + " still touches " +
          text_of(pointer) + ", which is freed on stream " + text_of(stream));
}

void checked_driver::mem_free_async(CUmemPoolHandle_st* pool, device_pointer pointer,
                                    CUstream_st* stream) {
  counter_.enter("mem_free_async");
  auto const record = find_live(pool, pointer, "mem_free_async");
  check_stream(stream, "mem_free_async");
  if (is_capturing(stream)) {
    throw capture_error("mem_free_async: stream " + text_of(stream) +
                        " is capturing a graph; free on another stream, or after the capture");
  }
  check_untouched(*record, pointer, stream);
  {
    std::lock_guard const lock(mutex_);
    record->remove(pointer);
  }
  work_.enqueue(stream, [this, record, pointer, stream] {
    inner_->mem_free_async(record->handle(), pointer, stream);
    std::lock_guard const lock(mutex_);
    record->driver_removed(pointer);
  });
}

pointer_payload checked_driver::mem_pool_export_pointer(CUmemPoolHandle_st* pool,
                                                        device_pointer pointer) {
  counter_.enter("mem_pool_export_pointer");
  auto const record = find_live(pool, pointer, "mem_pool_export_pointer");
  bool was_exported = false;
  {
    std::lock_guard const lock(mutex_);
    was_exported = record->was_exported;
  }
  if (!was_exported) {
    violate("mem_pool_export_pointer: pool " + text_of(pool) +
            " has not been exported, which must come before its pointers");
  }
  return inner_->mem_pool_export_pointer(pool, pointer);
}

device_pointer checked_driver::mem_pool_import_pointer(CUmemPoolHandle_st* pool,
                                                       pointer_payload const& payload) {
  counter_.enter("mem_pool_import_pointer");
  auto const record = find(pool, "mem_pool_import_pointer");
  std::lock_guard const once(record->importing);
  {
    std::lock_guard const lock(mutex_);
    if (record->is_imported(payload)) ++aliased_imports_;
    if (auto const known = record->alias(payload)) return *known;
  }
  auto const pointer = inner_->mem_pool_import_pointer(pool, payload);
  auto const range = inner_->pointer_range_size(pool, pointer);
  if (record->is_too_large(range)) {
    undo_import(pool, pointer);
    violate("mem_pool_import_pointer: " + std::to_string(range) +
            " bytes cannot be imported safely; the limit is 2 GiB");
  }
  std::lock_guard const lock(mutex_);
  record->add_import(pointer, range, payload);
  return pointer;
}

// The call has failed already; what fails here has nobody to tell.
void checked_driver::undo_import(CUmemPoolHandle_st* pool, device_pointer pointer) noexcept {
  try {
    inner_->mem_free_async(pool, pointer, reinterpret_cast<CUstream_st*>(std::uintptr_t{1}));
  } catch (...) {
  }
}

std::size_t checked_driver::pointer_range_size(CUmemPoolHandle_st* pool, device_pointer pointer) {
  counter_.enter("pointer_range_size");
  find_live(pool, pointer, "pointer_range_size");
  return inner_->pointer_range_size(pool, pointer);
}

}  // namespace rankshare::test
