// SPDX-License-Identifier: Apache-2.0
#include <rankshare/mpi/process_record.hpp>

#include <unistd.h>

#include <cstring>
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
  auto const host = host_identity::of_this_process();
  record.user = ::geteuid();
  record.boot = host.boot;
  record.pid_namespace = host.pid_namespace;
  record.user_namespace = host.user_namespace;
  record.start_time = process_start_time(record.pid);
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
