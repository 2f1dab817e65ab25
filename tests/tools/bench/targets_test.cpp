// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/targets.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace rankshare::bench {
namespace {

std::vector<target> targets_of(std::string const& text) {
  auto const path = testing::TempDir() + "/targets.json";
  std::ofstream(path) << text;
  return read_targets(path);
}

/// @return what reading `text` complains of
std::string complaint_of(std::string const& text) {
  try {
    targets_of(text);
  } catch (bad_targets const& failure) {
    return failure.what();
  }
  return "nothing";
}

void expect_complaint(std::string const& text, std::string const& part) {
  EXPECT_NE(complaint_of(text).find(part), std::string::npos) << complaint_of(text);
}

/// @return results with one row `a` of ratio 3.5 and 72 us
results one_row() {
  row made;
  made.key = "a";
  made.found.values = {{"ratio", 3.5, "ratio", {}}, {"ours", 72, "us", {}}};
  results all;
  all.rows.push_back(made);
  return all;
}

verdict judge_one(std::string const& fields) {
  return judge(targets_of("[{\"key\": \"a\", \"source\": \"s\", " + fields + "}]"), one_row())
      .front();
}

TEST(ReadTargetsTest, TakesOneBoundOrSeveral) {
  auto const found = targets_of(R"([
    {"key": "a", "value": "ours", "at_most": 5, "unit": "us", "source": "said so"},
    {"key": "b", "source": "s", "any_of": [{"value": "ratio", "at_most": 3, "unit": "ratio"},
                                           {"value": "ours", "at_least": 0.5, "unit": "us"}]}])");

  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].key, "a");
  EXPECT_EQ(found[0].source, "said so");
  ASSERT_EQ(found[0].any_of.size(), 1U);
  EXPECT_EQ(found[0].any_of[0].at_most, 5);
  EXPECT_FALSE(found[0].any_of[0].at_least);
  ASSERT_EQ(found[1].any_of.size(), 2U);
  EXPECT_EQ(found[1].any_of[1].at_least, 0.5);
}

TEST(ReadTargetsTest, SaysWhatIsWrongAndWhere) {
  expect_complaint("{}", "not a list");
  expect_complaint("[", "entry 1");
  expect_complaint(R"([{"key": "a", "source": "s", "value": "v", "unit": "us"}])", "at_most");
  expect_complaint(R"([{"key": "a", "source": "s", "value": "v", "unit": "us", "at_most": 1,
                        "at_least": 1}])",
                   "either");
  expect_complaint(R"([{"key": "a", "source": "s", "value": "v", "unit": "us", "at_mots": 1}])",
                   "at_mots");
  expect_complaint(R"([{"key": "a", "source": "s", "any_of": []}])", "any_of");
  expect_complaint(R"([{"key": "a", "value": "v", "unit": "us", "at_most": 1}])", "source");
  expect_complaint(R"([{"key": "a", "source": "s", "value": "v", "unit": "us", "at_most": "1"}])",
                   "number");
}

TEST(ReadTargetsTest, WithoutFileIsAnError) {
  EXPECT_THROW(read_targets(testing::TempDir() + "/no_such_file"), bad_targets);
}

TEST(CheckKeysTest, NamesTheKeyThatIsNoRow) {
  auto const all =
      targets_of(R"([{"key": "a", "source": "s", "value": "v", "unit": "us", "at_most": 1}])");

  check_keys(all, [](std::string const& key) { return key == "a"; });
  try {
    check_keys(all, [](std::string const&) { return false; });
    ADD_FAILURE() << "nothing was thrown";
  } catch (bad_targets const& failure) {
    EXPECT_NE(std::string(failure.what()).find("\"a\""), std::string::npos) << failure.what();
  }
}

TEST(JudgeTest, ComparesWithTheBound) {
  using kind = verdict::kind;

  EXPECT_EQ(judge_one(R"("value": "ours", "unit": "us", "at_most": 72)").result, kind::ok);
  EXPECT_EQ(judge_one(R"("value": "ours", "unit": "us", "at_most": 71)").result, kind::falls_short);
  EXPECT_EQ(judge_one(R"("value": "ours", "unit": "us", "at_least": 72)").result, kind::ok);
  EXPECT_EQ(judge_one(R"("value": "ours", "unit": "us", "at_least": 73)").result,
            kind::falls_short);
}

TEST(JudgeTest, OneOfSeveralBoundsIsEnough) {
  auto const found = judge_one(R"("any_of": [{"value": "ratio", "unit": "ratio", "at_most": 3},
                                             {"value": "ours", "unit": "us", "at_most": 80}])");

  EXPECT_EQ(found.result, verdict::kind::ok);
  EXPECT_EQ(found.measured, "3.50 ratio, 72 us");
  EXPECT_EQ(found.wanted, "ratio <= 3 ratio or ours <= 80 us");
}

TEST(JudgeTest, ARowThatDidNotRunFallsShort) {
  auto const wanted =
      targets_of(R"([{"key": "b", "source": "s", "value": "v", "unit": "us", "at_most": 1}])");

  auto const found = judge(wanted, one_row()).front();

  EXPECT_EQ(found.result, verdict::kind::falls_short);
  EXPECT_EQ(found.reason, "it did not run");
}

TEST(JudgeTest, ARowThatSaysWhyItCannotRunIsSkipped) {
  auto rows = one_row();
  rows.rows[0].skipped = "rank 1: no pidfd_getfd";
  rows.rows[0].found.values.clear();
  auto const wanted =
      targets_of(R"([{"key": "a", "source": "s", "value": "v", "unit": "us", "at_most": 1}])");

  auto const found = judge(wanted, rows).front();

  EXPECT_EQ(found.result, verdict::kind::skipped);
  EXPECT_EQ(found.reason, "rank 1: no pidfd_getfd");
}

TEST(JudgeTest, AValueOrUnitThatTheRowDoesNotHaveIsAnError) {
  EXPECT_THROW(judge_one(R"("value": "theirs", "unit": "us", "at_most": 1)"), bad_targets);
  EXPECT_THROW(judge_one(R"("value": "ours", "unit": "ns", "at_most": 1)"), bad_targets);
}

}  // namespace
}  // namespace rankshare::bench
