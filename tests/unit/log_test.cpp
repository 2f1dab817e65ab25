// SPDX-License-Identifier: Apache-2.0
#include <rankshare/base/log.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <support/captured_log.hpp>

namespace rankshare {
namespace {

using test::captured_log;

TEST(LogTest, HandlerReceivesLevelAndText) {
  captured_log log;
  detail::log(log_level::error, "something failed");
  ASSERT_EQ(log.reports().size(), 1U);
  EXPECT_EQ(log.reports()[0].level, log_level::error);
  EXPECT_EQ(log.reports()[0].text, "something failed");
}

TEST(LogTest, LevelDecidesWhatIsReported) {
  for (auto const level : {log_level::off, log_level::error, log_level::info, log_level::trace}) {
    captured_log log(level);
    EXPECT_EQ(current_log_level(), level);
    for (auto const of : {log_level::error, log_level::info, log_level::trace}) {
      detail::log(of, "text");
    }
    EXPECT_EQ(log.reports().size(), static_cast<std::size_t>(level));
  }
}

TEST(LogTest, OnceATopicIsOncePerProcess) {
  captured_log log;
  detail::log_once(log_level::error, "LogTest topic 1", "first");
  detail::log_once(log_level::error, "LogTest topic 1", "second");
  detail::log_once(log_level::error, "LogTest topic 2", "third");
  EXPECT_EQ(log.text(), "first\nthird\n");
}

TEST(LogTest, ReplacedHandlerIsReturned) {
  captured_log log;
  int calls = 0;
  auto const former = set_log_handler([&](log_level, std::string_view) { ++calls; });
  ASSERT_TRUE(former);
  detail::log(log_level::error, "to the new one");
  former(log_level::error, "to the former one");
  set_log_handler(former);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(log.text(), "to the former one\n");
}

TEST(LogTest, DefaultHandlerWritesOneLineWithRankAndPid) {
  set_log_level(log_level::error);
  detail::set_log_rank(3);
  testing::internal::CaptureStderr();
  detail::log(log_level::error, "text");
  auto const with_rank = testing::internal::GetCapturedStderr();
  detail::set_log_rank(-1);
  testing::internal::CaptureStderr();
  detail::log(log_level::error, "text");
  auto const without = testing::internal::GetCapturedStderr();
  auto const pid = std::to_string(::getpid());
  EXPECT_EQ(with_rank, "rankshare [rank 3] [pid " + pid + "] text\n");
  EXPECT_EQ(without, "rankshare [pid " + pid + "] text\n");
}

TEST(LogTest, HandlerThatThrowsIsNoHarm) {
  auto former = set_log_handler([](log_level, std::string_view) { throw std::runtime_error(""); });
  set_log_level(log_level::error);
  EXPECT_NO_THROW(detail::log(log_level::error, "text"));
  set_log_handler(std::move(former));
}

TEST(LogTest, HandlerMayReportItself) {
  int calls = 0;
  auto former = set_log_handler([&](log_level, std::string_view text) {
    ++calls;
    if (text == "outer") detail::log(log_level::error, "inner");
  });
  set_log_level(log_level::error);
  detail::log(log_level::error, "outer");
  set_log_handler(std::move(former));
  EXPECT_EQ(calls, 2);
}

TEST(LogTest, SeveralThreadsMayReport) {
  captured_log log;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int j = 0; j < 100; ++j) {
        detail::log(log_level::error, "text");
        detail::log_once(log_level::error, "LogTest threads", "once");
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(log.reports().size(), 401U);
}

}  // namespace
}  // namespace rankshare
