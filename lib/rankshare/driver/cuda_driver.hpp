// SPDX-License-Identifier: Apache-2.0
/// @file
/// The driver of GPUs: libcuda, loaded when it is first asked for.
#pragma once

#include <memory>

#include <rankshare/base/export.hpp>
#include <rankshare/driver/driver.hpp>

namespace rankshare::detail {

/// @return the driver of the GPUs of this process, loaded and initialised at the first call
/// @throws not_supported if there is no CUDA driver, it is too old, it sees no GPU, this process
///                       was forked from one that uses it, or rankshare was built without the CUDA
///                       headers; says which. A failure is for good.
RANKSHARE_EXPORT driver& cuda_driver();

/// @return whether this process has asked for `cuda_driver`: without it, CUDA is untouched
RANKSHARE_EXPORT bool cuda_driver_was_asked_for() noexcept;

/// Loads and initialises a driver library.
///
/// @param library name or path, as for dlopen
/// @throws not_supported as `cuda_driver`
RANKSHARE_EXPORT std::unique_ptr<driver> load_cuda_driver(char const* library);

}  // namespace rankshare::detail
