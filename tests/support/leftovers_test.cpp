// SPDX-License-Identifier: Apache-2.0
#include <support/leftovers.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include <rankshare/base/unique_fd.hpp>
#include <rankshare/driver/host_driver.hpp>
#include <rankshare/handle/stream_ref.hpp>

namespace rankshare::test {
namespace {

std::string text_of(testing::AssertionResult const& result) { return result.message(); }

TEST(FootprintTest, NothingDoneIsAsBefore) {
  auto const before = footprint::now();
  EXPECT_TRUE(before.is_as_before());
}

TEST(FootprintTest, SeesFileDescriptors) {
  auto const before = footprint::now();
  {
    unique_fd const left(::memfd_create("left", MFD_CLOEXEC));
    auto const result = before.is_as_before();
    EXPECT_FALSE(result);
    EXPECT_NE(text_of(result).find("+1  fd /memfd:left"), std::string::npos) << text_of(result);
  }
  EXPECT_TRUE(before.is_as_before());
}

TEST(FootprintTest, SeesWhatIsMissing) {
  unique_fd taken(::memfd_create("taken", MFD_CLOEXEC));
  auto const before = footprint::now();
  taken.reset();
  auto const result = before.is_as_before();
  EXPECT_FALSE(result);
  EXPECT_NE(text_of(result).find("-1  fd /memfd:taken"), std::string::npos) << text_of(result);
}

TEST(FootprintTest, NumbersDoNotCount) {
  unique_fd first(::memfd_create("same", MFD_CLOEXEC));
  auto const before = footprint::now();
  auto second = first.duplicate();
  first.reset();
  EXPECT_TRUE(before.is_as_before());
}

TEST(FootprintTest, SeesMappingsOfMemfds) {
  auto const before = footprint::now();
  unique_fd file(::memfd_create("mapped", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), 8192), 0);
  void* const memory = ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  file.reset();
  auto const result = before.is_as_before();
  EXPECT_FALSE(result);
  EXPECT_NE(text_of(result).find("+8192  mapped bytes of /memfd:mapped"), std::string::npos)
      << text_of(result);
  ::munmap(memory, 8192);
  EXPECT_TRUE(before.is_as_before());
}

TEST(FootprintTest, SomethingMayBeLeftOut) {
  auto const before = footprint::now();
  unique_fd const left(::memfd_create("left", MFD_CLOEXEC));
  EXPECT_TRUE(before.is_as_before("fd /memfd:le"));
  EXPECT_FALSE(before.is_as_before("fd /memfd:right"));
}

TEST(FootprintTest, PrivateMemoryDoesNotCount) {
  auto const before = footprint::now();
  void* const memory =
      ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_TRUE(before.is_as_before());
  ::munmap(memory, 8192);
}

TEST(FootprintTest, SeesObjectsOfACheckedDriver) {
  host_driver inner;
  checked_driver driver(inner);
  auto const before = footprint::now(&driver);
  auto* const event = driver.event_create(stream_ref::legacy_default().native_handle());
  auto const result = before.is_as_before();
  EXPECT_FALSE(result);
  EXPECT_NE(text_of(result).find("+1  driver events"), std::string::npos) << text_of(result);
  driver.event_destroy(event);
  EXPECT_TRUE(before.is_as_before());
}

}  // namespace
}  // namespace rankshare::test
