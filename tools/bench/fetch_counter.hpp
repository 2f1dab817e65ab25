// SPDX-License-Identifier: Apache-2.0
/// @file
/// Counts the file descriptors that this process fetches from others. A program that links it gets
/// its own `syscall`, which passes every call on.
#pragma once

namespace rankshare::bench {

/// @return calls of pidfd_getfd by this process so far
long fetch_calls() noexcept;

}  // namespace rankshare::bench
