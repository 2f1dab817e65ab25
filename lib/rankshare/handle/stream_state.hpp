// SPDX-License-Identifier: Apache-2.0
/// @file
/// A stream of ours with the number of those who need it. Not for users.
#pragma once

#include <atomic>

#include <rankshare/driver/driver.hpp>
#include <rankshare/handle/device.hpp>

namespace rankshare::detail {

/// A stream that is destroyed when the last of its users lets go of it: the `stream`, and the
/// buffers whose end it orders. So a stream may be closed before its buffers.
class RANKSHARE_EXPORT stream_state {
 public:
  /// Makes a stream with one user.
  explicit stream_state(device where)
      : where_(where), handle_(where.driver().stream_create(where.id())) {}
  stream_state(stream_state const&) = delete;
  stream_state& operator=(stream_state const&) = delete;

  device where() const noexcept { return where_; }
  CUstream_st* handle() const noexcept { return handle_; }

  void retain() noexcept { users_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }

 private:
  ~stream_state() = default;
  void destroy() noexcept;

  device where_;
  CUstream_st* handle_;
  std::atomic<int> users_{1};
};

}  // namespace rankshare::detail
