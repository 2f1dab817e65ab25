// SPDX-License-Identifier: Apache-2.0
/// @file
/// A stream that this object owns.
#pragma once

#include <rankshare/handle/device.hpp>
#include <rankshare/handle/stream_ref.hpp>

namespace rankshare {

/// Owns a stream of a device. Move-only; a moved-from one is closed.
class RANKSHARE_EXPORT stream {
 public:
  /// Makes a stream that does not synchronise with the default streams.
  ///
  /// @throws not_supported in a process that was forked from one that uses CUDA
  explicit stream(rankshare::device where);
  stream(stream&& other) noexcept;
  stream& operator=(stream&& other) noexcept;
  ~stream();

  operator stream_ref() const;  // NOLINT: conversion is the purpose

  /// Waits until all work enqueued so far is done.
  /// @throws closed_error  if the stream is closed
  /// @throws capture_error if it is capturing a graph; the capture goes on
  void synchronize() const;

  /// @return whether all work enqueued so far is done
  /// @throws closed_error, capture_error as `synchronize`
  bool is_idle() const;

  /// Destroys the stream once its work is done and the buffers that were allocated or imported on
  /// it are closed; later calls do nothing.
  void close() noexcept;

  bool is_closed() const noexcept { return state_ == nullptr; }
  rankshare::device device() const noexcept { return device_; }
  /// @return the stream as the driver knows it; null if closed
  CUstream_st* native_handle() const noexcept {
    return state_ != nullptr ? state_->handle() : nullptr;
  }

 private:
  void check_open() const;
  void check_not_capturing() const;

  rankshare::device device_;
  detail::stream_state* state_;  // one of its users is this; null once closed
};

}  // namespace rankshare
