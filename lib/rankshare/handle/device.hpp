// SPDX-License-Identifier: Apache-2.0
/// @file
/// Where memory is: a GPU, or the host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <rankshare/base/export.hpp>
#include <rankshare/base/uuid.hpp>

namespace rankshare {

class driver;
enum class memory_kind : std::uint8_t;

/// Names a device and the driver that serves it. A cheap value.
///
/// An ordinal means another GPU in another process, where `CUDA_VISIBLE_DEVICES` says otherwise;
/// the UUID means the same one.
class RANKSHARE_EXPORT device {
 public:
  /// @return the host: its memory is reached by every process of the machine
  /// @throws invalid_argument if an environment variable of rankshare has a value that is not
  ///                          allowed
  static device host();

  /// Looks at the GPUs of this process, which initialises CUDA.
  ///
  /// @param ordinal from 0 to below `count()`
  /// @throws not_supported    if there is no GPU; says why, and what to change
  /// @throws invalid_argument if there are GPUs, but none of that number; otherwise as `host`
  static device gpu(int ordinal);

  /// @return the GPU of that UUID; none if this process does not see it
  /// @throws not_supported, invalid_argument as `count`
  static std::optional<device> find_gpu(rankshare::uuid const& id);

  /// @return number of GPUs that this process may use; 0 without any. Initialises CUDA.
  /// @throws not_supported    if `RANKSHARE_DRIVER=cuda` and there is none
  /// @throws invalid_argument as `host`
  static int count();

  /// @return why `count()` is 0, and what to change; empty if it is not
  /// @throws not_supported, invalid_argument as `count`
  static std::string why_no_gpu();

  /// @return ordinal of the GPU, from 0; -1 for the host
  int id() const noexcept { return id_; }
  /// @return whether this is the host
  bool is_host() const noexcept { return id_ < 0; }
  /// @return the GPU's identity in all processes; nil for the host
  rankshare::uuid uuid() const;
  /// @return the driver that serves the device
  rankshare::driver& driver() const noexcept { return *driver_; }
  /// @return a name for messages, such as "host memory" or "memory of GPU 0 (NVIDIA H200)"
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

namespace detail {

/// @return a name for memory of a kind that `where` serves, for messages
RANKSHARE_EXPORT std::string describe(memory_kind kind, device where);

}  // namespace detail

}  // namespace rankshare
