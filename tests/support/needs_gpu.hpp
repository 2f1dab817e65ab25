// SPDX-License-Identifier: Apache-2.0
/// @file
/// Why a test that needs a GPU is skipped.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include <rankshare/handle/device.hpp>

namespace rankshare::test {

/// `if (auto const why = why_no_gpu_here(); !why.empty()) GTEST_SKIP() << why;`
///
/// @return "" where there is a GPU. Where there is none and RANKSHARE_REQUIRE_GPU=1 asks for one,
///         that is a failure too.
inline std::string why_no_gpu_here() {
  auto const why = device::why_no_gpu();
  if (why.empty()) return why;
  char const* const required = std::getenv("RANKSHARE_REQUIRE_GPU");
  if (required != nullptr && std::string_view(required) == "1") {
    ADD_FAILURE() << "RANKSHARE_REQUIRE_GPU=1 asks for a GPU, and there is none: " << why;
  }
  return "no GPU: " + why;
}

}  // namespace rankshare::test
