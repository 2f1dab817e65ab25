// SPDX-License-Identifier: Apache-2.0
/// @file
/// A fixture in which host memory is served by a checked driver, and all must be as before at the
/// end of each case.
#pragma once

#include <gtest/gtest.h>

#include <rankshare/driver/host_driver.hpp>
#include <support/captured_log.hpp>
#include <support/checked_driver.hpp>
#include <support/leftovers.hpp>
#include <support/scoped_host_driver.hpp>

namespace rankshare::test {

/// Derive the fixture of a test from it. A case closes what it made before it ends.
class checked_host : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(checked_.violations(), std::vector<std::string>{});
    EXPECT_EQ(checked_.held_back(), 0U);
    EXPECT_TRUE(nothing_left_since(before_));
    EXPECT_TRUE(expects_reports_ || log_.text().empty()) << log_.text();
  }

  /// Call it in a case that makes the library report something, and look at `log_`.
  void expect_reports() { expects_reports_ = true; }

 private:
  host_driver inner_;

 protected:
  checked_driver checked_{inner_};
  captured_log log_;

 private:
  scoped_host_driver installed_{checked_};
  footprint before_ = footprint::now(&checked_);
  bool expects_reports_ = false;
};

}  // namespace rankshare::test
