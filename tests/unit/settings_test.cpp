// SPDX-License-Identifier: Apache-2.0
#include <rankshare/base/settings.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include <rankshare/base/error.hpp>
#include <support/captured_log.hpp>
#include <support/throws.hpp>

namespace rankshare {
namespace {

using test::throws;

// Sets a variable for a while.
class scoped_variable {
 public:
  scoped_variable(char const* name, std::string const& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~scoped_variable() { ::unsetenv(name_); }
  scoped_variable(scoped_variable const&) = delete;

 private:
  char const* name_;
};

TEST(SettingsTest, EmptyEnvironmentGivesDefaults) {
  auto const read = settings::from_environment();
  EXPECT_EQ(read.driver, driver_choice::automatic);
  EXPECT_FALSE(read.timeout);
  EXPECT_EQ(read.host_devices, 0);
}

TEST(SettingsTest, DriverIsHostOrCuda) {
  {
    scoped_variable const set("RANKSHARE_DRIVER", "host");
    EXPECT_EQ(settings::from_environment().driver, driver_choice::host);
  }
  scoped_variable const set("RANKSHARE_DRIVER", "cuda");
  EXPECT_EQ(settings::from_environment().driver, driver_choice::cuda);
}

TEST(SettingsTest, WrongDriverIsAnErrorThatNamesTheAllowedOnes) {
  for (char const* value : {"", "Host", "gpu", "host "}) {
    scoped_variable const set("RANKSHARE_DRIVER", value);
    EXPECT_TRUE(throws<invalid_argument>([] { settings::from_environment(); },
                                         "RANKSHARE_DRIVER='" + std::string(value) + "'",
                                         "'host' or 'cuda'", "unset it"));
  }
}

TEST(SettingsTest, LogLevelsAreFourWords) {
  for (char const* value : {"off", "error", "info", "trace"}) {
    scoped_variable const set("RANKSHARE_LOG", value);
    EXPECT_NO_THROW(settings::from_environment());
  }
}

TEST(SettingsTest, WrongLogLevelIsAnErrorThatNamesTheAllowedOnes) {
  for (char const* value : {"", "debug", "1", "INFO"}) {
    scoped_variable const set("RANKSHARE_LOG", value);
    EXPECT_TRUE(throws<invalid_argument>([] { settings::from_environment(); },
                                         "RANKSHARE_LOG='" + std::string(value) + "'",
                                         "'off', 'error', 'info' or 'trace'", "unset it"));
  }
}

TEST(SettingsTest, TimeoutIsInSecondsAndRoundedUpToMilliseconds) {
  using std::chrono::milliseconds;
  struct {
    char const* text;
    milliseconds wanted;
  } const cases[] = {{"1", milliseconds(1000)},      {"0.5", milliseconds(500)},
                     {"0.0001", milliseconds(1)},    {"2.0001", milliseconds(2001)},
                     {"1e3", milliseconds(1000000)}, {"1e9", milliseconds(1000000000000)}};
  for (auto const& one : cases) {
    scoped_variable const set("RANKSHARE_TIMEOUT", one.text);
    EXPECT_EQ(settings::from_environment().timeout, one.wanted) << one.text;
  }
}

TEST(SettingsTest, WrongTimeoutIsAnErrorThatNamesTheAllowedOnes) {
  for (char const* value : {"", "0", "-1", "inf", "nan", "5s", "1e10", " ", "five", "1,5"}) {
    scoped_variable const set("RANKSHARE_TIMEOUT", value);
    EXPECT_TRUE(throws<invalid_argument>([] { settings::from_environment(); },
                                         "RANKSHARE_TIMEOUT='" + std::string(value) + "'",
                                         "a number of seconds above 0", "unset it"))
        << value;
  }
}

TEST(SettingsTest, HostDevicesAreANumber) {
  struct {
    char const* text;
    int wanted;
  } const cases[] = {{"0", 0}, {"1", 1}, {"64", 64}, {"02", 2}};
  for (auto const& one : cases) {
    scoped_variable const set("RANKSHARE_HOST_DEVICES", one.text);
    EXPECT_EQ(settings::from_environment().host_devices, one.wanted) << one.text;
  }
}

TEST(SettingsTest, WrongHostDevicesAreAnErrorThatNamesTheAllowedOnes) {
  for (char const* value : {"", "-1", "65", "2.0", "2 ", " 2", "+2", "two", "99999999999"}) {
    scoped_variable const set("RANKSHARE_HOST_DEVICES", value);
    EXPECT_TRUE(throws<invalid_argument>([] { settings::from_environment(); },
                                         "RANKSHARE_HOST_DEVICES='" + std::string(value) + "'",
                                         "from 0 to 64", "unset it"))
        << value;
  }
}

TEST(SettingsTest, HostDevicesGoWithAnyDriverButCuda) {
  {
    scoped_variable const driver("RANKSHARE_DRIVER", "host");
    scoped_variable const set("RANKSHARE_HOST_DEVICES", "2");
    EXPECT_EQ(settings::from_environment().host_devices, 2);
  }
  scoped_variable const driver("RANKSHARE_DRIVER", "cuda");
  {
    scoped_variable const set("RANKSHARE_HOST_DEVICES", "0");
    EXPECT_NO_THROW(settings::from_environment());
  }
  scoped_variable const set("RANKSHARE_HOST_DEVICES", "2");
  EXPECT_TRUE(throws<invalid_argument>([] { settings::from_environment(); },
                                       "RANKSHARE_HOST_DEVICES='2'", "RANKSHARE_DRIVER=cuda",
                                       "unset it"));
}

TEST(SettingsTest, UnknownVariableIsReportedOnce) {
  test::captured_log log;
  scoped_variable const set("RANKSHARE_TIMEOUTS", "1");
  EXPECT_NO_THROW(settings::from_environment());
  ASSERT_EQ(log.reports().size(), 1U);
  auto const text = log.reports()[0].text;
  for (char const* word : {"warning", "RANKSHARE_TIMEOUTS", "unknown", "RANKSHARE_DRIVER",
                           "RANKSHARE_HOST_DEVICES", "RANKSHARE_LOG", "RANKSHARE_TIMEOUT"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word;
  }
  settings::from_environment();
  EXPECT_EQ(log.reports().size(), 1U);
}

TEST(SettingsTest, EachUnknownVariableIsReported) {
  test::captured_log log;
  scoped_variable const one("RANKSHARE_UNKNOWN_1", "");
  scoped_variable const two("RANKSHARE_UNKNOWN_2", "a=b");
  settings::from_environment();
  EXPECT_EQ(log.reports().size(), 2U);
}

TEST(SettingsTest, VariablesOfOthersAreNoneOfOurBusiness) {
  test::captured_log log;
  scoped_variable const one("RANKSHARED", "1");
  scoped_variable const two("MY_RANKSHARE_LOG", "1");
  settings::from_environment();
  EXPECT_EQ(log.text(), "");
}

TEST(SettingsTest, SettingsOfTheProcessAreReadOnce) {
  auto const& first = current_settings();
  scoped_variable const set("RANKSHARE_DRIVER", "cuda");
  EXPECT_EQ(&current_settings(), &first);
  EXPECT_EQ(current_settings().driver, driver_choice::automatic);
}

}  // namespace
}  // namespace rankshare
