// SPDX-License-Identifier: Apache-2.0
#include <rankshare/driver/emulated_devices.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <sstream>

#include <rankshare/base/error.hpp>
#include <rankshare/base/settings.hpp>

namespace rankshare {
namespace {

std::vector<int> all_of(int count) {
  std::vector<int> numbers;
  for (int number = 0; number < count; ++number) numbers.push_back(number);
  return numbers;
}

// As CUDA reads it: what stands behind the digits is ignored, so that "1gpu" is 1.
std::vector<int> listed_in(std::string const& list, int count) {
  std::vector<int> numbers;
  std::istringstream items(list);
  for (std::string item; std::getline(items, item, ',');) {
    char* end = nullptr;
    long const number = std::strtol(item.c_str(), &end, 10);
    if (end == item.c_str() || number < 0 || number >= count) break;
    auto const known = static_cast<int>(number);
    if (std::find(numbers.begin(), numbers.end(), known) != numbers.end()) return {};
    numbers.push_back(known);
  }
  return numbers;
}

emulated_devices read_environment() {
  char const* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return emulated_devices(current_settings().host_devices,
                          visible != nullptr ? std::optional<std::string>(visible) : std::nullopt);
}

std::string none_but_host(std::string const& doing) {
  return doing +
         ": the host driver serves host memory only; choose a device that is a GPU, or set "
         "RANKSHARE_HOST_DEVICES to emulate some";
}

}  // namespace

emulated_devices::emulated_devices(int count, std::optional<std::string> const& visible) {
  if (count < 0 || count > settings::most_host_devices) {
    throw invalid_argument("emulating " + std::to_string(count) + " devices: there may be 0 to " +
                           std::to_string(settings::most_host_devices));
  }
  visible_ = visible ? listed_in(*visible, count) : all_of(count);
}

emulated_devices const& emulated_devices::of_this_process() {
  static auto* const instance = new emulated_devices(read_environment());
  return *instance;
}

emulated_device emulated_devices::at(int ordinal, char const* doing) const {
  if (ordinal >= 0 && ordinal < count()) {
    return {ordinal, visible_[static_cast<std::size_t>(ordinal)]};
  }
  auto const text = std::string(doing) + ": there is no device " + std::to_string(ordinal);
  if (count() == 0) {
    throw invalid_argument(text +
                           ", this process sees 0 emulated devices; set RANKSHARE_HOST_DEVICES to "
                           "have some, or change CUDA_VISIBLE_DEVICES if it hides them");
  }
  throw invalid_argument(text + ", this process sees " + std::to_string(count()) +
                         " emulated devices, numbered from 0; pass one of them, or change "
                         "CUDA_VISIBLE_DEVICES");
}

int emulated_devices::place_of(memory_kind kind, int location) const {
  bool const is_device = kind == memory_kind::device;
  char const* const doing =
      is_device ? "making a pool of device memory" : "making a pool of pinned memory";
  if (count() == 0) throw invalid_argument(none_but_host(doing));
  if (is_device) return at(location, doing).number;
  if (location == 0) return location;
  throw invalid_argument(std::string(doing) + ": there is no NUMA node " +
                         std::to_string(location) +
                         " beside the emulated devices; pass 0, the only one");
}

uuid uuid_of(emulated_device device) noexcept {
  // A uuid of version 8, whose bytes are its maker's to choose: "rankshare emu" and the number.
  return {{'r', 'a', 'n', 'k', 's', 'h', 0x80, 'a', 0x80, 'r', 'e', 'e', 'm', 'u', 0,
           static_cast<std::uint8_t>(device.number)}};
}

std::string name_of(emulated_device device) {
  return device.ordinal < 0 ? "the host" : "emulated device " + std::to_string(device.number);
}

}  // namespace rankshare
