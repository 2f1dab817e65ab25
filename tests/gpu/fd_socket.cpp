// SPDX-License-Identifier: Apache-2.0
#include <gpu/fd_socket.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cstring>
#include <stdexcept>

namespace rankshare::test {
namespace {

// A message of one byte and one descriptor.
struct message {
  message() {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }

  char byte = 'x';
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
};

}  // namespace

std::pair<fd_socket, fd_socket> fd_socket::make_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::runtime_error("fd_socket: no socket");
  }
  ::fcntl(ends[1], F_SETFD, 0);
  return {fd_socket(unique_fd(ends[0])), fd_socket(unique_fd(ends[1]))};
}

void fd_socket::send(int fd) {
  message out;
  auto* const rights = CMSG_FIRSTHDR(&out.header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  if (::sendmsg(end_.get(), &out.header, MSG_NOSIGNAL) != 1) {
    throw std::runtime_error("fd_socket: sending failed");
  }
}

unique_fd fd_socket::receive() {
  message in;
  auto const count = ::recvmsg(end_.get(), &in.header, MSG_CMSG_CLOEXEC);
  auto const* const rights = CMSG_FIRSTHDR(&in.header);
  if (count != 1 || rights == nullptr || rights->cmsg_type != SCM_RIGHTS) {
    throw std::runtime_error("fd_socket: no file descriptor came");
  }
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
  return unique_fd(fd);
}

}  // namespace rankshare::test
