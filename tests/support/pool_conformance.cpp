// SPDX-License-Identifier: Apache-2.0
#include <support/pool_conformance.hpp>

namespace rankshare::test {
namespace {

std::byte pattern_byte(std::size_t at, unsigned seed) {
  return std::byte((at * 2654435761U + seed * 40503U + (at >> 8)) >> 3 & 0xFF);
}

}  // namespace

PoolConformanceTest::PoolConformanceTest()
    : checked_(GetParam().serving()), before_(footprint::now(&checked_)) {
  if (GetParam().is_checked) GetParam().replace(&checked_);
}

PoolConformanceTest::~PoolConformanceTest() { GetParam().replace(nullptr); }

void PoolConformanceTest::TearDown() {
  auto const violations = checked_.violations();
  EXPECT_TRUE(expects_violations_ || violations.empty()) << testing::PrintToString(violations);
  EXPECT_EQ(checked_.held_back(), 0U);
  EXPECT_TRUE(nothing_left_since(before_));
  EXPECT_EQ(log_.text(), "");
}

std::size_t PoolConformanceTest::granularity_of(pool_memory_resource const& memory) {
  return memory.allocate(1).capacity();
}

void PoolConformanceTest::write_pattern(buffer const& target, unsigned seed) {
  auto* const bytes = target.as<std::byte>();
  for (std::size_t i = 0; i < target.capacity(); ++i) bytes[i] = pattern_byte(i, seed);
}

testing::AssertionResult PoolConformanceTest::has_pattern(buffer const& source, unsigned seed) {
  auto const* const bytes = source.as<std::byte>();
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (bytes[i] != pattern_byte(i, seed)) {
      return testing::AssertionFailure()
             << "byte " << i << " of " << source.size() << " is not that of pattern " << seed;
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace rankshare::test
