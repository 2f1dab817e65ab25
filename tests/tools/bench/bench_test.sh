#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
. tests/tools/cases.sh

readonly targets=$TEST_TMPDIR/targets.json

# target KEY VALUE BOUND UNIT: the file of targets holds this one.
target() {
  printf '[{"key": "%s", "value": "%s", %s, "unit": "%s", "source": "planted"}]\n' "$@" >"$targets"
}

bench() {  # bench STATUS TEXT ARGUMENTS...
  local status=$1 text=$2
  shift 2
  expect "$status" "$text" tools/bench/bench --program tools/bench/bench_main --targets "$targets" "$@"
}

list() {
  bench 0 '^share_64x4k  *64  ' --list
}

list_of_what_is_asked_for() {
  bench 0 '^fence_2  *2  ' --list --filter fence_2
  [[ $(tools/bench/bench --program tools/bench/bench_main --list --filter fence_2 | wc -l) == 1 ]]
}

targets_of_the_repository() {
  expect 0 '' tools/bench/bench_main check_targets tools/bench/targets.json
}

target_that_is_met() {
  target import_repeated import '"at_least": 0' ns
  bench 0 '^1 ok, 0 fall short, 0 skipped$' --check --filter import_repeated
}

impossible_target() {
  target import_repeated import '"at_most": 0' ns
  bench 1 '^import_repeated .* import <= 0 ns  *FALLS SHORT$' --check --filter import_repeated
}

without_check_no_target_counts() {
  target import_repeated import '"at_most": 0' ns
  bench 0 'import_close' --filter import_repeated
}

target_for_no_row() {
  target import_repaeted import '"at_most": 0' ns
  bench 2 'no measurement of that key' --check --filter import_repeated
}

target_for_no_value() {
  target import_repeated export '"at_most": 0' ns
  bench 2 'that row has import \[ns\], import_close \[ns\]' --check --filter import_repeated
}

target_of_another_row() {
  target fence_64 ours '"at_most": 0' us
  bench 0 '^0 ok, 0 fall short, 0 skipped$' --check --filter import_repeated
}

several_ranks_and_json() {
  bench 0 '^fence_2  *2  *15  *ours' --filter fence_2 --filter import_repeated --json "$TEST_TMPDIR/found.json"
  python3 - "$TEST_TMPDIR/found.json" <<'EOF'
import json, sys
found = json.load(open(sys.argv[1]))
assert found["machine"]["mpi"] and found["machine"]["cores"] > 0, found["machine"]
rows = {row["key"]: row for row in found["rows"]}
assert sorted(rows) == ["fence_2", "import_repeated"], rows
assert rows["fence_2"]["ranks"] == 2 and rows["fence_2"]["repetitions"] == 15, rows
assert [value["name"] for value in rows["fence_2"]["values"]] == ["ours", "baseline", "ratio"], rows
EOF
}

row_that_ends_early() {
  cat >"$TEST_TMPDIR/broken" <<'EOF'
#!/bin/bash
if [[ $1 == run ]]; then exit 1; fi
exec tools/bench/bench_main "$@"
EOF
  chmod +x "$TEST_TMPDIR/broken"
  target import_repeated import '"at_least": 0' ns
  bench 1 'FALLS SHORT: it did not run' --program "$TEST_TMPDIR/broken" --check --filter import_repeated
  bench 1 '^import_repeated did not run to its end' --program "$TEST_TMPDIR/broken" --filter import_repeated
}

wrong_number_of_ranks() {
  expect 2 'runs on 2 ranks, and this job has 1' tools/bazel/mpi_run.sh -n 1 -- tools/bench/bench_main run fence_2 \
    --json "$TEST_TMPDIR/none.json"
}

wrong_arguments() {
  bench 2 'usage' --chekc
  bench 2 'needs a value' --filter
  bench 2 'no row has a key like that' --filter nothing_like_that
  bench 2 'there is no' --check --targets "$TEST_TMPDIR/no_such_file"
}

for name in list list_of_what_is_asked_for targets_of_the_repository target_that_is_met impossible_target \
  without_check_no_target_counts target_for_no_row target_for_no_value target_of_another_row several_ranks_and_json \
  row_that_ends_early wrong_number_of_ranks wrong_arguments; do
  run_case BenchTest "$name"
done
((failures == 0))
