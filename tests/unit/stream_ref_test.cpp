// SPDX-License-Identifier: Apache-2.0
#include <rankshare/handle/stream_ref.hpp>

#include <gtest/gtest.h>

#include <cstdint>

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

TEST(StreamRefTest, ComparesByHandle) {
  EXPECT_EQ(stream_ref(handle(4096)), stream_ref(handle(4096)));
  EXPECT_NE(stream_ref(handle(4096)), stream_ref(handle(8192)));
}

// Whose driver it is, only a stream of ours tells: StreamTest.
TEST(StreamRefTest, DefaultStreamsHaveNoOwner) {
  for (auto const token : {stream_ref::legacy_default(), stream_ref::per_thread_default()}) {
    EXPECT_EQ(token.served_by(), nullptr);
    EXPECT_EQ(token.state(), nullptr);
  }
}

}  // namespace
}  // namespace rankshare
