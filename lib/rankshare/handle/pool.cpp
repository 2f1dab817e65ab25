// SPDX-License-Identifier: Apache-2.0
#include <rankshare/handle/pool.hpp>

#include <utility>

#include <rankshare/base/error.hpp>
#include <rankshare/base/log.hpp>

namespace rankshare {

pool pool::create(driver& served_by, pool_properties const& properties) {
  return {served_by, served_by.mem_pool_create(properties)};
}

pool::pool(pool&& other) noexcept
    : driver_(other.driver_),
      handle_(std::exchange(other.handle_, nullptr)),
      imports_(other.imports_) {}

pool::~pool() {
  if (handle_ == nullptr) return;
  try {
    for (; imports_ > 0; --imports_) driver_->mem_pool_destroy(handle_);
  } catch (...) {
    detail::log_once(log_level::error, "mem_pool_destroy",
                     "destroying a pool: " + current_error_text());
  }
}

}  // namespace rankshare
