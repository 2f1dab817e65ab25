// SPDX-License-Identifier: Apache-2.0
#include <rankshare/handle/stream.hpp>

#include <utility>

#include <rankshare/base/error.hpp>
#include <rankshare/base/log.hpp>

namespace rankshare {

stream::stream(rankshare::device where)
    : device_(where), handle_(where.driver().stream_create(where.id())) {}

stream::stream(stream&& other) noexcept
    : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}

stream& stream::operator=(stream&& other) noexcept {
  if (this != &other) {
    close();
    device_ = other.device_;
    handle_ = std::exchange(other.handle_, nullptr);
  }
  return *this;
}

stream::~stream() { close(); }

stream::operator stream_ref() const {
  check_open();
  return {handle_, device_.driver()};
}

void stream::synchronize() const {
  check_open();
  device_.driver().stream_synchronize(handle_);
}

bool stream::is_idle() const {
  check_open();
  return device_.driver().stream_query(handle_);
}

void stream::close() noexcept {
  auto* const handle = std::exchange(handle_, nullptr);
  if (handle == nullptr) return;
  try {
    device_.driver().stream_destroy(handle);
  } catch (...) {
    detail::log_once(log_level::error, "stream_destroy",
                     "destroying a stream: " + current_error_text());
  }
}

void stream::check_open() const {
  if (handle_ == nullptr) {
    throw closed_error("using a stream of " + device_.description() +
                       ": it has been closed or moved from; make a new one");
  }
}

}  // namespace rankshare
