#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: versions_test.sh MPI_ENV_FILE THIS OTHER_WIRE OTHER_LIBRARY
# Starts programs that were built with different versions of rankshare as one job.
set -euo pipefail

# shellcheck source=tests/tools/cases.sh
. tests/tools/cases.sh

mpi_env=$1 this=$2 other_wire=$3 other_library=$4

together() {  # together TEXTS COUNT PROGRAM COUNT PROGRAM: so many ranks of each; all read TEXTS
  tools/bazel/mpi_run.sh -e "$mpi_env" -t 60 -x "VERSIONS_TEXTS=$1" -n "$2" -- "$3" : -n "$4" "$5"
}

wire_version_of_one_of_two() {
  together 'rank 0 has rankshare|(wire version 1) and rank 1 has|(wire version 2)' 1 "$this" 1 "$other_wire"
}
wire_version_of_the_last_of_four() {
  together '(wire version 1) and rank 3 has|(wire version 2)' 3 "$this" 1 "$other_wire"
}
wire_version_of_the_first_of_four() {
  together '(wire version 2) and rank 1 has|(wire version 1)' 1 "$other_wire" 3 "$this"
}
library_version_of_one_of_two() {
  together 'rank 0 has rankshare|and rank 1 has 0.0.9 (wire version 1)' 1 "$this" 1 "$other_library"
}
library_version_of_the_first_of_four() {
  together 'rank 0 has rankshare 0.0.9 (wire version 1) and rank 1 has' 1 "$other_library" 3 "$this"
}

for case in wire_version_of_one_of_two wire_version_of_the_last_of_four wire_version_of_the_first_of_four \
  library_version_of_one_of_two library_version_of_the_first_of_four; do
  run_case VersionsTest "$case"
done
((failures == 0))
