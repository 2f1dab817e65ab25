// SPDX-License-Identifier: Apache-2.0
/// @file
/// How much memory this process may still use.
#pragma once

#include <cstddef>
#include <string>

#include <rankshare/base/export.hpp>

namespace rankshare {

/// Memory that can still be had, and what bounds it.
struct available_memory {
  std::size_t bytes;  ///< bytes that can be had without swapping
  std::string limit;  ///< "MemAvailable" or the folder of the memory cgroup that is nearest full

  /// Asks the kernel. A hint only: others may take the memory before it is touched.
  ///
  /// @par Source
  /// proc(5), /proc/meminfo; cgroups(7), memory.max, memory.current and memory.limit_in_bytes.
  RANKSHARE_EXPORT static available_memory now();
};

/// @return bytes of memory of this machine
RANKSHARE_EXPORT std::size_t machine_memory();

}  // namespace rankshare
