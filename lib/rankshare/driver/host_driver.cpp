// SPDX-License-Identifier: Apache-2.0
#include <rankshare/driver/host_driver.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <utility>

#include <rankshare/base/error.hpp>
#include <rankshare/driver/emulated_contexts.hpp>
#include <rankshare/driver/emulated_memory.hpp>
#include <rankshare/driver/imported_emulated_pool.hpp>
#include <rankshare/driver/imported_host_pool.hpp>
#include <rankshare/driver/owned_emulated_pool.hpp>
#include <rankshare/driver/owned_host_pool.hpp>

// Note [Devices of the host driver]
//
// Rationale: what the library does between devices must be tested on machines without any, and host
// memory must not pay for that.
//
// Approach: where devices are emulated, streams and events know theirs, and pools of device and
// pinned memory are kept in books that memset and memcpy look into. Host pools are in none. Where
// no devices are emulated nobody looks, and the handle of a stream may be anything: it is not read.

namespace rankshare {
namespace {

using detail::host_pool;

host_pool* from(CUmemPoolHandle_st* pool) { return reinterpret_cast<host_pool*>(pool); }

CUmemPoolHandle_st* to_handle(std::unique_ptr<host_pool> pool) {
  return reinterpret_cast<CUmemPoolHandle_st*>(pool.release());
}

// All that a stream or an event is here.
struct device_mark {
  int device;  // -1: the host
};

template <class Handle>
Handle* new_mark(int device) {
  return reinterpret_cast<Handle*>(new device_mark{device});
}

template <class Handle>
device_mark* mark_of(Handle* handle) {
  return reinterpret_cast<device_mark*>(handle);
}

// Null and the two tokens.
bool is_default(CUstream_st* stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 2; }

[[noreturn]] void refuse_kernels(char const* doing) {
  throw not_supported(std::string(doing) +
                      ": host memory and emulated devices run no kernels; use a GPU, with "
                      "RANKSHARE_HOST_DEVICES unset");
}

}  // namespace

host_driver::host_driver() : memory_(std::make_unique<detail::emulated_memory>()) {}
host_driver::host_driver(emulated_devices devices)
    : given_(std::move(devices)), memory_(std::make_unique<detail::emulated_memory>()) {}
host_driver::~host_driver() = default;

emulated_devices const& host_driver::devices() const {
  return given_ ? *given_ : emulated_devices::of_this_process();
}

int host_driver::device_count() { return devices().count(); }
uuid host_driver::device_uuid(int device) {
  return uuid_of(devices().at(device, "asking for the UUID of a device"));
}
std::string host_driver::device_name(int device) {
  return name_of(devices().at(device, "asking for the name of a device"));
}
int host_driver::device_numa_node(int device) {
  devices().at(device, "asking for the NUMA node of a device");
  return 0;
}

CUctx_st* host_driver::context_of(int device) const {
  devices().at(device, "asking for the context of a device");
  return detail::emulated_contexts(devices().count()).of(device);
}
CUctx_st* host_driver::ctx_get_current() {
  return detail::emulated_contexts(device_count()).current();
}
void host_driver::ctx_push_current(CUctx_st* context) {
  detail::emulated_contexts(device_count()).push(context);
}
void host_driver::ctx_pop_current() { detail::emulated_contexts(device_count()).pop(); }

CUstream_st* host_driver::stream_create(int device) {
  if (device != -1) devices().at(device, "making a stream");
  return new_mark<CUstream_st>(device);
}

emulated_device host_driver::device_of(CUstream_st* stream) const {
  auto const& known = devices();
  int const ordinal = is_default(stream) ? detail::emulated_contexts(known.count()).current_device()
                                         : mark_of(stream)->device;
  return ordinal < 0 ? emulated_device{} : known.at(ordinal, "finding the device of a stream");
}

void host_driver::stream_destroy(CUstream_st* stream) { delete mark_of(stream); }
bool host_driver::stream_query(CUstream_st*) { return true; }
void host_driver::stream_synchronize(CUstream_st*) {}
bool host_driver::stream_is_capturing(CUstream_st*) { return false; }

CUevent_st* host_driver::event_create(CUstream_st* stream) {
  return new_mark<CUevent_st>(device_count() > 0 ? device_of(stream).ordinal : -1);
}

void host_driver::event_record(CUevent_st* event, CUstream_st* stream) {
  if (device_count() == 0) return;
  int const made_for = mark_of(event)->device;
  int const asked = device_of(stream).ordinal;
  if (made_for == asked) return;
  throw invalid_argument("recording an event on a stream of device " + std::to_string(asked) +
                         ": it was made for a stream of device " + std::to_string(made_for) +
                         " (-1 is the host); make one for each device");
}

void host_driver::event_destroy(CUevent_st* event) { delete mark_of(event); }
void host_driver::event_synchronize(CUevent_st*) {}

CUmemPoolHandle_st* host_driver::keep(std::unique_ptr<detail::emulated_pool> pool) {
  memory_->add(*pool);
  return to_handle(std::move(pool));
}

CUmemPoolHandle_st* host_driver::mem_pool_create(pool_properties const& properties) {
  if (properties.kind == memory_kind::host) {
    return to_handle(std::make_unique<detail::owned_host_pool>(properties));
  }
  auto placed = properties;
  placed.location = devices().place_of(properties.kind, properties.location);
  return keep(std::make_unique<detail::owned_emulated_pool>(placed));
}

void host_driver::mem_pool_destroy(CUmemPoolHandle_st* pool) {
  memory_->remove(from(pool));
  delete from(pool);
}

std::size_t host_driver::mem_pool_granularity(CUmemPoolHandle_st*) {
  return detail::host_page_bytes;
}

void host_driver::mem_pool_set_access(CUmemPoolHandle_st* pool, int device, bool granted) {
  auto const known = devices().at(device, "setting the access to a pool");
  memory_->set_access(from(pool), known, granted);
}

unique_fd host_driver::mem_pool_export_to_shareable_handle(CUmemPoolHandle_st* pool) {
  return from(pool)->export_handle();
}

CUmemPoolHandle_st* host_driver::mem_pool_import_from_shareable_handle(int fd, memory_kind kind,
                                                                       uuid const& expected) {
  if (kind == memory_kind::host) {
    return to_handle(std::make_unique<detail::imported_host_pool>(fd, expected));
  }
  if (device_count() == 0) {
    throw invalid_descriptor(
        "importing a pool: the host driver serves host memory only, and the descriptor names "
        "another kind; set RANKSHARE_HOST_DEVICES in all processes to emulate devices");
  }
  return keep(std::make_unique<detail::imported_emulated_pool>(fd, kind, expected));
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

void host_driver::check_access(device_pointer begin, std::size_t bytes, CUstream_st* stream,
                               char const* doing) const {
  if (devices().count() > 0) memory_->check(begin, bytes, device_of(stream), doing);
}

void host_driver::memset_d8_async(device_pointer target, std::byte value, std::size_t bytes,
                                  CUstream_st* stream) {
  check_access(target, bytes, stream, "filling");
  std::memset(reinterpret_cast<void*>(target), std::to_integer<int>(value), bytes);
}

void host_driver::memcpy_async(device_pointer target, device_pointer source, std::size_t bytes,
                               CUstream_st* stream) {
  check_access(target, bytes, stream, "copying to");
  check_access(source, bytes, stream, "copying from");
  std::memmove(reinterpret_cast<void*>(target), reinterpret_cast<void const*>(source), bytes);
}

CUmod_st* host_driver::module_load_data(int, void const*) { refuse_kernels("loading kernels"); }
void host_driver::module_unload(CUmod_st*) { refuse_kernels("unloading kernels"); }
CUfunc_st* host_driver::module_get_function(CUmod_st*, char const* name) {
  refuse_kernels(("finding kernel " + std::string(name)).c_str());
}
void host_driver::launch_kernel(CUfunc_st*, launch_shape const&, void**, CUstream_st*) {
  refuse_kernels("launching a kernel");
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
