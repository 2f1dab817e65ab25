// SPDX-License-Identifier: Apache-2.0
#include <support/channel.hpp>

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <utility>

namespace rankshare::test {

channel::channel(unique_fd in, unique_fd out) noexcept : in_(std::move(in)), out_(std::move(out)) {}

void channel::send_bytes(void const* bytes, std::size_t count) {
  auto const* next = static_cast<char const*>(bytes);
  while (count > 0) {
    auto const sent = ::write(out_.get(), next, count);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) throw std::runtime_error("channel: the other process does not read any more");
    next += sent;
    count -= static_cast<std::size_t>(sent);
  }
}

void channel::receive_bytes(void* bytes, std::size_t count) {
  auto* next = static_cast<char*>(bytes);
  auto const end = std::chrono::steady_clock::now() + deadline;
  while (count > 0) {
    auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd entry{in_.get(), POLLIN, 0};
    int const ready = left.count() > 0 ? ::poll(&entry, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) throw std::runtime_error("channel: nothing came within the deadline");
    auto const got = ::read(in_.get(), next, count);
    if (got <= 0) throw std::runtime_error("channel: the other process has ended");
    next += got;
    count -= static_cast<std::size_t>(got);
  }
}

void channel::send_text(std::string const& text) {
  send(text.size());
  send_bytes(text.data(), text.size());
}

std::string channel::receive_text() {
  std::string text(receive<std::size_t>(), '\0');
  receive_bytes(text.data(), text.size());
  return text;
}

}  // namespace rankshare::test
