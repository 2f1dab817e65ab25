#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: extract_blocks.sh LANGUAGE FILE OUTPUT...
# Writes each block of LANGUAGE (```LANGUAGE ... ```) in a Markdown file into an OUTPUT of its own, and fails unless there
# are as many. With the one OUTPUT - it writes all of them to standard output.
set -euo pipefail

language=$1
file=$2
shift 2

awk -v fence="\`\`\`$language" -v outputs="$*" '
  BEGIN { count = split(outputs, output, " "); all = outputs == "-" }
  $0 == fence { inside = 1; ++number; next }
  /^```/ { inside = 0 }
  inside { if (all) print; else if (number <= count) print > output[number] }
  END {
    if (!all && number != count) {
      printf "%s has %d blocks of %s, and not %d\n", FILENAME, number, substr(fence, 4), count > "/dev/stderr"
      exit 1
    }
  }' "$file"
