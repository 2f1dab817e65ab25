// SPDX-License-Identifier: Apache-2.0
/// @file
/// Puts another driver in charge of host memory for a while.
#pragma once

#include <rankshare/driver/host_driver.hpp>

namespace rankshare::test {

/// While it lives, `device::host()` is served by the driver that it was made with.
class scoped_host_driver {
 public:
  /// @param replacement outlives everything that is made while this lives
  explicit scoped_host_driver(driver& replacement)
      : former_(&detail::replace_host_driver(&replacement)) {}
  ~scoped_host_driver() { detail::replace_host_driver(former_); }
  scoped_host_driver(scoped_host_driver const&) = delete;
  scoped_host_driver& operator=(scoped_host_driver const&) = delete;

 private:
  driver* former_;
};

}  // namespace rankshare::test
