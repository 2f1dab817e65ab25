// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/requirements.hpp"

#include <unistd.h>

#include <exception>

#include <rankshare/base/process.hpp>
#include <rankshare/base/unique_fd.hpp>

namespace rankshare::bench {

std::string why_no_fetch() {
  try {
    auto const self = ::getpid();
    auto const pidfd = open_pidfd(self);
    fetch_fd(pidfd.get(), pidfd.get(), self);
    return {};
  } catch (std::exception const& failure) {
    return failure.what();
  }
}

}  // namespace rankshare::bench
