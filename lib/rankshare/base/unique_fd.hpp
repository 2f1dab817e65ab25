// SPDX-License-Identifier: Apache-2.0
/// @file
/// The one owner of a file descriptor.
#pragma once

#include <utility>

#include <rankshare/base/export.hpp>

namespace rankshare {

/// Owns a file descriptor and closes it. Move-only; a moved-from one is empty.
class RANKSHARE_EXPORT unique_fd {
 public:
  unique_fd() = default;
  /// Takes ownership of `fd`; -1 makes an empty one.
  explicit unique_fd(int fd) noexcept : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~unique_fd() { reset(); }

  explicit operator bool() const noexcept { return fd_ >= 0; }
  /// @return the descriptor, still owned here; -1 if empty
  int get() const noexcept { return fd_; }
  /// @return the descriptor, now owned by the caller; -1 if empty
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  /// Closes what is owned and takes ownership of `fd`.
  void reset(int fd = -1) noexcept;

  /// @return another descriptor of the same open file, close-on-exec
  /// @throws system_error if this one is not open, or the process has no descriptors left
  unique_fd duplicate() const;

  /// As `duplicate`, of a descriptor that somebody else owns.
  static unique_fd duplicate_of(int fd);

 private:
  int fd_ = -1;
};

}  // namespace rankshare
