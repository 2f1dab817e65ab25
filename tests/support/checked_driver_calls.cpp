// SPDX-License-Identifier: Apache-2.0
// Devices, contexts, streams and events of a checked driver.
#include <support/checked_driver.hpp>

namespace rankshare::test {

// Devices.

int checked_driver::device_count() {
  counter_.enter("device_count");
  return inner_->device_count();
}

uuid checked_driver::device_uuid(int device) {
  counter_.enter("device_uuid");
  return inner_->device_uuid(device);
}

std::string checked_driver::device_name(int device) {
  counter_.enter("device_name");
  return inner_->device_name(device);
}

int checked_driver::device_numa_node(int device) {
  counter_.enter("device_numa_node");
  return inner_->device_numa_node(device);
}

// Contexts.

CUctx_st* checked_driver::ctx_get_current() {
  counter_.enter("ctx_get_current");
  if (contexts_.has_pushed()) return contexts_.top();
  return contexts_.is_current() ? inner_->ctx_get_current() : nullptr;
}

void checked_driver::ctx_push_current(CUctx_st* context) {
  counter_.enter("ctx_push_current");
  inner_->ctx_push_current(context);
  contexts_.push(context);
}

void checked_driver::ctx_pop_current() {
  counter_.enter("ctx_pop_current");
  if (!contexts_.has_pushed()) {
    violate("ctx_pop_current: this thread has pushed no context, or popped it already");
  }
  inner_->ctx_pop_current();
  contexts_.pop();
}

// Streams.

CUstream_st* checked_driver::stream_create(int device) {
  counter_.enter("stream_create");
  auto* const stream = inner_->stream_create(device);
  std::lock_guard const lock(mutex_);
  streams_[stream] = device;
  return stream;
}

void checked_driver::stream_destroy(CUstream_st* stream) {
  counter_.enter("stream_destroy");
  if (is_token(stream)) violate("stream_destroy: a default stream cannot be destroyed");
  check_stream(stream, "stream_destroy");
  work_.run(stream);
  {
    std::lock_guard const lock(mutex_);
    streams_.erase(stream);
    capturing_.erase(stream);
  }
  inner_->stream_destroy(stream);
}

bool checked_driver::stream_query(CUstream_st* stream) {
  counter_.enter("stream_query");
  check_stream(stream, "stream_query");
  check_not_capturing(stream, "stream_query");
  return work_.is_idle(stream) && inner_->stream_query(stream);
}

void checked_driver::stream_synchronize(CUstream_st* stream) {
  counter_.enter("stream_synchronize");
  check_stream(stream, "stream_synchronize");
  check_not_capturing(stream, "stream_synchronize");
  work_.run(stream);
  inner_->stream_synchronize(stream);
}

bool checked_driver::stream_is_capturing(CUstream_st* stream) {
  counter_.enter("stream_is_capturing");
  check_stream(stream, "stream_is_capturing");
  return is_capturing(stream) || inner_->stream_is_capturing(stream);
}

// Events.

CUevent_st* checked_driver::event_create(CUstream_st* stream) {
  counter_.enter("event_create");
  auto const device = check_stream(stream, "event_create");
  auto* const event = inner_->event_create(stream);
  std::lock_guard const lock(mutex_);
  events_[event] = {device, nullptr, 0};
  return event;
}

void checked_driver::event_destroy(CUevent_st* event) {
  counter_.enter("event_destroy");
  check_event(event, "event_destroy");
  {
    std::lock_guard const lock(mutex_);
    events_.erase(event);
  }
  inner_->event_destroy(event);
}

void checked_driver::event_record(CUevent_st* event, CUstream_st* stream) {
  counter_.enter("event_record");
  check_event(event, "event_record");
  auto const device = check_stream(stream, "event_record");
  check_not_capturing(stream, "event_record");
  std::optional<int> made_for;
  {
    std::lock_guard const lock(mutex_);
    made_for = events_.at(event).device;
  }
  if (device && made_for && device != made_for) {
    violate("event_record: event " + text_of(event) + " was made for streams of device " +
            std::to_string(*made_for) + ", and the stream is one of device " +
            std::to_string(*device));
  }
  inner_->event_record(event, stream);
  auto const last = work_.last_enqueued();
  std::lock_guard const lock(mutex_);
  events_[event] = {made_for, stream, last};
}

bool checked_driver::may_record_again(CUstream_st* stream) const {
  std::lock_guard const lock(mutex_);
  return streams_.count(stream) != 0 && capturing_.count(stream) == 0;
}

void checked_driver::event_synchronize(CUevent_st* event) {
  counter_.enter("event_synchronize");
  check_event(event, "event_synchronize");
  event_record_point point;
  {
    std::lock_guard const lock(mutex_);
    point = events_.at(event);
  }
  work_.run(point.stream, point.last);
  // What was held back came to the inner stream after the inner event was recorded.
  if (may_record_again(point.stream)) inner_->event_record(event, point.stream);
  inner_->event_synchronize(event);
}

}  // namespace rankshare::test
