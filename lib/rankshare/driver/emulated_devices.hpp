// SPDX-License-Identifier: Apache-2.0
/// @file
/// The devices that the host driver emulates, for tests on machines without GPUs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <rankshare/base/export.hpp>
#include <rankshare/base/uuid.hpp>
#include <rankshare/driver/driver.hpp>

namespace rankshare {

/// One of the emulated devices, or the host.
struct emulated_device {
  int ordinal = -1;  ///< in this process; -1: the host
  int number = -1;   ///< in the machine, whatever the process sees of it; -1: the host
};

/// The devices that a process sees, in its order. An immutable value.
class RANKSHARE_EXPORT emulated_devices {
 public:
  /// None.
  emulated_devices() = default;

  /// @param count   devices of the machine, 0 to `settings::most_host_devices`
  /// @param visible which of them the process sees, and in which order, as `CUDA_VISIBLE_DEVICES`
  ///                says it with numbers: a device that is not there ends the list, a repeated one
  ///                leaves none. None: all
  /// @throws invalid_argument if `count` is outside its range
  /// @par Source
  /// CUDA C++ Programming Guide, CUDA environment variables.
  explicit emulated_devices(int count, std::optional<std::string> const& visible = std::nullopt);

  /// @return those that `RANKSHARE_HOST_DEVICES` and `CUDA_VISIBLE_DEVICES` name, read at the first
  ///         call
  /// @throws invalid_argument as `current_settings`
  static emulated_devices const& of_this_process();

  /// @return number of devices that the process sees
  int count() const noexcept { return static_cast<int>(visible_.size()); }

  /// @param ordinal from 0 to below `count()`
  /// @param doing   what this is for, for messages
  /// @throws invalid_argument if there is no such device; says how many there are
  emulated_device at(int ordinal, char const* doing) const;

  /// @return where the memory of a pool lives, as every process of the machine calls it: the number
  ///         of the device, or the NUMA node
  /// @param kind     device or pinned
  /// @param location ordinal of the device, or NUMA node, of which there is one: 0
  /// @throws invalid_argument if there are no devices, or not that one
  int place_of(memory_kind kind, int location) const;

 private:
  std::vector<int> visible_;  // numbers in the machine
};

/// @return the identity of a device: it differs between devices, and is the same in all processes
RANKSHARE_EXPORT uuid uuid_of(emulated_device device) noexcept;

/// @return "emulated device 1"; "the host"
RANKSHARE_EXPORT std::string name_of(emulated_device device);

}  // namespace rankshare
