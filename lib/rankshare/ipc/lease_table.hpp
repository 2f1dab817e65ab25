// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tells a descriptor of live memory from one of memory that its owner has freed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <rankshare/base/export.hpp>

namespace rankshare {

/// Names what an exporter published: a slot of its table and the generation the slot had.
struct lease {
  static constexpr std::uint32_t no_slot = 0xFFFFFFFF;

  std::uint32_t slot = no_slot;
  std::uint64_t generation = 0;

  bool is_none() const noexcept { return slot == no_slot; }
};

namespace detail {

/// One shared word for each slot: the generation that lives there, or one that no descriptor has.
/// Written by the exporter only, read by all; a reader believes nothing else.
using lease_word = std::atomic<std::uint64_t>;
static_assert(lease_word::is_always_lock_free);

/// The exporter's side: gives out leases and takes them back. Inert in a forked child.
///
/// @par Thread safety
/// Every function may be called from any thread.
class RANKSHARE_EXPORT lease_table {
 public:
  /// @param words   `slots` words, all zero, in memory that every importer can read
  /// @param slots   number of words
  /// @param mapping keeps the memory of `words` mapped
  lease_table(lease_word* words, std::uint32_t slots, std::shared_ptr<void> mapping);

  /// @return a lease that is current until it is retired
  /// @throws not_shareable if every slot is in use, or in a forked child
  lease publish();

  /// Ends a lease: every descriptor that carries it is stale from now on.
  void retire(lease const& ended) noexcept;

  /// @return number of leases that are current
  std::size_t published() const;

 private:
  lease_word* words_;
  std::uint32_t slots_;
  std::shared_ptr<void> mapping_;
  std::uint64_t made_in_;  // fork_generation()
  mutable std::mutex mutex_;
  // The truth; the shared words are a copy for others, which they may have spoilt.
  std::vector<std::uint64_t> generations_;
  std::vector<std::uint32_t> free_slots_;
};

/// The importer's side of somebody's table.
class RANKSHARE_EXPORT lease_view {
 public:
  lease_view(lease_word const* words, std::uint32_t slots) noexcept
      : words_(words), slots_(slots) {}

  /// @return whether what `held` names is still published
  bool is_current(lease const& held) const noexcept {
    return held.slot < slots_ && held.generation != 0 &&
           words_[held.slot].load(std::memory_order_acquire) == held.generation;
  }

 private:
  lease_word const* words_;
  std::uint32_t slots_;
};

}  // namespace detail
}  // namespace rankshare
