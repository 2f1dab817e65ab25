#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Usage: compile_test.sh NAME SOURCE COMPILER FLAGS...
# Checks that SOURCE compiles, and that it does not with any one of its sections switched on. Prints one line per
# section in GoogleTest's form, by which tools/test counts them.
set -euo pipefail

name=$1
source=$2
shift 2
failures=0

check() {  # check CASE passed|failed
  if [[ $2 == passed ]]; then
    printf '[       OK ] %s.%s\n' "$name" "$1"
  else
    printf '[  FAILED  ] %s.%s\n' "$name" "$1"
    failures=$((failures + 1))
  fi
}

if output=$("$@" "$source" 2>&1); then
  check CompilesWithoutSections passed
else
  printf '%s does not compile with all sections off:\n%s\n' "$source" "$output"
  check CompilesWithoutSections failed
fi

sections=0
while IFS= read -r line; do
  section=$(sed -E 's/^ *# *ifdef +(SECTION_[A-Za-z0-9_]+).*/\1/' <<<"$line")
  expected=$(sed -nE 's/.*\/\/ *error: *(.*[^ ]) *$/\1/p' <<<"$line")
  sections=$((sections + 1))
  if output=$("$@" "-D$section" "$source" 2>&1); then
    printf '%s compiles with %s, and must not\n' "$source" "$section"
    check "${section#SECTION_}" failed
  elif [[ -n $expected ]] && ! grep -qE -- "$expected" <<<"$output"; then
    printf '%s fails with %s, but the compiler does not say "%s":\n%s\n' "$source" "$section" "$expected" "$output"
    check "${section#SECTION_}" failed
  else
    check "${section#SECTION_}" passed
  fi
done < <(grep -E '^ *# *ifdef +SECTION_' "$source" || true)

if ((sections == 0)); then
  printf '%s has no section: write #ifdef SECTION_Name ... #endif around code that must not compile\n' "$source"
  exit 1
fi
((failures == 0))
