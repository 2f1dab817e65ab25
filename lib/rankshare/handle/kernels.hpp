// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels that a program carries, loaded without the CUDA runtime.
#pragma once

#include <array>

#include <rankshare/handle/device.hpp>
#include <rankshare/handle/stream_ref.hpp>

namespace rankshare {

/// A kernel of a `kernel_module`, which must outlive its use.
class RANKSHARE_EXPORT kernel {
 public:
  /// Not for users: `kernel_module::find` makes them.
  kernel(device where, CUfunc_st* function) noexcept : where_(where), function_(function) {}

  /// Enqueues a launch.
  ///
  /// @param stream    orders the work; of the device that the kernels were loaded for
  /// @param shape     blocks and threads
  /// @param arguments of the types that the kernel takes, in order: nothing is converted
  /// @throws invalid_argument if the shape is not one that the GPU can run
  template <class... Arguments>
  void launch(stream_ref stream, launch_shape const& shape, Arguments... arguments) const {
    std::array<void*, sizeof...(Arguments) + 1> addresses{&arguments..., nullptr};
    launch_with(stream, shape, addresses.data());
  }

 private:
  void launch_with(stream_ref stream, launch_shape const& shape, void** arguments) const;

  device where_;
  CUfunc_st* function_;
};

/// Owns kernels that are loaded on one GPU. Move-only.
class RANKSHARE_EXPORT kernel_module {
 public:
  /// Loads kernels.
  ///
  /// @param where a GPU
  /// @param image a cubin, a fatbin or the text of a PTX file; not null
  /// @throws not_supported    if it holds no code for the GPU, or is null: the build had no nvcc
  kernel_module(device where, void const* image);
  kernel_module(kernel_module&& other) noexcept;
  kernel_module& operator=(kernel_module&&) = delete;
  ~kernel_module();

  /// @param name of an `extern "C"` kernel
  /// @throws invalid_argument if there is none of that name
  kernel find(char const* name) const;

 private:
  device where_;
  CUmod_st* handle_;
};

}  // namespace rankshare
