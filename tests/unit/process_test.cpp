// SPDX-License-Identifier: Apache-2.0
#include <rankshare/base/process.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include <rankshare/base/error.hpp>
#include <support/leftovers.hpp>
#include <support/throws.hpp>

namespace rankshare {
namespace {

using test::throws;

constexpr pid_t nobody = 0x7FFFFFF0;  // above the largest pid of Linux, 2^22

// A child that has ended, but was not waited for.
class ended_child {
 public:
  ended_child() : pid_(::fork()) {
    if (pid_ == 0) ::_exit(0);
  }
  ~ended_child() { ::waitpid(pid_, nullptr, 0); }
  ended_child(ended_child const&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST(ProcessTest, ForkedChildIsOfAnotherGeneration) {
  auto const own = fork_generation();
  EXPECT_EQ(fork_generation(), own);
  pid_t const child = ::fork();
  if (child == 0) ::_exit(fork_generation() == own ? 1 : 0);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(fork_generation(), own);
}

TEST(ProcessTest, StartTimeIsTheSameAtEachCall) {
  auto const first = process_start_time(::getpid());
  EXPECT_GT(first, 0U);
  EXPECT_EQ(process_start_time(::getpid()), first);
  EXPECT_LE(process_start_time(1), first);
}

TEST(ProcessTest, StartTimeOfNobodyIs0) { EXPECT_EQ(process_start_time(nobody), 0U); }

TEST(ProcessTest, StateIsOneLine) {
  EXPECT_EQ(process_state(::getpid()).rfind("state R", 0), 0U) << process_state(::getpid());
  EXPECT_EQ(process_state(nobody), "gone");
}

TEST(ProcessTest, PidfdTellsWhetherTheProcessHasEnded) {
  auto const own = open_pidfd(::getpid());
  EXPECT_EQ(::fcntl(own.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_FALSE(has_exited(own.get()));
  ended_child const child;
  auto const pidfd = open_pidfd(child.pid());
  pollfd entry{pidfd.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&entry, 1, 30000), 1);
  EXPECT_TRUE(has_exited(pidfd.get()));
}

TEST(ProcessTest, PidfdOfNobodyIsAnErrorThatSaysSo) {
  EXPECT_TRUE(throws<rankshare::system_error>([] { open_pidfd(nobody); }, std::to_string(nobody),
                                              "it has ended", "PID namespace"));
}

TEST(ProcessTest, FetchedDescriptorIsTheSameFile) {
  unique_fd const own(::memfd_create("fetched", MFD_CLOEXEC));
  auto const pidfd = open_pidfd(::getpid());
  auto const fetched = fetch_fd(pidfd.get(), own.get(), ::getpid());
  EXPECT_NE(fetched.get(), own.get());
  EXPECT_EQ(::fcntl(fetched.get(), F_GETFD), FD_CLOEXEC);
  struct stat first {};
  struct stat second {};
  ::fstat(own.get(), &first);
  ::fstat(fetched.get(), &second);
  EXPECT_EQ(first.st_ino, second.st_ino);
}

TEST(ProcessTest, FetchingWhatIsNotOpenThereIsStale) {
  auto const pidfd = open_pidfd(::getpid());
  unique_fd closed(::memfd_create("closed", MFD_CLOEXEC));
  int const number = closed.get();
  closed.reset();
  EXPECT_TRUE(throws<stale_descriptor>([&] { fetch_fd(pidfd.get(), number, ::getpid()); },
                                       "file descriptor " + std::to_string(number),
                                       "process " + std::to_string(::getpid()), "closed it since"));
}

TEST(ProcessTest, FetchingFromAnEndedProcessIsAnErrorThatSaysSo) {
  auto const before = test::footprint::now();
  {
    ended_child const child;
    auto const pidfd = open_pidfd(child.pid());
    pollfd entry{pidfd.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&entry, 1, 30000), 1);
    EXPECT_TRUE(throws<rankshare::system_error>([&] { fetch_fd(pidfd.get(), 0, child.pid()); },
                                                "process " + std::to_string(child.pid()),
                                                "the process has ended"));
  }
  EXPECT_TRUE(test::nothing_left_since(before));
}

}  // namespace
}  // namespace rankshare
