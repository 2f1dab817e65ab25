// SPDX-License-Identifier: Apache-2.0
/// @file
/// Numbers in tables.
#pragma once

#include <array>
#include <cmath>
#include <cstdio>
#include <string>

namespace rankshare::bench {

/// @return `amount` with three digits or all in front of the point, and none that say nothing:
///         "12345", "12.3", "0.99", "3"
inline std::string number(double amount) {
  if (amount == std::floor(amount) && std::abs(amount) < 1e15) {
    return std::to_string(static_cast<long long>(amount));
  }
  double const size = std::abs(amount);
  int const decimals = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, amount);
  return text.data();
}

}  // namespace rankshare::bench
