// SPDX-License-Identifier: Apache-2.0
/// @file
/// Divides a range of pages into blocks. Knows offsets only and touches no memory of the range, so
/// that whoever can write there cannot corrupt it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace rankshare::detail {

/// Blocks of pages in a range; a two-level segregated fit. Not thread-safe.
class host_block_map {
 public:
  using page = std::uint64_t;

  /// A part of the range that was handed out.
  struct block {
    page first;
    page count;
  };

  /// @param pages size of the range; at most 2^40
  explicit host_block_map(page pages);
  host_block_map(host_block_map const&) = delete;
  host_block_map& operator=(host_block_map const&) = delete;

  /// @param count pages wanted, above 0
  /// @return first page of a free block, which is now taken; nothing if none is large enough
  std::optional<page> take(page count);

  /// Gives the block that begins at `first` back.
  /// @return false if no taken block begins there
  bool give_back(page first);

  /// Gives the block that was taken last back, and restores what `high_water` said before.
  void undo_take(page first, page former_high_water);

  /// @return the taken block that begins at `first`, if there is one
  std::optional<block> find(page first) const;

  /// Pages up to which blocks were ever handed out.
  page high_water() const noexcept { return high_water_; }
  /// Number of blocks that are taken.
  std::size_t taken() const noexcept { return taken_; }

 private:
  using node_index = std::uint32_t;
  static constexpr node_index none = 0xFFFFFFFF;
  static constexpr int steps_log2 = 3;  // size classes per power of two: 8
  static constexpr int class_count = 41 * (1 << steps_log2);

  static constexpr std::size_t pages_per_part = 1024;

  struct node {
    page first;
    page count;
    node_index left, right;     // neighbours in the range
    node_index previous, next;  // in the free list of its class
    bool is_free;
  };

  static int class_of(page count);         // the class whose blocks are at most this large
  static int class_to_search(page count);  // the first class whose blocks are all large enough
  node_index taken_at(page first) const;
  void reserve_nodes(std::size_t count);
  node_index new_node(node value);
  void delete_node(node_index index);
  void link(node_index index);
  void unlink(node_index index);
  node_index find_free(page count) const;
  void split(node_index index, page count);
  void absorb_right(node_index index);  // both must be in no free list

  std::vector<node> nodes_;
  std::vector<node_index> unused_;
  std::array<node_index, class_count> heads_;
  std::array<std::uint64_t, (class_count + 63) / 64> nonempty_{};
  // page -> node of the taken block that begins there; made as it fills
  std::vector<std::unique_ptr<std::array<node_index, pages_per_part>>> at_page_;
  page pages_;
  page high_water_ = 0;
  std::size_t taken_ = 0;
};

}  // namespace rankshare::detail
