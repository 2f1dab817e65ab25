#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: survivors_test.sh PROGRAM MPI_ENV_FILE RANKS [FILTER]
# Runs each case of a program with survivors_main under an mpirun that lets the other ranks run on when one ends. Its
# status says nothing of the ranks, so each writes a verdict: one ends in the case, all others pass and leave MPI.
set -uo pipefail

program=$1 mpi_env=$2 ranks=$3 filter=${4:-*}

judge() {  # judge FOLDER: whether the verdicts are as they should be
  local rank verdict ended=0
  for ((rank = 0; rank < ranks; ++rank)); do
    verdict=$(tr '\n' ' ' <"$1/rank.$rank" 2>/dev/null || true)
    case $verdict in
      'passed left ') ;;
      'ends ') ended=$((ended + 1)) ;;
      *)
        echo "rank $rank: verdict '$verdict', and not 'passed left' or 'ends'"
        return 1
        ;;
    esac
  done
  if ((ended != 1)); then
    echo "$ended ranks ended in the case, and not 1"
    return 1
  fi
}

run_case() {  # run_case SUITE.CASE
  local folder output
  folder=$(mktemp -d "$TEST_TMPDIR/verdicts.XXXXXX")
  echo "[ RUN      ] $1"
  output=$(tools/bazel/mpi_run.sh -e "$mpi_env" -n "$ranks" -t 60 -r -- \
    "$program" "--gtest_filter=$1" "--verdicts=$folder" 2>&1 </dev/null)
  if judge "$folder"; then
    echo "[       OK ] $1"
    return
  fi
  echo "$output"
  echo "[  FAILED  ] $1"
  failures=$((failures + 1))
}

failures=0
count=0
suite=
mapfile -t listed < <("$program" --gtest_list_tests "--gtest_filter=$filter")
for line in "${listed[@]}"; do
  line=${line%%#*}
  line=${line%"${line##*[![:space:]]}"}
  case $line in
    'Running main'*) ;;
    ' '*)
      count=$((count + 1))
      run_case "$suite${line#"${line%%[![:space:]]*}"}"
      ;;
    *) suite=$line ;;
  esac
done
echo "$count cases, $failures failed"
((failures == 0 && count > 0))
