// SPDX-License-Identifier: Apache-2.0
// Streams, events and kernels.
#include <string>

#include <rankshare/driver/cuda_calls.hpp>
#include <rankshare/driver/cuda_scopes.hpp>

#if RANKSHARE_HAS_CUDA

namespace rankshare::detail {

using text = std::string;

// Streams and events.

CUstream_st* cuda_calls::stream_create(int device) {
  check_not_forked("making a stream");
  auto const doing = [&] { return "making a stream of GPU " + std::to_string(device); };
  context_scope const current(cu_, primary_context(device));
  check(current.result(), "cuCtxPushCurrent", doing);
  CUstream made = nullptr;
  check(cu_.StreamCreate(&made, CU_STREAM_NON_BLOCKING), "cuStreamCreate", doing);
  return made;
}

void cuda_calls::stream_destroy(CUstream_st* stream) {
  if (is_over()) return;
  auto const result = cu_.StreamDestroy(stream);
  if (result == CUDA_ERROR_DEINITIALIZED) return;
  check(result, "cuStreamDestroy", [] { return text("destroying a stream"); });
}

bool cuda_calls::stream_query(CUstream_st* stream) {
  if (is_over()) return true;
  relaxed_capture const relaxed(cu_);
  auto const result = cu_.StreamQuery(stream);
  if (result == CUDA_ERROR_NOT_READY) return false;
  if (result == CUDA_ERROR_DEINITIALIZED) return true;
  check(result, "cuStreamQuery", [] { return text("asking whether a stream is idle"); });
  return true;
}

void cuda_calls::stream_synchronize(CUstream_st* stream) {
  if (is_over()) return;
  relaxed_capture const relaxed(cu_);
  auto const result = cu_.StreamSynchronize(stream);
  if (result == CUDA_ERROR_DEINITIALIZED) return;
  check(result, "cuStreamSynchronize", [] { return text("waiting for a stream"); });
}

bool cuda_calls::stream_is_capturing(CUstream_st* stream) {
  if (is_over()) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  auto const result = cu_.StreamIsCapturing(stream, &status);
  if (result == CUDA_ERROR_DEINITIALIZED) return false;
  // The legacy default stream waits for a stream that is capturing.
  if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return true;
  check(result, "cuStreamIsCapturing", [] { return text("asking whether a stream is capturing"); });
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

CUevent_st* cuda_calls::event_create(CUstream_st* stream) {
  if (is_over()) return nullptr;
  auto const doing = [] { return text("making an event"); };
  CUcontext context = nullptr;
  auto const result = cu_.StreamGetCtx(stream, &context);
  if (result == CUDA_ERROR_DEINITIALIZED) return nullptr;
  check(result, "cuStreamGetCtx", doing);
  context_scope const current(cu_, context);
  check(current.result(), "cuCtxPushCurrent", doing);
  CUevent made = nullptr;
  // How it is waited for, spinning or sleeping, is what the context was made with.
  check(cu_.EventCreate(&made, CU_EVENT_DISABLE_TIMING), "cuEventCreate", doing);
  return made;
}

void cuda_calls::event_destroy(CUevent_st* event) {
  if (is_over()) return;
  auto const result = cu_.EventDestroy(event);
  if (result == CUDA_ERROR_DEINITIALIZED || result == CUDA_ERROR_CONTEXT_IS_DESTROYED) return;
  check(result, "cuEventDestroy", [] { return text("destroying an event"); });
}

void cuda_calls::event_record(CUevent_st* event, CUstream_st* stream) {
  if (is_over()) return;
  relaxed_capture const relaxed(cu_);
  auto const result = cu_.EventRecord(event, stream);
  if (result == CUDA_ERROR_DEINITIALIZED) return;
  check(result, "cuEventRecord", [] { return text("recording an event"); });
}

void cuda_calls::event_synchronize(CUevent_st* event) {
  if (is_over()) return;
  relaxed_capture const relaxed(cu_);
  auto const result = cu_.EventSynchronize(event);
  // The work of a context that was destroyed is over.
  if (result == CUDA_ERROR_DEINITIALIZED || result == CUDA_ERROR_CONTEXT_IS_DESTROYED) return;
  check(result, "cuEventSynchronize", [] { return text("waiting for an event"); });
}

// Kernels.

CUmod_st* cuda_calls::module_load_data(int device, void const* image) {
  check_not_forked("loading kernels");
  auto const doing = [&] { return "loading kernels for GPU " + std::to_string(device); };
  context_scope const current(cu_, primary_context(device));
  check(current.result(), "cuCtxPushCurrent", doing);
  relaxed_capture const relaxed(cu_);
  CUmodule made = nullptr;
  check(cu_.ModuleLoadData(&made, image), "cuModuleLoadData", doing);
  return made;
}

void cuda_calls::module_unload(CUmod_st* module) {
  if (is_over()) return;
  relaxed_capture const relaxed(cu_);
  auto const result = cu_.ModuleUnload(module);
  if (result == CUDA_ERROR_DEINITIALIZED) return;
  check(result, "cuModuleUnload", [] { return text("unloading kernels"); });
}

CUfunc_st* cuda_calls::module_get_function(CUmod_st* module, char const* name) {
  CUfunction found = nullptr;
  check(cu_.ModuleGetFunction(&found, module, name), "cuModuleGetFunction",
        [&] { return text("looking up the kernel ") + name; });
  return found;
}

void cuda_calls::launch_kernel(CUfunc_st* function, launch_shape const& shape, void** arguments,
                               CUstream_st* stream) {
  auto const& [grid, block, shared] = shape;
  check(cu_.LaunchKernel(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared,
                         stream, arguments, nullptr),
        "cuLaunchKernel", [] { return text("launching a kernel"); });
}

}  // namespace rankshare::detail

#endif  // RANKSHARE_HAS_CUDA
