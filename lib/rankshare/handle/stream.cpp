// SPDX-License-Identifier: Apache-2.0
#include <rankshare/handle/stream.hpp>

#include <utility>

#include <rankshare/base/error.hpp>

namespace rankshare {

stream::stream(rankshare::device where) : device_(where), state_(new detail::stream_state(where)) {}

stream::stream(stream&& other) noexcept
    : device_(other.device_), state_(std::exchange(other.state_, nullptr)) {}

stream& stream::operator=(stream&& other) noexcept {
  if (this != &other) {
    close();
    device_ = other.device_;
    state_ = std::exchange(other.state_, nullptr);
  }
  return *this;
}

stream::~stream() { close(); }

stream::operator stream_ref() const {
  check_open();
  return stream_ref(*state_);
}

void stream::synchronize() const {
  check_not_capturing();
  device_.driver().stream_synchronize(state_->handle());
}

bool stream::is_idle() const {
  check_not_capturing();
  return device_.driver().stream_query(state_->handle());
}

void stream::close() noexcept {
  if (auto* const state = std::exchange(state_, nullptr)) state->release();
}

void stream::check_open() const {
  if (state_ == nullptr) {
    throw closed_error("using a stream of " + device_.description() +
                       ": it has been closed or moved from; make a new one");
  }
}

// Asking or waiting would end the capture.
void stream::check_not_capturing() const {
  check_open();
  if (!device_.driver().stream_is_capturing(state_->handle())) return;
  throw capture_error("waiting for a stream of " + device_.description() +
                      ": it is capturing a graph, and its work has not begun; end the capture and "
                      "launch the graph first");
}

}  // namespace rankshare
