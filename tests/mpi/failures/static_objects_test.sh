#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: static_objects_test.sh PROGRAM MPI_ENV_FILE RANKS
# However a program with static objects ends, each rank exits with 0 and prints nothing.
set -euo pipefail

# shellcheck source=tests/tools/cases.sh
. tests/tools/cases.sh

program=$1 mpi_env=$2 ranks=$3

ends_quietly() {  # ends_quietly HOW
  local folder=$TEST_TMPDIR/$1 rank
  mkdir "$folder"
  # With the option, a rank that ends without MPI_Finalize does not end the others. mpirun's own status says nothing.
  # shellcheck disable=SC2016
  tools/bazel/mpi_run.sh -e "$mpi_env" -n "$ranks" -t 60 -r -- \
    bash -c 'rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
      "$1" "$2" >"$3/output.$rank" 2>&1; echo "$?" >"$3/status.$rank"' \
    bash "$program" "$1" "$folder" >"$folder/mpirun" 2>&1 || true
  for ((rank = 0; rank < ranks; ++rank)); do
    if [[ $(cat "$folder/status.$rank") != 0 || -s $folder/output.$rank ]]; then
      echo "rank $rank exits with $(cat "$folder/status.$rank"), and says:"
      cat "$folder/output.$rank" "$folder/mpirun"
      return 1
    fi
  done
}

after_finalize() { ends_quietly finalize; }
after_its_communicator_was_freed() { ends_quietly free; }
without_finalize() { ends_quietly exit; }

for case in after_finalize after_its_communicator_was_freed without_finalize; do
  run_case StaticObjectsTest "$case"
done
((failures == 0))
