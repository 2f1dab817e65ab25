// SPDX-License-Identifier: Apache-2.0
#include <rankshare/driver/imported_host_pool.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include <rankshare/base/error.hpp>

// Note [Views of an imported pool]
//
// Rationale: a pool may grow to the memory of the machine, and every rank of a node may import the
// pools of all others. Mapping each as a whole takes ranks x memory of address space, which a node
// of 192 ranks and 768 GiB does not have.
//
// Approach: an importer maps the pool from its start up to what its imports need, in powers of two
// from 64 MiB. A larger need is a further, larger view; the smaller ones stay, since imports have
// addresses in them. All views together are at most twice the largest.
//
// Limits: views go with the pool, not before.

namespace rankshare::detail {
namespace {

constexpr std::size_t smallest_view = std::size_t{64} << 20;

[[noreturn]] void refuse(std::string const& doing) {
  throw invalid_argument(doing +
                         ": this process has imported the pool; only its owner can do that");
}

}  // namespace

imported_host_pool::imported_host_pool(int fd, uuid const& expected)
    : layout_(check_host_pool_file(fd, memory_kind::host, expected).layout),
      file_(unique_fd::duplicate_of(fd)) {
  auto* const first = map_view(0, std::min(smallest_view, layout_.table_offset()));
  if (first == nullptr) reject_host_pool_file(fd, expected, "its memfd cannot be written");
}

imported_host_pool::~imported_host_pool() {
  for (auto const& mapped : views_) ::munmap(mapped.base, mapped.bytes);
  if (table_ != nullptr) ::munmap(table_, host_pool_layout::table_bytes);
}

std::byte* imported_host_pool::map_view(std::size_t offset, std::size_t bytes) {
  views_.reserve(views_.size() + 1);
  auto* const base = map_host_pool_file(file_.get(), offset, bytes, "importing a host pool");
  if (base != nullptr) views_.push_back({base, offset, bytes});
  return base;
}

// The start of a view that reaches up to `end` in the file.
std::byte* imported_host_pool::view_until(std::size_t end) {
  for (auto const& mapped : views_) {
    if (end <= mapped.bytes) return mapped.base;
  }
  return map_view(0, std::min(std::bit_ceil(end), layout_.table_offset()));
}

host_export_record const& imported_host_pool::record(std::uint32_t slot) {
  constexpr auto first = host_pool_head::record_count;
  if (slot < first) return reinterpret_cast<host_pool_head*>(views_.front().base)->records[slot];
  if (table_ == nullptr) {
    table_ = map_host_pool_file(file_.get(), layout_.table_offset(), host_pool_layout::table_bytes,
                                "importing a host pool");
  }
  return reinterpret_cast<host_export_record*>(table_)[slot - first];
}

void imported_host_pool::check_live(host_payload const& wanted) {
  auto const pages = layout_.pages();
  if (wanted.magic != host_payload::expected_magic || wanted.slot >= host_pool_layout::slot_count ||
      wanted.serial == 0 || wanted.pages == 0 || wanted.pages > pages ||
      wanted.first_page > pages - wanted.pages) {
    throw invalid_descriptor(
        "importing host memory: the payload describes no allocation of a host pool; pass the bytes "
        "of a buffer descriptor as its owner made them");
  }
  auto const& live = record(wanted.slot);
  if (live.serial.load(std::memory_order_acquire) != wanted.serial) {
    throw stale_descriptor(
        "importing host memory: its owner has freed it since the descriptor was made; share it "
        "again");
  }
  if (live.first_page != wanted.first_page || live.pages != wanted.pages) {
    throw invalid_descriptor("importing host memory: the payload claims " +
                             std::to_string(wanted.pages * host_page_bytes) +
                             " bytes, which is not what its owner allocated");
  }
}

device_pointer imported_host_pool::import_pointer(pointer_payload const& payload) {
  host_payload wanted{};
  std::memcpy(&wanted, payload.data(), sizeof wanted);
  std::lock_guard const lock(mutex_);
  check_live(wanted);
  auto const offset = host_pool_layout::memory_offset + wanted.first_page * host_page_bytes;
  auto const bytes = wanted.pages * host_page_bytes;
  auto const address = reinterpret_cast<device_pointer>(view_until(offset + bytes)) + offset;
  auto& here = imported_[address];
  here.bytes = bytes;
  ++here.users;
  return address;
}

void imported_host_pool::free(device_pointer pointer) {
  std::lock_guard const lock(mutex_);
  if (auto const entry = imported_.find(pointer); entry != imported_.end()) {
    if (--entry->second.users == 0) imported_.erase(entry);
    return;
  }
  throw invalid_argument("giving up the import of host memory at address " +
                         std::to_string(pointer) + ": nothing is imported there");
}

std::size_t imported_host_pool::range_size(device_pointer pointer) const {
  std::lock_guard const lock(mutex_);
  auto const entry = imported_.find(pointer);
  if (entry != imported_.end()) return entry->second.bytes;
  throw invalid_argument("measuring host memory at address " + std::to_string(pointer) +
                         ": no allocation of this pool begins there");
}

unique_fd imported_host_pool::export_handle() const { refuse("exporting a host pool"); }
device_pointer imported_host_pool::allocate(std::size_t bytes) {
  refuse("allocating " + std::to_string(bytes) + " bytes of host memory");
}
pointer_payload imported_host_pool::export_pointer(device_pointer) {
  refuse("exporting host memory");
}

}  // namespace rankshare::detail
