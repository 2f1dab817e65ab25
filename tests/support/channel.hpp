// SPDX-License-Identifier: Apache-2.0
/// @file
/// Two pipes to another process of a test.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <type_traits>

#include <rankshare/base/error.hpp>
#include <rankshare/base/unique_fd.hpp>

namespace rankshare::test {

/// Longest wait for anything in a test; far above what it takes, so that only a defect meets it.
constexpr std::chrono::seconds deadline{30};

/// Sends and receives values. A wait that meets the deadline throws, and so does the other end's
/// absence.
class channel {
 public:
  channel(unique_fd in, unique_fd out) noexcept;

  void send_bytes(void const* bytes, std::size_t count);
  void receive_bytes(void* bytes, std::size_t count);

  template <class T>
  void send(T const& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    send_bytes(&value, sizeof value);
  }
  template <class T>
  T receive() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    receive_bytes(&value, sizeof value);
    return value;
  }

  void send_text(std::string const& text);
  std::string receive_text();

  /// Sends what comes out of a call: its exception, if it throws one.
  template <class Call>
  void send_outcome(Call const& call) {
    error_kind kind = error_kind::none;
    std::string text;
    try {
      call();
    } catch (...) {
      kind = current_error_kind();
      text = current_error_text();
    }
    send(kind);
    send_text(text);
  }

  int in() const noexcept { return in_.get(); }
  int out() const noexcept { return out_.get(); }

 private:
  unique_fd in_;
  unique_fd out_;
};

}  // namespace rankshare::test
