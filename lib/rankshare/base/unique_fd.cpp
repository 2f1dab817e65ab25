// SPDX-License-Identifier: Apache-2.0
#include <rankshare/base/unique_fd.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include <rankshare/base/error.hpp>

namespace rankshare {

void unique_fd::reset(int fd) noexcept {
  // close(2) is not repeated after EINTR: Linux has released the number by then.
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

unique_fd unique_fd::duplicate() const { return duplicate_of(fd_); }

unique_fd unique_fd::duplicate_of(int fd) {
  int const copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) {
    int const errnum = errno;
    std::string const remedy = errnum == EBADF ? "it is not an open file descriptor"
                                               : "raise the limit of open files (ulimit -n)";
    throw system_error(errnum, "duplicating file descriptor " + std::to_string(fd) + ": " + remedy,
                       "fcntl");
  }
  return unique_fd(copy);
}

}  // namespace rankshare
