#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How mpi_main merges the results of the ranks.
set -euo pipefail

# shellcheck source=tests/tools/cases.sh
. tests/tools/cases.sh

run() {  # run RANKS FILTER ARGUMENTS...
  local ranks=$1 filter=$2
  shift 2
  tools/bazel/mpi_run.sh -n "$ranks" -- tests/support/mpi_main_cases "--gtest_filter=Planted.$filter" "$@"
}

fails() {  # fails TEXT COMMAND...: the command fails, and says TEXT (a basic regular expression)
  local text=$1 output
  shift
  if output=$("$@" 2>&1) || ! grep -q -- "$text" <<<"$output"; then
    printf 'expected a failure and "%s"; got:\n%s\n' "$text" "$output"
    return 1
  fi
}

count_is() {  # count_is NUMBER TEXT RANKS FILTER: so many lines of the output begin with TEXT
  local wanted=$1 text=$2 found
  shift 2
  found=$(run "$@" 2>&1 | grep -cF -- "$text" || true)
  if [[ $found != "$wanted" ]]; then
    echo "$found lines say '$text', and not $wanted"
    return 1
  fi
}

one_rank_passes() { expect 0 'OK.*Planted.PassesEverywhere' run 1 PassesEverywhere; }
each_case_is_printed_once() { count_is 1 '[       OK ] Planted.PassesEverywhere' 3 PassesEverywhere; }
failure_of_another_rank_fails() { fails 'FAILED.*Planted.FailsOnRank1' run 3 FailsOnRank1; }
failure_of_another_rank_is_told() { fails '\[rank 1\].*' run 3 FailsOnRank1; }
text_of_another_rank_is_told() { fails 'planted text' run 3 FailsOnRank1; }
exception_of_rank_0_fails() { fails 'FAILED.*Planted.ThrowsOnRank0' run 3 ThrowsOnRank0; }
skip_of_another_rank_skips() { expect 0 '\[rank 1\] planted reason' run 3 IsSkippedOnRank1; }
skip_of_another_rank_counts() { count_is 1 '[  SKIPPED ] Planted.IsSkippedOnRank1 (' 3 IsSkippedOnRank1; }
skip_of_all_is_told_once() { count_is 1 'planted for all' 3 IsSkippedEverywhere; }
failure_wins_over_skip() { fails 'FAILED.*SkippedOnRank1' run 2 FailsOnRank0AndIsSkippedOnRank1; }
wanted_thread_level_is_asked_for() { expect 0 'OK' run 1 HasThreadLevelMultiple --mpi_thread=multiple; }
wrong_thread_level_is_refused() { fails 'must be single' run 1 PassesEverywhere --mpi_thread=many; }

for case in one_rank_passes each_case_is_printed_once failure_of_another_rank_fails failure_of_another_rank_is_told \
  text_of_another_rank_is_told exception_of_rank_0_fails skip_of_another_rank_skips skip_of_another_rank_counts \
  skip_of_all_is_told_once failure_wins_over_skip wanted_thread_level_is_asked_for wrong_thread_level_is_refused; do
  run_case MpiMainTest "$case"
done
((failures == 0))
