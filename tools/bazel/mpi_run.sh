#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Usage: mpi_run.sh -n RANKS [-t SECONDS] [-e MPI_ENV_FILE] [-x NAME=VALUE]... [-m MPIRUN_ARGUMENT]... [-r]
#          -- PROGRAM ARGS...
# Starts PROGRAM under mpirun with more ranks than cores allowed, and exits with mpirun's status. mpirun is the one
# beside the mpicc that built the program (MPI_ENV_FILE, written by tools/bazel/mpi.bzl), else that of MPI_HOME or PATH.
# With -r the other ranks run on when one ends, and mpirun's status says nothing of them.
set -euo pipefail

ranks=
seconds=60
mpi_bin=
extra=()
recover=
while getopts 'n:t:e:x:m:r' option; do
  case $option in
    n) ranks=$OPTARG ;;
    t) seconds=$OPTARG ;;
    e)
      # shellcheck source=/dev/null
      . "$OPTARG"
      ;;
    x) export "${OPTARG?}" ;;
    m) extra+=("$OPTARG") ;;
    r) recover=yes ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
if [[ -z $ranks || $# -eq 0 ]]; then
  echo 'usage: mpi_run.sh -n RANKS [-t SECONDS] [-x NAME=VALUE]... [-m MPIRUN_ARGUMENT]... [-r] -- PROGRAM ARGS...' >&2
  exit 2
fi

if [[ -z $mpi_bin && -n ${MPI_HOME:-} ]]; then
  mpi_bin=$MPI_HOME/bin
  if [[ ! -x $mpi_bin/mpirun ]]; then
    echo "mpi_run.sh: MPI_HOME is $MPI_HOME, but $mpi_bin/mpirun does not exist; set it to the folder of an MPI" >&2
    exit 1
  fi
fi
if [[ -n $mpi_bin ]]; then
  PATH=$mpi_bin:$PATH
fi
if ! mpirun=$(command -v mpirun); then
  echo 'mpi_run.sh: no mpirun: install openmpi-bin (or run tools/quickstart), or set MPI_HOME' >&2
  exit 1
fi

# GoogleTest writes these once for each process; Bazel makes its report from the log instead.
unset XML_OUTPUT_FILE TEST_PREMATURE_EXIT_FILE

version=$("$mpirun" --version 2>/dev/null || true)
if [[ $version == *'Open MPI'* || $version == *OpenRTE* ]]; then
  if ((EUID == 0)); then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
  # Open MPI names its shared files by pid, and in sandboxes with PID namespaces of their own two jobs at a time have
  # the same. So each job has a folder for them.
  base=/dev/shm
  if [[ ! -w $base ]]; then
    base=${TMPDIR:-/tmp}
  fi
  private=$(mktemp -d "$base/rankshare-mpi.XXXXXX")
  trap 'rm -rf "$private"' EXIT
  export OMPI_MCA_btl_vader_backing_directory=$private OMPI_MCA_orte_tmpdir_base=$private
  if [[ -n $recover ]]; then
    extra+=(--enable-recovery)
  fi
  # Through PATH, not by its full name: that would stand for --prefix.
  status=0
  mpirun --oversubscribe --timeout "$seconds" -n "$ranks" "${extra[@]}" "$@" || status=$?
  exit "$status"
fi
if [[ -n $recover ]]; then
  extra+=(-disable-auto-cleanup)
  # MPICH's launcher sends SIGUSR1 to the ranks that are left. When a signal has ended a rank it may kill them all
  # the same, but not when a shell exits with a status.
  # shellcheck disable=SC2016
  set -- bash -c 'trap "" USR1; "$@"; exit' bash "$@"
fi
export MPIEXEC_TIMEOUT=$seconds
exec mpirun -n "$ranks" "${extra[@]}" "$@"
