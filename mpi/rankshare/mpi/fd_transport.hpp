// SPDX-License-Identifier: Apache-2.0
/// @file
/// How a file descriptor gets from one rank to another. Not for users.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <unordered_map>

#include <rankshare/base/unique_fd.hpp>
#include <rankshare/mpi/process_record.hpp>

namespace rankshare::mpi::detail {

/// Fetches descriptors of other ranks by `pidfd_getfd`.
///
/// @par Thread safety
/// One thread at a time.
class RANKSHARE_EXPORT fd_transport {
 public:
  /// Name of the way that is used, for messages.
  static constexpr char name[] = "pidfd_getfd";

  /// Gets hold of the process that has the pid of `owner`, unless it is held already. Up to
  /// `kept_pidfds` processes are held.
  ///
  /// @return whether it was not held before; then the caller makes sure that `owner` still lives,
  ///         so that the pid is its own
  /// @throws not_supported if the kernel is too old, or the process is in another PID namespace
  /// @throws system_error  if it is gone, or no descriptors are left here
  bool connect(process_record const& owner);

  /// Fetches descriptor `fd` of a process. The caller makes sure that it is what it should be.
  ///
  /// @throws not_supported      if the kernel is too old, or the process is in another PID
  ///                            namespace
  /// @throws system_error       if this process may not, or has no descriptors left
  /// @throws stale_descriptor   if `fd` is not open there
  /// @throws invalid_descriptor if `fd` is that of a board
  unique_fd fetch(process_record const& owner, int fd);

 private:
  static constexpr std::size_t kept_pidfds = 64;

  std::unordered_map<pid_t, unique_fd> pidfds_;
};

}  // namespace rankshare::mpi::detail
