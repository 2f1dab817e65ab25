// SPDX-License-Identifier: Apache-2.0
/// @file
/// The small files of /proc and /sys.
#pragma once

#include <string>

#include <rankshare/base/export.hpp>

namespace rankshare {

/// Reads a whole file. Its descriptor is close-on-exec while it is open.
///
/// @param path of the file
/// @param text what it holds; empty if it cannot be read
/// @return 0, or the errno of what failed
RANKSHARE_EXPORT int read_text_file(std::string const& path, std::string& text);

/// As `read_text_file`, without the reason.
RANKSHARE_EXPORT std::string text_of_file(std::string const& path);

}  // namespace rankshare
