// SPDX-License-Identifier: Apache-2.0
#include <rankshare/base/settings.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

#include <rankshare/base/error.hpp>
#include <rankshare/base/log.hpp>

namespace rankshare {
namespace {

constexpr std::array<std::string_view, 5> known_variables = {
    "RANKSHARE_DRIVER",      "RANKSHARE_HOST_DEVICES", "RANKSHARE_LOG",
    "RANKSHARE_REQUIRE_GPU",  // read by the tests
    "RANKSHARE_TIMEOUT",
};

[[noreturn]] void reject(std::string_view name, std::string_view value, std::string_view allowed) {
  throw invalid_argument("reading the environment: " + std::string(name) + "='" +
                             std::string(value) + "' is not allowed; set it to " +
                             std::string(allowed) + ", or unset it",
                         "getenv");
}

void report_unknown_variables() {
  std::string known;
  for (auto const name : known_variables) known += (known.empty() ? "" : ", ") + std::string(name);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view const text(*entry);
    auto const name = text.substr(0, text.find('='));
    if (name.substr(0, 10) != "RANKSHARE_") continue;
    if (std::find(known_variables.begin(), known_variables.end(), name) != known_variables.end()) {
      continue;
    }
    detail::log_once(log_level::error, "variable " + std::string(name),
                     "warning: the environment variable " + std::string(name) +
                         " is unknown and has no effect; known are " + known);
  }
}

driver_choice parse_driver(std::string_view value) {
  if (value == "host") return driver_choice::host;
  if (value == "cuda") return driver_choice::cuda;
  reject("RANKSHARE_DRIVER", value, "'host' or 'cuda'");
}

void check_log(std::string_view value) {
  for (std::string_view const allowed : {"off", "error", "info", "trace"}) {
    if (value == allowed) return;
  }
  reject("RANKSHARE_LOG", value, "'off', 'error', 'info' or 'trace'");
}

std::chrono::milliseconds parse_timeout(std::string_view value) {
  constexpr double longest = 1e-3 * static_cast<double>(settings::longest_timeout.count());
  std::string const text(value);
  char* end = nullptr;
  double const seconds = std::strtod(text.c_str(), &end);
  bool const whole = !text.empty() && end == text.c_str() + text.size();
  if (!whole || !std::isfinite(seconds) || seconds <= 0 || seconds > longest) {
    reject("RANKSHARE_TIMEOUT", value, "a number of seconds above 0 and at most 1e9");
  }
  return std::chrono::milliseconds(static_cast<long long>(std::ceil(seconds * 1000)));
}

int parse_host_devices(std::string_view value) {
  int count = 0;
  auto const [end, failure] = std::from_chars(value.data(), value.data() + value.size(), count);
  bool const whole = failure == std::errc() && end == value.data() + value.size();
  if (!whole || count < 0 || count > settings::most_host_devices) {
    reject("RANKSHARE_HOST_DEVICES", value,
           "a number of emulated devices from 0 to " + std::to_string(settings::most_host_devices));
  }
  return count;
}

}  // namespace

settings settings::from_environment() {
  report_unknown_variables();
  settings result;
  if (char const* value = std::getenv("RANKSHARE_DRIVER")) result.driver = parse_driver(value);
  if (char const* value = std::getenv("RANKSHARE_LOG")) check_log(value);
  if (char const* value = std::getenv("RANKSHARE_TIMEOUT")) result.timeout = parse_timeout(value);
  if (char const* value = std::getenv("RANKSHARE_HOST_DEVICES")) {
    result.host_devices = parse_host_devices(value);
    if (result.host_devices > 0 && result.driver == driver_choice::cuda) {
      reject("RANKSHARE_HOST_DEVICES", value, "0 where RANKSHARE_DRIVER=cuda asks for real GPUs");
    }
  }
  return result;
}

settings const& current_settings() {
  static auto* const instance = new settings(settings::from_environment());
  return *instance;
}

}  // namespace rankshare
