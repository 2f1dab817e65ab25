// SPDX-License-Identifier: Apache-2.0
/// @file
/// A host pool of this process: one memfd, mapped once, divided into blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <rankshare/driver/host_block_map.hpp>
#include <rankshare/driver/host_pool.hpp>
#include <rankshare/driver/host_pool_file.hpp>

namespace rankshare::detail {

/// The owner's side of a host pool. Inert in a forked child.
class owned_host_pool final : public host_pool {
 public:
  /// Makes a new pool.
  /// @param properties where the kind is device or pinned, the location is the one that every
  ///                   process knows; what is written down of it is all that differs here
  /// @throws invalid_argument if `max_size` is too large for an address space
  explicit owned_host_pool(pool_properties const& properties);
  ~owned_host_pool() override;

  /// @throws invalid_argument if the pool is not shareable
  unique_fd export_handle() const override;
  device_pointer allocate(std::size_t bytes) override;
  void free(device_pointer pointer) override;
  /// @throws invalid_argument if the pool is not shareable
  pointer_payload export_pointer(device_pointer pointer) override;
  /// @throws invalid_argument always: the owner has the memory already
  device_pointer import_pointer(pointer_payload const& payload) override;
  std::size_t range_size(device_pointer pointer) const override;

  /// @return the pages of an allocation, for an export that writes nothing into the file
  /// @throws what `export_pointer` throws
  host_block_map::block exported_place(device_pointer pointer) const;
  /// @return whether one of `bytes` from `begin` on is memory of this pool
  bool holds(device_pointer begin, std::size_t bytes) const noexcept;

 private:
  // Kept here, not read back from the table: peers can write there.
  struct exported_block {
    std::uint32_t slot;
    std::uint64_t serial;
  };

  void check_not_inherited(char const* doing) const;
  void check_shareable() const;
  host_export_record& record(std::uint32_t slot) const;
  std::byte* data() const noexcept { return base_ + host_pool_layout::memory_offset; }
  host_block_map::block block_at(device_pointer pointer, char const* doing) const;
  void check_available(std::size_t rise, std::size_t bytes);
  std::uint32_t new_slot();
  [[noreturn]] void refuse(std::size_t bytes) const;

  host_pool_layout layout_;
  unique_fd file_;
  bool is_shareable_;
  std::uint64_t made_in_;  // fork_generation()
  mutable std::mutex mutex_;
  host_block_map blocks_;
  std::byte* base_;  // mapped last: what fails before leaves no mapping
  std::unordered_map<host_block_map::page, exported_block> exported_;
  std::vector<std::uint32_t> free_slots_;
  std::uint32_t slots_used_ = 0;
  std::size_t unchecked_rise_ = 0;
  std::uint64_t last_serial_ = 0;
};

}  // namespace rankshare::detail
