// SPDX-License-Identifier: Apache-2.0
/// @file
/// The driver of host memory: pools are memfds, streams run their work at once. Where asked to, it
/// emulates GPUs too.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <rankshare/driver/driver.hpp>
#include <rankshare/driver/emulated_devices.hpp>

namespace rankshare {

namespace detail {
class emulated_memory;
class emulated_pool;
}  // namespace detail

/// Serves host memory that is really shared between processes, on any machine.
///
/// Where devices are emulated it serves device and pinned memory as well. Both are host memory that
/// keeps the rules of CUDA for access between devices, for payloads and for events; see
/// Note [Access to emulated memory]. No kernel runs there.
///
/// @par Thread safety
/// Every function may be called from any thread.
/// @par Stream order
/// Work is done when the call that enqueues it returns. A default stream is one of the device whose
/// context is current: device 0, unless the thread has pushed another context.
/// @par Source
/// memfd_create(2), mmap(2), fcntl(2) (file sealing).
class RANKSHARE_EXPORT host_driver final : public driver {
 public:
  /// Emulates the devices that the environment asks for when they are first needed: none without
  /// `RANKSHARE_HOST_DEVICES`.
  host_driver();
  /// Emulates `devices`, whatever the environment says.
  explicit host_driver(emulated_devices devices);
  ~host_driver() override;

  /// @param device ordinal
  /// @return its context, for tests that push it
  /// @throws invalid_argument if there is no such device
  CUctx_st* context_of(int device) const;

  char const* name() const noexcept override { return "host"; }

  int device_count() override;
  uuid device_uuid(int device) override;
  std::string device_name(int device) override;
  int device_numa_node(int device) override;

  /// @return a context always, that of the host where there are no devices
  CUctx_st* ctx_get_current() override;
  void ctx_push_current(CUctx_st* context) override;
  void ctx_pop_current() override;

  /// @param device ordinal; -1: the host
  CUstream_st* stream_create(int device) override;
  void stream_destroy(CUstream_st* stream) override;
  bool stream_query(CUstream_st* stream) override;
  void stream_synchronize(CUstream_st* stream) override;
  bool stream_is_capturing(CUstream_st* stream) override;

  CUevent_st* event_create(CUstream_st* stream) override;
  void event_destroy(CUevent_st* event) override;
  /// @throws invalid_argument if the event was made for a stream of another device
  void event_record(CUevent_st* event, CUstream_st* stream) override;
  void event_synchronize(CUevent_st* event) override;

  /// @throws invalid_argument for device and pinned memory where no devices are emulated
  CUmemPoolHandle_st* mem_pool_create(pool_properties const& properties) override;
  void mem_pool_destroy(CUmemPoolHandle_st* pool) override;
  std::size_t mem_pool_granularity(CUmemPoolHandle_st* pool) override;
  void mem_pool_set_access(CUmemPoolHandle_st* pool, int device, bool granted) override;
  unique_fd mem_pool_export_to_shareable_handle(CUmemPoolHandle_st* pool) override;
  CUmemPoolHandle_st* mem_pool_import_from_shareable_handle(int fd, memory_kind kind,
                                                            uuid const& expected) override;

  device_pointer mem_alloc_from_pool_async(CUmemPoolHandle_st* pool, std::size_t bytes,
                                           CUstream_st* stream) override;
  void mem_free_async(CUmemPoolHandle_st* pool, device_pointer pointer,
                      CUstream_st* stream) override;
  pointer_payload mem_pool_export_pointer(CUmemPoolHandle_st* pool,
                                          device_pointer pointer) override;
  device_pointer mem_pool_import_pointer(CUmemPoolHandle_st* pool,
                                         pointer_payload const& payload) override;
  std::size_t pointer_range_size(CUmemPoolHandle_st* pool, device_pointer pointer) override;

  /// @throws invalid_argument if the stream's device has no access to the memory; nothing is set
  void memset_d8_async(device_pointer target, std::byte value, std::size_t bytes,
                       CUstream_st* stream) override;
  /// @throws invalid_argument if the stream's device has no access to one of them; nothing is
  /// copied
  void memcpy_async(device_pointer target, device_pointer source, std::size_t bytes,
                    CUstream_st* stream) override;

  /// @throws not_supported always, as the other functions of kernels
  CUmod_st* module_load_data(int device, void const* image) override;
  void module_unload(CUmod_st* module) override;
  CUfunc_st* module_get_function(CUmod_st* module, char const* name) override;
  void launch_kernel(CUfunc_st* function, launch_shape const& shape, void** arguments,
                     CUstream_st* stream) override;

 private:
  emulated_devices const& devices() const;
  emulated_device device_of(CUstream_st* stream) const;
  CUmemPoolHandle_st* keep(std::unique_ptr<detail::emulated_pool> pool);
  void check_access(device_pointer begin, std::size_t bytes, CUstream_st* stream,
                    char const* doing) const;

  std::optional<emulated_devices> given_;  // none: those of the environment
  std::unique_ptr<detail::emulated_memory> memory_;
};

namespace detail {

/// @return the driver that serves host memory in this process; a `host_driver` unless replaced
RANKSHARE_EXPORT driver& current_host_driver() noexcept;

/// Replaces the driver that serves host memory, for tests and tools.
///
/// @param replacement the new driver, which must outlive its use; null restores the `host_driver`
/// @return the driver that was in force
RANKSHARE_EXPORT driver& replace_host_driver(driver* replacement) noexcept;

}  // namespace detail
}  // namespace rankshare
