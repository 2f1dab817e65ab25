// SPDX-License-Identifier: Apache-2.0
#include <rankshare/driver/imported_emulated_pool.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>

#include <rankshare/base/error.hpp>

namespace rankshare::detail {
namespace {

constexpr char doing_import[] = "importing an emulated pool";

[[noreturn]] void refuse(std::string const& doing) {
  throw invalid_argument(doing +
                         ": this process has imported the pool; only its owner can do that");
}

}  // namespace

imported_emulated_pool::imported_emulated_pool(int fd, memory_kind kind, uuid const& expected)
    : imported_emulated_pool(fd, kind, expected, check_host_pool_file(fd, kind, expected)) {}

imported_emulated_pool::imported_emulated_pool(int fd, memory_kind kind, uuid const& expected,
                                               host_pool_found const& found)
    : emulated_pool(kind, found.location),
      layout_(found.layout),
      file_(unique_fd::duplicate_of(fd)) {
  auto* const head = map_host_pool_file(fd, 0, host_page_bytes, doing_import);
  if (head == nullptr) reject_host_pool_file(fd, expected, "its memfd cannot be written");
  ::munmap(head, host_page_bytes);
}

imported_emulated_pool::~imported_emulated_pool() {
  for (auto const& mapped : imported_) ::munmap(mapped.base, mapped.bytes);
}

imported_emulated_pool::mapping imported_emulated_pool::place_of(
    pointer_payload const& payload) const {
  emulated_payload wanted{};
  std::memcpy(&wanted, payload.data(), sizeof wanted);
  auto const pages = layout_.pages();
  if (wanted.magic != emulated_payload::expected_magic || wanted.pages == 0 ||
      wanted.pages > pages || wanted.first_page > pages - wanted.pages) {
    throw invalid_descriptor(
        "importing emulated memory: the payload names no range inside the pool; pass the bytes of "
        "a buffer descriptor as its owner made them");
  }
  return {nullptr, host_pool_layout::memory_offset + wanted.first_page * host_page_bytes,
          wanted.pages * host_page_bytes};
}

device_pointer imported_emulated_pool::import_pointer(pointer_payload const& payload) {
  auto made = place_of(payload);
  std::lock_guard const lock(mutex_);
  auto const known = std::find_if(imported_.begin(), imported_.end(), [&](mapping const& other) {
    return other.offset == made.offset && other.bytes == made.bytes;
  });
  if (known != imported_.end()) return reinterpret_cast<device_pointer>(known->base);
  imported_.reserve(imported_.size() + 1);
  made.base = map_host_pool_file(file_.get(), made.offset, made.bytes, doing_import);
  imported_.push_back(made);
  return reinterpret_cast<device_pointer>(made.base);
}

std::vector<imported_emulated_pool::mapping>::const_iterator imported_emulated_pool::find(
    device_pointer pointer) const {
  return std::find_if(imported_.begin(), imported_.end(), [&](mapping const& one) {
    return reinterpret_cast<device_pointer>(one.base) == pointer;
  });
}

void imported_emulated_pool::free(device_pointer pointer) {
  std::lock_guard const lock(mutex_);
  auto const ended = find(pointer);
  if (ended == imported_.end()) {
    throw invalid_argument("giving up the import of emulated memory at address " +
                           std::to_string(pointer) +
                           ": nothing is imported there; of several imports of one payload the "
                           "first that is given up ends all");
  }
  ::munmap(ended->base, ended->bytes);
  imported_.erase(ended);
}

std::size_t imported_emulated_pool::range_size(device_pointer pointer) const {
  std::lock_guard const lock(mutex_);
  auto const entry = find(pointer);
  if (entry != imported_.end()) return entry->bytes;
  throw invalid_argument("measuring emulated memory at address " + std::to_string(pointer) +
                         ": no allocation of this pool begins there");
}

bool imported_emulated_pool::holds(device_pointer begin, std::size_t bytes) const {
  std::lock_guard const lock(mutex_);
  return std::any_of(imported_.begin(), imported_.end(), [&](mapping const& one) {
    auto const own = reinterpret_cast<device_pointer>(one.base);
    return begin - own < one.bytes || own - begin < bytes;
  });
}

unique_fd imported_emulated_pool::export_handle() const { refuse("exporting an emulated pool"); }
device_pointer imported_emulated_pool::allocate(std::size_t bytes) {
  refuse("allocating " + std::to_string(bytes) + " bytes of emulated memory");
}
pointer_payload imported_emulated_pool::export_pointer(device_pointer) {
  refuse("exporting emulated memory");
}

}  // namespace rankshare::detail
