// SPDX-License-Identifier: Apache-2.0
/// @file
/// What measurements found, as it is written to and read from JSON.
#pragma once

#include <string>
#include <vector>

#include "tools/bench/machine.hpp"
#include "tools/bench/measurement.hpp"

namespace rankshare::bench {

/// A measurement that ran, or that said why it could not.
struct row {
  std::string key;
  int ranks = 1;
  findings found;
  std::string skipped;  ///< why it could not run; empty: it ran
};

/// Rows, and where they were found.
struct results {
  machine_facts machine;
  std::vector<row> rows;

  /// @return the row called `key`; null if there is none
  row const* find(std::string const& key) const;
};

/// @throws std::runtime_error if the file cannot be written
void write_results(std::string const& path, results const& all);

/// @throws std::runtime_error if the file cannot be read, or is not what `write_results` writes
results read_results(std::string const& path);

}  // namespace rankshare::bench
