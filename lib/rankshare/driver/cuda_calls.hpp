// SPDX-License-Identifier: Apache-2.0
/// @file
/// The driver seam over the functions of libcuda. Not for users.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include <rankshare/driver/cuda_functions.hpp>
#include <rankshare/driver/driver.hpp>

#if RANKSHARE_HAS_CUDA

namespace rankshare::detail {

/// Serves the memory of GPUs, and host memory that GPUs reach.
///
/// A default stream is that of the context that is current in the calling thread. Everything else
/// works whatever context is current, or none, and leaves it current. Nothing but work on a stream
/// that is capturing itself disturbs the capture of a graph.
///
/// Inert in a forked child, and at the end of the process once the CUDA driver is gone: what gives
/// something back does nothing then.
///
/// @par Thread safety
/// Every function may be called from any thread.
/// @par Source
/// CUDA driver API.
class cuda_calls final : public driver {
 public:
  /// Initialises the driver behind `functions`.
  /// @throws not_supported if it sees no GPU
  explicit cuda_calls(cuda_functions const& functions);

  char const* name() const noexcept override { return "cuda"; }

  int device_count() override;
  uuid device_uuid(int device) override;
  std::string device_name(int device) override;
  int device_numa_node(int device) override;

  CUctx_st* ctx_get_current() override;
  void ctx_push_current(CUctx_st* context) override;
  void ctx_pop_current() override;

  CUstream_st* stream_create(int device) override;
  void stream_destroy(CUstream_st* stream) override;
  bool stream_query(CUstream_st* stream) override;
  void stream_synchronize(CUstream_st* stream) override;
  bool stream_is_capturing(CUstream_st* stream) override;

  CUevent_st* event_create(CUstream_st* stream) override;
  void event_destroy(CUevent_st* event) override;
  void event_record(CUevent_st* event, CUstream_st* stream) override;
  void event_synchronize(CUevent_st* event) override;

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

  void memset_d8_async(device_pointer target, std::byte value, std::size_t bytes,
                       CUstream_st* stream) override;
  void memcpy_async(device_pointer target, device_pointer source, std::size_t bytes,
                    CUstream_st* stream) override;

  CUmod_st* module_load_data(int device, void const* image) override;
  void module_unload(CUmod_st* module) override;
  CUfunc_st* module_get_function(CUmod_st* module, char const* name) override;
  void launch_kernel(CUfunc_st* function, launch_shape const& shape, void** arguments,
                     CUstream_st* stream) override;

 private:
  // The text is made only where a call failed.
  template <class Describe>
  void check(CUresult result, char const* api, Describe const& doing) const {
    if (result != CUDA_SUCCESS) fail(result, api, doing());
  }
  [[noreturn]] void fail(CUresult result, char const* api, std::string const& doing,
                         std::size_t bytes = 0) const;
  std::string name_of(CUresult result) const;
  bool is_over() const noexcept;
  void check_not_forked(char const* doing) const;
  CUdevice device_of(int ordinal) const;
  CUcontext primary_context(int device);

  cuda_functions cu_;
  std::uint64_t made_in_;  // fork_generation()
  std::mutex mutex_;
  std::vector<CUcontext> primary_;  // by ordinal; kept until the process ends
};

}  // namespace rankshare::detail

#endif  // RANKSHARE_HAS_CUDA
