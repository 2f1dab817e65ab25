// SPDX-License-Identifier: Apache-2.0
/// @file
/// Identity of pools, boards and devices.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include <rankshare/base/export.hpp>

namespace rankshare {

/// 16 bytes that name a thing across processes.
struct uuid {
  std::array<std::uint8_t, 16> bytes{};

  /// @return a random uuid (version 4)
  /// @throws system_error if the kernel gives no random bytes
  /// @par Source
  /// RFC 9562; getrandom(2).
  RANKSHARE_EXPORT static uuid random();

  /// @param text 8-4-4-4-12 hexadecimal digits
  /// @throws invalid_argument if `text` has another form
  RANKSHARE_EXPORT static uuid from_string(std::string_view text);

  /// @return whether all bytes are zero: no identity
  bool is_nil() const noexcept { return *this == uuid{}; }

  friend bool operator==(uuid const& a, uuid const& b) noexcept {
    std::uint64_t x[2], y[2];  // as words: it is done for each import
    std::memcpy(x, a.bytes.data(), sizeof x);
    std::memcpy(y, b.bytes.data(), sizeof y);
    return x[0] == y[0] && x[1] == y[1];
  }
  friend bool operator!=(uuid const& a, uuid const& b) noexcept { return !(a == b); }
  friend bool operator<(uuid const& a, uuid const& b) noexcept { return a.bytes < b.bytes; }
};

/// @return `id` as 8-4-4-4-12 hexadecimal digits
RANKSHARE_EXPORT std::string to_string(uuid const& id);

}  // namespace rankshare

template <>
struct std::hash<rankshare::uuid> {
  std::size_t operator()(rankshare::uuid const& id) const noexcept {
    std::uint64_t half[2];
    std::memcpy(half, id.bytes.data(), sizeof half);
    return static_cast<std::size_t>(half[0] ^ (half[1] * 0x9E3779B97F4A7C15ULL));
  }
};
