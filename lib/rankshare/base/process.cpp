// SPDX-License-Identifier: Apache-2.0
#include <rankshare/base/process.hpp>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <sstream>

#include <rankshare/base/error.hpp>
#include <rankshare/base/text_file.hpp>

namespace rankshare {
namespace {

std::string first_line(std::string const& path) {
  std::string const text = text_of_file(path);
  return text.substr(0, text.find('\n'));
}

// Of the calling thread: it may have a seccomp filter of its own.
std::string status_value(std::string const& key) {
  std::istringstream file(text_of_file("/proc/thread-self/status"));
  std::string line;
  while (std::getline(file, line)) {
    if (line.compare(0, key.size(), key) == 0) return line.substr(key.size() + 1);
  }
  return {};
}

std::string name_of(pid_t pid) { return "process " + std::to_string(pid); }

bool has_seccomp_filter() { return status_value("Seccomp:").find('2') != std::string::npos; }

std::string filter_forbids(char const* api) {
  return std::string("a seccomp filter forbids it; in a container allow ") + api +
         ", for Docker by --cap-add=SYS_PTRACE";
}

// The kernel answers EPERM for several reasons; the likeliest that this process can see comes
// first.
std::string why_not_permitted(pid_t pid) {
  struct stat owner {};
  if (::stat(("/proc/" + std::to_string(pid)).c_str(), &owner) == 0 &&
      owner.st_uid != ::geteuid()) {
    return "it belongs to user " + std::to_string(owner.st_uid) + " and this one to user " +
           std::to_string(::geteuid()) + "; start all ranks as one user";
  }
  std::string const yama = first_line("/proc/sys/kernel/yama/ptrace_scope");
  if (!yama.empty() && yama[0] != '0') {
    return "Yama forbids it (kernel.yama.ptrace_scope=" + yama +
           "); set it to 0, or give the ranks CAP_SYS_PTRACE";
  }
  if (has_seccomp_filter()) return filter_forbids("pidfd_getfd");
  return "the kernel or a security module forbids tracing it; give the ranks CAP_SYS_PTRACE";
}

[[noreturn]] void throw_no_kernel(char const* api, char const* since) {
  throw not_supported("reaching another process: this kernel has no " + std::string(api) +
                          " (ENOSYS), which came with Linux " + since +
                          "; use a newer kernel, or a container runtime that lets the call through",
                      api);
}

std::atomic<std::uint64_t> generation{0};

}  // namespace

std::uint64_t fork_generation() noexcept {
  static int const watched = ::pthread_atfork(
      nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(watched);  // it fails for want of memory only; a child is no different then
  return generation.load(std::memory_order_relaxed);
}

std::uint64_t process_start_time(pid_t pid) {
  std::string const line = first_line("/proc/" + std::to_string(pid) + "/stat");
  auto const after_name = line.rfind(')');  // the name may hold blanks and brackets
  if (after_name == std::string::npos) return 0;
  std::istringstream fields(line.substr(after_name + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  std::uint64_t ticks = 0;
  fields >> ticks;
  return ticks;
}

std::string process_state(pid_t pid) {
  std::string const folder = "/proc/" + std::to_string(pid);
  std::string const line = first_line(folder + "/stat");
  auto const after_name = line.rfind(')');
  if (after_name == std::string::npos || after_name + 2 >= line.size()) return "gone";
  std::string const channel = first_line(folder + "/wchan");
  return std::string("state ") + line[after_name + 2] +
         (channel.empty() || channel == "0" ? std::string() : ", in " + channel);
}

unique_fd open_pidfd(pid_t pid) {
  unique_fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));  // close-on-exec by itself
  if (pidfd) return pidfd;
  int const errnum = errno;
  std::string const what = "opening a pidfd of " + name_of(pid) + ": ";
  switch (errnum) {
    case ENOSYS:
      throw_no_kernel("pidfd_open", "5.3");
    case ESRCH:
      throw system_error(errnum, what + "it has ended, or lives in another PID namespace",
                         "pidfd_open");
    case EMFILE:
    case ENFILE:
      throw system_error(errnum, what + "no file descriptors are left; raise ulimit -n",
                         "pidfd_open");
    case EPERM:
      throw system_error(errnum,
                         what + (has_seccomp_filter() ? filter_forbids("pidfd_open")
                                                      : "a security module forbids it"),
                         "pidfd_open");
    default:
      throw system_error(errnum, what + "the kernel refused", "pidfd_open");
  }
}

bool has_exited(int pidfd) {
  pollfd entry{pidfd, POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1 && (entry.revents & POLLIN) != 0;
}

unique_fd fetch_fd(int pidfd, int fd, pid_t pid) {
  unique_fd copy(static_cast<int>(::syscall(SYS_pidfd_getfd, pidfd, fd, 0)));  // close-on-exec
  if (copy) return copy;
  int const errnum = errno;
  std::string const what =
      "fetching file descriptor " + std::to_string(fd) + " of " + name_of(pid) + ": ";
  switch (errnum) {
    case ENOSYS:
      throw_no_kernel("pidfd_getfd", "5.6");
    case EPERM:
      throw system_error(errnum, what + why_not_permitted(pid), "pidfd_getfd");
    case ESRCH:
      throw system_error(errnum, what + "the process has ended", "pidfd_getfd");
    case EBADF:
      throw stale_descriptor(what + "it is not open there: its owner has closed it since",
                             "pidfd_getfd");
    case EMFILE:
    case ENFILE:
      throw system_error(errnum, what + "no file descriptors are left here; raise ulimit -n",
                         "pidfd_getfd");
    default:
      throw system_error(errnum, what + "the kernel refused", "pidfd_getfd");
  }
}

}  // namespace rankshare
