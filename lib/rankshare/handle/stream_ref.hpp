// SPDX-License-Identifier: Apache-2.0
/// @file
/// A stream that somebody else owns.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rankshare/driver/driver.hpp>
#include <rankshare/handle/stream_state.hpp>

namespace rankshare {

/// Names a stream without owning it. A `CUstream` or `cudaStream_t` converts to it, an integer or a
/// null pointer constant does not; the default streams have names of their own.
///
/// A `CUstream` that was given must live until the buffers that were allocated or imported on it
/// are closed; a `rankshare::stream` may be closed before.
class stream_ref {
 public:
  /// @param stream  a stream of the CUDA driver or runtime, not null
  stream_ref(CUstream_st* stream) noexcept
      : stream_(stream) {}  // NOLINT: conversion is the purpose
  /// Not for users: a `stream` converts.
  explicit stream_ref(detail::stream_state& state) noexcept
      : stream_(state.handle()), state_(&state) {}
  stream_ref(int) = delete;
  stream_ref(std::nullptr_t) = delete;

  /// @return the token of the legacy default stream
  static stream_ref legacy_default() noexcept { return token(1); }
  /// @return the token of the calling thread's default stream
  static stream_ref per_thread_default() noexcept { return token(2); }

  /// @return whether this is one of the two tokens
  bool is_default() const noexcept {
    auto const value = reinterpret_cast<std::uintptr_t>(stream_);
    return value == 1 || value == 2;
  }
  /// @return the stream as the driver knows it
  CUstream_st* native_handle() const noexcept { return stream_; }
  /// @return the driver the stream belongs to; null where that is not known
  driver* served_by() const noexcept {
    return state_ != nullptr ? &state_->where().driver() : nullptr;
  }
  /// Not for users.
  detail::stream_state* state() const noexcept { return state_; }

  friend bool operator==(stream_ref a, stream_ref b) noexcept { return a.stream_ == b.stream_; }
  friend bool operator!=(stream_ref a, stream_ref b) noexcept { return !(a == b); }

 private:
  static stream_ref token(std::uintptr_t value) noexcept {
    return {reinterpret_cast<CUstream_st*>(value)};
  }

  CUstream_st* stream_;
  detail::stream_state* state_ = nullptr;
};

}  // namespace rankshare
