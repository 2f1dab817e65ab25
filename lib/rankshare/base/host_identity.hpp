// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which machine and which namespaces this process is in.
#pragma once

#include <cstdint>

#include <rankshare/base/uuid.hpp>

namespace rankshare {

/// Names a running machine, and the namespaces that bound what a process can reach on it.
struct host_identity {
  uuid boot;                         ///< the kernel's boot id; host names repeat, this does not
  std::uint64_t pid_namespace = 0;   ///< inode of the PID namespace
  std::uint64_t user_namespace = 0;  ///< inode of the user namespace

  /// @return the identity of the calling process
  /// @throws system_error if /proc is not mounted, or no file descriptors are left
  /// @par Source
  /// proc(5), /proc/sys/kernel/random/boot_id; namespaces(7).
  RANKSHARE_EXPORT static host_identity of_this_process();

  friend bool operator==(host_identity const& a, host_identity const& b) noexcept {
    return a.boot == b.boot && a.pid_namespace == b.pid_namespace &&
           a.user_namespace == b.user_namespace;
  }
  friend bool operator!=(host_identity const& a, host_identity const& b) noexcept {
    return !(a == b);
  }
};

}  // namespace rankshare
