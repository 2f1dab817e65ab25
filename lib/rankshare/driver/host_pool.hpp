// SPDX-License-Identifier: Apache-2.0
/// @file
/// A pool of host memory: one sparse memfd, mapped once, sealed against changing its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <rankshare/driver/driver.hpp>
#include <rankshare/driver/host_block_map.hpp>

namespace rankshare::detail {

/// One mapping of the memfd of a host pool, made by the process that owns it or by an importer.
///
/// @par Thread safety
/// Every function may be called from any thread.
class host_pool {
 public:
  static constexpr std::size_t granularity = 4096;  // bytes

  /// Makes a new pool.
  /// @throws invalid_argument if `max_size` is too large for an address space
  static std::unique_ptr<host_pool> create(pool_properties const& properties);

  /// Maps the pool behind `fd`, after checking that it is one.
  static std::unique_ptr<host_pool> import_from(int fd, uuid const& expected);

  ~host_pool();
  host_pool(host_pool const&) = delete;
  host_pool& operator=(host_pool const&) = delete;

  unique_fd export_handle() const;
  device_pointer allocate(std::size_t bytes);
  void free(device_pointer pointer);
  pointer_payload export_pointer(device_pointer pointer);
  device_pointer import_pointer(pointer_payload const& payload);
  std::size_t range_size(device_pointer pointer) const;

 private:
  struct header;
  struct export_record;
  struct payload_record;

  // Kept here, not read back from the table: peers can write there.
  struct exported_block {
    std::uint32_t slot;
    std::uint64_t serial;
  };

  // "" if `fd` is a host pool, with its header in `found`
  static char const* why_no_pool(int fd, header& found);
  host_pool(unique_fd file, std::byte* base, std::size_t memory, bool is_mapped);
  static std::size_t file_bytes(std::size_t memory);
  header& head() const;
  export_record& record(std::uint32_t slot) const;
  std::byte* data() const;
  // A page that no pool has, if `pointer` is not at the start of a page of this one.
  host_block_map::page page_of(device_pointer pointer) const;
  void check_available(std::size_t rise, std::size_t bytes);
  std::uint32_t new_slot();
  [[noreturn]] void refuse(std::size_t bytes) const;
  [[noreturn]] void reject_pointer(device_pointer pointer, char const* doing) const;

  unique_fd file_;  // owner only
  std::byte* base_;
  std::size_t memory_;  // bytes that can be allocated
  bool is_mapped_;      // imported
  mutable std::mutex mutex_;
  std::unique_ptr<host_block_map> blocks_;                             // owner only
  std::unordered_map<host_block_map::page, exported_block> exported_;  // owner only
  std::unordered_map<host_block_map::page, std::uint64_t> imported_;   // first page -> pages
  std::vector<std::uint32_t> free_slots_;
  std::uint32_t slots_used_ = 0;
  std::size_t unchecked_rise_ = 0;
  std::uint64_t last_serial_ = 0;
};

}  // namespace rankshare::detail
