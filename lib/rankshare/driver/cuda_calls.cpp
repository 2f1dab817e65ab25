// SPDX-License-Identifier: Apache-2.0
// Errors, devices and contexts; the calls on streams are in cuda_stream_calls.cpp, those on memory
// in cuda_memory_calls.cpp.
#include <rankshare/driver/cuda_calls.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <rankshare/base/error.hpp>
#include <rankshare/base/process.hpp>
#include <rankshare/driver/cuda_scopes.hpp>

#if RANKSHARE_HAS_CUDA

// Note [CUDA calls]
//
// Rationale: a library is called from any thread, with any context current or none, and while the
// user captures a graph somewhere; at the end of the process the CUDA driver may be gone first.
//
// Approach: what follows from the driver's behaviour is done here, in one place. Calls on a stream
// need no current context, so none is touched for them; streams, events and modules are made under
// the context that they belong to. Most calls, even on other streams, end a capture in global mode
// that any thread has begun, unless the calling thread is in relaxed mode: so it is put there for
// the time of the call. What gives something back does nothing once the driver is gone, or in a
// forked child, whose copy of the driver does not work; and what is asked for that (the current
// context, whether a stream captures or is idle, an event) then has a harmless answer, and no wait
// is long.
//
// Limits: the driver crashes when it is given a stream that was destroyed; nothing here can tell.

namespace rankshare::detail {

using text = std::string;

cuda_calls::cuda_calls(cuda_functions const& functions)
    : cu_(functions), made_in_(fork_generation()) {
  auto const result = cu_.Init(0);
  if (result == CUDA_ERROR_NO_DEVICE) {
    char const* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
    throw not_supported(
        text("looking for GPUs: the CUDA driver sees none") +
            (visible != nullptr ? text(" with CUDA_VISIBLE_DEVICES='") + visible +
                                      "'; name some that are there, or unset the variable"
                                : text("; see that nvidia-smi lists one")) +
            ", or set RANKSHARE_DRIVER=host to use host memory",
        "cuInit");
  }
  if (result != CUDA_SUCCESS) {
    throw not_supported("initialising the CUDA driver: it answered " + name_of(result) +
                            "; see that nvidia-smi works here, or set RANKSHARE_DRIVER=host to "
                            "use host memory",
                        "cuInit");
  }
  int count = 0;
  check(cu_.DeviceGetCount(&count), "cuDeviceGetCount", [] { return text("counting GPUs"); });
  primary_.resize(static_cast<std::size_t>(count));
}

// Errors.

text cuda_calls::name_of(CUresult result) const {
  char const* name = nullptr;
  cu_.GetErrorName(result, &name);
  return name != nullptr ? name : "error " + std::to_string(result);
}

void cuda_calls::fail(CUresult result, char const* api, text const& doing,
                      std::size_t bytes) const {
  auto const answer = doing + ": the CUDA driver answered " + name_of(result);
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      throw out_of_memory(answer + "; free some memory, or raise the max_size of the pool", bytes,
                          api);
    case CUDA_ERROR_INVALID_CONTEXT:
      throw no_context(answer +
                           ": a default stream was given, and no CUDA context is current in this "
                           "thread; make one current, or pass a stream",
                       api);
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
      throw capture_error(answer +
                              ": a stream is capturing a graph; do this before the capture "
                              "begins, or on another stream",
                          api);
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_NOT_PERMITTED:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
      throw not_supported(answer + "; the GPU or its driver does not serve this", api);
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_DEVICE:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_NOT_FOUND:
      throw invalid_argument(answer +
                                 "; see that what was passed belongs to this GPU and is not "
                                 "closed",
                             api);
    case CUDA_ERROR_DEINITIALIZED:
      throw not_supported(answer + ": the process is ending, and the driver is gone", api);
    default:
      throw cuda_error(result,
                       answer +
                           "; after a failed kernel every call fails: look for the first "
                           "error, for instance with compute-sanitizer",
                       api);
  }
}

bool cuda_calls::is_over() const noexcept { return fork_generation() != made_in_; }

void cuda_calls::check_not_forked(char const* doing) const {
  if (!is_over()) return;
  throw not_supported(text(doing) +
                      ": this process was forked from one that uses CUDA, which does not survive a "
                      "fork; start it with exec, or fork before the first use of a GPU");
}

// Devices.

int cuda_calls::device_count() { return static_cast<int>(primary_.size()); }

CUdevice cuda_calls::device_of(int ordinal) const {
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= primary_.size()) {
    throw invalid_argument("using GPU " + std::to_string(ordinal) + ": this process sees " +
                           std::to_string(primary_.size()) + ", numbered from 0");
  }
  CUdevice found = 0;
  check(cu_.DeviceGet(&found, ordinal), "cuDeviceGet",
        [&] { return "using GPU " + std::to_string(ordinal); });
  return found;
}

uuid cuda_calls::device_uuid(int device) {
  CUuuid answer{};
  check(cu_.DeviceGetUuid(&answer, device_of(device)), "cuDeviceGetUuid",
        [&] { return "asking GPU " + std::to_string(device) + " for its UUID"; });
  uuid result;
  static_assert(sizeof answer == sizeof result.bytes);
  std::memcpy(result.bytes.data(), &answer, sizeof answer);
  return result;
}

text cuda_calls::device_name(int device) {
  char answer[256] = "";
  check(cu_.DeviceGetName(answer, sizeof answer, device_of(device)), "cuDeviceGetName",
        [&] { return "asking GPU " + std::to_string(device) + " for its name"; });
  return answer;
}

int cuda_calls::device_numa_node(int device) {
  int node = -1;
  check(cu_.DeviceGetAttribute(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, device_of(device)),
        "cuDeviceGetAttribute",
        [&] { return "asking GPU " + std::to_string(device) + " for its NUMA node"; });
  return node;
}

// Contexts.

CUcontext cuda_calls::primary_context(int device) {
  auto const found = device_of(device);
  std::lock_guard const lock(mutex_);
  auto& known = primary_[static_cast<std::size_t>(device)];
  if (known == nullptr) {
    check(cu_.DevicePrimaryCtxRetain(&known, found), "cuDevicePrimaryCtxRetain",
          [&] { return "using GPU " + std::to_string(device); });
  }
  return known;
}

CUctx_st* cuda_calls::ctx_get_current() {
  if (is_over()) return nullptr;
  CUcontext current = nullptr;
  auto const result = cu_.CtxGetCurrent(&current);
  if (result == CUDA_ERROR_DEINITIALIZED) return nullptr;
  check(result, "cuCtxGetCurrent", [] { return text("asking for the current CUDA context"); });
  return current;
}

void cuda_calls::ctx_push_current(CUctx_st* context) {
  if (is_over()) return;
  auto const result = cu_.CtxPushCurrent(context);
  if (result == CUDA_ERROR_DEINITIALIZED) return;
  check(result, "cuCtxPushCurrent", [] { return text("making a CUDA context current"); });
}

void cuda_calls::ctx_pop_current() {
  if (is_over()) return;
  CUcontext popped = nullptr;
  auto const result = cu_.CtxPopCurrent(&popped);
  if (result == CUDA_ERROR_DEINITIALIZED) return;
  check(result, "cuCtxPopCurrent", [] { return text("restoring the current CUDA context"); });
}

}  // namespace rankshare::detail

#endif  // RANKSHARE_HAS_CUDA
