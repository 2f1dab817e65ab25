// SPDX-License-Identifier: Apache-2.0
/// @file
/// What "all is as before" means in the tests: file descriptors, shared mappings, driver objects.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include <support/checked_driver.hpp>

namespace rankshare::test {

/// What this process holds at one time. Numbers and addresses do not count: the same things held
/// under others are the same.
class footprint {
 public:
  /// @param checked its live objects count too; null: none
  static footprint now(checked_driver const* checked = nullptr);

  /// @param but_for what begins so does not count; "": all does
  /// @return success if the process holds now what it held then, else what is more and what is less
  testing::AssertionResult is_as_before(std::string const& but_for = "") const;

  /// What is held, and how often: "fd /memfd:rankshare-pool (deleted)", "mapping ...",
  /// "driver pools".
  std::map<std::string, long> const& held() const noexcept { return held_; }

 private:
  explicit footprint(checked_driver const* checked) : checked_(checked) {}

  checked_driver const* checked_;
  std::map<std::string, long> held_;
};

/// `EXPECT_TRUE(nothing_left_since(before))`
inline testing::AssertionResult nothing_left_since(footprint const& before) {
  return before.is_as_before();
}

}  // namespace rankshare::test
