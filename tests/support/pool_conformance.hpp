// SPDX-License-Identifier: Apache-2.0
/// @file
/// The one suite that every pool resource must pass, on every driver that serves it. The cases are
/// in pool_conformance_*.cpp; a test program instantiates the suites for its resources.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <rankshare/base/error.hpp>
#include <rankshare/base/uuid.hpp>
#include <rankshare/driver/driver.hpp>
#include <rankshare/handle/device.hpp>
#include <rankshare/handle/stream.hpp>
#include <rankshare/ipc/allocation_handle.hpp>
#include <rankshare/memory/buffer.hpp>
#include <rankshare/memory/pool_memory_resource.hpp>
#include <support/captured_log.hpp>
#include <support/checked_driver.hpp>
#include <support/leftovers.hpp>
#include <support/throws.hpp>

namespace rankshare::test {

/// A kind of memory, a driver for it, and what that can do.
struct pool_under_test {
  std::string name;  ///< of the parameter, for the names of the cases
  memory_kind kind;
  bool is_checked;  ///< put a checked driver before the one that serves it
  driver& (*serving)();
  void (*replace)(driver* replacement);  ///< puts a driver in charge; null: the usual one
  bool tells_freed_memory = false;  ///< the driver sees that what a payload describes was freed
  bool tells_pools_apart = true;    ///< the driver sees that a descriptor is that of another pool
  bool tells_owners_apart = true;   ///< a free names its pool, and what is not of it is refused
  bool is_asynchronous = false;     ///< what is given back goes when the device has come to it
  std::string (*why_not)() = nullptr;  ///< why it cannot run here; "": it can
  CUctx_st* (*context)() = nullptr;    ///< to be current, for the default streams
};

inline void PrintTo(pool_under_test const& one, std::ostream* out) { *out << one.name; }

inline std::string name_of(testing::TestParamInfo<pool_under_test> const& info) {
  return info.param.name;
}

/// At the end of each case all must be as before it.
class PoolConformanceTest : public testing::TestWithParam<pool_under_test> {
 protected:
  static constexpr std::size_t mib = 1024 * 1024;
  static constexpr std::size_t max_size = 32 * mib;

  PoolConformanceTest();
  ~PoolConformanceTest() override;
  void SetUp() override;
  void TearDown() override;

  device where() const { return *where_; }
  static memory_kind kind() { return GetParam().kind; }
  static bool is_host() { return kind() == memory_kind::host; }
  /// @return what messages call the memory
  std::string described() const { return detail::describe(kind(), where()); }
  /// @return a stream of the device, the same for the whole case
  stream_ref order() const { return *order_; }

  pool_memory_resource make(std::size_t bytes = max_size, bool ipc_enabled = true) const;
  pool_memory_resource import(allocation_handle const& handle) const;
  pool_memory_resource import(pool_memory_resource const& owner) const {
    return import(owner.allocation_handle());
  }
  pool_memory_resource find(uuid const& id) const;
  buffer import_buffer(pool_memory_resource const& through, buffer const& of) const {
    return buffer::from_ipc_descriptor(through, of.ipc_descriptor(), order());
  }

  /// @return what an allocation of one byte is rounded up to
  static std::size_t granularity_of(pool_memory_resource const& memory);
  /// Writes a pattern to every byte that was asked for.
  void write_pattern(buffer& target, unsigned seed) const;
  /// @return whether the bytes that were asked for hold the pattern
  testing::AssertionResult has_pattern(buffer const& source, unsigned seed) const;
  static std::byte pattern_byte(std::size_t at, unsigned seed);
  std::vector<std::byte> bytes_of(buffer const& source) const;

  /// Call it in a case that makes the resource hand the driver what it must not have.
  void expect_violations() { expects_violations_ = true; }
  footprint footprint_now() const;
  /// As the function of that name, once the device is idle. What pools that are open keep mapped
  /// does not count.
  testing::AssertionResult nothing_left_since(footprint const& before) const {
    return is_as(before, "mapped bytes of /dev/nvidia");
  }

  checked_driver checked_;  // in use only if the parameter says so
  captured_log log_;

 private:
  void warm_up() const;
  void settle() const;
  testing::AssertionResult is_as(footprint const& before, std::string const& but_for) const;

  std::optional<device> where_;
  std::optional<stream> order_;
  std::optional<pool_memory_resource> staging_;  // host memory, where the kind is none
  std::optional<footprint> before_;
  bool has_pushed_ = false;
  bool expects_violations_ = false;
};

/// The part that hands the driver payloads that it must check: some crash.
class ForgedPayloadConformanceTest : public PoolConformanceTest {};

/// The part that needs a checked driver.
class CheckedPoolConformanceTest : public PoolConformanceTest {
 protected:
  /// Does `operation` again and again, while its first, second, ... call of the driver fails; each
  /// time it must throw, and leave nothing behind. What it returns is closed without any failure.
  /// @return number of calls that were made to fail
  template <class Operation>
  std::size_t fail_each_call(Operation const& operation);

  /// @return calls of the driver that make a resource
  std::size_t calls_to_make() const;
  /// @return calls of the driver that import a pool
  std::size_t calls_to_import() const;
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
