// SPDX-License-Identifier: Apache-2.0
#include <rankshare/handle/kernels.hpp>

#include <utility>

#include <rankshare/base/error.hpp>
#include <rankshare/base/log.hpp>
#include <rankshare/handle/stream_order.hpp>

namespace rankshare {
namespace {

CUmod_st* load(device where, void const* image) {
  if (image == nullptr) {
    throw not_supported(
        "loading kernels: this program was built without nvcc, and has none; install a CUDA "
        "toolkit, set CUDA_HOME if it is not in /usr/local/cuda, and build again");
  }
  return where.driver().module_load_data(where.id(), image);
}

}  // namespace

void kernel::launch_with(stream_ref stream, launch_shape const& shape, void** arguments) const {
  detail::stream_order const order(stream, where_);
  where_.driver().launch_kernel(function_, shape, arguments, order.handle());
}

kernel_module::kernel_module(device where, void const* image)
    : where_(where), handle_(load(where, image)) {}

kernel_module::kernel_module(kernel_module&& other) noexcept
    : where_(other.where_), handle_(std::exchange(other.handle_, nullptr)) {}

kernel_module::~kernel_module() {
  if (handle_ == nullptr) return;
  try {
    where_.driver().module_unload(handle_);
  } catch (...) {
    detail::log_once(log_level::error, "module_unload",
                     "unloading kernels: " + current_error_text());
  }
}

kernel kernel_module::find(char const* name) const {
  return {where_, where_.driver().module_get_function(handle_, name)};
}

}  // namespace rankshare
