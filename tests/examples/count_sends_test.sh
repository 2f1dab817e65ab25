#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: count_sends_test.sh MPI_ENV_FILE
# How many bytes each rank of 02_jacobi sends through MPI in an iteration: the difference of two runs, of 200 and 400
# iterations, is that of the loop alone.
set -euo pipefail
shopt -s inherit_errexit

# shellcheck source=tests/tools/cases.sh
. tests/tools/cases.sh

mpi_env=$1
most_bytes=64
jacobi=tests/examples/jacobi_counted
loop=tests/examples/sends_in_loop_counted

say() {
  printf '%s\n' "$@" >&2
  return 1
}

sent() {  # sent RANKS PROGRAM ARGUMENTS...: bytes that each rank sent, a line for each, by rank
  local ranks=$1 output lines
  shift
  output=$(tools/bazel/mpi_run.sh -e "$mpi_env" -n "$ranks" -- "$@" 2>&1) || say "status $?:" "$output"
  lines=$(tr -d '\r' <<<"$output" | sed -n 's/^rank \([0-9]*\) sent \([0-9]*\) bytes$/\1 \2/p' | sort -n)
  [[ $(wc -l <<<"$lines") == "$ranks" ]] || say "not $ranks ranks told what they sent:" "$output"
  cut -d ' ' -f 2 <<<"$lines"
}

per_iteration() {  # per_iteration RANKS PROGRAM ARGUMENTS...: bytes for each rank, rounded up
  local ranks=$1 program=$2 short long few many
  shift 2
  short=$(sent "$ranks" "$program" --iterations=200 "$@")
  long=$(sent "$ranks" "$program" --iterations=400 "$@")
  while read -r few many; do
    ((ranks == 1 || few > 0)) || say 'nothing was counted at all'
    echo $(((many - few + 199) / 200))
  done < <(paste -d ' ' <(echo "$short") <(echo "$long"))
}

jacobi_sends_little() {  # jacobi_sends_little RANKS
  local each bytes
  each=$(per_iteration "$1" "$jacobi" --size=64 --memory=host)
  echo "bytes that each rank sends in an iteration: ${each//$'\n'/ }"
  while read -r bytes; do
    ((bytes <= most_bytes)) || say "more than $most_bytes"
  done <<<"$each"
}

all_functions_that_send_are_counted() {
  local silent='Abort|Comm_create_keyval|Comm_get_attr|Comm_rank|Comm_set_attr|Comm_set_errhandler|Comm_size|'
  silent+='Comm_test_inter|Error_class|Error_string|Finalized|Init|Initialized|Iprobe|Is_thread_main|Query_thread|'
  silent+='Testall'
  local calls others
  calls=$(nm -D --undefined-only "$jacobi" | awk '{ print $2 }' | sed 's/@.*//' | grep '^MPI_') || say 'no MPI call found'
  others=$(grep -vxE "MPI_($silent)" <<<"$calls") || return 0
  say 'these may send something, and count_sends.cpp does not know them:' "$others"
}

what_a_loop_sends_is_counted() {
  local each
  each=$(per_iteration 3 "$loop" 65)
  [[ $each == $'65\n65\n65' ]] || say '3 ranks sent 65 bytes each in an iteration; counted:' "$each"
}

jacobi_sends_little_with_2_ranks() { jacobi_sends_little 2; }
jacobi_sends_little_with_4_ranks() { jacobi_sends_little 4; }
jacobi_sends_little_with_8_ranks() { jacobi_sends_little 8; }

for case in all_functions_that_send_are_counted what_a_loop_sends_is_counted jacobi_sends_little_with_2_ranks \
  jacobi_sends_little_with_4_ranks jacobi_sends_little_with_8_ranks; do
  run_case CountSendsTest "$case"
done
((failures == 0))
