// SPDX-License-Identifier: Apache-2.0
/// @file
/// The functions of the CUDA driver that are used, found at run time in libcuda. Not for users.
#pragma once

#include <rankshare/base/export.hpp>
#include <rankshare/driver/cuda_headers.hpp>

#if RANKSHARE_HAS_CUDA

// Each with the CUDA version whose form of it is used.
#define RANKSHARE_CUDA_FUNCTIONS(FUNCTION)          \
  FUNCTION(Init, 2000)                              \
  FUNCTION(GetErrorName, 6000)                      \
  FUNCTION(DeviceGet, 2000)                         \
  FUNCTION(DeviceGetCount, 2000)                    \
  FUNCTION(DeviceGetName, 2000)                     \
  FUNCTION(DeviceGetUuid, 11040)                    \
  FUNCTION(DeviceGetAttribute, 2000)                \
  FUNCTION(DevicePrimaryCtxRetain, 7000)            \
  FUNCTION(CtxGetCurrent, 4000)                     \
  FUNCTION(CtxPushCurrent, 4000)                    \
  FUNCTION(CtxPopCurrent, 4000)                     \
  FUNCTION(StreamCreate, 2000)                      \
  FUNCTION(StreamDestroy, 4000)                     \
  FUNCTION(StreamQuery, 2000)                       \
  FUNCTION(StreamSynchronize, 2000)                 \
  FUNCTION(StreamIsCapturing, 10000)                \
  FUNCTION(StreamGetCtx, 9020)                      \
  FUNCTION(ThreadExchangeStreamCaptureMode, 10010)  \
  FUNCTION(EventCreate, 2000)                       \
  FUNCTION(EventDestroy, 4000)                      \
  FUNCTION(EventRecord, 2000)                       \
  FUNCTION(EventSynchronize, 2000)                  \
  FUNCTION(MemPoolCreate, 11020)                    \
  FUNCTION(MemPoolDestroy, 11020)                   \
  FUNCTION(MemPoolSetAttribute, 11020)              \
  FUNCTION(MemPoolSetAccess, 11020)                 \
  FUNCTION(MemPoolExportToShareableHandle, 11020)   \
  FUNCTION(MemPoolImportFromShareableHandle, 11020) \
  FUNCTION(MemPoolExportPointer, 11020)             \
  FUNCTION(MemPoolImportPointer, 11020)             \
  FUNCTION(MemAllocFromPoolAsync, 11020)            \
  FUNCTION(MemFreeAsync, 11020)                     \
  FUNCTION(PointerGetAttribute, 4000)               \
  FUNCTION(MemsetD8Async, 3020)                     \
  FUNCTION(MemcpyAsync, 4000)                       \
  FUNCTION(ModuleLoadData, 2000)                    \
  FUNCTION(ModuleUnload, 2000)                      \
  FUNCTION(ModuleGetFunction, 2000)                 \
  FUNCTION(LaunchKernel, 4000)

namespace rankshare::detail {

/// Pointers to the functions; all are there.
struct cuda_functions {
#define RANKSHARE_CUDA_MEMBER(name, version) PFN_cu##name##_v##version name;
  RANKSHARE_CUDA_FUNCTIONS(RANKSHARE_CUDA_MEMBER)
#undef RANKSHARE_CUDA_MEMBER

  /// Loads a CUDA driver library, which is never unloaded, and looks every function up.
  ///
  /// @param library name or path, as for dlopen
  /// @throws not_supported if it cannot be loaded, is older than CUDA 12.0, or lacks a function
  /// @par Source
  /// dlopen(3); cuGetProcAddress of the CUDA driver API.
  RANKSHARE_EXPORT static cuda_functions load(char const* library);
};

}  // namespace rankshare::detail

#endif  // RANKSHARE_HAS_CUDA
