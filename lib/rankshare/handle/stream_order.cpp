// SPDX-License-Identifier: Apache-2.0
#include <rankshare/handle/stream_order.hpp>

#include <string>
#include <utility>

#include <rankshare/base/error.hpp>
#include <rankshare/base/log.hpp>
#include <rankshare/driver/gpu_driver.hpp>
#include <rankshare/handle/event.hpp>

// Note [Streams of two drivers]
//
// Rationale: one program has memory of GPUs and of the host, and hands either the stream at hand;
// what is on a stream may touch both. A stream of ours knows its driver; a `CUstream` and the
// default streams do not.
//
// Approach: a stream of unknown driver is one of the GPUs, as far as this process uses any. Host
// memory takes any stream: its work is done at once, after what the stream holds. Memory of a GPU
// takes streams of its own driver only: a stream of the host could not order what the GPU does.
//
// Limits: a default stream means nothing to host memory in a thread without a current context.

namespace rankshare::detail {
namespace {

// Null: there is nothing to wait for.
driver* driver_of(stream_ref stream, device where) {
  if (stream.served_by() != nullptr) return stream.served_by();
  if (!where.is_host()) return &where.driver();
  auto* const gpus = gpu_driver::in_use();
  if (gpus == nullptr) return &where.driver();
  return stream.is_default() && gpus->ctx_get_current() == nullptr ? nullptr : gpus;
}

[[noreturn]] void refuse_host_stream(device where) {
  throw invalid_argument("ordering work on " + where.description() +
                         " by a stream of another device: make a stream of this one, "
                         "rankshare::stream stream(resource.device())");
}

}  // namespace

void wait_for(stream_ref stream, device where) {
  auto* const served_by = driver_of(stream, where);
  if (served_by == nullptr) return;
  auto* const handle = stream.native_handle();
  if (served_by->stream_is_capturing(handle)) {
    throw capture_error(
        "waiting for a stream: it is capturing a graph, and its work has not begun; end the "
        "capture and launch the graph first, or pass another stream");
  }
  if (served_by->stream_query(handle)) return;
  event reached(*served_by, stream);
  reached.record(stream);
  reached.synchronize();
}

void kept_stream::check_serves(device where) const {
  if (!where.is_host()) refuse_host_stream(where);
}

void kept_stream::bind(device where) {
  if (where.is_host()) return;
  context_ = where.driver().ctx_get_current();
  if (context_ == nullptr) {
    throw no_context("remembering a default stream for " + where.description() +
                     ": no CUDA context is current in this thread; make one current, or pass a "
                     "stream");
  }
  thread_ = std::this_thread::get_id();
}

void kept_stream::wait(device where) const {
  if (!is_bound()) return wait_for(stream_, where);
  stream_order const entered(*this, where);
  wait_for(entered.handle(), where);
}

kept_stream& kept_stream::operator=(kept_stream&& other) noexcept {
  std::swap(stream_, other.stream_);
  std::swap(context_, other.context_);
  std::swap(thread_, other.thread_);
  return *this;
}

void stream_order::enter_other(stream_ref stream) {
  if (!where_.is_host()) {
    if (stream.served_by() != nullptr) refuse_host_stream(where_);
    return;
  }
  auto* const served_by = driver_of(stream, where_);
  if (served_by == &where_.driver()) return;
  if (served_by != nullptr) wait_for(stream, where_);
  handle_ = stream_ref::legacy_default().native_handle();
}

void stream_order::enter_kept(kept_stream const& stream) {
  if (!stream.is_bound()) return enter_other(stream.ref());
  // Another thread's default stream has no name here; the legacy one comes after it.
  if (stream.ref() == stream_ref::per_thread_default() &&
      stream.thread_ != std::this_thread::get_id()) {
    handle_ = stream_ref::legacy_default().native_handle();
  }
  auto& served_by = where_.driver();
  if (served_by.ctx_get_current() == stream.context_) return;
  served_by.ctx_push_current(stream.context_);
  pushed_ = true;
}

void stream_order::leave() noexcept {
  try {
    where_.driver().ctx_pop_current();
  } catch (...) {
    log_once(log_level::error, "ctx_pop_current",
             "restoring the current CUDA context: " + current_error_text());
  }
}

}  // namespace rankshare::detail
