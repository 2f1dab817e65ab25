#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
. tests/tools/cases.sh

readonly log=$TEST_TMPDIR/test.log events=$TEST_TMPDIR/events skips=$TEST_TMPDIR/skips

# one_test STATUS ENDING: what Bazel reports of one test whose log is $log.
one_test() {
  cat >"$events" <<EOF
{"id":{"targetConfigured":{"label":"//tests:a_test"}},"configured":{"targetKind":"cc_test rule","testSize":"SMALL"}}
{"id":{"targetCompleted":{"label":"//tests:a_test"}},"completed":{"success":true}}
{"id":{"testResult":{"label":"//tests:a_test"}},"testResult":{"status":"$1","testActionOutput":[{"name":"test.log","uri":"file://$log"}]}}
{"id":{"buildFinished":{}},"finished":{"exitCode":{"name":"$2"}}}
EOF
}

log_of_two() {
  cat >"$log" <<'EOF'
[ RUN      ] ATest.Adds
[       OK ] ATest.Adds (0 ms)
[ RUN      ] ATest.UsesGpu/0
a_test.cpp:9: Skipped
no GPU here
[  SKIPPED ] ATest.UsesGpu/0 (0 ms)
[  PASSED  ] 1 test.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] ATest.UsesGpu/0
EOF
}

# report STATUS TEXT [OPTION...]
report() {
  local status=$1 text=$2
  shift 2
  expect "$status" "$text" tools/test_report --skips "$skips" --machine any,no-gpu "$@" "$events"
}

listed_skip() {
  echo 'ATest.UsesGpu/* no-gpu no GPU' >"$skips"
  report 0 '^1 passed, 0 failed, 1 skipped$'
  report 0 '^skipped: //tests:a_test ATest.UsesGpu/0: no GPU here$'
}

listed_by_label() {
  echo '//tests:a_*%ATest.UsesGpu/0 any no GPU' >"$skips"
  report 0 '^1 passed, 0 failed, 1 skipped$'
}

unlisted_skip() {
  report 1 '^1 passed, 1 failed, 0 skipped$'
  report 1 'ATest.UsesGpu/0: skipped because .no GPU here., and not listed for this machine'
}

skip_on_another_machine() {
  echo 'ATest.UsesGpu/* gpu no GPU' >"$skips"
  report 1 '^1 passed, 1 failed, 0 skipped$'
}

skip_for_another_reason() {
  echo 'ATest.UsesGpu/* no-gpu no second GPU' >"$skips"
  report 1 "says 'no second GPU'"
}

listed_but_ran() {
  printf '%s\n' 'ATest.UsesGpu/* no-gpu no GPU' 'ATest.Adds any no arithmetic' >"$skips"
  report 1 '^0 passed, 1 failed, 1 skipped$'
  report 1 'ATest.Adds: ran, but .*skips:2 lists it as skipped'
}

line_without_a_test() {
  printf '%s\n' 'ATest.UsesGpu/* no-gpu no GPU' 'BTest.Gone any no such thing' >"$skips"
  report 1 'skips:2: no test fits BTest.Gone'
  report 0 '^1 passed, 0 failed, 1 skipped$' --partial
}

line_without_reason() {
  echo 'ATest.UsesGpu/* no-gpu' >"$skips"
  report 1 'skips:1: needs three columns'
}

failed_case() {
  printf '%s\n' '[       OK ] ATest.Adds (0 ms)' '[  FAILED  ] ATest.Takes (1 ms)' >"$log"
  one_test FAILED TESTS_FAILED
  report 1 '^1 passed, 1 failed, 0 skipped$'
}

crash() {
  printf '%s\n' '[       OK ] ATest.Adds (0 ms)' '[ RUN      ] ATest.Crashes' >"$log"
  one_test FAILED TESTS_FAILED
  report 1 '^1 passed, 1 failed, 0 skipped$'
}

one_case_named_twice() {
  printf '%s\n' '[       OK ] ATest.Adds (0 ms)' '[  FAILED  ] ATest.Adds (0 ms)' >"$log"
  one_test FAILED TESTS_FAILED
  report 1 '^0 passed, 1 failed, 0 skipped$'
}

no_case_lines() {
  echo 'all is well' >"$log"
  report 0 '^1 passed, 0 failed, 0 skipped$'
}

test_that_does_not_build() {
  cat >"$events" <<'EOF'
{"id":{"targetConfigured":{"label":"//tests:a_test"}},"configured":{"targetKind":"cc_test rule","testSize":"SMALL"}}
{"id":{"targetCompleted":{"label":"//tests:a_test"}},"completed":{}}
{"id":{"buildFinished":{}},"finished":{"exitCode":{"name":"BUILD_FAILURE"}}}
EOF
  report 1 'a_test (as a whole): it did not build'
}

build_failure_elsewhere() {
  echo 'all is well' >"$log"
  one_test PASSED BUILD_FAILURE
  report 1 '^1 passed, 1 failed, 0 skipped$'
}

bazel_that_was_killed() {
  : >"$events"
  report 1 '^0 passed, 1 failed, 0 skipped$'
}

steps_are_added() {
  echo 'all is well' >"$log"
  report 1 '^3 passed, 1 failed, 0 skipped$' --passed 2 --failed 1
}

help_is_printed() {
  report 0 'LABEL%Suite.Case' --help
}

for name in listed_skip listed_by_label unlisted_skip skip_on_another_machine skip_for_another_reason listed_but_ran \
  line_without_a_test line_without_reason failed_case crash one_case_named_twice no_case_lines \
  test_that_does_not_build build_failure_elsewhere bazel_that_was_killed steps_are_added help_is_printed; do
  log_of_two
  one_test PASSED SUCCESS
  : >"$skips"
  run_case TestReportTest "$name"
done
((failures == 0))
