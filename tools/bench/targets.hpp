// SPDX-License-Identifier: Apache-2.0
/// @file
/// What measurements should find, as targets.json says, and whether they do.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/bench/results.hpp"

namespace rankshare::bench {

/// A target that names what is not there, or cannot be read: a mistake in the file, not a result.
class bad_targets : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What one value of a row should be.
struct bound {
  std::string value;  ///< its name in the row
  std::string unit;
  std::optional<double> at_most;  // one of the two
  std::optional<double> at_least;

  bool holds(double amount) const noexcept {
    return at_most ? amount <= *at_most : amount >= *at_least;
  }
};

/// What a row should reach: one of some bounds.
struct target {
  std::string key;
  std::vector<bound> any_of;
  std::string source;  ///< who says so, and under which conditions
};

/// Reads a list of targets:
///
///     [{"key": "fence_2", "value": "ours", "at_most": 5, "unit": "us", "source": "..."},
///      {"key": "construct_2", "any_of": [{"value": ...}, {"value": ...}], "source": "..."}]
///
/// @throws bad_targets if the file cannot be read, or something in it is missing, unknown or of the
///         wrong type
std::vector<target> read_targets(std::string const& path);

/// @param is_row whether there is a measurement of that key
/// @throws bad_targets if a target is for none
void check_keys(std::vector<target> const& all,
                std::function<bool(std::string const&)> const& is_row);

/// How a row stands to a target.
struct verdict {
  enum class kind { ok, falls_short, skipped };

  std::string key;
  std::string measured;
  std::string wanted;
  kind result = kind::ok;
  std::string reason;  ///< where it was skipped or did not run
};

/// @return a verdict for each target, in order; a row that is not in `found` falls short
/// @throws bad_targets if a row has no value of that name and unit
std::vector<verdict> judge(std::vector<target> const& wanted, results const& found);

}  // namespace rankshare::bench
