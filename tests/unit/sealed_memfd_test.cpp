// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rankshare/base/error.hpp>
#include <rankshare/base/sealed_memfd.hpp>
#include <rankshare/base/text_file.hpp>
#include <rankshare/base/unique_fd.hpp>
#include <support/throws.hpp>

namespace rankshare::test {
namespace {

TEST(SealedMemfdTest, HasItsSizeForGoodAndIsClosedOnExec) {
  auto const file = make_sealed_memfd("rankshare-test", 10'000, "testing");
  struct stat entry {};
  ASSERT_EQ(::fstat(file.get(), &entry), 0);
  EXPECT_EQ(entry.st_size, 10'000);
  EXPECT_TRUE(is_sealed_memfd(file.get()));
  EXPECT_NE(::ftruncate(file.get(), 1), 0);
  EXPECT_NE(::ftruncate(file.get(), 20'000), 0);
  EXPECT_EQ(::fcntl(file.get(), F_GETFD), FD_CLOEXEC);
}

TEST(SealedMemfdTest, OtherFilesAreNotSealed) {
  unique_fd const open(::memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_FALSE(is_sealed_memfd(open.get()));
  EXPECT_FALSE(is_sealed_memfd(STDIN_FILENO));
  EXPECT_FALSE(is_sealed_memfd(-1));
}

// In a child: the limit cannot be raised again.
TEST(SealedMemfdTest, ALimitOfFileSizesIsAnErrorAndNotTheEnd) {
  pid_t const child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    rlimit const limit{1 << 20, 1 << 20};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    bool const refused = static_cast<bool>(
        throws<system_error>([] { make_sealed_memfd("large", 2 << 20, "testing"); }, "testing",
                             "2097152", "1048576", "ulimit -f"));
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(TextFileTest, ReadsAWholeFileOrSaysWhyNot) {
  std::string text = "former";
  EXPECT_EQ(read_text_file("/proc/self/maps", text), 0);
  EXPECT_NE(text.find("[stack]"), std::string::npos);
  EXPECT_EQ(read_text_file("/proc/no such file", text), ENOENT);
  EXPECT_TRUE(text.empty());
  EXPECT_TRUE(text_of_file("/proc/no such file").empty());
}

}  // namespace
}  // namespace rankshare::test
