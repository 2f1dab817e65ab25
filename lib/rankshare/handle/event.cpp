// SPDX-License-Identifier: Apache-2.0
#include <rankshare/handle/event.hpp>

#include <utility>

#include <rankshare/base/error.hpp>
#include <rankshare/base/log.hpp>

namespace rankshare {

event::event(driver& served_by, stream_ref stream)
    : driver_(&served_by), handle_(served_by.event_create(stream.native_handle())) {}

event::event(event&& other) noexcept
    : driver_(other.driver_), handle_(std::exchange(other.handle_, nullptr)) {}

event::~event() {
  if (handle_ == nullptr) return;
  try {
    driver_->event_destroy(handle_);
  } catch (...) {
    detail::log_once(log_level::error, "event_destroy",
                     "destroying an event: " + current_error_text());
  }
}

void event::record(stream_ref stream) { driver_->event_record(handle_, stream.native_handle()); }

void event::synchronize() const { driver_->event_synchronize(handle_); }

}  // namespace rankshare
