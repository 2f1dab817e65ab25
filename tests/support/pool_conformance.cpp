// SPDX-License-Identifier: Apache-2.0
#include <support/pool_conformance.hpp>

#include <chrono>
#include <thread>

#include <rankshare/memory/device_memory_resource.hpp>
#include <rankshare/memory/host_memory_resource.hpp>
#include <rankshare/memory/pinned_memory_resource.hpp>

namespace rankshare::test {

PoolConformanceTest::PoolConformanceTest() : checked_(GetParam().serving()) {}

PoolConformanceTest::~PoolConformanceTest() { GetParam().replace(nullptr); }

void PoolConformanceTest::SetUp() {
  auto const why_not = GetParam().why_not != nullptr ? GetParam().why_not() : std::string();
  if (!why_not.empty()) GTEST_SKIP() << why_not;
  if (GetParam().context != nullptr) {
    GetParam().serving().ctx_push_current(GetParam().context());
    has_pushed_ = true;
  }
  GetParam().replace(GetParam().is_checked ? &checked_ : &GetParam().serving());
  where_ = is_host() ? device::host() : device::gpu(0);
  order_.emplace(*where_);
  if (kind() == memory_kind::device) staging_ = host_memory_resource();
  warm_up();
  before_ = footprint_now();
  checked_.reset_counts();
}

void PoolConformanceTest::TearDown() {
  if (!before_) return;  // it was skipped
  auto const violations = checked_.violations();
  EXPECT_TRUE(expects_violations_ || violations.empty()) << testing::PrintToString(violations);
  EXPECT_EQ(checked_.held_back(), 0U);
  EXPECT_TRUE(is_as(*before_, ""));
  EXPECT_EQ(log_.text(), "");
  order_.reset();
  if (has_pushed_) GetParam().serving().ctx_pop_current();
}

// What a driver takes for good at its first use is nobody's leftover.
void PoolConformanceTest::warm_up() const {
  if (is_host()) return;
  auto const memory = make();
  memory.allocate(max_size).close();
  auto mine = memory.allocate(4096);
  write_pattern(mine, 0);
  EXPECT_TRUE(has_pattern(import_buffer(import(memory), mine), 0));
}

// Not through the checked driver: nobody is to see it.
void PoolConformanceTest::settle() const {
  if (GetParam().is_asynchronous) GetParam().serving().stream_synchronize(order_->native_handle());
}

footprint PoolConformanceTest::footprint_now() const {
  settle();
  return footprint::now(&checked_);
}

testing::AssertionResult PoolConformanceTest::is_as(footprint const& before,
                                                    std::string const& but_for) const {
  if (!GetParam().is_asynchronous) return before.is_as_before(but_for);
  auto const limit = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  for (;;) {
    settle();
    auto const result = before.is_as_before(but_for);
    if (result || std::chrono::steady_clock::now() > limit) return result;
  }
}

pool_memory_resource PoolConformanceTest::make(std::size_t bytes, bool ipc_enabled) const {
  switch (kind()) {
    case memory_kind::device:
      return device_memory_resource(where(), {ipc_enabled, bytes});
    case memory_kind::pinned:
      return pinned_memory_resource(where(), {-1, ipc_enabled, bytes});
    case memory_kind::host:
      break;
  }
  return host_memory_resource({bytes});
}

pool_memory_resource PoolConformanceTest::import(allocation_handle const& handle) const {
  switch (kind()) {
    case memory_kind::device:
      return device_memory_resource::from_allocation_handle(where(), handle);
    case memory_kind::pinned:
      return pinned_memory_resource::from_allocation_handle(where(), handle);
    case memory_kind::host:
      break;
  }
  return host_memory_resource::from_allocation_handle(handle);
}

pool_memory_resource PoolConformanceTest::find(uuid const& id) const {
  switch (kind()) {
    case memory_kind::device:
      return device_memory_resource::from_registry(id);
    case memory_kind::pinned:
      return pinned_memory_resource::from_registry(id);
    case memory_kind::host:
      break;
  }
  return host_memory_resource::from_registry(id);
}

std::size_t PoolConformanceTest::granularity_of(pool_memory_resource const& memory) {
  return memory.allocate(1).capacity();
}

std::byte PoolConformanceTest::pattern_byte(std::size_t at, unsigned seed) {
  return std::byte((at * 2654435761U + seed * 40503U + (at >> 8)) >> 3 & 0xFF);
}

void PoolConformanceTest::write_pattern(buffer& target, unsigned seed) const {
  auto const fill = [&](buffer const& directly) {
    auto* const bytes = directly.as<std::byte>();
    for (std::size_t i = 0; i < directly.size(); ++i) bytes[i] = pattern_byte(i, seed);
  };
  if (!staging_) return fill(target);
  auto const copy = staging_->allocate(target.size());
  fill(copy);
  target.copy_from(copy, order());
  order_->synchronize();
}

std::vector<std::byte> PoolConformanceTest::bytes_of(buffer const& source) const {
  if (!staging_) return {source.as<std::byte>(), source.as<std::byte>() + source.size()};
  auto copy = staging_->allocate(source.size());
  source.copy_to(copy, order());
  order_->synchronize();
  return {copy.as<std::byte>(), copy.as<std::byte>() + copy.size()};
}

testing::AssertionResult PoolConformanceTest::has_pattern(buffer const& source,
                                                          unsigned seed) const {
  auto const bytes = bytes_of(source);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != pattern_byte(i, seed)) {
      return testing::AssertionFailure()
             << "byte " << i << " of " << source.size() << " is not that of pattern " << seed;
    }
  }
  return testing::AssertionSuccess();
}

// Pinned memory is where the GPU is near, and is opened for each GPU.
std::size_t CheckedPoolConformanceTest::calls_to_make() const {
  constexpr std::size_t create_export_measure = 3;
  if (kind() != memory_kind::pinned) return create_export_measure;
  auto const gpus = static_cast<std::size_t>(GetParam().serving().device_count());
  return create_export_measure + 2 + gpus;
}

std::size_t CheckedPoolConformanceTest::calls_to_import() const {
  constexpr std::size_t import_measure = 2;
  if (is_host()) return import_measure;
  if (kind() == memory_kind::device) return import_measure + 1;
  return import_measure + 1 + static_cast<std::size_t>(GetParam().serving().device_count());
}

}  // namespace rankshare::test
