// SPDX-License-Identifier: Apache-2.0
#include <rankshare/base/uuid.hpp>

#include <sys/random.h>

#include <cerrno>

#include <rankshare/base/error.hpp>

namespace rankshare {
namespace {

bool is_dash_position(std::size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

uuid uuid::random() {
  uuid id;
  std::size_t done = 0;
  while (done < id.bytes.size()) {
    auto const got = ::getrandom(id.bytes.data() + done, id.bytes.size() - done, 0);
    if (got < 0 && errno != EINTR) {
      throw system_error(errno, "making a uuid: the kernel gives no random bytes", "getrandom");
    }
    if (got > 0) done += static_cast<std::size_t>(got);
  }
  id.bytes[6] = static_cast<std::uint8_t>((id.bytes[6] & 0x0F) | 0x40);
  id.bytes[8] = static_cast<std::uint8_t>((id.bytes[8] & 0x3F) | 0x80);
  return id;
}

uuid uuid::from_string(std::string_view text) {
  uuid id;
  std::size_t digits = 0;
  bool good = text.size() == 36;
  for (std::size_t i = 0; good && i < text.size(); ++i) {
    if (is_dash_position(i)) {
      good = text[i] == '-';
      continue;
    }
    int const value = hex_value(text[i]);
    good = value >= 0;
    if (!good) break;
    auto& byte = id.bytes[digits / 2];
    byte = static_cast<std::uint8_t>((byte << 4) | value);
    ++digits;
  }
  if (!good) {
    throw invalid_argument("reading a uuid: '" + std::string(text) +
                           "' is not of the form 8-4-4-4-12 hexadecimal digits");
  }
  return id;
}

std::string to_string(uuid const& id) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(36);
  for (auto const byte : id.bytes) {
    if (is_dash_position(text.size())) text += '-';
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace rankshare
