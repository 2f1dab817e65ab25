// SPDX-License-Identifier: Apache-2.0
#include <rankshare/handle/stream_state.hpp>

#include <rankshare/base/error.hpp>
#include <rankshare/base/log.hpp>

namespace rankshare::detail {

void stream_state::destroy() noexcept {
  try {
    where_.driver().stream_destroy(handle_);
  } catch (...) {
    log_once(log_level::error, "stream_destroy", "destroying a stream: " + current_error_text());
  }
  delete this;
}

}  // namespace rankshare::detail
