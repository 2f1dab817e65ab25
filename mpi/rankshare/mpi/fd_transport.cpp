// SPDX-License-Identifier: Apache-2.0
#include <rankshare/mpi/fd_transport.hpp>

#include <rankshare/base/process.hpp>
#include <rankshare/mpi/board_file.hpp>

namespace rankshare::mpi::detail {

bool fd_transport::connect(process_record const& owner) {
  if (pidfds_.count(owner.pid) != 0) return false;
  static auto const here = host_identity::of_this_process();
  if (owner.pid_namespace != here.pid_namespace) {
    throw not_supported("fetching a file descriptor of process " + std::to_string(owner.pid) +
                            ": it is in another PID namespace, where its number means another "
                            "process; start all ranks of a node in one container, or let the "
                            "containers share the host's PID namespace (--pid=host)",
                        "pidfd_open");
  }
  if (pidfds_.size() == kept_pidfds) pidfds_.clear();
  pidfds_.emplace(owner.pid, open_pidfd(owner.pid));
  return true;
}

unique_fd fd_transport::fetch(process_record const& owner, int fd) {
  connect(owner);
  unique_fd fetched = fetch_fd(pidfds_.at(owner.pid).get(), fd, owner.pid);
  if (board_file::keep_if_board(fetched)) {
    throw invalid_descriptor("fetching file descriptor " + std::to_string(fd) + " of process " +
                             std::to_string(owner.pid) +
                             ": it is the board of a node communicator, not a pool; send the "
                             "descriptor as its owner made it");
  }
  return fetched;
}

}  // namespace rankshare::mpi::detail
