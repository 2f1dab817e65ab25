#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: commands_test.sh MPI_ENV_FILE
# The commands in the ```sh blocks of the READMEs: those that start an example are run, all others must be known here.
set -euo pipefail
shopt -s inherit_errexit

# shellcheck source=tests/tools/cases.sh
. tests/tools/cases.sh

mpi_env=$1

say() {
  printf '%s\n' "$@" >&2
  return 1
}

commands() {  # commands FILE
  tests/readme/extract_blocks.sh sh "$1" - | sed -E 's/ +#.*//; /^$/d'
}

first_commands_are_the_two() {
  [[ $(commands README.md | head -n 2) == $'tools/quickstart\ntools/test' ]] || say "$(commands README.md)"
  [[ $(grep -n -m 1 '^```' README.md) == '4:```sh' ]] || say 'something stands before them'
}

run_example() {  # run_example RANKS PROGRAM ARGUMENTS...
  local ranks=$1 program=$2 output
  shift 2
  output=$(tools/bazel/mpi_run.sh -e "$mpi_env" -n "$ranks" -- "$program" "$@" 2>&1 </dev/null) || say "status $?:" "$output"
  [[ $(tail -n 1 <<<"$output") == 'verified: '* ]] || say "$output"
}

commands_of() {  # commands_of FILE NUMBER: all of its commands, of which so many start an example
  local line words started=0
  while read -r line; do
    read -r -a words <<<"$line"
    case $line in
      tools/quickstart | tools/test) ;;  # .ci/run and tools/compat run them
      'bazel build -c opt //examples/...') ;;
      'bazel build -c opt --nosandbox_debug //:my_program' | 'mpirun -n 2 bazel-bin/my_program') ;;  # the reader's own
      'mpirun -n '[0-9]' bazel-bin/examples/'*)
        run_example "${words[2]}" "${words[3]#bazel-bin/}" "${words[@]:4}"
        started=$((started + 1))
        ;;
      *) say "$1 has a command that is not tried: $line" ;;
    esac
  done < <(commands "$1")
  ((started == $2)) || say "$1 starts $started examples, and not $2"
}

readme_commands_work() { commands_of README.md 2; }
examples_readme_commands_work() { commands_of examples/README.md 2; }

for case in first_commands_are_the_two readme_commands_work examples_readme_commands_work; do
  run_case ReadmeTest "$case"
done
((failures == 0))
