// SPDX-License-Identifier: Apache-2.0
#include <rankshare/handle/device.hpp>

#include <rankshare/base/error.hpp>
#include <rankshare/base/settings.hpp>
#include <rankshare/driver/host_driver.hpp>

namespace rankshare {

device device::host() {
  current_settings();  // a wrong variable is an error at the first use of the library
  return {detail::current_host_driver(), -1};
}

int device::count() {
  if (current_settings().driver == driver_choice::cuda) {
    throw not_supported(
        "looking for GPUs: RANKSHARE_DRIVER=cuda asks for one, and this version of "
        "rankshare serves host memory only; unset the variable to use host memory");
  }
  return 0;
}

std::string device::description() const {
  return is_host() ? "host memory" : "memory of GPU " + std::to_string(id_);
}

}  // namespace rankshare
