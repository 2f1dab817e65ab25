// SPDX-License-Identifier: Apache-2.0
#include <support/child_process.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <rankshare/base/process.hpp>

namespace rankshare::test {
namespace {

constexpr std::string_view role_option = "--role=";

std::map<std::string, role_function, std::less<>>& roles() {
  static std::map<std::string, role_function, std::less<>> known;
  return known;
}

std::pair<unique_fd, unique_fd> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("child_process: no pipe");
  return {unique_fd(ends[0]), unique_fd(ends[1])};
}

// Between fork and exec: only what is safe there.
[[noreturn]] void become_child(int in, int out, char* const* arguments) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::fcntl(in, F_SETFD, 0);
  ::fcntl(out, F_SETFD, 0);
  ::execv("/proc/self/exe", arguments);
  ::_exit(127);
}

}  // namespace

role::role(char const* name, role_function function) { roles().emplace(name, function); }

child_process::child_process(std::string const& role_name) {
  auto [child_in, parent_out] = make_pipe();
  auto [parent_in, child_out] = make_pipe();
  std::string program = "child";
  std::string option = std::string(role_option) + role_name;
  std::string in = std::to_string(child_in.get());
  std::string out = std::to_string(child_out.get());
  char* const arguments[] = {program.data(), option.data(), in.data(), out.data(), nullptr};
  ::signal(SIGPIPE, SIG_IGN);  // a dead child is an exception, not a signal
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("child_process: no fork");
  if (pid_ == 0) become_child(child_in.get(), child_out.get(), arguments);
  talk_.emplace(std::move(parent_in), std::move(parent_out));
}

child_process::~child_process() {
  if (!status_) kill();
}

int child_process::wait() {
  if (!status_) {
    auto const pidfd = open_pidfd(pid_);
    pollfd entry{pidfd.get(), POLLIN, 0};
    auto const limit = std::chrono::duration_cast<std::chrono::milliseconds>(deadline);
    if (::poll(&entry, 1, static_cast<int>(limit.count())) != 1) {
      std::fprintf(stderr, "child_process: the deadline has passed, and the child still runs\n");
      ::kill(pid_, SIGKILL);
    }
    reap();
  }
  return *status_;
}

void child_process::kill() {
  if (status_) return;
  ::kill(pid_, SIGKILL);
  reap();
}

void child_process::reap() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::optional<int> run_role(int argc, char** argv) {
  if (argc != 4) return std::nullopt;
  std::string_view const option(argv[1]);
  if (option.substr(0, role_option.size()) != role_option) return std::nullopt;
  auto const found = roles().find(option.substr(role_option.size()));
  if (found == roles().end()) {
    std::fprintf(stderr, "child_process: there is no %s\n", argv[1]);
    return 126;
  }
  unique_fd in(std::stoi(argv[2]));
  unique_fd out(std::stoi(argv[3]));
  for (int const fd : {in.get(), out.get()}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  channel parent(std::move(in), std::move(out));
  try {
    return found->second(parent);
  } catch (...) {
    std::fprintf(stderr, "%s: %s\n", argv[1], current_error_text().c_str());
    return 1;
  }
}

}  // namespace rankshare::test
