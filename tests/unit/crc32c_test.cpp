// SPDX-License-Identifier: Apache-2.0
#include <rankshare/base/crc32c.hpp>

#include <gtest/gtest.h>

#include <array>
#include <numeric>

namespace rankshare {
namespace {

// The values of RFC 3720, appendix B.4.
TEST(Crc32cTest, IsThatOfTheStandard) {
  std::array<unsigned char, 32> bytes{};
  EXPECT_EQ(detail::crc32c(bytes.data(), bytes.size()), 0x8A9136AAU);
  bytes.fill(0xFF);
  EXPECT_EQ(detail::crc32c(bytes.data(), bytes.size()), 0x62A8AB43U);
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
  EXPECT_EQ(detail::crc32c(bytes.data(), bytes.size()), 0x46DD794EU);
  EXPECT_EQ(detail::crc32c("123456789", 9), 0xE3069283U);
  EXPECT_EQ(detail::crc32c(nullptr, 0), 0U);
}

}  // namespace
}  // namespace rankshare
