// SPDX-License-Identifier: Apache-2.0
/// @file
/// What names a pool to other processes, and tells where its file descriptor is to be fetched.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include <rankshare/base/host_identity.hpp>
#include <rankshare/base/uuid.hpp>
#include <rankshare/driver/driver.hpp>
#include <rankshare/ipc/lease_table.hpp>

namespace rankshare {

/// Names a pool of some process. A value; its bytes are untrusted like those of a buffer
/// descriptor.
class RANKSHARE_EXPORT pool_descriptor {
 public:
  /// Bytes of every descriptor of this version.
  static constexpr std::size_t byte_count = 144;
  /// Version of the record, in its bytes 4 and 5.
  static constexpr std::uint16_t version = 1;

  using bytes_type = std::array<std::byte, byte_count>;

  /// What a descriptor says.
  struct fields {
    uuid pool;                             ///< identity of the pool
    memory_kind kind = memory_kind::host;  ///< where its memory is
    host_identity host;                    ///< machine and namespaces of the exporter
    pid_t pid = 0;                         ///< of the exporter, in its PID namespace
    std::uint64_t start_time = 0;          ///< of the exporter, in clock ticks since boot
    int fd = -1;                    ///< number of the descriptor in the exporter; a hint only
    uuid device;                    ///< of the GPU; nil for host memory
    std::int32_t numa_node = -1;    ///< of host memory; -1: any
    std::uint32_t granularity = 0;  ///< bytes that allocations are rounded up to
    rankshare::lease lease;         ///< current while the exporter keeps the pool
  };

  /// @throws invalid_argument if `content` describes no pool
  explicit pool_descriptor(fields const& content);

  /// Reads a descriptor that another process wrote.
  ///
  /// @throws invalid_descriptor if the bytes are too few or too many, of another version, or no
  ///                            descriptor of a pool
  static pool_descriptor from_bytes(void const* bytes, std::size_t count);

  /// @return the record, to be sent to other processes of this machine
  bytes_type bytes() const noexcept;

  /// @return all that the descriptor says
  fields const& content() const noexcept { return fields_; }

 private:
  fields fields_;
};

}  // namespace rankshare
