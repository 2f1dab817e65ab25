#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
. tests/tools/cases.sh

readonly root=$TEST_TMPDIR/house

# plant FILE INCLUDE...: makes FILE, and only in it, include these.
plant() {
  local file=$1
  shift
  mkdir -p "$root/$(dirname "$file")"
  printf '// first line\n' >"$root/$file"
  printf '#include <%s>\n' "$@" >>"$root/$file"
}

build_house() {
  rm -rf "$root"
  plant lib/rankshare/base/error.hpp string
  plant lib/rankshare/base/log.hpp rankshare/base/error.hpp
  plant lib/rankshare/base/log.cpp rankshare/base/log.hpp
  plant lib/rankshare/driver/driver.cpp rankshare/base/log.hpp cuda.h
  plant lib/rankshare/memory/buffer.hpp rankshare/base/error.hpp
  plant mpi/rankshare/mpi/board.hpp rankshare/memory/buffer.hpp mpi.h
}

check() {
  expect "$1" "$2" tools/check_floors "$root"
}

sound_house() {
  check 0 '6 files, no include goes up'
}

up() {
  plant lib/rankshare/base/uuid.hpp cstddef rankshare/memory/buffer.hpp
  check 1 '^lib/rankshare/base/uuid.hpp:3: include of <rankshare/memory/buffer.hpp> goes up'
}

up_to_mpi() {
  plant lib/rankshare/memory/pool.cpp rankshare/mpi/board.hpp
  check 1 '^lib/rankshare/memory/pool.cpp:2: .* goes up'
}

mpi_in_lib() {
  plant lib/rankshare/ipc/registry.cpp mpi.h
  check 1 '^lib/rankshare/ipc/registry.cpp:2: .*only files below mpi/ include it'
}

cuda_in_header() {
  plant lib/rankshare/driver/driver.hpp cuda.h
  check 1 '^lib/rankshare/driver/driver.hpp:2: .*no CUDA header'
}

cuda_behind_header() {
  plant lib/rankshare/driver/cuda_headers.hpp cuda.h
  plant lib/rankshare/driver/cuda_calls.hpp rankshare/driver/cuda_headers.hpp
  plant lib/rankshare/driver/cuda_driver.cpp rankshare/driver/cuda_calls.hpp
  check 0 '9 files, no include goes up'
  plant lib/rankshare/driver/cuda_driver.hpp rankshare/driver/cuda_calls.hpp
  check 1 '^lib/rankshare/driver/cuda_driver.hpp:2: include of <rankshare/driver/cuda_calls.hpp> it needs the CUDA'
}

circle() {
  plant lib/rankshare/base/error.cpp rankshare/base/log.hpp
  check 1 'goes round in a circle: .*lib/rankshare/base/error.cpp:2 includes lib/rankshare/base/log'
}

unknown_room() {
  plant lib/rankshare/attic/box.hpp string
  check 1 '^lib/rankshare/attic/box.hpp: is in no room'
}

for name in sound_house up up_to_mpi mpi_in_lib cuda_in_header cuda_behind_header circle unknown_room; do
  build_house
  run_case CheckFloorsTest "$name"
done
((failures == 0))
