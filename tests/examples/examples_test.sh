#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: examples_test.sh MPI_ENV_FILE
# What the examples print, that a changed byte is found and named exactly, and what they say of wrong options. They use
# host memory, whatever the machine has, and what takes the place of GPUs with RANKSHARE_HOST_DEVICES: that has memory,
# and runs no kernels.
set -euo pipefail
shopt -s inherit_errexit

# shellcheck source=tests/tools/cases.sh
. tests/tools/cases.sh

mpi_env=$1

# Cases change these for one command.
memory=host
where='host memory'  # what the examples call it, an extended regular expression
readonly gpu_memory='memory of GPU 0 \(.+\)'

run() {  # run RANKS PROGRAM ARGUMENTS...: its standard output and error, and its status
  local ranks=$1 program=$2
  shift 2
  tools/bazel/mpi_run.sh -e "$mpi_env" -n "$ranks" -- "examples/$program" "--memory=$memory" "$@" 2>&1 | tr -d '\r'
}

say() {
  printf '%s\n' "$@" >&2
  return 1
}

verifies() {  # verifies BYTES RANKS PROGRAM ARGUMENTS...: exits with 0, and its last line says so
  local bytes=$1 ranks=$2 output
  shift
  output=$(run "$@") || say "status $?:" "$output"
  [[ $(tail -n 1 <<<"$output") =~ ^verified:\ $ranks\ ranks,\ $where,\ $bytes\ bytes\ compared,\ [0-9.]+\ s$ ]] ||
    say "the last line is not 'verified: ...' with $bytes bytes of $where:" "$output"
}

takes_host_memory() {  # takes_host_memory WHY RANKS PROGRAM ARGUMENTS...: by itself, and says why once
  local why=$1 output
  shift
  output=$(memory=auto run "$@") || say "status $?:" "$output"
  [[ $(grep -cF -- "host memory is used: $why" <<<"$output") == 1 ]] || say "not once '$why':" "$output"
  [[ $(tail -n 1 <<<"$output") == 'verified: '*' ranks, host memory, '* ]] || say "$output"
}

# finds RANK OFFSET TIMES RANKS PROGRAM ARGUMENTS...: fails, names that rank and offset so many times, no other, and
# does not say 'verified'
finds() {
  local text="the buffer of rank $1 differs at offset $2:" times=$3 output
  shift 3
  if output=$(run "$@"); then
    say 'status 0:' "$output"
  fi
  [[ $output != *verified* ]] || say "it says 'verified':" "$output"
  [[ $(grep -cF -- "$text" <<<"$output") == "$times" ]] || say "not $times times '$text':" "$output"
  [[ $(grep -c 'buffer of rank' <<<"$output") == "$times" ]] || say "other than '$text':" "$output"
}

refuses() {  # refuses TEXT RANKS PROGRAM ARGUMENTS...: fails, says TEXT once, and computes nothing
  local text=$1 output
  shift
  if output=$(run "$@"); then
    say 'status 0:' "$output"
  fi
  [[ $(grep -cF -- "$text" <<<"$output") == 1 ]] || say "not once '$text':" "$output"
  [[ $output != *verified* && $output != *iteration:* ]] || say 'it went on:' "$output"
}

jacobi_offset() {  # jacobi_offset RANK RANKS SIZE ITERATIONS: of the byte in the middle of the final rows
  local first=$(($3 * $1 / $2)) behind=$(($3 * ($1 + 1) / $2)) bytes
  bytes=$(((behind - first) * $3 * 8))
  echo $((($4 % 2) * bytes + bytes / 2))
}

finds_in_jacobi() {  # finds_in_jacobi RANK RANKS SIZE ITERATIONS
  finds "$1" "$(jacobi_offset "$@")" 1 "$2" 02_jacobi "--flip=$1" "--size=$3" "--iterations=$4"
}

# 01_share_buffer: every rank compares the buffers of all, its own too.

share_buffer_verifies() { verifies $((1 << 20)) 1 01_share_buffer; }
share_buffer_counts_what_all_compare() { verifies $((3 * 3 * 1001)) 3 01_share_buffer --size 1001; }
share_buffer_of_size_0_verifies() { verifies 0 2 01_share_buffer --size 0; }
share_buffer_finds_flip_of_only_rank() { finds 0 500 1 1 01_share_buffer --size=1001 --flip=0; }
share_buffer_finds_flip_of_first_rank() { finds 0 $((1 << 19)) 4 4 01_share_buffer --flip=0; }
share_buffer_finds_flip_of_middle_rank() { finds 1 2048 3 3 01_share_buffer --size=4097 --flip=1; }
share_buffer_finds_flip_of_last_rank() { finds 7 500 8 8 01_share_buffer --size=1001 --flip=7; }
share_buffer_finds_flip_of_only_byte() { finds 1 0 2 2 01_share_buffer --size=1 --flip=1; }
share_buffer_on_devices_verifies() {
  RANKSHARE_HOST_DEVICES=2 memory=device where=$gpu_memory verifies $((3 * 3 * 1001)) 3 01_share_buffer --size=1001
}
share_buffer_on_devices_of_size_0_verifies() {
  RANKSHARE_HOST_DEVICES=2 memory=device where=$gpu_memory verifies 0 2 01_share_buffer --size=0
}
share_buffer_on_devices_finds_flip_of_last_rank() {
  RANKSHARE_HOST_DEVICES=2 memory=device finds 3 2048 4 4 01_share_buffer --size=4097 --flip=3
}
share_buffer_in_pinned_memory_verifies() {
  RANKSHARE_HOST_DEVICES=2 memory=pinned where='pinned host memory' verifies $((2 * 2 * 1001)) 2 01_share_buffer --size=1001
}
share_buffer_in_pinned_memory_finds_flip_of_first_rank() {
  RANKSHARE_HOST_DEVICES=2 memory=pinned finds 0 500 3 3 01_share_buffer --size=1001 --flip=0
}
share_buffer_takes_devices_by_itself() {
  RANKSHARE_HOST_DEVICES=2 memory=auto where=$gpu_memory verifies $((4 << 20)) 2 01_share_buffer
}
share_buffer_takes_host_memory_without_gpu() {
  RANKSHARE_DRIVER=host takes_host_memory 'no GPU: RANKSHARE_DRIVER=host hides GPUs' 3 01_share_buffer
}
share_buffer_refuses_device_without_gpu() {
  RANKSHARE_DRIVER=host memory=device \
    refuses '01_share_buffer: --memory=device: no GPU: RANKSHARE_DRIVER=host hides GPUs' 3 01_share_buffer
}
share_buffer_refuses_pinned_without_gpu() {
  RANKSHARE_DRIVER=host memory=pinned \
    refuses '01_share_buffer: --memory=pinned: no GPU: RANKSHARE_DRIVER=host hides GPUs' 3 01_share_buffer
}
share_buffer_refuses_other_memory() {
  memory=disk refuses '--memory: disk not in {auto,host,pinned,device}' 2 01_share_buffer
}
share_buffer_refuses_rank_that_is_not_there() { refuses '--flip: Value 2 not in range 0 to 1' 2 01_share_buffer --flip=2; }
share_buffer_refuses_negative_rank() { refuses '--flip: Value -1 not in range 0 to 1' 2 01_share_buffer --flip=-1; }
share_buffer_refuses_flip_of_nothing() { refuses '--flip: a buffer of --size 0' 2 01_share_buffer --size=0 --flip=0; }
share_buffer_refuses_negative_size() { refuses '--size: Value -1 not in range 0 to' 2 01_share_buffer --size=-1; }
share_buffer_refuses_size_that_is_no_number() { refuses 'many not in range' 2 01_share_buffer --size=many; }
share_buffer_refuses_unknown_option() { refuses 'not expected: --iterations' 2 01_share_buffer --iterations=3; }
share_buffer_without_memory_ends_all_ranks() {
  local output
  if output=$(run 3 01_share_buffer --size=$((1 << 40))); then
    say 'status 0:' "$output"
  fi
  [[ $output == *"01_share_buffer: allocating $((1 << 40)) bytes of host memory: "* && $output != *verified* ]] ||
    say 'the cause is not told:' "$output"
}

# 02_jacobi: rank 0 compares the rows of all.

jacobi_verifies() { verifies $((257 * 257 * 8)) 3 02_jacobi --size 257; }
jacobi_tells_time_of_iteration() {
  local output
  output=$(run 2 02_jacobi --size 64 --iterations 201) || say "status $?:" "$output"
  [[ $output =~ "64 x 64, 201 iterations, 2 ranks: "[0-9.]+" ms per iteration" ]] || say "$output"
}
jacobi_shows_no_progress_without_terminal() {
  local output
  output=$(run 2 02_jacobi --size 64 </dev/null) || say "status $?:" "$output"
  [[ $output != *'iteration 1 '* && $(wc -l <<<"$output") == 2 ]] || say "$output"
}
jacobi_finds_flip_of_only_rank() { finds_in_jacobi 0 1 257 200; }
jacobi_finds_flip_of_first_rank() { finds_in_jacobi 0 4 257 200; }
jacobi_finds_flip_of_second_rank() { finds_in_jacobi 1 4 257 200; }
jacobi_finds_flip_of_last_rank() { finds_in_jacobi 3 4 257 200; }
jacobi_finds_flip_after_odd_number_of_iterations() { finds_in_jacobi 2 3 257 201; }
jacobi_finds_flip_among_many_ranks() { finds_in_jacobi 5 8 257 3; }
jacobi_refuses_more_ranks_than_rows() { refuses '--size: 3 rows are too few for 4 ranks' 4 02_jacobi --size=3; }
jacobi_refuses_size_without_interior() { refuses '--size: Value 2 not in range 3 to' 2 02_jacobi --size=2; }
jacobi_refuses_0_iterations() { refuses '--iterations: Value 0 not in range' 2 02_jacobi --iterations=0; }
jacobi_takes_host_memory_without_gpu() {
  RANKSHARE_DRIVER=host takes_host_memory 'no GPU: RANKSHARE_DRIVER=host hides GPUs' 3 02_jacobi --size=64
}
jacobi_takes_host_memory_without_kernels() {
  RANKSHARE_HOST_DEVICES=2 takes_host_memory 'no kernels: loading kernels' 3 02_jacobi --size=64
}
jacobi_refuses_device_without_gpu() {
  RANKSHARE_DRIVER=host memory=device \
    refuses '02_jacobi: --memory=device: no GPU: RANKSHARE_DRIVER=host hides GPUs' 3 02_jacobi --size=64
}
jacobi_refuses_pinned_without_kernels() {
  RANKSHARE_HOST_DEVICES=2 memory=pinned \
    refuses '02_jacobi: --memory=pinned: no kernels: loading kernels' 3 02_jacobi --size=64
}
jacobi_refuses_other_memory() {
  memory=disk refuses '--memory: disk not in {auto,host,pinned,device}' 2 02_jacobi
}
jacobi_refuses_rank_that_is_not_there() { refuses '--flip: Value 8 not in range 0 to 2' 3 02_jacobi --flip=8; }

for case in $(compgen -A function | grep -E '^(share_buffer|jacobi)_' | grep -v '^jacobi_offset$'); do
  run_case ExamplesTest "$case"
done
((failures == 0))
