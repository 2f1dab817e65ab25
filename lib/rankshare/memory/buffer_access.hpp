// SPDX-License-Identifier: Apache-2.0
/// @file
/// How resources and the MPI layer make buffers and look into them. Not for users.
#pragma once

#include <memory>
#include <utility>

#include <rankshare/memory/allocation.hpp>
#include <rankshare/memory/buffer.hpp>

namespace rankshare::detail {

/// The door to a buffer's inside.
struct buffer_access {
  static buffer make(std::shared_ptr<allocation> state) noexcept {
    return buffer(std::move(state));
  }
  /// @return what the buffer keeps alive; null if it is closed
  static std::shared_ptr<allocation> const& state(buffer const& of) noexcept { return of.state_; }
  /// @return another buffer on the same memory, which is given back when both are closed
  static buffer alias(buffer const& of) noexcept { return make(of.state_); }
};

}  // namespace rankshare::detail
