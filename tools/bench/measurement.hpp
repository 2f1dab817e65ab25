// SPDX-License-Identifier: Apache-2.0
/// @file
/// A measurement: a row of the table that tools/bench/bench prints.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/bench/statistics.hpp"

namespace rankshare::bench {

/// One number that a measurement found.
struct value {
  std::string name;
  double amount = 0;
  std::string unit;               ///< "us", "ns", "ratio", "calls"
  std::optional<summary> spread;  ///< in the same unit, where `amount` is a median
};

/// What a measurement found.
struct findings {
  int repetitions = 1;
  std::vector<value> values;
};

/// An entry of the table of measurements.
struct measurement {
  std::string key;
  std::string description;
  /// Processes that run it together; 1 runs without MPI.
  int ranks = 1;
  /// @return why this rank cannot run it here; empty if it can
  std::function<std::string()> can_run;
  /// Runs it. Called on every rank; what rank 0 returns counts.
  std::function<findings()> run;
};

}  // namespace rankshare::bench
