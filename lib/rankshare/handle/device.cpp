// SPDX-License-Identifier: Apache-2.0
#include <rankshare/handle/device.hpp>

#include <rankshare/base/error.hpp>
#include <rankshare/base/settings.hpp>
#include <rankshare/driver/driver.hpp>
#include <rankshare/driver/gpu_driver.hpp>
#include <rankshare/driver/host_driver.hpp>

namespace rankshare {

using detail::gpu_driver;

device device::host() {
  current_settings();  // a wrong variable is an error at the first use of the library
  return {detail::current_host_driver(), -1};
}

device device::gpu(int ordinal) {
  auto const found = gpu_driver::of_this_process();
  if (found.served_by == nullptr) {
    throw not_supported("using GPU " + std::to_string(ordinal) + ": " + found.why_none);
  }
  int const count = found.served_by->device_count();
  if (ordinal >= 0 && ordinal < count) return {*found.served_by, ordinal};
  throw invalid_argument("using GPU " + std::to_string(ordinal) + ": this process sees " +
                         std::to_string(count) +
                         ", numbered from 0; pass one of them, or change CUDA_VISIBLE_DEVICES");
}

std::optional<device> device::find_gpu(rankshare::uuid const& id) {
  auto const found = gpu_driver::of_this_process();
  if (found.served_by == nullptr) return std::nullopt;
  for (int ordinal = 0; ordinal < found.served_by->device_count(); ++ordinal) {
    if (found.served_by->device_uuid(ordinal) == id) return device(*found.served_by, ordinal);
  }
  return std::nullopt;
}

int device::count() {
  auto const found = gpu_driver::of_this_process();
  return found.served_by != nullptr ? found.served_by->device_count() : 0;
}

std::string device::why_no_gpu() {
  auto const found = gpu_driver::of_this_process();
  if (found.served_by == nullptr) return found.why_none;
  return found.served_by->device_count() > 0 ? "" : "CUDA_VISIBLE_DEVICES hides all of them";
}

uuid device::uuid() const { return is_host() ? rankshare::uuid{} : driver_->device_uuid(id_); }

std::string device::description() const {
  if (is_host()) return "host memory";
  auto const number = "memory of GPU " + std::to_string(id_);
  try {
    return number + " (" + driver_->device_name(id_) + ")";
  } catch (...) {
    return number;  // it is for messages: the driver may be gone
  }
}

std::string detail::describe(memory_kind kind, device where) {
  return kind == memory_kind::pinned ? "pinned host memory beside the " + where.description()
                                     : where.description();
}

}  // namespace rankshare
