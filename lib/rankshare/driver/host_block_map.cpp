// SPDX-License-Identifier: Apache-2.0
#include <rankshare/driver/host_block_map.hpp>

#include <algorithm>
#include <bit>

// Note [Host block map]
//
// Rationale: a host pool allocates and frees in tens of nanoseconds, and its peers can write to its
// memory, so headers inside the blocks are out of the question.
//
// Approach: two-level segregated fit (Masmano, Ripoll, Crespo, Real: TLSF, ECRTS 2004). Free blocks
// stand in lists by size class, eight classes to a power of two; a bit map finds the first list
// that must fit. Neighbours are merged at once. The map from a page to its block is an array in
// parts, which are made when they are first needed, so that a free costs no search.
//
// Limits: a request may miss a fitting block in its own class, which costs at most 1/8 of its size
// in untouched address space.

namespace rankshare::detail {

host_block_map::host_block_map(page pages)
    : at_page_(static_cast<std::size_t>(pages / pages_per_part) + 1), pages_(pages) {
  heads_.fill(none);
  reserve_nodes(64);
  link(new_node({0, pages, none, none, none, none, true}));
}

host_block_map::node_index host_block_map::taken_at(page first) const {
  if (first >= pages_) return none;
  auto const& part = at_page_[first / pages_per_part];
  return part == nullptr ? none : (*part)[first % pages_per_part];
}

int host_block_map::class_of(page count) {
  constexpr page steps = page{1} << steps_log2;
  if (count < steps) return static_cast<int>(count);
  auto const exponent = static_cast<int>(std::bit_width(count)) - 1;
  auto const step = static_cast<int>((count >> (exponent - steps_log2)) & (steps - 1));
  return ((exponent - steps_log2 + 1) << steps_log2) + step;
}

int host_block_map::class_to_search(page count) {
  constexpr page steps = page{1} << steps_log2;
  if (count < steps) return static_cast<int>(count);
  auto const exponent = static_cast<int>(std::bit_width(count)) - 1;
  page const last_of_step = (page{1} << (exponent - steps_log2)) - 1;
  return class_of(count + last_of_step);
}

host_block_map::node_index host_block_map::new_node(node value) {
  if (!unused_.empty()) {
    auto const index = unused_.back();
    unused_.pop_back();
    nodes_[index] = value;
    return index;
  }
  nodes_.push_back(value);
  return static_cast<node_index>(nodes_.size() - 1);
}

// Room is made before anything changes: a failure changes nothing, and giving back never allocates.
void host_block_map::reserve_nodes(std::size_t count) {
  unused_.reserve(count);
  nodes_.reserve(count);
}

void host_block_map::delete_node(node_index index) { unused_.push_back(index); }

void host_block_map::link(node_index index) {
  auto& item = nodes_[index];
  int const size_class = class_of(item.count);
  auto& head = heads_[static_cast<std::size_t>(size_class)];
  item.is_free = true;
  item.previous = none;
  item.next = head;
  if (head != none) nodes_[head].previous = index;
  head = index;
  nonempty_[static_cast<std::size_t>(size_class / 64)] |= std::uint64_t{1} << (size_class % 64);
}

void host_block_map::unlink(node_index index) {
  auto& item = nodes_[index];
  int const size_class = class_of(item.count);
  if (item.next != none) nodes_[item.next].previous = item.previous;
  if (item.previous != none) {
    nodes_[item.previous].next = item.next;
  } else {
    heads_[static_cast<std::size_t>(size_class)] = item.next;
    if (item.next == none) {
      nonempty_[static_cast<std::size_t>(size_class / 64)] &=
          ~(std::uint64_t{1} << (size_class % 64));
    }
  }
  item.is_free = false;
}

host_block_map::node_index host_block_map::find_free(page count) const {
  int const first = class_to_search(count);
  for (auto word = static_cast<std::size_t>(first / 64); word < nonempty_.size(); ++word) {
    auto bits = nonempty_[word];
    if (word == static_cast<std::size_t>(first / 64)) bits &= ~std::uint64_t{0} << (first % 64);
    if (bits != 0) return heads_[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
  }
  // The request may still fit a block of its own class.
  for (auto i = heads_[static_cast<std::size_t>(class_of(count))]; i != none; i = nodes_[i].next) {
    if (nodes_[i].count >= count) return i;
  }
  return none;
}

void host_block_map::split(node_index index, page count) {
  auto const rest = nodes_[index].count - count;
  if (rest == 0) return;
  auto const right = nodes_[index].right;
  auto const added = new_node({nodes_[index].first + count, rest, index, right, none, none, true});
  if (right != none) nodes_[right].left = added;
  nodes_[index].right = added;
  nodes_[index].count = count;
  link(added);
}

void host_block_map::absorb_right(node_index index) {
  auto const right = nodes_[index].right;
  nodes_[index].count += nodes_[right].count;
  nodes_[index].right = nodes_[right].right;
  if (nodes_[right].right != none) nodes_[nodes_[right].right].left = index;
  delete_node(right);
}

std::optional<host_block_map::page> host_block_map::take(page count) {
  if (count == 0 || count > pages_) return std::nullopt;
  auto const index = find_free(count);
  if (index == none) return std::nullopt;
  if (unused_.empty() && nodes_.size() == nodes_.capacity()) reserve_nodes(nodes_.size() * 2);
  auto const first = nodes_[index].first;
  auto& part = at_page_[first / pages_per_part];
  if (part == nullptr) {
    part = std::make_unique<std::array<node_index, pages_per_part>>();
    part->fill(none);
  }
  unlink(index);
  split(index, count);
  (*part)[first % pages_per_part] = index;
  high_water_ = std::max(high_water_, first + count);
  ++taken_;
  return first;
}

bool host_block_map::give_back(page first) {
  auto index = taken_at(first);
  if (index == none) return false;
  (*at_page_[first / pages_per_part])[first % pages_per_part] = none;
  --taken_;
  auto const right = nodes_[index].right;
  if (right != none && nodes_[right].is_free) {
    unlink(right);
    absorb_right(index);
  }
  auto const left = nodes_[index].left;
  if (left != none && nodes_[left].is_free) {
    unlink(left);
    absorb_right(left);
    index = left;
  }
  link(index);
  return true;
}

void host_block_map::undo_take(page first, page former_high_water) {
  give_back(first);
  high_water_ = former_high_water;
}

std::optional<host_block_map::block> host_block_map::find(page first) const {
  auto const index = taken_at(first);
  if (index == none) return std::nullopt;
  auto const& item = nodes_[index];
  return block{item.first, item.count};
}

}  // namespace rankshare::detail
