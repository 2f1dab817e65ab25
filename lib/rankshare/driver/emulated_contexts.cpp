// SPDX-License-Identifier: Apache-2.0
#include <rankshare/driver/emulated_contexts.hpp>

#include <array>
#include <cstddef>
#include <string>

#include <rankshare/base/error.hpp>
#include <rankshare/base/settings.hpp>

namespace rankshare::detail {
namespace {

constexpr std::size_t most_pushed = 64;

// The handle of device i is the address of place i + 1, that of the host the first.
std::array<char, settings::most_host_devices + 1> places;

CUctx_st* handle_of(int ordinal) noexcept {
  return reinterpret_cast<CUctx_st*>(places.data() + (ordinal + 1));
}

// Of fixed size, so that it has no destructor: buffers may outlive the thread's other objects.
struct pushed_contexts {
  std::array<int, most_pushed> ordinals;
  std::size_t count;
};

thread_local pushed_contexts pushed{};

}  // namespace

bool emulated_contexts::is_context_of(int ordinal) const noexcept {
  return devices_ == 0 ? ordinal == -1 : ordinal >= 0 && ordinal < devices_;
}

int emulated_contexts::current_device() const noexcept {
  // What was pushed through a driver with more devices says nothing here.
  if (pushed.count > 0 && is_context_of(pushed.ordinals[pushed.count - 1])) {
    return pushed.ordinals[pushed.count - 1];
  }
  return devices_ == 0 ? -1 : 0;
}

CUctx_st* emulated_contexts::of(int ordinal) const noexcept { return handle_of(ordinal); }

CUctx_st* emulated_contexts::current() const noexcept { return of(current_device()); }

void emulated_contexts::push(CUctx_st* context) const {
  int ordinal = -1;
  while (ordinal < devices_ && handle_of(ordinal) != context) ++ordinal;
  if (!is_context_of(ordinal)) {
    throw invalid_argument(
        "pushing a context: it is none of the host driver's; pass what ctx_get_current gave");
  }
  if (pushed.count == most_pushed) {
    throw invalid_argument("pushing a context: this thread has pushed " +
                           std::to_string(most_pushed) + ", the most there may be; pop them");
  }
  pushed.ordinals[pushed.count++] = ordinal;
}

void emulated_contexts::pop() const {
  if (pushed.count == 0) {
    throw invalid_argument("popping a context: this thread has pushed none that is left");
  }
  --pushed.count;
}

}  // namespace rankshare::detail
