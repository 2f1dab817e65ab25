// SPDX-License-Identifier: Apache-2.0
/// @file
/// How work of one driver is put in the order of any stream. Not for users.
#pragma once

#include <thread>

#include <rankshare/handle/device.hpp>
#include <rankshare/handle/stream_ref.hpp>

namespace rankshare::detail {

/// @return whether `stream` is known to be one that `where` serves
inline bool is_of(stream_ref stream, device where) noexcept {
  auto const* const state = stream.state();
  return state != nullptr && &state->where().driver() == &where.driver() &&
         state->where().is_host() == where.is_host();
}

/// Waits until all work that is on `stream` now is done.
///
/// @param where device that a stream belongs to which was given as a handle
/// @throws capture_error if the stream is capturing; the capture goes on
/// @throws no_context    if it is a default stream of a GPU, and no context is current
RANKSHARE_EXPORT void wait_for(stream_ref stream, device where);

/// A stream that is remembered, to order something later: a stream of ours lives as long; a default
/// stream stays that of the context, and of the thread, that it was named in.
class RANKSHARE_EXPORT kept_stream {
 public:
  /// @param where device of the memory whose end it is to order
  /// @throws no_context       if it is a default stream of a GPU, and no context is current
  /// @throws invalid_argument if the memory is a GPU's, and the stream is one of another driver
  kept_stream(stream_ref stream, device where) : stream_(stream) {
    if (stream.state() != nullptr) {
      if (!is_of(stream, where)) check_serves(where);
      stream.state()->retain();
    } else if (stream.is_default()) {
      bind(where);
    }
  }
  kept_stream(kept_stream const& other) noexcept
      : stream_(other.stream_), context_(other.context_), thread_(other.thread_) {
    if (stream_.state() != nullptr) stream_.state()->retain();
  }
  kept_stream(kept_stream&& other) noexcept
      : stream_(other.stream_), context_(other.context_), thread_(other.thread_) {
    other.stream_ = stream_ref::legacy_default();  // it lets go of nothing
  }
  kept_stream& operator=(kept_stream&& other) noexcept;
  ~kept_stream() {
    if (stream_.state() != nullptr) stream_.state()->release();
  }

  /// Waits until all work that is on the stream now is done.
  /// @throws as the function `wait_for`
  void wait(device where) const;

  stream_ref ref() const noexcept { return stream_; }
  bool is_bound() const noexcept { return context_ != nullptr; }
  /// @return what a default stream of a GPU was named in; null and no thread for others
  CUctx_st* context() const noexcept { return context_; }
  std::thread::id thread() const noexcept { return thread_; }

 private:
  friend class stream_order;

  void check_serves(device where) const;
  void bind(device where);

  stream_ref stream_;
  CUctx_st* context_ = nullptr;  // of a default stream
  std::thread::id thread_;       // of a thread's default stream
};

/// While it lives, `handle()` is what the driver of `where` is to be given for work that comes
/// after what a stream holds.
class RANKSHARE_EXPORT stream_order {
 public:
  /// Host memory, whose work is done at once, waits here for a stream of a GPU.
  /// @throws what `kept_stream` and `wait_for` throw
  stream_order(stream_ref stream, device where) : where_(where), handle_(stream.native_handle()) {
    if (!is_of(stream, where)) enter_other(stream);
  }
  /// The order of a stream that was kept.
  stream_order(kept_stream const& stream, device where)
      : where_(where), handle_(stream.ref().native_handle()) {
    if (!is_of(stream.ref(), where)) enter_kept(stream);
  }
  ~stream_order() {
    if (pushed_) leave();
  }
  stream_order(stream_order const&) = delete;
  stream_order& operator=(stream_order const&) = delete;

  CUstream_st* handle() const noexcept { return handle_; }

 private:
  void enter_other(stream_ref stream);
  void enter_kept(kept_stream const& stream);
  void leave() noexcept;

  device where_;
  CUstream_st* handle_;
  bool pushed_ = false;
};

}  // namespace rankshare::detail
