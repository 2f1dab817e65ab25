// SPDX-License-Identifier: Apache-2.0
/// @file
/// How a file descriptor gets from one rank to another. Not for users.
#pragma once

#include <rankshare/base/unique_fd.hpp>
#include <rankshare/mpi/process_record.hpp>

namespace rankshare::mpi::detail {

/// Fetches descriptors of other ranks by `pidfd_getfd`.
struct RANKSHARE_EXPORT fd_transport {
  /// Name of the way that is used, for messages.
  static constexpr char name[] = "pidfd_getfd";

  /// Fetches descriptor `fd` of the process that has the pid of `owner`. The caller makes sure that
  /// it is still that process, and that the descriptor is what it should be.
  ///
  /// @throws not_supported      if the kernel is too old, or the process is in another PID
  /// namespace
  /// @throws system_error       if this process may not, or has no descriptors left
  /// @throws stale_descriptor   if `fd` is not open there
  /// @throws invalid_descriptor if `fd` is that of a board
  static unique_fd fetch(process_record const& owner, int fd);
};

}  // namespace rankshare::mpi::detail
