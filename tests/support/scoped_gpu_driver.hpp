// SPDX-License-Identifier: Apache-2.0
/// @file
/// Puts another driver in charge of GPUs for a while.
#pragma once

#include <rankshare/driver/gpu_driver.hpp>

namespace rankshare::test {

/// While it lives, `device::gpu` is served by the driver that it was made with.
class scoped_gpu_driver {
 public:
  /// @param replacement outlives everything that is made while this lives
  explicit scoped_gpu_driver(driver& replacement)
      : former_(detail::replace_gpu_driver(&replacement)) {}
  ~scoped_gpu_driver() { detail::replace_gpu_driver(former_); }
  scoped_gpu_driver(scoped_gpu_driver const&) = delete;
  scoped_gpu_driver& operator=(scoped_gpu_driver const&) = delete;

 private:
  driver* former_;
};

}  // namespace rankshare::test
