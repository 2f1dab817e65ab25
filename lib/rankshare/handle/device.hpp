// SPDX-License-Identifier: Apache-2.0
/// @file
/// Where memory is: a GPU, or the host.
#pragma once

#include <string>

#include <rankshare/base/export.hpp>

namespace rankshare {

class driver;

/// Names a device and the driver that serves it. A cheap value.
class RANKSHARE_EXPORT device {
 public:
  /// @return the host: its memory is reached by every process of the machine
  /// @throws invalid_argument if an environment variable of rankshare has a value that is not
  ///                          allowed
  static device host();

  /// @return number of GPUs that this process may use; 0 without any
  /// @throws not_supported    if `RANKSHARE_DRIVER=cuda` and there is none
  /// @throws invalid_argument as `host`
  static int count();

  /// @return ordinal of the GPU, from 0; -1 for the host
  int id() const noexcept { return id_; }
  /// @return whether this is the host
  bool is_host() const noexcept { return id_ < 0; }
  /// @return the driver that serves the device
  rankshare::driver& driver() const noexcept { return *driver_; }
  /// @return a name for messages, such as "host memory"
  std::string description() const;

  friend bool operator==(device a, device b) noexcept {
    return a.driver_ == b.driver_ && a.id_ == b.id_;
  }
  friend bool operator!=(device a, device b) noexcept { return !(a == b); }

 private:
  device(rankshare::driver& served_by, int id) noexcept : driver_(&served_by), id_(id) {}

  rankshare::driver* driver_;
  int id_;
};

}  // namespace rankshare
