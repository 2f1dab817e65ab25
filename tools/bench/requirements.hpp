// SPDX-License-Identifier: Apache-2.0
/// @file
/// What measurements ask of the machine.
#pragma once

#include <string>

namespace rankshare::bench {

/// @return why this process cannot fetch file descriptors of others; empty if nothing speaks
///         against it
std::string why_no_fetch();

}  // namespace rankshare::bench
