// SPDX-License-Identifier: Apache-2.0
#include <rankshare/driver/cuda_driver.hpp>

#include <atomic>
#include <mutex>
#include <string>

#include <rankshare/base/error.hpp>
#include <rankshare/base/process.hpp>
#include <rankshare/driver/cuda_calls.hpp>

namespace rankshare::detail {
namespace {

// Never destroyed: buffers may outlive statics.
struct loaded_driver {
  std::mutex mutex;
  std::uint64_t made_in = 0;  // fork_generation()
  std::unique_ptr<driver> made;
  std::string failure;  // why there is none
};

loaded_driver& state() {
  static auto* const instance = new loaded_driver;
  return *instance;
}

std::atomic<bool> asked_for{false};

void load(loaded_driver& into) {
  try {
    into.made = load_cuda_driver("libcuda.so.1");
  } catch (not_supported const& why) {
    into.failure = why.what();
  }
  into.made_in = fork_generation();
}

}  // namespace

driver& cuda_driver() {
  asked_for.store(true, std::memory_order_relaxed);
  auto& known = state();
  std::lock_guard const lock(known.mutex);
  if (known.made == nullptr && known.failure.empty()) load(known);
  if (known.made == nullptr) throw not_supported(known.failure);
  if (known.made_in != fork_generation()) {
    throw not_supported(
        "using a GPU: this process was forked from one that uses CUDA, which does not survive a "
        "fork; start it with exec, or fork before the first use of a GPU");
  }
  return *known.made;
}

bool cuda_driver_was_asked_for() noexcept { return asked_for.load(std::memory_order_relaxed); }

#if RANKSHARE_HAS_CUDA

std::unique_ptr<driver> load_cuda_driver(char const* library) {
  return std::make_unique<cuda_calls>(cuda_functions::load(library));
}

#else

std::unique_ptr<driver> load_cuda_driver(char const*) {
  throw not_supported(
      "loading the CUDA driver: this rankshare was built without the headers of CUDA 12.3 or "
      "later; "
      "install a CUDA toolkit, set CUDA_HOME if it is not in /usr/local/cuda, and build again");
}

#endif

}  // namespace rankshare::detail
