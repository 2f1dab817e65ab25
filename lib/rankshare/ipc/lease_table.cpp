// SPDX-License-Identifier: Apache-2.0
#include <rankshare/ipc/lease_table.hpp>

#include <string>

#include <rankshare/base/error.hpp>
#include <rankshare/base/process.hpp>

namespace rankshare::detail {

lease_table::lease_table(lease_word* words, std::uint32_t slots, std::shared_ptr<void> mapping)
    : words_(words), slots_(slots), mapping_(std::move(mapping)), made_in_(fork_generation()) {}

// A slot's generation is odd while it is published and even otherwise, and only ever grows.
lease lease_table::publish() {
  if (fork_generation() != made_in_) {
    throw not_shareable(
        "sharing memory: the node communicator belongs to the process that this one was forked "
        "from; share from that process");
  }
  std::lock_guard const lock(mutex_);
  if (free_slots_.empty()) {
    if (generations_.size() == slots_) {
      throw not_shareable("sharing memory: all " + std::to_string(slots_) +
                          " lease slots of this node communicator are in use; close buffers, or "
                          "share parts of a larger buffer");
    }
    generations_.push_back(0);
    free_slots_.reserve(generations_.capacity());  // so that `retire` never allocates
    free_slots_.push_back(static_cast<std::uint32_t>(generations_.size() - 1));
  }
  auto const slot = free_slots_.back();
  free_slots_.pop_back();
  auto const generation = ++generations_[slot];
  words_[slot].store(generation, std::memory_order_release);
  return {slot, generation};
}

void lease_table::retire(lease const& ended) noexcept {
  if (fork_generation() != made_in_) return;  // the parent still shares it
  std::lock_guard const lock(mutex_);
  if (ended.slot >= generations_.size() || generations_[ended.slot] != ended.generation) return;
  // Sequentially consistent: the memory is freed only after every importer can see this.
  words_[ended.slot].store(++generations_[ended.slot], std::memory_order_seq_cst);
  free_slots_.push_back(ended.slot);
}

std::size_t lease_table::published() const {
  std::lock_guard const lock(mutex_);
  return generations_.size() - free_slots_.size();
}

}  // namespace rankshare::detail
