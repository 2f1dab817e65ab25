# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For the tests beside this file: cases that are printed as GoogleTest prints them.

failures=0

# run_case SUITE FUNCTION: the case, named after the function, passes where each of its commands succeeds.
run_case() {
  local name status
  name=$1.$(sed -E 's/(^|_)(.)/\u\2/g' <<<"$2")
  echo "[ RUN      ] $name"
  set +e
  (set -e; "$2")
  status=$?
  set -e
  if ((status == 0)); then
    echo "[       OK ] $name"
  else
    echo "[  FAILED  ] $name"
    failures=$((failures + 1))
  fi
}

# expect STATUS TEXT COMMAND...: the command exits with STATUS and says TEXT (a basic regular expression).
expect() {
  local status=$1 text=$2 output actual=0
  shift 2
  output=$("$@" 2>&1) || actual=$?
  if ((actual != status)) || ! grep -q -- "$text" <<<"$output"; then
    printf 'expected status %d and "%s"; got status %d and:\n%s\n' "$status" "$text" "$actual" "$output"
    return 1
  fi
}
