// SPDX-License-Identifier: Apache-2.0
/// @file
/// A fixture for tests that need a GPU. No context is current when a case begins, and none is when
/// it ends.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <gpu/raw_cuda.hpp>
#include <rankshare/handle/device.hpp>
#include <rankshare/handle/stream.hpp>
#include <rankshare/memory/buffer.hpp>
#include <rankshare/memory/device_memory_resource.hpp>
#include <rankshare/memory/host_memory_resource.hpp>
#include <rankshare/memory/pinned_memory_resource.hpp>
#include <support/captured_log.hpp>
#include <support/needs_gpu.hpp>
#include <support/throws.hpp>

namespace rankshare::test {

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t gib = std::size_t{1} << 30;

/// @return the bytes of a buffer of any kind
inline std::vector<std::byte> bytes_of(buffer const& source, device where) {
  host_memory_resource const memory;
  auto copy = memory.allocate(source.size());
  stream const order(where);
  source.copy_to(copy, order);
  order.synchronize();
  return {copy.as<std::byte>(), copy.as<std::byte>() + copy.size()};
}

/// @return whether every byte is `value`
inline testing::AssertionResult is_full_of(int value, buffer const& source, device where) {
  auto const bytes = bytes_of(source, where);
  auto const wrong = std::find_if(bytes.begin(), bytes.end(),
                                  [&](std::byte byte) { return byte != std::byte(value); });
  if (wrong == bytes.end()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "byte " << wrong - bytes.begin() << " of " << bytes.size()
                                     << " is " << std::to_integer<int>(*wrong);
}

inline void fill(buffer& target, int value, device where) {
  stream const order(where);
  target.fill(std::byte(value), order);
  order.synchronize();
}

class gpu_fixture : public testing::Test {
 protected:
  void SetUp() override {
    auto const why_not = why_no_gpu_here();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    where_.emplace(device::gpu(0));
    while (raw_cuda::current_context() != nullptr) raw_cuda::pop();
  }

  void TearDown() override {
    if (!where_) return;  // it was skipped
    EXPECT_EQ(raw_cuda::current_context(), nullptr);
    EXPECT_TRUE(expects_reports_ || log_.text().empty()) << log_.text();
  }

  device where() const { return *where_; }
  void expect_reports() { expects_reports_ = true; }
  testing::AssertionResult is_full_of(int value, buffer const& source) const {
    return test::is_full_of(value, source, where());
  }
  void fill(buffer& target, int value) const { test::fill(target, value, where()); }

  captured_log log_;

 private:
  std::optional<device> where_;
  bool expects_reports_ = false;
};

/// Imports a pool of this process into it, as a peer would.
inline device_memory_resource import_pool(device_memory_resource const& owner) {
  return device_memory_resource::from_allocation_handle(owner.device(), owner.allocation_handle());
}

inline buffer import_buffer(pool_memory_resource const& through, buffer const& of,
                            stream_ref order) {
  return buffer::from_ipc_descriptor(through, of.ipc_descriptor(), order);
}

}  // namespace rankshare::test
