// SPDX-License-Identifier: Apache-2.0
#include <rankshare/driver/owned_host_pool.hpp>

#include <sys/mman.h>

#include <cstring>
#include <string>

#include <rankshare/base/error.hpp>
#include <rankshare/base/memory_limits.hpp>
#include <rankshare/base/process.hpp>

namespace rankshare::detail {
namespace {

constexpr std::size_t largest_memory = std::size_t{1} << 46;
constexpr std::size_t rise_between_checks = std::size_t{1} << 20;

host_pool_layout layout_for(std::size_t max_size) {
  std::size_t const wanted = max_size != 0 ? max_size : machine_memory();
  if (wanted > largest_memory) {
    throw invalid_argument("making a host pool: max_size " + std::to_string(wanted) +
                           " is above the limit of " + std::to_string(largest_memory) + " bytes");
  }
  return {(wanted + host_page_bytes - 1) / host_page_bytes * host_page_bytes};
}

}  // namespace

owned_host_pool::owned_host_pool(pool_properties const& properties)
    : layout_(layout_for(properties.max_size)),
      file_(make_host_pool_file(layout_)),
      is_shareable_(properties.shareable),
      made_in_(fork_generation()),
      blocks_(layout_.pages()),
      base_(map_host_pool_file(file_.get(), 0, layout_.file_bytes(), "making a host pool")) {
  // The first two pages, header and first block, at once: an importer then gets both in one fault.
  // Kernels before 5.14 do not know the advice, and do without.
#ifdef MADV_POPULATE_WRITE
  ::madvise(base_, 2 * host_page_bytes, MADV_POPULATE_WRITE);
#endif
  write_host_pool_head(*reinterpret_cast<host_pool_head*>(base_), layout_, properties);
}

owned_host_pool::~owned_host_pool() { ::munmap(base_, layout_.file_bytes()); }

void owned_host_pool::check_shareable() const {
  if (is_shareable_) return;
  throw invalid_argument(
      "exporting a host pool: it was made with shareable = false; make it with shareable = true");
}

unique_fd owned_host_pool::export_handle() const {
  check_shareable();
  return file_.duplicate();
}

host_export_record& owned_host_pool::record(std::uint32_t slot) const {
  constexpr auto first = host_pool_head::record_count;
  if (slot < first) return reinterpret_cast<host_pool_head*>(base_)->records[slot];
  return reinterpret_cast<host_export_record*>(base_ + layout_.table_offset())[slot - first];
}

void owned_host_pool::refuse(std::size_t bytes) const {
  if (bytes > layout_.memory) {
    throw out_of_memory("allocating " + std::to_string(bytes) +
                            " bytes of host memory: the pool holds " +
                            std::to_string(layout_.memory) +
                            " bytes (its max_size, or what the machine has); ask for less, or make "
                            "the pool with a larger max_size where the machine has more",
                        bytes);
  }
  throw out_of_memory("allocating " + std::to_string(bytes) +
                          " bytes of host memory: the pool of " + std::to_string(layout_.memory) +
                          " bytes has no block of that size left; close buffers, or raise max_size",
                      bytes);
}

// Asking the kernel takes longer than everything else here, so small rises are added up first.
void owned_host_pool::check_available(std::size_t rise, std::size_t bytes) {
  if (unchecked_rise_ + rise <= rise_between_checks) {
    unchecked_rise_ += rise;
    return;
  }
  unchecked_rise_ = 0;
  auto const available = available_memory::now();
  if (rise <= available.bytes) return;
  throw out_of_memory("allocating " + std::to_string(bytes) + " bytes of host memory: only " +
                          std::to_string(available.bytes) + " bytes are available (" +
                          available.limit + "); close buffers, or give the job more memory",
                      bytes);
}

void owned_host_pool::check_not_inherited(char const* doing) const {
  if (fork_generation() == made_in_) return;
  throw invalid_argument(std::string(doing) +
                         " host memory: the pool belongs to the process that this one was forked "
                         "from; make a resource of its own");
}

device_pointer owned_host_pool::allocate(std::size_t bytes) {
  check_not_inherited("allocating");
  if (bytes > layout_.memory) refuse(bytes);
  std::size_t const pages = (bytes + host_page_bytes - 1) / host_page_bytes;
  std::lock_guard const lock(mutex_);
  auto const former = blocks_.high_water();
  auto const first = blocks_.take(pages == 0 ? 1 : pages);
  if (!first) refuse(bytes);
  if (auto const now = blocks_.high_water(); now > former) {
    try {
      check_available((now - former) * host_page_bytes, bytes);
    } catch (...) {
      blocks_.undo_take(*first, former);
      throw;
    }
  }
  return reinterpret_cast<device_pointer>(data() + *first * host_page_bytes);
}

host_block_map::block owned_host_pool::block_at(device_pointer pointer, char const* doing) const {
  // A pointer below the memory wraps to a page far above it.
  auto const offset = pointer - reinterpret_cast<device_pointer>(data());
  auto const found =
      offset % host_page_bytes == 0 ? blocks_.find(offset / host_page_bytes) : std::nullopt;
  if (found) return *found;
  throw invalid_argument(std::string(doing) + " host memory at address " + std::to_string(pointer) +
                         ": no allocation of this pool begins there");
}

void owned_host_pool::free(device_pointer pointer) {
  if (fork_generation() != made_in_) return;  // it is still the parent's
  std::lock_guard const lock(mutex_);
  auto const first = block_at(pointer, "freeing").first;
  if (!exported_.empty()) {
    if (auto const entry = exported_.find(first); entry != exported_.end()) {
      record(entry->second.slot).serial.store(0, std::memory_order_release);
      free_slots_.push_back(entry->second.slot);
      exported_.erase(entry);
    }
  }
  blocks_.give_back(first);
}

// Room to give the slot back is made now, so that freeing never fails.
std::uint32_t owned_host_pool::new_slot() {
  if (!free_slots_.empty()) {
    auto const slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }
  if (slots_used_ == host_pool_layout::slot_count) {
    throw invalid_argument("exporting host memory: " + std::to_string(slots_used_) +
                           " buffers of this pool are exported already; close some, or share parts "
                           "of a larger buffer");
  }
  if (slots_used_ == free_slots_.capacity())
    free_slots_.reserve(std::size_t{2} * (slots_used_ + 1));
  return slots_used_++;
}

host_block_map::block owned_host_pool::exported_place(device_pointer pointer) const {
  check_not_inherited("exporting");
  check_shareable();
  std::lock_guard const lock(mutex_);
  return block_at(pointer, "exporting");
}

bool owned_host_pool::holds(device_pointer begin, std::size_t bytes) const noexcept {
  auto const own = reinterpret_cast<device_pointer>(data());
  return begin - own < layout_.memory || own - begin < bytes;
}

pointer_payload owned_host_pool::export_pointer(device_pointer pointer) {
  check_not_inherited("exporting");
  check_shareable();
  std::lock_guard const lock(mutex_);
  auto const block = block_at(pointer, "exporting");
  auto entry = exported_.find(block.first);
  if (entry == exported_.end()) {
    entry = exported_.emplace(block.first, exported_block{0, last_serial_ + 1}).first;
    try {
      entry->second.slot = new_slot();
    } catch (...) {
      exported_.erase(entry);
      throw;
    }
    auto& written = record(entry->second.slot);
    written.first_page = block.first;
    written.pages = block.count;
    written.serial.store(++last_serial_, std::memory_order_release);
  }
  host_payload const out{host_payload::expected_magic, entry->second.slot, entry->second.serial,
                         block.first, block.count};
  pointer_payload payload{};
  std::memcpy(payload.data(), &out, sizeof out);
  return payload;
}

device_pointer owned_host_pool::import_pointer(pointer_payload const&) {
  throw invalid_argument(
      "importing host memory: this process made the pool, and has its memory "
      "already; use the buffer itself");
}

std::size_t owned_host_pool::range_size(device_pointer pointer) const {
  std::lock_guard const lock(mutex_);
  return block_at(pointer, "measuring").count * host_page_bytes;
}

}  // namespace rankshare::detail
