// SPDX-License-Identifier: Apache-2.0
#include <rankshare/mpi/process_record.hpp>

#include <unistd.h>

#include <cstring>
#include <mutex>
#include <string_view>

#include <rankshare/base/process.hpp>
#include <rankshare/base/version.hpp>
#include <rankshare/mpi/board_file.hpp>

namespace rankshare::mpi::detail {
namespace {

template <std::size_t N>
void copy_text(char (&target)[N], std::string_view text) {
  auto const count = text.copy(target, N - 1);
  target[count] = '\0';
}

template <std::size_t N>
std::string read_text(char const (&source)[N]) {
  return {source, ::strnlen(source, N)};
}

struct process_identity {
  host_identity host;
  std::uint64_t start_time;
};

// Read from /proc once for each process; a forked child reads its own.
process_identity identity_of(pid_t self) {
  static std::mutex mutex;
  static pid_t known_pid = 0;
  static process_identity known;
  std::lock_guard const lock(mutex);
  if (known_pid != self) {
    known = {host_identity::of_this_process(), process_start_time(self)};
    known_pid = self;
  }
  return known;
}

process_record empty_record() {
  process_record record{};
  std::memcpy(record.magic, "rshrank", 8);
  record.wire_version = wire_version;
  copy_text(record.library_version, version_string);
  record.pid = ::getpid();
  return record;
}

}  // namespace

process_record process_record::of_this_process() {
  auto record = empty_record();
  auto const& [host, start_time] = identity_of(record.pid);
  record.user = ::geteuid();
  record.boot = host.boot;
  record.pid_namespace = host.pid_namespace;
  record.user_namespace = host.user_namespace;
  record.start_time = start_time;
  return record;
}

process_record process_record::of_current_exception() {
  auto record = empty_record();
  record.error_kind = static_cast<std::int32_t>(current_error_kind());
  copy_text(record.error_text, current_error_text());
  return record;
}

std::string process_record::error() const { return read_text(error_text); }
std::string process_record::version() const { return read_text(library_version); }

}  // namespace rankshare::mpi::detail
