// SPDX-License-Identifier: Apache-2.0
/// @file
/// Other processes of a test: the test program itself, started anew in a role.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include <support/channel.hpp>

namespace rankshare::test {

/// What a child does; its result is the exit status. An exception is printed, and 1.
using role_function = int (*)(channel& parent);

/// Makes a role known, before main: `role const exporter("exporter", [](channel& parent) {...});`
struct role {
  role(char const* name, role_function function);
};

/// A child in a role. It dies with the test program.
class child_process {
 public:
  explicit child_process(std::string const& role_name);
  child_process(child_process&&) = delete;
  /// Ends the child if it still runs.
  ~child_process();

  pid_t pid() const noexcept { return pid_; }
  channel& talk() noexcept { return *talk_; }

  /// Waits until the child ends by itself; ends it at the deadline.
  /// @return exit status; 128 + signal if a signal ended it
  int wait();

  /// Ends the child with SIGKILL, and waits until its memory is released and its pid is free.
  void kill();

 private:
  void reap();

  pid_t pid_ = -1;
  std::optional<int> status_;
  std::optional<channel> talk_;
};

/// @return the exit status of the role that the arguments ask for; nothing if they ask for none
std::optional<int> run_role(int argc, char** argv);

}  // namespace rankshare::test
