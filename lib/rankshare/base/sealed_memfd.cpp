// SPDX-License-Identifier: Apache-2.0
#include <rankshare/base/sealed_memfd.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include <rankshare/base/error.hpp>

namespace rankshare {
namespace {

constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

[[noreturn]] void throw_no_memfd(int errnum, std::string const& doing) {
  switch (errnum) {
    case ENOSYS:
      throw not_supported(doing +
                              ": this kernel has no memfd_create (ENOSYS), which came with Linux "
                              "3.17; use a newer kernel, or a container runtime that lets the call "
                              "through",
                          "memfd_create");
    case EMFILE:
    case ENFILE:
      throw system_error(errnum, doing + ": no file descriptors are left; raise ulimit -n",
                         "memfd_create");
    default:
      throw system_error(errnum, doing + ": the kernel refused a memfd", "memfd_create");
  }
}

// Beyond this limit the kernel does not answer, it ends the process (SIGXFSZ).
void check_file_size_limit(std::size_t bytes, std::string const& doing) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      bytes <= limit.rlim_cur) {
    return;
  }
  throw system_error(EFBIG,
                     doing + ": it takes a file of " + std::to_string(bytes) +
                         " bytes, and the limit of file sizes is " +
                         std::to_string(limit.rlim_cur) + "; raise it (ulimit -f unlimited)",
                     "ftruncate");
}

}  // namespace

unique_fd make_sealed_memfd(char const* name, std::size_t bytes, std::string const& doing) {
  check_file_size_limit(bytes, doing);
  unique_fd file(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) throw_no_memfd(errno, doing);
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
    throw system_error(
        errno, doing + ": the memfd cannot have " + std::to_string(bytes) + " bytes; ask for less",
        "ftruncate");
  }
  if (::fcntl(file.get(), F_ADD_SEALS, seals) != 0) {
    throw system_error(errno, doing + ": the memfd cannot be sealed", "fcntl");
  }
  return file;
}

bool is_sealed_memfd(int fd) noexcept {
  int const found = ::fcntl(fd, F_GET_SEALS);
  return found >= 0 && (found & seals) == seals;
}

}  // namespace rankshare
