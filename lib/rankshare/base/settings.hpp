// SPDX-License-Identifier: Apache-2.0
/// @file
/// The environment variables of rankshare, read once and checked.
#pragma once

#include <chrono>
#include <optional>

#include <rankshare/base/export.hpp>

namespace rankshare {

/// Which driver serves the devices; `RANKSHARE_DRIVER`.
enum class driver_choice {
  automatic,  ///< GPUs where there are any, else host memory (default)
  host,       ///< hide the GPUs
  cuda,       ///< the absence of a GPU is an error
};

/// What the environment asks for.
struct settings {
  driver_choice driver = driver_choice::automatic;
  /// Longest wait for another rank; none: as long as it lives. `RANKSHARE_TIMEOUT`, in seconds.
  std::optional<std::chrono::milliseconds> timeout;
  /// Number of emulated devices that take the place of GPUs, for tests; 0: none.
  /// `RANKSHARE_HOST_DEVICES`.
  int host_devices = 0;

  /// Most emulated devices.
  static constexpr int most_host_devices = 64;
  /// Longest limit that can be set.
  static constexpr std::chrono::milliseconds longest_timeout{1'000'000'000'000};

  /// Reads the environment again. An unknown variable whose name begins with `RANKSHARE_` is
  /// reported once through the log handler.
  ///
  /// @throws invalid_argument if a variable has a value that is not allowed; names the allowed ones
  RANKSHARE_EXPORT static settings from_environment();
};

/// @return the settings of this process, read at the first call
/// @throws invalid_argument as `settings::from_environment`, at every call until the value is
///                          mended
RANKSHARE_EXPORT settings const& current_settings();

}  // namespace rankshare
