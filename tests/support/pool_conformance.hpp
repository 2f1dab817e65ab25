// SPDX-License-Identifier: Apache-2.0
/// @file
/// The one suite that every pool resource must pass, on every driver that serves it. The cases are
/// in pool_conformance_*.cpp; a test program instantiates both suites for its resource.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <ostream>
#include <string>

#include <rankshare/base/error.hpp>
#include <rankshare/base/uuid.hpp>
#include <rankshare/driver/driver.hpp>
#include <rankshare/handle/device.hpp>
#include <rankshare/ipc/allocation_handle.hpp>
#include <rankshare/memory/buffer.hpp>
#include <rankshare/memory/pool_memory_resource.hpp>
#include <support/captured_log.hpp>
#include <support/checked_driver.hpp>
#include <support/leftovers.hpp>
#include <support/throws.hpp>

namespace rankshare::test {

/// A resource, a driver for it, and what both can do.
struct pool_under_test {
  std::string name;              ///< of the parameter, for the names of the cases
  bool is_checked;               ///< put a checked driver before the one that serves it
  bool driver_tells_stale_ones;  ///< the driver itself sees that a payload was freed
  driver& (*serving)();
  driver& (*replace)(driver* replacement);
  device (*where)();
  pool_memory_resource (*make)(std::size_t max_size);
  pool_memory_resource (*import)(allocation_handle const& handle);
  pool_memory_resource (*find)(uuid const& id);
};

inline void PrintTo(pool_under_test const& one, std::ostream* out) { *out << one.name; }

inline std::string name_of(testing::TestParamInfo<pool_under_test> const& info) {
  return info.param.name;
}

/// At the end of each case all must be as before it.
class PoolConformanceTest : public testing::TestWithParam<pool_under_test> {
 protected:
  static constexpr std::size_t mib = 1024 * 1024;
  static constexpr std::size_t max_size = 16 * mib;

  PoolConformanceTest();
  ~PoolConformanceTest() override;
  void TearDown() override;

  device where() const { return GetParam().where(); }
  pool_memory_resource make(std::size_t bytes = max_size) const { return GetParam().make(bytes); }
  pool_memory_resource import(allocation_handle const& handle) const {
    return GetParam().import(handle);
  }
  pool_memory_resource import(pool_memory_resource const& owner) const {
    return import(owner.allocation_handle());
  }
  pool_memory_resource find(uuid const& id) const { return GetParam().find(id); }

  /// @return what an allocation of one byte is rounded up to
  static std::size_t granularity_of(pool_memory_resource const& memory);
  /// Writes a pattern to every byte that is there.
  static void write_pattern(buffer const& target, unsigned seed);
  /// @return whether the bytes that were asked for hold the pattern
  static testing::AssertionResult has_pattern(buffer const& source, unsigned seed);

  /// Call it in a case that makes the resource hand the driver what it must not have.
  void expect_violations() { expects_violations_ = true; }
  footprint footprint_now() const { return footprint::now(&checked_); }

  checked_driver checked_;  // in use only if the parameter says so
  captured_log log_;

 private:
  footprint before_;
  bool expects_violations_ = false;
};

/// The part that needs a checked driver.
class CheckedPoolConformanceTest : public PoolConformanceTest {
 protected:
  /// Does `operation` again and again, while its first, second, ... call of the driver fails; each
  /// time it must throw, and leave nothing behind. What it returns is closed without any failure.
  /// @return number of calls that were made to fail
  template <class Operation>
  std::size_t fail_each_call(Operation const& operation);
};

template <class Operation>
std::size_t CheckedPoolConformanceTest::fail_each_call(Operation const& operation) {
  for (std::size_t nth = 1;; ++nth) {
    auto const before = footprint_now();
    checked_.fail_call(call_counter::any_call, nth, [] { throw not_supported("planted"); });
    std::optional<decltype(operation())> made;
    auto const result = throws<not_supported>([&] { made.emplace(operation()); }, "planted");
    bool const was_not_reached = checked_.cancel_failure();
    made.reset();
    EXPECT_TRUE(nothing_left_since(before)) << "after the failure of call " << nth;
    if (was_not_reached) return nth - 1;
    EXPECT_TRUE(result) << "call " << nth;
  }
}

}  // namespace rankshare::test
