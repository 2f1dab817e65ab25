// SPDX-License-Identifier: Apache-2.0
/// @file
/// What names one buffer to other processes: plain bytes, by any transport.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <rankshare/base/uuid.hpp>
#include <rankshare/driver/driver.hpp>
#include <rankshare/ipc/lease_table.hpp>

namespace rankshare {

/// Names one buffer of one pool. A value; copy its bytes wherever you like. Whoever imports it
/// treats it as untrusted: wrong bytes are an error, never a mapping.
class RANKSHARE_EXPORT buffer_descriptor {
 public:
  /// Bytes of every descriptor of this version.
  static constexpr std::size_t byte_count = 144;
  /// Version of the record, in its bytes 4 and 5.
  static constexpr std::uint16_t version = 1;

  using bytes_type = std::array<std::byte, byte_count>;

  /// What a descriptor says.
  struct fields {
    uuid pool;                             ///< identity of the pool
    memory_kind kind = memory_kind::host;  ///< of the pool
    std::uint64_t serial = 0;              ///< of the allocation in its pool, never reused
    std::uint64_t size = 0;                ///< bytes of the buffer
    std::uint64_t offset = 0;              ///< bytes from the start of the allocation
    rankshare::lease lease;                ///< none if the receiver is not known
    pointer_payload payload{};             ///< what the driver says of the allocation
  };

  /// @throws invalid_argument if `content` is no description of a buffer
  explicit buffer_descriptor(fields const& content);

  /// Reads a descriptor that another process wrote.
  ///
  /// @param bytes the record
  /// @param count bytes at `bytes`; must be `byte_count`
  /// @throws invalid_descriptor if the bytes are too few or too many, of another version, or no
  ///                            descriptor of a buffer
  static buffer_descriptor from_bytes(void const* bytes, std::size_t count);

  /// @return the record, to be sent to other processes of this machine
  bytes_type bytes() const noexcept;

  /// @return bytes of the buffer
  std::size_t size() const noexcept { return static_cast<std::size_t>(fields_.size); }
  /// @return identity of the pool it was allocated from
  uuid const& pool_id() const noexcept { return fields_.pool; }
  /// @return all that the descriptor says
  fields const& content() const noexcept { return fields_; }
  /// @return the same buffer under another lease
  buffer_descriptor with_lease(rankshare::lease const& granted) const;

 private:
  fields fields_;
};

}  // namespace rankshare
