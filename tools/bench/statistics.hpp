// SPDX-License-Identifier: Apache-2.0
/// @file
/// What is said of a measurement that was repeated.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace rankshare::bench {

/// Five numbers of a sample.
struct summary {
  double min = 0;
  double lower_quartile = 0;
  double median = 0;
  double upper_quartile = 0;
  double max = 0;
};

/// @param sorted   ascending, not empty
/// @param fraction from 0 (the smallest) to 1 (the largest); between two elements the line through
///                 them
inline double quantile(std::vector<double> const& sorted, double fraction) {
  double const place = fraction * static_cast<double>(sorted.size() - 1);
  auto const below = static_cast<std::size_t>(std::floor(place));
  auto const above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
}

/// @param sample in any order
/// @throws std::invalid_argument if it is empty
inline summary summarize(std::vector<double> sample) {
  if (sample.empty()) throw std::invalid_argument("summarizing a sample: it is empty");
  std::sort(sample.begin(), sample.end());
  return {sample.front(), quantile(sample, 0.25), quantile(sample, 0.5), quantile(sample, 0.75),
          sample.back()};
}

}  // namespace rankshare::bench
