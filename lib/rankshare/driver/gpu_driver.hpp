// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which driver serves GPUs in this process. Not for users.
#pragma once

#include <string>

#include <rankshare/base/export.hpp>
#include <rankshare/driver/driver.hpp>

namespace rankshare::detail {

/// A driver of GPUs, or why there is none.
struct gpu_driver {
  driver* served_by = nullptr;
  std::string why_none;  ///< what to change to have one

  /// Chooses as the environment asks: emulated devices (`RANKSHARE_HOST_DEVICES`), none
  /// (`RANKSHARE_DRIVER=host`), else the CUDA driver, which is initialised by this.
  /// @throws not_supported    if `RANKSHARE_DRIVER=cuda` and there is none
  /// @throws invalid_argument if an environment variable has a value that is not allowed
  RANKSHARE_EXPORT static gpu_driver of_this_process();

  /// @return whether `of_this_process` was called, so that asking again initialises nothing
  RANKSHARE_EXPORT static bool was_asked_for() noexcept;

  /// @return the driver whose streams this process may have, without initialising one for that;
  ///         null if neither this library nor another has loaded the CUDA driver
  RANKSHARE_EXPORT static driver* in_use() noexcept;
};

/// Replaces the driver of GPUs, for tests and tools.
///
/// @param replacement the new driver, which must outlive its use; null restores the choice above
/// @return the replacement that was in force; null if none was
RANKSHARE_EXPORT driver* replace_gpu_driver(driver* replacement) noexcept;

}  // namespace rankshare::detail
