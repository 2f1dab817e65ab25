// SPDX-License-Identifier: Apache-2.0
#include <rankshare/base/text_file.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include <rankshare/base/unique_fd.hpp>

namespace rankshare {

int read_text_file(std::string const& path, std::string& text) {
  text.clear();
  unique_fd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno;
  char part[4096];
  for (;;) {
    auto const got = ::read(file.get(), part, sizeof part);
    if (got > 0) text.append(part, static_cast<std::size_t>(got));
    if (got == 0) return 0;
    if (got < 0 && errno != EINTR) {
      int const errnum = errno;
      text.clear();
      return errnum;
    }
  }
}

std::string text_of_file(std::string const& path) {
  std::string text;
  read_text_file(path, text);
  return text;
}

}  // namespace rankshare
