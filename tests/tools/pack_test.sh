#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What tools/pack/run makes of programs that pass, fail, crash, hang and skip: scripts in the place of all programs.
set -euo pipefail

# shellcheck source=tests/tools/cases.sh
. tests/tools/cases.sh

readonly source=$PWD/tools/pack/run
readonly pack=$TEST_TMPDIR/pack
readonly bin=$TEST_TMPDIR/bin  # stands before all others in PATH
readonly notes=$TEST_TMPDIR/notes
export PATH=$bin:$PATH NOTES=$notes
unset RANKSHARE_REQUIRE_GPU

script() {  # script FILE: from standard input
  mkdir -p "$(dirname "$1")"
  { echo '#!/bin/bash'; cat; } >"$1"
  chmod +x "$1"
}

# plant NAME TAGS [LAUNCHER...]: one more test, a program from standard input that has 2 s.
plant() {
  local name=$1 tags=$2
  shift 2
  script "$pack/programs/$name"
  echo "each tests/planted:$name 2 '$tags' COLOUR=red -- $* programs/$name argument" >>"$pack/runs"
}

plant_mpi() {  # plant_mpi NAME TAGS RANKS
  plant "$1" "$2" tools/bazel/mpi_run.sh -t 2 -n "$3" --
}

begin() {  # a pack without tests
  rm -rf "$pack" "$bin" "$notes"
  mkdir -p "$pack/tests" "$bin"
  cp "$source" "$pack/run"
  : >"$pack/runs"
  : >"$pack/tests/expected_skips.txt"
  script "$pack/tools/bazel/mpi_run.sh" <<'END'
echo "launcher: ${*:1:4}" >>"$NOTES"
while [[ $1 != -- ]]; do shift; done
"${@:2}"
END
}

plant_passing() {  # plant_passing NAME TAGS
  plant "$1" "$2" <<<'echo "[       OK ] PassingTest.Passes (0 ms)"'
}

plant_skipping() {  # plant_skipping: SkippingTest.IsSkipped says that there is no such thing
  plant skipping '' <<'END'
echo '[ RUN      ] SkippingTest.IsSkipped'
echo 'some_test.cpp:5: Skipped'
echo '  there is no such thing'
echo '[  SKIPPED ] SkippingTest.IsSkipped (0 ms)'
echo '[  SKIPPED ] 1 test, listed below:'
echo '[  SKIPPED ] SkippingTest.IsSkipped'
END
}

run() { expect "$1" "$2" "$pack/run" "${@:3}"; }  # run STATUS TEXT ARGUMENTS...

gone() {  # gone FILE: the process whose pid is in it has ended, or does within a second
  local i
  for ((i = 0; i < 10; ++i)); do
    kill -0 "$(cat "$1")" 2>/dev/null || return 0
    sleep 0.1
  done
  echo "process $(cat "$1") is still there"
  return 1
}

cases_are_counted() {
  plant_passing first ''
  plant second '' <<'END'
printf '\r\n[       OK ] A.One (0 ms)\r\n[       OK ] Suite/B.Two/3 (1 ms)\r\n'
END
  plant_skipping
  run 0 '^3 passed, 0 failed, 1 skipped$'
  run 0 '^tests/planted:second  *1  *2  *0  *0  *[0-9]*\.[0-9]$'
  run 0 '^  skipped: tests/planted:skipping SkippingTest.IsSkipped: there is no such thing'
}

skips_for_one_reason_are_one_line() {
  plant skipping '' <<'END'
printf '[ RUN      ] %s\nno %s\n[  SKIPPED ] %s (0 ms)\n' A.One GPU A.One A.Two GPU A.Two A.Three nvcc A.Three
END
  echo 'A.* any no ' >"$pack/tests/expected_skips.txt"
  run 0 '^  skipped: tests/planted:skipping (2 cases): no GPU$'
  run 0 '^  skipped: tests/planted:skipping A.Three: no nvcc$'
  run 0 '^0 passed, 0 failed, 3 skipped$'
}

arguments_environment_and_folder() {
  plant looking '' <<'END'
echo "got $* $COLOUR $GTEST_COLOR $PWD"
[[ "$* $COLOUR" == 'argument red' && -d $TEST_TMPDIR && $PWD == */pack ]] && echo '[       OK ] A.One'
END
  run 0 '^1 passed, 0 failed, 0 skipped$'
}

failed_case() {
  plant failing '' <<'END'
echo 'planted text'
echo '[  FAILED  ] A.One (0 ms)'
echo '[  FAILED  ] 1 test, listed below:'
echo '[  FAILED  ] A.One'
exit 1
END
  plant_passing passing ''
  run 1 '^1 passed, 1 failed, 0 skipped$'
  run 1 '^  failed: tests/planted:failing A.One$'
  run 1 '^  | planted text$'
}

crash() {
  # shellcheck disable=SC2016
  plant crashing '' <<<'echo "[       OK ] A.One (0 ms)"; kill -SEGV $$'
  run 1 '^1 passed, 1 failed, 0 skipped$'
  run 1 '(as a whole): ended by signal 11$'
}

status_without_failed_case() {
  plant ending '' <<<'echo "[       OK ] A.One (0 ms)"; exit 3'
  run 1 '(as a whole): exit status 3, and no case failed$'
}

end_within_a_case() {
  # shellcheck disable=SC2016
  plant ending '' <<<'echo "[       OK ] A.One (0 ms)"; touch "$TEST_PREMATURE_EXIT_FILE"'
  run 1 '(as a whole): ended within a case, with status 0$'
}

hanging_program_with_a_child_in_a_session_of_its_own() {
  plant hanging '' <<'END'
trap '' TERM
setsid bash -c 'echo $$ >"$NOTES"; trap "" TERM; while :; do sleep 1; done' &
while :; do sleep 1; done
END
  sed -i 's/ 2 / 1 /; s/kill-after=10/kill-after=1/' "$pack/runs" "$pack/run"
  run 1 '(as a whole): not done after 1 s$'
  gone "$notes"
}

no_lines() {
  plant silent '' <<<'echo "all is well"'
  run 1 "(as a whole): no line of GoogleTest's"
}

verified() {
  plant_mpi example mpi 2 <<<'echo "ranks: 2"; echo "verified: 2 ranks"'
  run 0 '^tests/planted:example  *2  *1  *0  *0  '
  run 0 '^1 passed, 0 failed, 0 skipped$'
}

verified_and_then_something_else() {
  plant example '' <<<'echo "verified: 2 ranks"; echo "but"'
  run 1 '^0 passed, 1 failed, 0 skipped$'
}

require() {  # require STATUS TEXT LINE: where GPUs are required, and LINE is the list of expected skips
  plant_skipping
  echo "$3" >"$pack/tests/expected_skips.txt"
  RANKSHARE_REQUIRE_GPU=1 run "$1" "$2"
}

unlisted_skip() { require 1 "failed: .*: skipped because 'there is no such thing', and not listed" '# none'; }
listed_skip() { require 0 '^0 passed, 0 failed, 1 skipped$' 'SkippingTest.* any there is no'; }
skip_listed_by_name() { require 0 ', 0 failed, 1 skipped$' '//tests/*:skipping%Skipping*.Is* any no such thing'; }
skip_listed_of_another() { require 1 ', 1 failed, 0 skipped$' '//tests/*:other%SkippingTest.* any no such thing'; }
skip_listed_for_another_reason() { require 1 ', 1 failed, 0 skipped$' 'SkippingTest.* any no other thing'; }
skip_listed_for_this_user() {
  require 0 ', 0 failed, 1 skipped$' "SkippingTest.* $( ((EUID == 0)) && echo root || echo not-root) no such thing"
}
skip_listed_for_another_user() {
  require 1 ', 1 failed, 0 skipped$' "SkippingTest.* $( ((EUID == 0)) && echo not-root || echo root) no such thing"
}

unlisted_skip_where_none_is_required() {
  plant_skipping
  run 0 'no such thing (not listed for this machine)$'
}

example_that_needs_a_gpu() {
  if compgen -G '/dev/nvidia[0-9]*' >/dev/null; then return; fi
  plant example gpu,manual <<<'exit 1'
  run 0 '^0 passed, 0 failed, 1 skipped$'
  RANKSHARE_REQUIRE_GPU=1 run 1 '^0 passed, 1 failed, 0 skipped$'
}

filters() {
  plant_passing one ''
  plant_passing two ''
  plant_passing three ''
  run 0 '^1 passed, ' --filter two
  run 0 '^2 passed, ' --filter two --filter one
  run 2 'no test is wanted' --filter four
}

list() {
  # shellcheck disable=SC2016
  plant_mpi several mpi,gpu 4 <<<'touch "$NOTES"'
  run 0 '^tests/planted:several  *4  *mpi gpu$' --list
  [[ ! -e $notes ]]
}

wrong_arguments() {
  run 2 'usage' --filer
  run 2 'needs a text' --filter
  run 2 'only-repeats needs' --only-repeats
  run 0 'usage' --help
}

measurements() {
  # shellcheck disable=SC2016
  script "$pack/tools/bench/bench" <<<'echo "bench in $PWD with $*"; exit 7'
  cd "$TEST_TMPDIR"
  expect 7 "^bench in $PWD with --program $pack/tools/bench/bench_main --check --filter x$" \
    pack/run --bench --check --filter x
}

# --- The daemon

# plant_daemon [QUIT]: a daemon that ends at QUIT, and two tests, one of several ranks.
plant_daemon() {
  script "$bin/nvidia-cuda-mps-control" <<END
quit='${1-quit}'
END
  cat >>"$bin/nvidia-cuda-mps-control" <<'END'
pid=$NOTES.daemon
if [[ ${1:-} == -d ]]; then
  setsid bash -c 'echo $$ >"$NOTES.daemon"; while :; do sleep 0.1; done' >/dev/null 2>&1 &
  exit
fi
read -r command
echo "$command" >>"$NOTES"
kill -0 "$(cat "$pid")" || exit
if [[ $command == "$quit" ]]; then
  kill -KILL "$(cat "$pid")"
fi
END
  plant_passing single ''
  plant_mpi several mpi 2 <<'END'
[[ -d $CUDA_MPS_PIPE_DIRECTORY && -d $CUDA_MPS_LOG_DIRECTORY ]] && kill -0 "$(cat "$NOTES.daemon")" || exit 1
echo "$CUDA_MPS_PIPE_DIRECTORY" >"$NOTES.folder"
echo '[       OK ] A.One (0 ms)'
END
}

ended() {  # the daemon, and what was made for it
  gone "$notes.daemon"
  [[ ! -e $(cat "$notes.folder") && ! -e $(dirname "$(cat "$notes.folder")") ]]
}

daemon() {
  plant_daemon
  run 0 '^1 passed, 0 failed, 0 skipped$' --mps --only-repeats
  grep -qx quit "$notes"
  ended
}

daemon_after_the_plain_tests() {
  plant_daemon
  sed -i 's/exit 1$/true/' "$pack/programs/several"
  # shellcheck disable=SC2016
  sed -i 's/^echo "$CUDA.*/echo "${CUDA_MPS_PIPE_DIRECTORY:-none}" >>"$NOTES.folder"/' "$pack/programs/several"
  : >"$notes.folder"
  run 0 '^3 passed, 0 failed, 0 skipped$' --mps
  [[ $(sed -n 1p "$notes.folder") == none && $(sed -n 2p "$notes.folder") == /tmp/* ]]
}

daemon_that_does_not_quit() {
  plant_daemon never
  run 0 'killing what was left: [0-9]' --mps --only-repeats
  ended
}

daemon_of_an_interrupted_run() {
  local pid i status=0
  plant_daemon
  # shellcheck disable=SC2016
  plant_mpi waiting mpi 2 <<<'echo $$ >"$NOTES.waiting"; while :; do sleep 0.1; done'
  sed -i 's/ 2 / 60 /' "$pack/runs"
  "$pack/run" --mps --only-repeats >/dev/null 2>&1 &
  pid=$!
  for ((i = 0; i < 100; ++i)); do
    [[ ! -s $notes.waiting ]] || break
    sleep 0.1
  done
  kill -TERM "$pid"
  wait "$pid" || status=$?
  ((status == 143))
  gone "$notes.waiting"
  ended
}

daemon_that_does_not_start() {
  plant_daemon
  script "$bin/nvidia-cuda-mps-control" <<<'echo "planted refusal"; exit 1'
  run 1 'planted refusal' --mps --only-repeats
  run 1 '^1 passed, 1 failed, 0 skipped$' --mps --filter single
}

daemon_that_is_not_there() {
  ln -s "$(command -v dirname)" "$bin/dirname"
  expect 2 'needs nvidia-cuda-mps-control' env PATH="$bin" "$pack/run" --mps
}

# --- The sanitizer

plant_sanitizer() {
  script "$bin/compute-sanitizer" <<'END'
echo "sanitizer: $*" >>"$NOTES"
while [[ $1 == --* ]]; do shift 2; done
"$@" || exit
[[ ! -e $NOTES.found ]] || exit 99
END
  plant_passing single gpu
  plant_mpi several gpu,mpi 2 <<<'echo "[       OK ] A.One (0 ms)"'
  plant_passing on_the_host ''
  plant script gpu programs/script.sh <<<'exit 1'
  plant_passing hides_gpus gpu,no_sanitizer
}

sanitizer() {
  local options='--tool memcheck --error-exitcode 99 --report-api-errors no --require-cuda-init no'
  plant_sanitizer
  run 0 '^2 passed, 0 failed, 0 skipped$' --sanitize --only-repeats
  diff - "$notes" <<END
sanitizer: $options programs/single argument
launcher: -t 10 -n 2
sanitizer: $options programs/several argument
END
}

sanitizer_speaks_last() {
  script "$bin/compute-sanitizer" <<'END'
while [[ $1 == --* ]]; do shift 2; done
"$@"
echo '========= ERROR SUMMARY: 0 errors'
END
  plant example gpu <<<'echo "verified: 1 ranks"'
  run 0 '^1 passed, 0 failed, 0 skipped$' --sanitize --only-repeats
}

sanitizer_that_finds_something() {
  plant_sanitizer
  touch "$notes.found"
  run 1 '(as a whole): compute-sanitizer found something$' --sanitize --only-repeats
}

sanitizer_that_is_not_there() {
  [[ ! -e /usr/local/cuda/bin/compute-sanitizer ]] || return 0
  ln -s "$(command -v dirname)" "$bin/dirname"
  expect 2 'needs compute-sanitizer' env PATH="$bin" "$pack/run" --sanitize
}

for name in cases_are_counted skips_for_one_reason_are_one_line arguments_environment_and_folder failed_case crash \
  status_without_failed_case end_within_a_case hanging_program_with_a_child_in_a_session_of_its_own no_lines \
  verified verified_and_then_something_else unlisted_skip listed_skip skip_listed_by_name skip_listed_of_another \
  skip_listed_for_another_reason skip_listed_for_this_user skip_listed_for_another_user \
  unlisted_skip_where_none_is_required example_that_needs_a_gpu filters list wrong_arguments measurements daemon \
  daemon_after_the_plain_tests daemon_that_does_not_quit daemon_of_an_interrupted_run daemon_that_does_not_start \
  daemon_that_is_not_there sanitizer sanitizer_speaks_last sanitizer_that_finds_something sanitizer_that_is_not_there; do
  begin
  run_case PackTest "$name"
done
((failures == 0))
