// SPDX-License-Identifier: Apache-2.0
// A kernel that lacks or refuses the calls by which file descriptors travel, as a seccomp filter of
// the calling thread shows it.
#include <gtest/gtest.h>
#include <mpi.h>
#include <seccomp.h>

#include <cerrno>
#include <exception>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <mpi/failures/failure_fixture.hpp>

namespace rankshare::test {
namespace {

// A system call that fails, and what the rank that makes it throws.
struct refusal {
  char const* name;
  int number;
  int errnum;
  error_kind kind;
  std::vector<std::string> words;
};

void PrintTo(refusal const& given, std::ostream* out) { *out << given.name; }

void refuse_in_this_thread(refusal const& wanted) {
  scmp_filter_ctx const filter = seccomp_init(SCMP_ACT_ALLOW);
  bool const done = filter != nullptr &&
                    seccomp_rule_add(filter, SCMP_ACT_ERRNO(static_cast<unsigned>(wanted.errnum)),
                                     wanted.number, 0) == 0 &&
                    seccomp_load(filter) == 0;
  seccomp_release(filter);
  if (!done) throw std::runtime_error("the seccomp filter cannot be loaded");
}

class ForbiddenCallsTest : public failure_fixture, public testing::WithParamInterface<refusal> {
 protected:
  // A filter stays as long as its thread, so `call` gets one of its own.
  static void call_under_filter(std::function<void()> const& call) {
    std::exception_ptr thrown;
    std::thread([&] {
      try {
        refuse_in_this_thread(GetParam());
        call();
      } catch (...) {
        thrown = std::current_exception();
      }
    }).join();
    if (thrown) std::rethrow_exception(thrown);
  }

  // What the rank under the filter throws.
  static testing::AssertionResult is_refused(std::function<void()> const& call) {
    auto const& wanted = GetParam();
    int code = 0;
    std::string api;
    auto const result = catch_it([&] { call_under_filter(call); }, code, api);
    if (!result) return result;
    if (wanted.kind == error_kind::system && code != wanted.errnum) {
      return testing::AssertionFailure() << "its code is " << code;
    }
    if (api != wanted.name) return testing::AssertionFailure() << "its API is " << api;
    return testing::AssertionSuccess();
  }

  // Under the filter are ranks `from` to `to`; all others hear of the first of them.
  void expect_refused(int from, int to, std::function<void()> const& call) const {
    if (rank_ >= from && rank_ <= to) {
      EXPECT_TRUE(is_refused(call));
      return;
    }
    auto const& wanted = GetParam();
    EXPECT_TRUE(throws_remote(from, wanted.kind, call, wanted.words[0], wanted.words[1]));
  }

 private:
  template <class Call>
  static testing::AssertionResult catch_it(Call const& call, int& code, std::string& api) {
    auto const& words = GetParam().words;
    auto const remember = [&] {
      try {
        call();
      } catch (system_error const& thrown) {
        code = thrown.code().value();
        api = thrown.api();
        throw;
      } catch (error const& thrown) {
        api = thrown.api();
        throw;
      }
    };
    return GetParam().kind == error_kind::system
               ? throws<system_error>(remember, words[0], words[1])
               : throws<not_supported>(remember, words[0], words[1]);
  }
};

TEST_P(ForbiddenCallsTest, OnOneRankItIsAnErrorOfAllInTheConstructor) {
  for (int const culprit : {0, size_ - 1}) {
    auto const before = footprint::now(&checked_);
    expect_refused(culprit, culprit, [&] { mpi::node_communicator node(communicator_); });
    EXPECT_TRUE(nothing_left_since(before));
  }
  build_board();
  mpi::node_communicator node(communicator_);
  expect_sharing_works(node);
}

TEST_P(ForbiddenCallsTest, OnAllRanksEachSaysSoInTheConstructor) {
  auto const before = footprint::now(&checked_);
  expect_refused(0, size_ - 1, [&] { mpi::node_communicator node(communicator_); });
  EXPECT_TRUE(nothing_left_since(before));
}

TEST_P(ForbiddenCallsTest, LaterItIsAnErrorOfAllAtTheFirstUseOfAPoolAndNothingStaysMapped) {
  build_board();
  host_memory_resource memory;
  buffer mine = make_buffer(memory, rank_);
  auto const expect_refused_in = [&](int from, int to, auto const& call) {
    // A new one each time: the processes that one has reached it keeps.
    mpi::node_communicator node(communicator_);
    expect_refused(from, to, [&] { call(node); });
    EXPECT_EQ(checked_.live_objects().at("imports"), 0U);
    EXPECT_EQ(checked_.live_objects().at("imported pools"), 0U);
    node.fence(stream());
  };
  auto const share_all = [&](auto& node) { node.share_all(mine, stream()); };
  for (int const culprit : {0, size_ - 1}) {
    expect_refused_in(culprit, culprit, share_all);
    expect_refused_in(culprit, culprit, [&](auto& node) {
      int const root = (culprit + 1) % size_;
      node.share_from(rank_ == root ? &mine : nullptr, root, stream());
    });
  }
  expect_refused_in(0, size_ - 1, share_all);

  mpi::node_communicator node(communicator_);
  auto all = node.share_all(mine, stream());
  for (int rank = 0; rank < size_; ++rank) expect_bytes(all[rank], rank);
  node.fence(stream());
}

// Yama, where it is on, is named before a filter.
std::string forbidden_by() {
  char yama = '0';
  std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> yama;
  return yama == '0' ? "a seccomp filter forbids it; in a container allow pidfd_getfd"
                     : "Yama forbids it";
}

INSTANTIATE_TEST_SUITE_P(
    Kernel, ForbiddenCallsTest,
    testing::Values(
        refusal{"pidfd_getfd",
                SCMP_SYS(pidfd_getfd),
                ENOSYS,
                error_kind::not_supported,
                {"no pidfd_getfd (ENOSYS), which came with Linux 5.6", "use a newer kernel"}},
        refusal{"pidfd_getfd",
                SCMP_SYS(pidfd_getfd),
                EPERM,
                error_kind::system,
                {forbidden_by(), "SYS_PTRACE"}},
        refusal{"pidfd_open",
                SCMP_SYS(pidfd_open),
                ENOSYS,
                error_kind::not_supported,
                {"no pidfd_open (ENOSYS), which came with Linux 5.3", "use a newer kernel"}},
        refusal{"pidfd_open",
                SCMP_SYS(pidfd_open),
                EPERM,
                error_kind::system,
                {"a seccomp filter forbids it; in a container allow pidfd_open", "SYS_PTRACE"}}),
    [](auto const& given) {
      return std::string(given.param.name) + (given.param.errnum == EPERM ? "_EPERM" : "_ENOSYS");
    });

}  // namespace
}  // namespace rankshare::test
