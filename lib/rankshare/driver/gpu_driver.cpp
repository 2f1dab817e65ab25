// SPDX-License-Identifier: Apache-2.0
#include <rankshare/driver/gpu_driver.hpp>

#include <dlfcn.h>

#include <atomic>

#include <rankshare/base/error.hpp>
#include <rankshare/base/settings.hpp>
#include <rankshare/driver/cuda_driver.hpp>
#include <rankshare/driver/host_driver.hpp>

namespace rankshare::detail {
namespace {

std::atomic<driver*> replaced{nullptr};
std::atomic<bool> asked_for{false};

// Whether anybody in this process has loaded the CUDA driver, this library or the CUDA runtime.
bool cuda_is_loaded() noexcept {
  if (cuda_driver_was_asked_for()) return true;
  void* const loaded = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (loaded == nullptr) return false;
  ::dlclose(loaded);
  return true;
}

}  // namespace

gpu_driver gpu_driver::of_this_process() {
  auto const& wanted = current_settings();
  asked_for.store(true, std::memory_order_relaxed);
  if (auto* const other = replaced.load(std::memory_order_acquire)) return {other, {}};
  if (wanted.host_devices > 0) return {&current_host_driver(), {}};
  if (wanted.driver == driver_choice::host) {
    return {nullptr, "RANKSHARE_DRIVER=host hides GPUs; unset it to use them"};
  }
  try {
    return {&cuda_driver(), {}};
  } catch (not_supported const& why) {
    if (wanted.driver == driver_choice::cuda) {
      throw not_supported(std::string("RANKSHARE_DRIVER=cuda asks for a GPU: ") + why.what(),
                          why.api());
    }
    return {nullptr, why.what()};
  }
}

bool gpu_driver::was_asked_for() noexcept { return asked_for.load(std::memory_order_relaxed); }

driver* gpu_driver::in_use() noexcept {
  try {
    auto const& wanted = current_settings();
    if (auto* const other = replaced.load(std::memory_order_acquire)) return other;
    if (wanted.host_devices > 0) return &current_host_driver();
    if (wanted.driver == driver_choice::host || !cuda_is_loaded()) return nullptr;
    return &cuda_driver();
  } catch (...) {
    return nullptr;
  }
}

driver* replace_gpu_driver(driver* replacement) noexcept { return replaced.exchange(replacement); }

}  // namespace rankshare::detail
