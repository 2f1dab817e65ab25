// SPDX-License-Identifier: Apache-2.0
#include <rankshare/driver/host_driver.hpp>

#include <atomic>
#include <cstring>

#include <rankshare/base/error.hpp>
#include <rankshare/driver/imported_host_pool.hpp>
#include <rankshare/driver/owned_host_pool.hpp>

namespace rankshare {
namespace {

using detail::host_pool;

host_pool* from(CUmemPoolHandle_st* pool) { return reinterpret_cast<host_pool*>(pool); }

CUmemPoolHandle_st* to_handle(std::unique_ptr<host_pool> pool) {
  return reinterpret_cast<CUmemPoolHandle_st*>(pool.release());
}

// Streams and events have no state here; their handles are distinct addresses.
template <class Handle>
Handle* new_token() {
  return reinterpret_cast<Handle*>(new char);
}

template <class Handle>
void delete_token(Handle* token) {
  delete reinterpret_cast<char*>(token);
}

}  // namespace

CUstream_st* host_driver::stream_create(int) { return new_token<CUstream_st>(); }
void host_driver::stream_destroy(CUstream_st* stream) { delete_token(stream); }
bool host_driver::stream_query(CUstream_st*) { return true; }
void host_driver::stream_synchronize(CUstream_st*) {}
bool host_driver::stream_is_capturing(CUstream_st*) { return false; }

CUevent_st* host_driver::event_create() { return new_token<CUevent_st>(); }
void host_driver::event_destroy(CUevent_st* event) { delete_token(event); }
void host_driver::event_record(CUevent_st*, CUstream_st*) {}
void host_driver::event_synchronize(CUevent_st*) {}

CUmemPoolHandle_st* host_driver::mem_pool_create(pool_properties const& properties) {
  if (properties.kind != memory_kind::host) {
    throw invalid_argument(
        "making a pool: the host driver serves host memory only; choose a device "
        "that is a GPU for device or pinned memory");
  }
  return to_handle(std::make_unique<detail::owned_host_pool>(properties));
}

void host_driver::mem_pool_destroy(CUmemPoolHandle_st* pool) { delete from(pool); }

std::size_t host_driver::mem_pool_granularity(CUmemPoolHandle_st*) {
  return detail::host_page_bytes;
}

unique_fd host_driver::mem_pool_export_to_shareable_handle(CUmemPoolHandle_st* pool) {
  return from(pool)->export_handle();
}

CUmemPoolHandle_st* host_driver::mem_pool_import_from_shareable_handle(int fd, memory_kind kind,
                                                                       uuid const& expected) {
  if (kind != memory_kind::host) {
    throw invalid_descriptor(
        "importing a pool: the host driver serves host memory only, and the "
        "descriptor names another kind");
  }
  return to_handle(std::make_unique<detail::imported_host_pool>(fd, expected));
}

device_pointer host_driver::mem_alloc_from_pool_async(CUmemPoolHandle_st* pool, std::size_t bytes,
                                                      CUstream_st*) {
  return from(pool)->allocate(bytes);
}

void host_driver::mem_free_async(CUmemPoolHandle_st* pool, device_pointer pointer, CUstream_st*) {
  from(pool)->free(pointer);
}

pointer_payload host_driver::mem_pool_export_pointer(CUmemPoolHandle_st* pool,
                                                     device_pointer pointer) {
  return from(pool)->export_pointer(pointer);
}

device_pointer host_driver::mem_pool_import_pointer(CUmemPoolHandle_st* pool,
                                                    pointer_payload const& payload) {
  return from(pool)->import_pointer(payload);
}

std::size_t host_driver::pointer_range_size(CUmemPoolHandle_st* pool, device_pointer pointer) {
  return from(pool)->range_size(pointer);
}

void host_driver::memset_d8_async(device_pointer target, std::byte value, std::size_t bytes,
                                  CUstream_st*) {
  std::memset(reinterpret_cast<void*>(target), std::to_integer<int>(value), bytes);
}

namespace detail {
namespace {

host_driver& shipped_host_driver() noexcept {
  static auto* const instance = new host_driver;  // never destroyed: buffers may outlive statics
  return *instance;
}

std::atomic<driver*> replaced{nullptr};

}  // namespace

driver& current_host_driver() noexcept {
  auto* const other = replaced.load(std::memory_order_acquire);
  return other != nullptr ? *other : shipped_host_driver();
}

driver& replace_host_driver(driver* replacement) noexcept {
  auto* const former = replaced.exchange(replacement);
  return former != nullptr ? *former : shipped_host_driver();
}

}  // namespace detail
}  // namespace rankshare
