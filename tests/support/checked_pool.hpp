// SPDX-License-Identifier: Apache-2.0
/// @file
/// A pool that a checked driver knows.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include <rankshare/base/error.hpp>
#include <rankshare/driver/driver.hpp>

namespace rankshare::test {

/// A pool and what lives in it. Work that is held back owns it too: the driver's pool goes with the
/// last owner.
struct checked_pool {
  /// What the driver gave out of the pool.
  struct piece {
    std::size_t bytes = 0;
    std::size_t users = 0;  ///< of an import; 1 for an allocation
  };

  checked_pool(driver& served_by, CUmemPoolHandle_st* pool, bool imported,
               std::function<void(std::string const&)> report)
      : inner(served_by), handle(pool), is_imported(imported), note(std::move(report)) {}
  checked_pool(checked_pool const&) = delete;
  checked_pool& operator=(checked_pool const&) = delete;
  ~checked_pool() {
    try {
      inner.mem_pool_destroy(handle);
    } catch (...) {
      note("mem_pool_destroy failed: " + current_error_text());
    }
  }

  driver& inner;
  CUmemPoolHandle_st* handle;
  bool is_imported;
  std::function<void(std::string const&)> note;
  std::map<device_pointer, piece> pieces;  ///< guarded by the driver's mutex
};

}  // namespace rankshare::test
