// SPDX-License-Identifier: Apache-2.0
/// @file
/// What tests ask of the CUDA driver themselves, to see what the library does to it.
#pragma once

#include <cstddef>

#include <rankshare/driver/driver.hpp>

namespace rankshare::test {

/// Functions of libcuda, by their exported names. A call that fails throws `std::runtime_error`.
/// The process must have initialised CUDA (`device::count()`).
class raw_cuda {
 public:
  /// @return the context of GPU 0 that the CUDA runtime uses; kept until the process ends
  static CUctx_st* primary_context();
  static CUctx_st* current_context();
  /// @return another context of GPU 0
  static CUctx_st* make_context();
  static void destroy_context(CUctx_st* context);
  static void push(CUctx_st* context);
  static void pop();

  /// Begins a capture in global mode, the strictest.
  static void begin_capture(CUstream_st* stream);
  /// Ends it, and destroys the graph.
  /// @return whether the capture was intact
  static bool end_capture(CUstream_st* stream);
  /// @return a stream of the current context
  static CUstream_st* make_stream();
  /// @return one that waits for the legacy default stream
  static CUstream_st* make_blocking_stream();
  static void destroy_stream(CUstream_st* stream);

  /// @return bytes of GPU 0 that are free; needs no current context
  static std::size_t free_memory();
  /// @return bytes that GPU 0 has
  static std::size_t total_memory();
};

/// A context is current in this thread while it lives.
class scoped_context {
 public:
  explicit scoped_context(CUctx_st* context) { raw_cuda::push(context); }
  ~scoped_context() { raw_cuda::pop(); }
  scoped_context(scoped_context const&) = delete;
  scoped_context& operator=(scoped_context const&) = delete;
};

/// Another context than the primary one, that is current in this thread while it lives.
class foreign_context {
 public:
  foreign_context() : context_(raw_cuda::make_context()), current_(context_) {}
  ~foreign_context() = default;
  foreign_context(foreign_context const&) = delete;
  foreign_context& operator=(foreign_context const&) = delete;

  CUctx_st* handle() const noexcept { return context_.handle; }

 private:
  struct owner {
    explicit owner(CUctx_st* made) : handle(made) {}
    ~owner() { raw_cuda::destroy_context(handle); }
    operator CUctx_st*() const { return handle; }
    CUctx_st* handle;
  };

  owner context_;
  scoped_context current_;
};

/// A graph is captured on a stream while it lives.
class scoped_capture {
 public:
  explicit scoped_capture(CUstream_st* stream) : stream_(stream) {
    raw_cuda::begin_capture(stream);
  }
  ~scoped_capture() {
    if (stream_ != nullptr) raw_cuda::end_capture(stream_);
  }
  scoped_capture(scoped_capture const&) = delete;
  scoped_capture& operator=(scoped_capture const&) = delete;

  /// Ends it.
  /// @return whether nothing has spoilt it
  bool end() {
    auto* const stream = stream_;
    stream_ = nullptr;
    return raw_cuda::end_capture(stream);
  }

 private:
  CUstream_st* stream_;
};

}  // namespace rankshare::test
