// SPDX-License-Identifier: Apache-2.0
/// @file
/// A socket that sends file descriptors to another process.
#pragma once

#include <utility>

#include <rankshare/base/unique_fd.hpp>

namespace rankshare::test {

/// One end. A call that fails throws `std::runtime_error`.
class fd_socket {
 public:
  explicit fd_socket(unique_fd end) noexcept : end_(std::move(end)) {}

  /// @return two ends; the second is inherited by programs that this one starts
  static std::pair<fd_socket, fd_socket> make_pair();

  /// @return its number, which an inherited one has too
  int number() const noexcept { return end_.get(); }

  void send(int fd);
  unique_fd receive();

 private:
  unique_fd end_;
};

}  // namespace rankshare::test
