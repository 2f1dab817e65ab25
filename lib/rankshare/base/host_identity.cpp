// SPDX-License-Identifier: Apache-2.0
#include <rankshare/base/host_identity.hpp>

#include <sys/stat.h>

#include <cerrno>
#include <string>

#include <rankshare/base/error.hpp>
#include <rankshare/base/text_file.hpp>

namespace rankshare {
namespace {

std::uint64_t namespace_inode(char const* path) {
  struct stat entry {};
  if (::stat(path, &entry) != 0) {
    throw system_error(errno,
                       std::string("reading ") + path +
                           ": the namespaces of this process are not "
                           "to be seen; mount /proc",
                       "stat");
  }
  return entry.st_ino;
}

}  // namespace

host_identity host_identity::of_this_process() {
  constexpr char boot_path[] = "/proc/sys/kernel/random/boot_id";
  std::string text;
  if (int const errnum = read_text_file(boot_path, text); errnum != 0) {
    throw system_error(errnum,
                       std::string("reading ") + boot_path +
                           (errnum == EMFILE || errnum == ENFILE
                                ? ": no file descriptors are left; raise ulimit -n"
                                : ": mount /proc"),
                       "open");
  }
  host_identity identity;
  identity.boot = uuid::from_string(text.substr(0, text.find('\n')));
  identity.pid_namespace = namespace_inode("/proc/self/ns/pid");
  identity.user_namespace = namespace_inode("/proc/self/ns/user");
  return identity;
}

}  // namespace rankshare
