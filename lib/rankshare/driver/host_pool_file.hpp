// SPDX-License-Identifier: Apache-2.0
/// @file
/// The file of a host pool: what stands where in it, how it is made and recognised.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <rankshare/base/unique_fd.hpp>
#include <rankshare/base/uuid.hpp>
#include <rankshare/driver/driver.hpp>

namespace rankshare::detail {

/// Bytes of a page; what allocations are rounded up to.
inline constexpr std::size_t host_page_bytes = 4096;

/// What the owner says of one exported block.
struct host_export_record {
  std::atomic<std::uint64_t> serial;  ///< 0: nothing lives here
  std::uint64_t first_page;
  std::uint64_t pages;
  std::uint64_t reserved;
};

/// What the first page of the file holds.
struct host_pool_head {
  static constexpr std::uint32_t record_count = (4096 - 64) / 32;

  char magic[8];
  std::uint64_t memory;  ///< bytes that can be allocated
  uuid id;
  memory_kind kind;
  std::int32_t location;  ///< number of an emulated device, or NUMA node; -1: none
  std::byte reserved[24];
  host_export_record records[record_count];
};
static_assert(sizeof(host_pool_head) == host_page_bytes);

/// What a payload of the host driver holds.
struct host_payload {
  static constexpr std::uint32_t expected_magic = 0x72736870;  // "rshp"

  std::uint32_t magic;
  std::uint32_t slot;  ///< of the record that must say the same
  std::uint64_t serial;
  std::uint64_t first_page;
  std::uint64_t pages;
};

/// Places in the file of a pool of `memory` bytes.
struct host_pool_layout {
  static constexpr std::uint32_t slot_count = 1U << 20;
  static constexpr std::size_t memory_offset = host_page_bytes;
  static constexpr std::size_t table_bytes =
      (slot_count - host_pool_head::record_count) * sizeof(host_export_record);

  std::size_t memory;

  std::size_t pages() const noexcept { return memory / host_page_bytes; }
  std::size_t table_offset() const noexcept { return memory_offset + memory; }
  std::size_t file_bytes() const noexcept { return table_offset() + table_bytes; }
};

/// What the file of a pool says of it.
struct host_pool_found {
  host_pool_layout layout;
  int location;  ///< see `host_pool_head`
};

/// Makes the file of a pool; its header is still empty.
///
/// @throws system_error if no descriptors are left, or the file cannot be that large
unique_fd make_host_pool_file(host_pool_layout const& layout);

/// Writes the header into the first page of a new pool.
///
/// @param properties kind, location as every process knows it, and identity
void write_host_pool_head(host_pool_head& head, host_pool_layout const& layout,
                          pool_properties const& properties);

/// Checks that `fd`, which may come from anywhere, is a pool. Maps nothing.
///
/// @param kind     kind of memory that the pool must be of
/// @param expected identity that the pool must have; nil: any
/// @throws stale_descriptor   if it is not the pool `expected`, or of another kind
/// @throws invalid_descriptor if it is no pool of that kind and `expected` is nil
host_pool_found check_host_pool_file(int fd, memory_kind kind, uuid const& expected);

/// Maps a part of the file.
///
/// @param doing what this is for, for messages
/// @return null if the file may not be written
/// @throws out_of_memory if there is no address space for it
std::byte* map_host_pool_file(int fd, std::size_t offset, std::size_t bytes, char const* doing);

/// Says that a file that passed the check cannot be written.
[[noreturn]] void reject_host_pool_file(int fd, uuid const& expected, char const* why);

}  // namespace rankshare::detail
