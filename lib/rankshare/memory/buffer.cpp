// SPDX-License-Identifier: Apache-2.0
#include <rankshare/memory/buffer.hpp>

#include <utility>

#include <rankshare/base/error.hpp>
#include <rankshare/base/log.hpp>
#include <rankshare/memory/allocation.hpp>

namespace rankshare {

buffer::buffer() noexcept = default;

buffer::buffer(std::shared_ptr<detail::allocation> state) noexcept : state_(std::move(state)) {
  if (state_ == nullptr) return;
  address_ = state_->address();
  size_ = state_->size();
}

buffer::buffer(buffer&& other) noexcept
    : state_(std::move(other.state_)),
      address_(std::exchange(other.address_, 0)),
      size_(std::exchange(other.size_, 0)) {}

buffer& buffer::operator=(buffer&& other) noexcept {
  if (this != &other) {
    close();
    state_ = std::move(other.state_);
    address_ = std::exchange(other.address_, 0);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

buffer::~buffer() = default;

void buffer::check_open(char const* doing) const {
  if (state_ == nullptr) {
    throw closed_error(
        std::string(doing) +
        ": the buffer has been closed or moved from, or never was allocated; allocate one");
  }
}

void buffer::throw_misaligned(std::size_t alignment) const {
  throw invalid_argument("reading a buffer of " + std::to_string(size_) + " bytes at address " +
                         std::to_string(address_) + " as a type of alignment " +
                         std::to_string(alignment) +
                         ": the address is not a multiple of it; use data()");
}

std::size_t buffer::capacity() const noexcept { return state_ ? state_->capacity() : 0; }
int buffer::device_id() const noexcept {
  return state_ && state_->kind() == memory_kind::device ? state_->where().id() : -1;
}
bool buffer::is_mapped() const noexcept { return state_ && state_->is_mapped(); }

bool buffer::is_host_accessible() const noexcept {
  return state_ && state_->kind() != memory_kind::device;
}

bool buffer::is_device_accessible() const noexcept {
  return state_ && state_->kind() != memory_kind::host;
}

buffer_descriptor const& buffer::ipc_descriptor() const {
  check_open("describing a buffer to other processes");
  return state_->descriptor();
}

void buffer::fill(std::byte value, stream_ref stream) {
  check_open("filling a buffer");
  if (size_ == 0) return;
  auto const where = state_->where();
  detail::stream_order const order(stream, where);
  where.driver().memset_d8_async(address_, value, size_, order.handle());
}

void buffer::copy_to(buffer& target, stream_ref stream) const {
  check_open("copying from a buffer");
  target.check_open("copying to a buffer");
  if (size_ != target.size_) {
    throw invalid_argument("copying a buffer of " + std::to_string(size_) + " bytes to one of " +
                           std::to_string(target.size_) + " bytes: the sizes must be the same");
  }
  if (size_ == 0) return;
  // The driver of a GPU copies from and to host memory too.
  auto const where = state_->where().is_host() ? target.state_->where() : state_->where();
  detail::stream_order const order(stream, where);
  where.driver().memcpy_async(target.address_, address_, size_, order.handle());
}

void buffer::copy_from(buffer const& source, stream_ref stream) { source.copy_to(*this, stream); }

void buffer::close() noexcept {
  address_ = 0;
  size_ = 0;
  state_.reset();
}

void buffer::close(stream_ref stream) noexcept {
  if (state_ == nullptr) return;
  try {
    state_->set_order(detail::kept_stream(stream, state_->where()));
  } catch (...) {
    detail::log_once(log_level::error, "close on a stream",
                     "closing a buffer on another stream than it was allocated on: " +
                         current_error_text() + "; the recorded stream is used");
  }
  close();
}

}  // namespace rankshare
