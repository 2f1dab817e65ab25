// SPDX-License-Identifier: Apache-2.0
// What a process makes of its environment at the first use of the library.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <rankshare/base/error.hpp>
#include <rankshare/base/log.hpp>
#include <rankshare/handle/device.hpp>
#include <support/captured_log.hpp>
#include <support/child_process.hpp>

namespace rankshare {
namespace {

// Sends the level, what the first uses came to, and what was reported.
int run_first_use(test::channel& parent) {
  parent.send(current_log_level());
  test::captured_log log;
  parent.send_outcome([] { device::host(); });
  parent.send_outcome([] { device::count(); });
  ::unsetenv("RANKSHARE_DRIVER");
  ::unsetenv("RANKSHARE_TIMEOUT");
  parent.send_outcome([] { device::host(); });
  parent.send_text(log.text());
  return 0;
}

test::role const first_use_role("first use", run_first_use);

struct outcome {
  error_kind kind;
  std::string text;
};

struct first_use {
  log_level level;
  outcome host;
  outcome count;
  outcome host_when_mended;
  std::string reports;
};

first_use with_environment(std::vector<std::pair<char const*, char const*>> const& variables) {
  for (auto const& [name, value] : variables) ::setenv(name, value, 1);
  test::child_process child("first use");
  for (auto const& [name, value] : variables) ::unsetenv(name);
  auto& talk = child.talk();
  auto const receive_outcome = [&] {
    auto const kind = talk.receive<error_kind>();
    return outcome{kind, talk.receive_text()};
  };
  first_use seen{talk.receive<log_level>(), receive_outcome(), receive_outcome(), receive_outcome(),
                 talk.receive_text()};
  EXPECT_EQ(child.wait(), 0);
  return seen;
}

TEST(EnvironmentProcessTest, EmptyOneGivesDefaults) {
  auto const seen = with_environment({});
  EXPECT_EQ(seen.level, log_level::error);
  EXPECT_EQ(seen.host.kind, error_kind::none);
  EXPECT_EQ(seen.count.kind, error_kind::none);
  EXPECT_EQ(seen.reports, "");
}

TEST(EnvironmentProcessTest, LogLevelIsRead) {
  EXPECT_EQ(with_environment({{"RANKSHARE_LOG", "off"}}).level, log_level::off);
  EXPECT_EQ(with_environment({{"RANKSHARE_LOG", "error"}}).level, log_level::error);
  EXPECT_EQ(with_environment({{"RANKSHARE_LOG", "info"}}).level, log_level::info);
  EXPECT_EQ(with_environment({{"RANKSHARE_LOG", "trace"}}).level, log_level::trace);
}

TEST(EnvironmentProcessTest, WrongValueIsAnErrorAtTheFirstUseUntilItIsMended) {
  auto const seen = with_environment({{"RANKSHARE_TIMEOUT", "soon"}});
  EXPECT_EQ(seen.host.kind, error_kind::invalid_argument);
  EXPECT_NE(seen.host.text.find("RANKSHARE_TIMEOUT='soon'"), std::string::npos) << seen.host.text;
  EXPECT_EQ(seen.count.kind, error_kind::invalid_argument);
  EXPECT_EQ(seen.host_when_mended.kind, error_kind::none);
}

TEST(EnvironmentProcessTest, CudaWithoutAGpuIsNotSupported) {
  auto const seen = with_environment({{"RANKSHARE_DRIVER", "cuda"}, {"CUDA_VISIBLE_DEVICES", ""}});
  EXPECT_EQ(seen.host.kind, error_kind::none);
  EXPECT_EQ(seen.count.kind, error_kind::not_supported);
  EXPECT_NE(seen.count.text.find("RANKSHARE_DRIVER=cuda"), std::string::npos) << seen.count.text;
  EXPECT_NE(seen.count.text.find("RANKSHARE_DRIVER=host"), std::string::npos) << seen.count.text;
}

TEST(EnvironmentProcessTest, UnknownVariableIsOneWarning) {
  auto const seen = with_environment({{"RANKSHARE_TIMOUT", "5"}});
  EXPECT_EQ(seen.host.kind, error_kind::none);
  EXPECT_NE(seen.reports.find("RANKSHARE_TIMOUT is unknown"), std::string::npos) << seen.reports;
  EXPECT_EQ(seen.reports.find('\n'), seen.reports.size() - 1) << seen.reports;
}

}  // namespace
}  // namespace rankshare
