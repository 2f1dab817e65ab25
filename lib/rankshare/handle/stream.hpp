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
  explicit stream(rankshare::device where);
  stream(stream&& other) noexcept;
  stream& operator=(stream&& other) noexcept;
  ~stream();

  operator stream_ref() const;  // NOLINT: conversion is the purpose

  /// Waits until all work enqueued so far is done.
  /// @throws closed_error if the stream is closed
  void synchronize() const;

  /// @return whether all work enqueued so far is done
  /// @throws closed_error if the stream is closed
  bool is_idle() const;

  /// Destroys the stream once its work is done; later calls do nothing.
  void close() noexcept;

  bool is_closed() const noexcept { return handle_ == nullptr; }
  rankshare::device device() const noexcept { return device_; }
  /// @return the stream as the driver knows it; null if closed
  CUstream_st* native_handle() const noexcept { return handle_; }

 private:
  void check_open() const;

  rankshare::device device_;
  CUstream_st* handle_;
};

}  // namespace rankshare
