// SPDX-License-Identifier: Apache-2.0
#include <rankshare/memory/memory_resource.hpp>

#include <rankshare/memory/allocation.hpp>

namespace rankshare {

memory_resource buffer::memory_resource() const {
  check_open("asking a buffer for its memory resource");
  return state_->resource();
}

}  // namespace rankshare
