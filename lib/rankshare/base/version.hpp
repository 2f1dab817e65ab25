// SPDX-License-Identifier: Apache-2.0
/// @file
/// The version of rankshare.
#pragma once

namespace rankshare {

/// Version of the library, `major.minor.patch`; all ranks of a job need the same.
inline constexpr char version_string[] = "0.1.0";

}  // namespace rankshare
