// SPDX-License-Identifier: Apache-2.0
#include <rankshare/base/crc32c.hpp>

#include <array>

namespace rankshare::detail {
namespace {

constexpr std::uint32_t reflected_polynomial = 0x82F63B78;

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) {
      rest = (rest >> 1) ^ ((rest & 1) != 0 ? reflected_polynomial : 0);
    }
    table[byte] = rest;
  }
  return table;
}

constexpr auto table = make_table();

}  // namespace

std::uint32_t crc32c(void const* bytes, std::size_t count) noexcept {
  auto const* const source = static_cast<unsigned char const*>(bytes);
  std::uint32_t rest = ~std::uint32_t{0};
  for (std::size_t i = 0; i < count; ++i) rest = (rest >> 8) ^ table[(rest ^ source[i]) & 0xFF];
  return ~rest;
}

}  // namespace rankshare::detail
