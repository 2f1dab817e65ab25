// SPDX-License-Identifier: Apache-2.0
/// @file
/// The driver of host memory: pools are memfds, streams run their work at once.
#pragma once

#include <rankshare/driver/driver.hpp>

namespace rankshare {

/// Serves host memory that is really shared between processes, on any machine.
///
/// @par Thread safety
/// Every function may be called from any thread.
/// @par Stream order
/// Work is done when the call that enqueues it returns.
/// @par Source
/// memfd_create(2), mmap(2), fcntl(2) (file sealing).
class RANKSHARE_EXPORT host_driver final : public driver {
 public:
  char const* name() const noexcept override { return "host"; }

  CUstream_st* stream_create(int device) override;
  void stream_destroy(CUstream_st* stream) override;
  bool stream_query(CUstream_st* stream) override;
  void stream_synchronize(CUstream_st* stream) override;
  bool stream_is_capturing(CUstream_st* stream) override;

  CUevent_st* event_create() override;
  void event_destroy(CUevent_st* event) override;
  void event_record(CUevent_st* event, CUstream_st* stream) override;
  void event_synchronize(CUevent_st* event) override;

  CUmemPoolHandle_st* mem_pool_create(pool_properties const& properties) override;
  void mem_pool_destroy(CUmemPoolHandle_st* pool) override;
  std::size_t mem_pool_granularity(CUmemPoolHandle_st* pool) override;
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

  void memset_d8_async(device_pointer target, std::byte value, std::size_t bytes,
                       CUstream_st* stream) override;
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
