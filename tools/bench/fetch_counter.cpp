// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/fetch_counter.hpp"

// Not <unistd.h>: it declares `syscall` with an exception specification of its own.
#include <dlfcn.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdarg>

namespace {

std::atomic<long> fetches{0};

using syscall_function = long (*)(long, ...);

syscall_function libc_syscall() {
  static auto const next = reinterpret_cast<syscall_function>(::dlsym(RTLD_NEXT, "syscall"));
  return next;
}

}  // namespace

/// Stands before libc's function of this name, for the program and its shared libraries.
extern "C" __attribute__((visibility("default"))) long syscall(long number, ...) {
  if (number == SYS_pidfd_getfd) fetches.fetch_add(1, std::memory_order_relaxed);
  // Like libc: six arguments are passed on, however many there are.
  std::va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  return libc_syscall()(number, arguments[0], arguments[1], arguments[2], arguments[3],
                        arguments[4], arguments[5]);
}

namespace rankshare::bench {

long fetch_calls() noexcept { return fetches.load(std::memory_order_relaxed); }

}  // namespace rankshare::bench
