// SPDX-License-Identifier: Apache-2.0
/// @file
/// What happens when a process runs out of file descriptors.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>

#include <exception>

#include <rankshare/base/unique_fd.hpp>

namespace rankshare::test {

/// Runs a call while this process may open few further file descriptors.
///
/// @param left how many
/// @return what the call threw; null if it threw nothing. It is to be looked at afterwards:
///         sanitizers need descriptors for that.
template <class Call>
std::exception_ptr run_with_fds_left(int left, Call const& call) {
  int const next = unique_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)).get();
  rlimit former{};
  ::getrlimit(RLIMIT_NOFILE, &former);
  rlimit const few{static_cast<rlim_t>(next + left), former.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &few);
  std::exception_ptr thrown;
  try {
    call();
  } catch (...) {
    thrown = std::current_exception();
  }
  ::setrlimit(RLIMIT_NOFILE, &former);
  return thrown;
}

}  // namespace rankshare::test
