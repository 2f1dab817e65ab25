// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tables for people.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "tools/bench/results.hpp"
#include "tools/bench/targets.hpp"

namespace rankshare::bench {

/// Prints the machine, and each value of each row with its spread.
void print_results(std::ostream& out, results const& all);

/// Prints a line for each verdict: row, measured, target, `ok`, `FALLS SHORT` or `skipped`; and a
/// last line that counts them.
void print_verdicts(std::ostream& out, std::vector<verdict> const& all);

}  // namespace rankshare::bench
