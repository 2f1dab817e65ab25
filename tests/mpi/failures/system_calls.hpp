// SPDX-License-Identifier: Apache-2.0
/// @file
/// Lets a test look at the system calls that this program makes through syscall(2).
#pragma once

#include <array>
#include <functional>

namespace rankshare::test {

/// Sees each such call just before it is made: rankshare's futex and pidfd calls.
///
/// @par Thread safety
/// Hooks may be called from any thread, also at once; they come and go in one thread.
class system_call_hook {
 public:
  using arguments = std::array<long, 6>;
  using function = std::function<void(long number, arguments const& passed)>;

  /// @param seen called from now on until this goes
  explicit system_call_hook(function seen);
  ~system_call_hook();
  system_call_hook(system_call_hook const&) = delete;
  system_call_hook& operator=(system_call_hook const&) = delete;

 private:
  function seen_;
};

}  // namespace rankshare::test
