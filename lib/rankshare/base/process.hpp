// SPDX-License-Identifier: Apache-2.0
/// @file
/// Other processes of this machine: who they are, whether they live, and their file descriptors.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include <rankshare/base/unique_fd.hpp>

namespace rankshare {

/// Tells a forked child from its parent: what shares memory with other processes remembers the
/// number, and is inert where it is another one.
///
/// @return a number that is larger in a forked child than in its parent
/// @par Source
/// pthread_atfork(3).
RANKSHARE_EXPORT std::uint64_t fork_generation() noexcept;

/// @return the time at which process `pid` started, in clock ticks since boot; together with the
///         pid it names a process for as long as the machine runs. 0 if there is no such process.
/// @par Source
/// proc(5), /proc/pid/stat field 22.
RANKSHARE_EXPORT std::uint64_t process_start_time(pid_t pid);

/// @return one line of what /proc says of process `pid` (state and wait channel), for reports
RANKSHARE_EXPORT std::string process_state(pid_t pid);

/// Opens a descriptor that stands for process `pid` as long as it is held, and that becomes
/// readable when the process has ended.
///
/// @throws not_supported if the kernel is older than Linux 5.3
/// @throws system_error  ESRCH: no such process; EMFILE: no descriptors left; EPERM: it is
///                       forbidden
/// @par Source
/// pidfd_open(2).
RANKSHARE_EXPORT unique_fd open_pidfd(pid_t pid);

/// @return whether the process behind `pidfd` has ended and its memory is released
RANKSHARE_EXPORT bool has_exited(int pidfd);

/// Fetches a copy of descriptor `fd` of the process behind `pidfd`; close-on-exec.
///
/// @param pidfd from `open_pidfd`
/// @param fd    number of the descriptor in that process
/// @param pid   of that process, for the message
/// @throws not_supported    if the kernel is older than Linux 5.6
/// @throws system_error     EPERM: this process may not trace that one; ESRCH: it is gone; EMFILE:
///                          no descriptors are left here
/// @throws stale_descriptor if `fd` is not open there
/// @par Source
/// pidfd_getfd(2).
RANKSHARE_EXPORT unique_fd fetch_fd(int pidfd, int fd, pid_t pid);

}  // namespace rankshare
