// SPDX-License-Identifier: Apache-2.0
// A kernel that lacks or refuses a system call, as a seccomp filter shows it.
#include <gtest/gtest.h>
#include <seccomp.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <string>

#include <rankshare/base/error.hpp>
#include <rankshare/base/process.hpp>
#include <rankshare/memory/host_memory_resource.hpp>
#include <support/child_process.hpp>

namespace rankshare {
namespace {

// What the child is to be refused, and what it then tries.
struct refusal {
  int call;  // number of the system call
  int errnum;
  enum attempt { open_pidfd_of_itself, fetch_its_own_fd, make_a_pool } what;
};

void refuse(refusal const& wanted) {
  scmp_filter_ctx const filter = seccomp_init(SCMP_ACT_ALLOW);
  bool const done = filter != nullptr &&
                    seccomp_rule_add(filter, SCMP_ACT_ERRNO(static_cast<unsigned>(wanted.errnum)),
                                     wanted.call, 0) == 0 &&
                    seccomp_load(filter) == 0;
  seccomp_release(filter);
  if (!done) throw std::runtime_error("the seccomp filter cannot be loaded");
}

int run_refused(test::channel& parent) {
  auto const wanted = parent.receive<refusal>();
  refuse(wanted);
  parent.send_outcome([&] {
    switch (wanted.what) {
      case refusal::open_pidfd_of_itself:
        open_pidfd(::getpid());
        break;
      case refusal::fetch_its_own_fd:
        fetch_fd(open_pidfd(::getpid()).get(), 0, ::getpid());
        break;
      case refusal::make_a_pool:
        host_memory_resource({1 << 20});
        break;
    }
  });
  return 0;
}

test::role const refused_role("refused", run_refused);

class SeccompProcessTest : public testing::Test {
 protected:
  void expect(refusal const& wanted, error_kind kind, std::initializer_list<char const*> words) {
    test::child_process child("refused");
    child.talk().send(wanted);
    EXPECT_STREQ(to_string(child.talk().receive<error_kind>()), to_string(kind));
    auto const text = child.talk().receive_text();
    for (char const* word : words) EXPECT_NE(text.find(word), std::string::npos) << text;
    EXPECT_EQ(child.wait(), 0);
  }
};

TEST_F(SeccompProcessTest, KernelWithoutPidfdOpenIsNotSupported) {
  expect({SCMP_SYS(pidfd_open), ENOSYS, refusal::open_pidfd_of_itself}, error_kind::not_supported,
         {"this kernel has no pidfd_open (ENOSYS)", "Linux 5.3", "use a newer kernel"});
}

TEST_F(SeccompProcessTest, KernelWithoutPidfdGetfdIsNotSupported) {
  expect({SCMP_SYS(pidfd_getfd), ENOSYS, refusal::fetch_its_own_fd}, error_kind::not_supported,
         {"this kernel has no pidfd_getfd (ENOSYS)", "Linux 5.6", "use a newer kernel"});
}

TEST_F(SeccompProcessTest, RefusedPidfdGetfdSaysWhyAndWhatToDo) {
  char yama = '0';
  std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> yama;
  if (yama != '0') {
    expect({SCMP_SYS(pidfd_getfd), EPERM, refusal::fetch_its_own_fd}, error_kind::system,
           {"fetching file descriptor 0", "Yama forbids it", "CAP_SYS_PTRACE"});
  } else {
    expect({SCMP_SYS(pidfd_getfd), EPERM, refusal::fetch_its_own_fd}, error_kind::system,
           {"fetching file descriptor 0", "a seccomp filter forbids it", "SYS_PTRACE"});
  }
}

TEST_F(SeccompProcessTest, RefusedPidfdOpenSaysWhyAndWhatToDo) {
  expect({SCMP_SYS(pidfd_open), EPERM, refusal::open_pidfd_of_itself}, error_kind::system,
         {"opening a pidfd", "a seccomp filter forbids it", "in a container"});
}

TEST_F(SeccompProcessTest, KernelWithoutMemfdIsNotSupported) {
  expect({SCMP_SYS(memfd_create), ENOSYS, refusal::make_a_pool}, error_kind::not_supported,
         {"making a host pool", "this kernel has no memfd_create (ENOSYS)", "Linux 3.17"});
}

TEST_F(SeccompProcessTest, RefusedMemfdSaysSo) {
  expect({SCMP_SYS(memfd_create), EPERM, refusal::make_a_pool}, error_kind::system,
         {"making a host pool", "memfd", "the kernel refused"});
}

}  // namespace
}  // namespace rankshare
