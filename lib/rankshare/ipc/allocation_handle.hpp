// SPDX-License-Identifier: Apache-2.0
/// @file
/// What shares a pool: a file descriptor and the uuid of the pool.
#pragma once

#include <rankshare/base/unique_fd.hpp>
#include <rankshare/base/uuid.hpp>

namespace rankshare {

/// Owns the file descriptor through which other processes import a pool. Move-only.
class RANKSHARE_EXPORT allocation_handle {
 public:
  /// @param fd an open descriptor of a pool; now owned here
  /// @param id uuid of the pool; nil if it is not known
  /// @throws invalid_argument if `fd` is empty
  allocation_handle(unique_fd fd, uuid const& id);

  /// @return the descriptor, still owned here
  /// @throws closed_error if the handle is closed
  int fd() const;
  /// @return uuid of the pool; nil if it is not known
  uuid const& id() const noexcept { return id_; }
  /// Closes the descriptor; later calls do nothing. The pool stays.
  void close() noexcept { fd_.reset(); }
  bool is_closed() const noexcept { return !fd_; }

 private:
  unique_fd fd_;
  uuid id_;
};

}  // namespace rankshare
