// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <unistd.h>
#include <mpi/failures/system_calls.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

namespace rankshare::test {
namespace {

struct hook_list {
  std::shared_mutex mutex;
  std::vector<system_call_hook::function const*> hooks;
};

hook_list& list() {
  static auto* const instance = new hook_list;
  return *instance;
}

void show(long number, system_call_hook::arguments const& passed) {
  int const kept = errno;
  std::shared_lock const lock(list().mutex);
  for (auto const* hook : list().hooks) (*hook)(number, passed);
  errno = kept;
}

using real_function = long (*)(long, ...);

real_function real_syscall() {
  static auto const found = reinterpret_cast<real_function>(::dlsym(RTLD_NEXT, "syscall"));
  return found;
}

}  // namespace

system_call_hook::system_call_hook(function seen) : seen_(std::move(seen)) {
  std::lock_guard const lock(list().mutex);
  list().hooks.push_back(&seen_);
}

system_call_hook::~system_call_hook() {
  std::lock_guard const lock(list().mutex);
  auto& hooks = list().hooks;
  hooks.erase(std::remove(hooks.begin(), hooks.end(), &seen_), hooks.end());
}

}  // namespace rankshare::test

// Takes the place of libc's, which it calls.
extern "C" long syscall(long number, ...) noexcept {
  rankshare::test::system_call_hook::arguments passed{};
  va_list list;
  va_start(list, number);
  for (auto& argument : passed) argument = va_arg(list, long);
  va_end(list);
  rankshare::test::show(number, passed);
  return rankshare::test::real_syscall()(number, passed[0], passed[1], passed[2], passed[3],
                                         passed[4], passed[5]);
}
