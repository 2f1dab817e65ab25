// SPDX-License-Identifier: Apache-2.0
/// @file
/// The seam between rankshare and whatever provides memory: one virtual function for each driver
/// function that is used, named as in the CUDA driver API without `cu`. An implementation does what
/// it is told, or throws; it decides nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <rankshare/base/export.hpp>
#include <rankshare/base/unique_fd.hpp>
#include <rankshare/base/uuid.hpp>

// The handle types of the CUDA driver API; the host driver gives the same names to its own objects.
struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmemPoolHandle_st;
struct CUmod_st;
struct CUfunc_st;

namespace rankshare {

/// An address in device or host memory; 0 is none.
using device_pointer = std::uintptr_t;

/// What a driver says of an allocation so that another process can import it. Opaque.
using pointer_payload = std::array<std::byte, 64>;

/// Where the memory of a pool lives.
enum class memory_kind : std::uint8_t {
  device = 1,  ///< memory of a GPU
  pinned = 2,  ///< host memory of a NUMA node that GPUs reach
  host = 3,    ///< host memory
};

/// What a pool is made with.
struct pool_properties {
  memory_kind kind = memory_kind::host;
  int location = -1;         ///< device ordinal or NUMA node; -1: none
  bool shareable = true;     ///< other processes may import it
  std::size_t max_size = 0;  ///< bytes; 0: what the machine has
  /// Bytes that a pool keeps when its memory is free; more goes back at a synchronisation.
  std::size_t release_threshold = std::numeric_limits<std::size_t>::max();
  uuid id;  ///< identity of a shareable pool
};

/// Blocks and threads of a kernel, in x, y and z.
struct launch_shape {
  std::array<unsigned, 3> grid{1, 1, 1};   ///< blocks
  std::array<unsigned, 3> block{1, 1, 1};  ///< threads of a block
  unsigned shared_bytes = 0;               ///< dynamic shared memory of a block
};

/// Functions of one driver. Every function may throw `out_of_memory`, `invalid_argument` for an
/// object that the driver does not know, and what its own comment says.
class RANKSHARE_EXPORT driver {
 public:
  driver() = default;
  driver(driver const&) = delete;
  driver& operator=(driver const&) = delete;
  virtual ~driver();

  /// @return a short name for messages: "host", "cuda"
  virtual char const* name() const noexcept = 0;

  /// @name Devices
  /// @{

  /// @return number of devices; 0 without any
  virtual int device_count() = 0;
  /// @param device ordinal, from 0 to below `device_count()`
  virtual uuid device_uuid(int device) = 0;
  virtual std::string device_name(int device) = 0;
  /// @return the NUMA node of the host that is nearest to the device
  virtual int device_numa_node(int device) = 0;
  /// @}

  /// @name Contexts
  /// Only the default streams depend on the calling thread's current context.
  /// @{

  /// @return the current context; null: none
  virtual CUctx_st* ctx_get_current() = 0;
  virtual void ctx_push_current(CUctx_st* context) = 0;
  virtual void ctx_pop_current() = 0;
  /// @}

  /// @name Streams and events
  /// `stream_query`, `stream_synchronize` and `event_record` are not for a stream that is
  /// capturing: they spoil the capture.
  /// @{

  virtual CUstream_st* stream_create(int device) = 0;
  virtual void stream_destroy(CUstream_st* stream) = 0;
  /// @return whether all work enqueued so far is done
  virtual bool stream_query(CUstream_st* stream) = 0;
  virtual void stream_synchronize(CUstream_st* stream) = 0;
  /// @return whether `stream` is capturing, or work on it would spoil a capture
  virtual bool stream_is_capturing(CUstream_st* stream) = 0;

  /// @return an event that `stream` can record
  virtual CUevent_st* event_create(CUstream_st* stream) = 0;
  virtual void event_destroy(CUevent_st* event) = 0;
  virtual void event_record(CUevent_st* event, CUstream_st* stream) = 0;
  virtual void event_synchronize(CUevent_st* event) = 0;
  /// @}

  /// @name Pools
  /// @{

  virtual CUmemPoolHandle_st* mem_pool_create(pool_properties const& properties) = 0;
  virtual void mem_pool_destroy(CUmemPoolHandle_st* pool) = 0;
  /// @return bytes that an allocation is rounded up to
  virtual std::size_t mem_pool_granularity(CUmemPoolHandle_st* pool) = 0;
  /// Lets `device` reach the pool's memory, or no longer. Counts in this process only.
  /// @throws invalid_argument for the device that the memory is on
  virtual void mem_pool_set_access(CUmemPoolHandle_st* pool, int device, bool granted) = 0;
  /// @throws invalid_argument if the pool is not shareable
  virtual unique_fd mem_pool_export_to_shareable_handle(CUmemPoolHandle_st* pool) = 0;
  /// @param fd       stays the caller's
  /// @param expected identity that the pool must have where the driver can tell; nil: any
  /// @return the pool; where the process has imported it already, a driver may return the same one.
  ///         Each import is destroyed, and no earlier than all memory of the pool is given up.
  /// @throws stale_descriptor   if `fd` is not the pool `expected`
  /// @throws invalid_descriptor if `fd` is no pool at all and `expected` is nil
  virtual CUmemPoolHandle_st* mem_pool_import_from_shareable_handle(int fd, memory_kind kind,
                                                                    uuid const& expected) = 0;

  virtual device_pointer mem_alloc_from_pool_async(CUmemPoolHandle_st* pool, std::size_t bytes,
                                                   CUstream_st* stream) = 0;
  /// Frees an allocation, or gives up an import, once earlier work on `stream` is done.
  /// @throws invalid_argument if nothing of the pool begins there
  /// @throws capture_error    if `stream` is capturing; the capture goes on
  virtual void mem_free_async(CUmemPoolHandle_st* pool, device_pointer pointer,
                              CUstream_st* stream) = 0;
  virtual pointer_payload mem_pool_export_pointer(CUmemPoolHandle_st* pool,
                                                  device_pointer pointer) = 0;
  /// @param payload from `mem_pool_export_pointer`; a driver may crash on one that was made up
  /// @throws invalid_descriptor if the payload is not one of this pool
  /// @throws stale_descriptor   if what it describes was freed, where the driver can tell
  virtual device_pointer mem_pool_import_pointer(CUmemPoolHandle_st* pool,
                                                 pointer_payload const& payload) = 0;
  /// @return bytes that are mapped from `pointer` on
  virtual std::size_t pointer_range_size(CUmemPoolHandle_st* pool, device_pointer pointer) = 0;
  /// @}

  /// @name Work
  /// @{

  virtual void memset_d8_async(device_pointer target, std::byte value, std::size_t bytes,
                               CUstream_st* stream) = 0;
  /// Copies between any two memories that the stream's device reaches; one may be ordinary memory.
  virtual void memcpy_async(device_pointer target, device_pointer source, std::size_t bytes,
                            CUstream_st* stream) = 0;
  /// @}

  /// @name Kernels
  /// @{

  /// @param image a cubin, fatbin or PTX text
  /// @throws not_supported if it holds no code for the device
  virtual CUmod_st* module_load_data(int device, void const* image) = 0;
  virtual void module_unload(CUmod_st* module) = 0;
  /// @throws invalid_argument if the module has no such kernel
  virtual CUfunc_st* module_get_function(CUmod_st* module, char const* name) = 0;
  /// @param arguments address of each argument
  virtual void launch_kernel(CUfunc_st* function, launch_shape const& shape, void** arguments,
                             CUstream_st* stream) = 0;
  /// @}
};

}  // namespace rankshare
