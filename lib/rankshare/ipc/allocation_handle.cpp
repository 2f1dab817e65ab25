// SPDX-License-Identifier: Apache-2.0
#include <rankshare/ipc/allocation_handle.hpp>

#include <rankshare/base/error.hpp>

namespace rankshare {

allocation_handle::allocation_handle(unique_fd fd, uuid const& id) : fd_(std::move(fd)), id_(id) {
  if (!fd_) {
    throw invalid_argument(
        "making an allocation handle: the file descriptor is negative; pass an "
        "open one");
  }
}

int allocation_handle::fd() const {
  if (!fd_) {
    throw closed_error("using the allocation handle of pool " + to_string(id_) +
                       ": it has been closed");
  }
  return fd_.get();
}

}  // namespace rankshare
