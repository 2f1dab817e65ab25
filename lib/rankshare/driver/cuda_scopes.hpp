// SPDX-License-Identifier: Apache-2.0
/// @file
/// What holds for the time of one call of the CUDA driver. Not for users.
#pragma once

#include <rankshare/driver/cuda_functions.hpp>

#if RANKSHARE_HAS_CUDA

namespace rankshare::detail {

/// A context is current in this thread while it lives; then the one from before is.
class context_scope {
 public:
  context_scope(cuda_functions const& cu, CUcontext context) noexcept
      : cu_(cu), pushed_(cu.CtxPushCurrent(context)) {}
  ~context_scope() {
    CUcontext popped = nullptr;
    if (pushed_ == CUDA_SUCCESS) cu_.CtxPopCurrent(&popped);
  }
  context_scope(context_scope const&) = delete;
  context_scope& operator=(context_scope const&) = delete;

  /// @return what the driver answered to making the context current
  CUresult result() const noexcept { return pushed_; }

 private:
  cuda_functions const& cu_;
  CUresult pushed_;
};

/// Calls of this thread do not disturb captures of other streams while it lives.
class relaxed_capture {
 public:
  explicit relaxed_capture(cuda_functions const& cu) noexcept : cu_(cu) {
    changed_ = cu_.ThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS;
  }
  ~relaxed_capture() {
    if (changed_) cu_.ThreadExchangeStreamCaptureMode(&mode_);
  }
  relaxed_capture(relaxed_capture const&) = delete;
  relaxed_capture& operator=(relaxed_capture const&) = delete;

 private:
  cuda_functions const& cu_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool changed_;
};

}  // namespace rankshare::detail

#endif  // RANKSHARE_HAS_CUDA
