// SPDX-License-Identifier: Apache-2.0
/// @file
/// What each rank tells the others of itself when a node communicator is made. Not for users.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include <rankshare/base/error.hpp>
#include <rankshare/base/host_identity.hpp>
#include <rankshare/base/uuid.hpp>

namespace rankshare::mpi::detail {

/// Who a rank is. Its size and its first three members are the same in every version, so that ranks
/// of different versions can tell each other so.
struct process_record {
  char magic[8];
  std::uint32_t wire_version;
  char library_version[20];
  std::int32_t error_kind;  ///< `error_kind::none`, or why this rank cannot take part
  std::int32_t pid;
  std::uint32_t user;
  std::int32_t board_fd;  ///< of the file it offers as the board
  uuid board_nonce;       ///< of that file
  uuid boot;
  std::uint64_t pid_namespace;
  std::uint64_t user_namespace;
  std::uint64_t start_time;
  char error_text[152];

  /// Describes the calling process.
  /// @throws system_error if /proc is not mounted
  RANKSHARE_EXPORT static process_record of_this_process();

  /// Puts the exception that is being handled into a record that is otherwise empty.
  RANKSHARE_EXPORT static process_record of_current_exception();

  host_identity host() const noexcept { return {boot, pid_namespace, user_namespace}; }
  std::string error() const;
  std::string version() const;
};
static_assert(sizeof(process_record) == 256);

}  // namespace rankshare::mpi::detail
