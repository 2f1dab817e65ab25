// SPDX-License-Identifier: Apache-2.0
#include <rankshare/base/unique_fd.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <exception>
#include <utility>

#include <rankshare/base/error.hpp>
#include <support/fd_limit.hpp>
#include <support/leftovers.hpp>
#include <support/throws.hpp>

namespace rankshare {
namespace {

using test::throws;

unique_fd open_something() { return unique_fd(::open("/dev/null", O_RDWR | O_CLOEXEC)); }

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(UniqueFdTest, DefaultIsEmpty) {
  unique_fd const empty;
  EXPECT_FALSE(empty);
  EXPECT_EQ(empty.get(), -1);
}

TEST(UniqueFdTest, ClosesWhatItOwns) {
  int number = -1;
  {
    auto const owner = open_something();
    ASSERT_TRUE(owner);
    number = owner.get();
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(UniqueFdTest, MoveLeavesTheSourceEmpty) {
  auto first = open_something();
  int const number = first.get();
  unique_fd second(std::move(first));
  EXPECT_FALSE(first);
  EXPECT_EQ(second.get(), number);
  unique_fd third;
  third = std::move(second);
  EXPECT_FALSE(second);
  EXPECT_EQ(third.get(), number);
  EXPECT_TRUE(is_open(number));
}

TEST(UniqueFdTest, MoveAssignmentClosesTheFormerOne) {
  auto first = open_something();
  auto second = open_something();
  int const former = first.get();
  first = std::move(second);
  EXPECT_FALSE(is_open(former));
  EXPECT_TRUE(is_open(first.get()));
}

TEST(UniqueFdTest, SelfMoveKeepsIt) {
  auto owner = open_something();
  auto& same = owner;
  owner = std::move(same);
  EXPECT_TRUE(is_open(owner.get()));
}

TEST(UniqueFdTest, ReleaseGivesTheOwnershipAway) {
  auto owner = open_something();
  int const number = owner.release();
  EXPECT_FALSE(owner);
  EXPECT_TRUE(is_open(number));
  owner.reset(number);
  owner.reset();
  EXPECT_FALSE(is_open(number));
}

TEST(UniqueFdTest, DuplicateIsAnotherDescriptorThatIsClosedOnExec) {
  auto const first = open_something();
  auto const second = first.duplicate();
  EXPECT_NE(first.get(), second.get());
  EXPECT_EQ(::fcntl(second.get(), F_GETFD), FD_CLOEXEC);
}

TEST(UniqueFdTest, DuplicateOfWhatIsNotOpenIsAnError) {
  auto closed = open_something();
  int const number = closed.get();
  closed.reset();
  EXPECT_TRUE(throws<rankshare::system_error>([&] { unique_fd::duplicate_of(number); },
                                              std::to_string(number), "not an open"));
  EXPECT_TRUE(throws<rankshare::system_error>([] { (void)unique_fd().duplicate(); }, "-1"));
}

TEST(UniqueFdTest, NoDescriptorsLeftIsAnErrorThatNamesTheRemedy) {
  auto const owner = open_something();
  auto const before = test::footprint::now();
  auto const thrown = test::run_with_fds_left(0, [&] { (void)owner.duplicate(); });
  ASSERT_NE(thrown, nullptr);
  EXPECT_TRUE(
      throws<rankshare::system_error>([&] { std::rethrow_exception(thrown); }, "ulimit -n"));
  EXPECT_TRUE(test::nothing_left_since(before));
}

}  // namespace
}  // namespace rankshare
