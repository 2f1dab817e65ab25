// SPDX-License-Identifier: Apache-2.0
// Environment variables that are unknown, wrong, or ask for what there is not. A process reads them
// once, so each case is run by itself.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>

#include <mpi/failures/failure_fixture.hpp>
#include <rankshare/base/process.hpp>
#include <rankshare/handle/device.hpp>

namespace rankshare::test {
namespace {

class EnvironmentTest : public failure_fixture {
 protected:
  // One rank has a variable that the others do not have.
  struct wrong {
    char const* name;
    char const* value;
    char const* allowed;
  };

  void expect_refused(int culprit, wrong const& given) const {
    auto const before = footprint::now(&checked_);
    if (rank_ == culprit) ::setenv(given.name, given.value, 1);
    auto const construct = [&] { mpi::node_communicator node(communicator_); };
    std::string const setting = std::string(given.name) + "='" + given.value + "'";
    if (rank_ == culprit) {
      EXPECT_TRUE(throws<invalid_argument>(construct, setting, given.allowed, "unset it"));
    } else {
      EXPECT_TRUE(
          throws_remote(culprit, error_kind::invalid_argument, construct, setting, given.allowed));
    }
    ::unsetenv(given.name);
    EXPECT_TRUE(nothing_left_since(before));
  }

  void expect_wrong_values_refused(int culprit) {
    expect_refused(culprit, {"RANKSHARE_TIMEOUT", "abc", "a number of seconds above 0"});
    expect_refused(culprit, {"RANKSHARE_TIMEOUT", "-1", "a number of seconds above 0"});
    expect_refused(culprit, {"RANKSHARE_DRIVER", "x", "'host' or 'cuda'"});
    expect_refused(culprit, {"RANKSHARE_LOG", "x", "'off', 'error', 'info' or 'trace'"});
    build_board();
    mpi::node_communicator node(communicator_);
    expect_sharing_works(node);
  }
};

TEST_F(EnvironmentTest, AnUnknownVariableIsReportedOnceByEachProcess) {
  ASSERT_NE(std::getenv("RANKSHARE_FOO"), nullptr) << "to be run with this variable";
  expect_reports();
  for (int round = 0; round < 3; ++round) {
    mpi::node_communicator node(communicator_);
    expect_sharing_works(node);
  }
  auto const reports = log_.reports();
  ASSERT_EQ(reports.size(), 1U) << log_.text();
  for (char const* word : {"warning", "RANKSHARE_FOO", "RANKSHARE_TIMEOUT"}) {
    EXPECT_NE(reports.front().text.find(word), std::string::npos) << reports.front().text;
  }
}

TEST_F(EnvironmentTest, AWrongValueOnTheFirstRankIsAnErrorOfAllUntilItIsMended) {
  expect_wrong_values_refused(0);
}

TEST_F(EnvironmentTest, AWrongValueOnTheLastRankIsAnErrorOfAllUntilItIsMended) {
  expect_wrong_values_refused(size_ - 1);
}

// What the CUDA driver opens when it is looked for stays open: that comes before the fixture.
class NoGpuTest : public failure_fixture {
 protected:
  static void SetUpTestSuite() {
    ::setenv("RANKSHARE_DRIVER", "cuda", 1);
    ::setenv("CUDA_VISIBLE_DEVICES", "", 1);  // also where there are some
    EXPECT_THROW(device::count(), not_supported);
  }
};

TEST_F(NoGpuTest, DemandingAGpuWhereThereIsNoneFailsWhereOneIsAskedFor) {
  build_board();
  mpi::node_communicator node(communicator_);
  EXPECT_TRUE(throws<not_supported>([&] { node.device(); }, "RANKSHARE_DRIVER=cuda",
                                    "or set RANKSHARE_DRIVER=host"));
  EXPECT_NE(node.description().find("pidfd_getfd"), std::string::npos) << node.description();
  EXPECT_NE(node.description().find("RANKSHARE_DRIVER=cuda"), std::string::npos)
      << node.description();
  expect_sharing_works(node);
}

// As a limit of the options; only the last rank has one, and the first one stops.
TEST_F(EnvironmentTest, TheLimitEndsTheWaitForAStoppedRank) {
  bool const has_limit = rank_ == size_ - 1;
  if (has_limit) ::setenv("RANKSHARE_TIMEOUT", "0.1", 1);
  {
    // Until all others wait, no limit is to end anything.
    mpi::node_communicator const maker(communicator_, {std::chrono::seconds(deadline_s)});
  }
  built_.emplace(footprint::now(&checked_));
  int const stopped = 0;
  if (rank_ == stopped) ::raise(SIGSTOP);
  if (has_limit) {
    wait_until([&] { return process_state(watch_->pid(stopped)).rfind("state T", 0) == 0; },
               "the rank does not stop");
    auto others = all_but(stopped);
    others.pop_back();
    watch_->until_waiting(others);
  }
  auto const construct = [&] { mpi::node_communicator next(communicator_); };
  if (rank_ == stopped) {
    EXPECT_TRUE(throws<mpi::broken_communicator>(construct, "rank 0", "limit of 100 ms"));
  } else {
    EXPECT_TRUE(throws_for<mpi::timeout>({stopped}, construct, "rank 0", "limit of 100 ms",
                                         "RANKSHARE_TIMEOUT"));
  }
  if (has_limit) ::kill(watch_->pid(stopped), SIGCONT);
}

}  // namespace
}  // namespace rankshare::test
