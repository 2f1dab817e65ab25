// SPDX-License-Identifier: Apache-2.0
/// @file
/// A host pool whose memory stands for that of a GPU, or for pinned memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rankshare/driver/host_pool.hpp>

namespace rankshare::detail {

/// What a payload of such a pool holds: a place, as on CUDA, and nothing of what lives there.
struct emulated_payload {
  static constexpr std::uint32_t expected_magic = 0x72736570;  // "rsep"

  std::uint32_t magic;
  std::uint32_t reserved;
  std::uint64_t first_page;
  std::uint64_t pages;
};

/// A pool that devices reach by their rights only.
class emulated_pool : public host_pool {
 public:
  /// @param location number of the device in the machine, or NUMA node
  emulated_pool(memory_kind kind, int location) noexcept : kind_(kind), location_(location) {}

  memory_kind kind() const noexcept { return kind_; }
  int location() const noexcept { return location_; }
  /// @return whether one of `bytes` from `begin` on is memory of this pool that is mapped here
  virtual bool holds(device_pointer begin, std::size_t bytes) const = 0;

 private:
  memory_kind kind_;
  int location_;
};

}  // namespace rankshare::detail
