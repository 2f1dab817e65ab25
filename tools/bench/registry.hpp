// SPDX-License-Identifier: Apache-2.0
/// @file
/// The table of all measurements.
#pragma once

#include <string>
#include <vector>

#include "tools/bench/measurement.hpp"

namespace rankshare::bench {

/// @return all measurements, in the order in which they are run
std::vector<measurement> const& all_measurements();

/// @return the measurement called `key`; null if there is none
measurement const* find_measurement(std::string const& key);

/// @param filters parts of keys
/// @return whether `key` contains one of them, or there are none
bool is_selected(std::string const& key, std::vector<std::string> const& filters);

}  // namespace rankshare::bench
