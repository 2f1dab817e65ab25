// SPDX-License-Identifier: Apache-2.0
#include <rankshare/handle/stream_ref.hpp>

#include <gtest/gtest.h>

#include <cstdint>

#include <rankshare/driver/host_driver.hpp>

namespace rankshare {
namespace {

CUstream_st* handle(std::uintptr_t value) { return reinterpret_cast<CUstream_st*>(value); }

TEST(StreamRefTest, TokensAreThoseOfCuda) {
  auto const legacy = stream_ref::legacy_default();
  auto const per_thread = stream_ref::per_thread_default();
  EXPECT_EQ(legacy.native_handle(), handle(1));
  EXPECT_EQ(per_thread.native_handle(), handle(2));
  EXPECT_TRUE(legacy.is_default());
  EXPECT_TRUE(per_thread.is_default());
  EXPECT_NE(legacy, per_thread);
}

TEST(StreamRefTest, NativeHandleConverts) {
  stream_ref const other = handle(4096);
  EXPECT_EQ(other.native_handle(), handle(4096));
  EXPECT_FALSE(other.is_default());
  EXPECT_EQ(other.served_by(), nullptr);
}

TEST(StreamRefTest, KnowsItsDriverWhereGiven) {
  host_driver driver;
  stream_ref const with(handle(4096), driver);
  EXPECT_EQ(with.served_by(), &driver);
  EXPECT_EQ(with, stream_ref(handle(4096)));
  EXPECT_NE(with, stream_ref(handle(8192)));
}

}  // namespace
}  // namespace rankshare
