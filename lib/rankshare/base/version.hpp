// SPDX-License-Identifier: Apache-2.0
/// @file
/// The version of rankshare.
#pragma once

namespace rankshare {

/// Version of the library, `major.minor.patch`; all ranks of a job need the same.
#ifndef RANKSHARE_VERSION
#define RANKSHARE_VERSION "0.1.0"
#endif
inline constexpr char version_string[] = RANKSHARE_VERSION;

}  // namespace rankshare
