// SPDX-License-Identifier: Apache-2.0
#include <rankshare/driver/host_pool.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string>

#include <rankshare/base/error.hpp>
#include <rankshare/base/memory_limits.hpp>

// Note [Host pool file]
//
// Rationale: a peer that was given the fd can write every byte of the file, so nothing in it is
// believed by the owner; yet an importer must tell a live allocation from a freed one, and a pool
// from any other file that stands under the same fd number by now.
//
// Approach: the first page holds a header (what it is, whose it is) and the first export records;
// then comes the memory, and behind it the other records, so that a small pool touches few pages. A
// record holds the serial, place and length of one exported block while it lives, and serial 0
// afterwards. A payload names a slot and repeats what the record must say. Before anything is
// mapped, the header is read with pread, and the seals and the length are compared, so that the
// file cannot shrink under a reader.
//
// Limits: there are 2^20 slots, the number of blocks of one pool that may be exported at a time.

namespace rankshare::detail {
namespace {

constexpr char pool_magic[8] = {'r', 's', 'h', 'p', 'o', 'o', 'l', '1'};
constexpr std::uint32_t payload_magic = 0x72736870;  // "rshp"
constexpr std::uint32_t slot_limit = 1U << 20;
constexpr std::size_t data_offset = host_pool::granularity;
constexpr std::size_t largest_memory = std::size_t{1} << 46;
constexpr std::size_t rise_between_checks = std::size_t{1} << 20;
constexpr std::uint32_t records_in_first_page = (4096 - 64) / 32;
constexpr int wanted_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// Null if the file may not be written.
std::byte* map_file(int fd, std::size_t bytes, char const* doing) {
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (memory == MAP_FAILED && (errno == EACCES || errno == EPERM)) return nullptr;
  if (memory == MAP_FAILED) {
    throw out_of_memory(std::string(doing) + ": no address space for " + std::to_string(bytes) +
                            " bytes (" + std::strerror(errno) + "); lower max_size",
                        bytes, "mmap");
  }
  return static_cast<std::byte*>(memory);
}

unique_fd make_file(std::size_t bytes) {
  unique_fd file(::memfd_create("rankshare-pool", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) {
    throw system_error(errno,
                       "making a host pool: no memfd; raise the limit of open files (ulimit -n)",
                       "memfd_create");
  }
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
    throw system_error(errno,
                       "making a host pool of " + std::to_string(bytes) +
                           " bytes: the memfd cannot be that large; lower max_size",
                       "ftruncate");
  }
  if (::fcntl(file.get(), F_ADD_SEALS, wanted_seals) != 0) {
    throw system_error(errno, "making a host pool: its memfd cannot be sealed", "fcntl");
  }
  return file;
}

}  // namespace

struct host_pool::header {
  char magic[8];
  std::uint64_t memory;  // bytes
  uuid id;
  std::byte reserved[32];
};

struct host_pool::export_record {
  std::atomic<std::uint64_t> serial;  // 0: nothing lives here
  std::uint64_t first_page;
  std::uint64_t pages;
  std::uint64_t reserved;
};

// Bytes of the file of a pool of `memory` bytes.
std::size_t host_pool::file_bytes(std::size_t memory) {
  static_assert(sizeof(header) == 64 && sizeof(export_record) == 32);
  return data_offset + memory + (slot_limit - records_in_first_page) * sizeof(export_record);
}

struct host_pool::payload_record {
  std::uint32_t magic;
  std::uint32_t slot;
  std::uint64_t serial;
  std::uint64_t first_page;
  std::uint64_t pages;
};

host_pool::host_pool(unique_fd file, std::byte* base, std::size_t memory, bool is_mapped)
    : file_(std::move(file)), base_(base), memory_(memory), is_mapped_(is_mapped) {}

host_pool::~host_pool() { ::munmap(base_, file_bytes(memory_)); }

host_pool::header& host_pool::head() const { return *reinterpret_cast<header*>(base_); }

host_pool::export_record& host_pool::record(std::uint32_t slot) const {
  if (slot < records_in_first_page) {
    return reinterpret_cast<export_record*>(base_ + sizeof(header))[slot];
  }
  return reinterpret_cast<export_record*>(base_ + data_offset +
                                          memory_)[slot - records_in_first_page];
}

std::byte* host_pool::data() const { return base_ + data_offset; }

std::unique_ptr<host_pool> host_pool::create(pool_properties const& properties) {
  std::size_t const wanted = properties.max_size != 0 ? properties.max_size : machine_memory();
  if (wanted > largest_memory) {
    throw invalid_argument("making a host pool: max_size " + std::to_string(wanted) +
                           " is above the limit of " + std::to_string(largest_memory) + " bytes");
  }
  std::size_t const memory = (wanted + granularity - 1) / granularity * granularity;
  unique_fd file = make_file(file_bytes(memory));
  std::byte* const base = map_file(file.get(), file_bytes(memory), "making a host pool");
  std::unique_ptr<host_pool> pool(new host_pool(std::move(file), base, memory, false));
  pool->blocks_ = std::make_unique<host_block_map>(memory / granularity);
  std::memcpy(pool->head().magic, pool_magic, sizeof pool_magic);
  pool->head().memory = memory;
  pool->head().id = properties.id;
  return pool;
}

char const* host_pool::why_no_pool(int fd, header& found) {
  int const seals = ::fcntl(fd, F_GET_SEALS);
  struct stat entry {};
  if (seals < 0 || ::fstat(fd, &entry) != 0) return "it is not a memfd";
  if ((seals & wanted_seals) != wanted_seals) return "its memfd is not sealed";
  if (::pread(fd, &found, sizeof found, 0) != static_cast<ssize_t>(sizeof found) ||
      std::memcmp(found.magic, pool_magic, sizeof pool_magic) != 0 || found.memory == 0 ||
      found.memory > largest_memory || found.memory % granularity != 0 ||
      file_bytes(found.memory) != static_cast<std::size_t>(entry.st_size)) {
    return "its memfd is no host pool";
  }
  return nullptr;
}

std::unique_ptr<host_pool> host_pool::import_from(int fd, uuid const& expected) {
  auto const reject = [&](std::string const& why) {
    std::string const text =
        "importing a host pool from file descriptor " + std::to_string(fd) + ": " + why;
    if (expected.is_nil()) throw invalid_descriptor(text + "; pass the fd of an allocation handle");
    throw stale_descriptor(text + ", so its owner has closed pool " + to_string(expected) +
                           " since");
  };
  header found{};
  if (char const* const why = why_no_pool(fd, found)) reject(why);
  if (!expected.is_nil() && found.id != expected) reject("it is pool " + to_string(found.id));
  std::byte* const base = map_file(fd, file_bytes(found.memory), "importing a host pool");
  if (base == nullptr) reject("its memfd cannot be written");
  return std::unique_ptr<host_pool>(new host_pool(unique_fd(), base, found.memory, true));
}

unique_fd host_pool::export_handle() const {
  if (is_mapped_) {
    throw invalid_argument(
        "exporting a host pool: this process has imported it; pass on the fd that "
        "it was imported from");
  }
  return file_.duplicate();
}

void host_pool::refuse(std::size_t bytes) const {
  throw out_of_memory("allocating " + std::to_string(bytes) +
                          " bytes of host memory: the pool of " + std::to_string(memory_) +
                          " bytes has no block of that size left; close buffers, or raise max_size",
                      bytes);
}

// Asking the kernel takes longer than everything else here, so small rises are added up first.
void host_pool::check_available(std::size_t rise, std::size_t bytes) {
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

device_pointer host_pool::allocate(std::size_t bytes) {
  if (is_mapped_) {
    throw invalid_argument("allocating " + std::to_string(bytes) +
                           " bytes of host memory: this process has imported the pool; only its "
                           "owner allocates");
  }
  if (bytes > memory_) refuse(bytes);
  std::size_t const pages = (bytes + granularity - 1) / granularity;
  std::lock_guard const lock(mutex_);
  auto const former = blocks_->high_water();
  auto const first = blocks_->take(pages == 0 ? 1 : pages);
  if (!first) refuse(bytes);
  if (auto const now = blocks_->high_water(); now > former) {
    try {
      check_available((now - former) * granularity, bytes);
    } catch (...) {
      blocks_->undo_take(*first, former);
      throw;
    }
  }
  return reinterpret_cast<device_pointer>(data() + *first * granularity);
}

void host_pool::reject_pointer(device_pointer pointer, char const* doing) const {
  throw invalid_argument(std::string(doing) + " host memory at address " + std::to_string(pointer) +
                         ": no allocation of this pool begins there");
}

host_block_map::page host_pool::page_of(device_pointer pointer) const {
  if (pointer % granularity != 0) return std::numeric_limits<host_block_map::page>::max();
  auto const offset = pointer - reinterpret_cast<device_pointer>(data());
  return offset / granularity;  // a pointer below data() wraps to a page far above the pool
}

void host_pool::free(device_pointer pointer) {
  std::lock_guard const lock(mutex_);
  auto const first = page_of(pointer);
  if (is_mapped_) {
    if (imported_.erase(first) == 0) reject_pointer(pointer, "giving up the import of");
    return;
  }
  if (!blocks_->find(first)) reject_pointer(pointer, "freeing");
  if (!exported_.empty()) {
    if (auto const entry = exported_.find(first); entry != exported_.end()) {
      record(entry->second.slot).serial.store(0, std::memory_order_release);
      free_slots_.push_back(entry->second.slot);
      exported_.erase(entry);
    }
  }
  blocks_->give_back(first);
}

std::uint32_t host_pool::new_slot() {
  if (!free_slots_.empty()) {
    auto const slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }
  if (slots_used_ == slot_limit) {
    throw invalid_argument("exporting host memory: " + std::to_string(slot_limit) +
                           " buffers of this pool are exported already; close some, or share parts "
                           "of a larger buffer");
  }
  free_slots_.reserve(slots_used_ + 1 > free_slots_.capacity() ? 2 * (slots_used_ + 1)
                                                               : free_slots_.capacity());
  return slots_used_++;
}

pointer_payload host_pool::export_pointer(device_pointer pointer) {
  std::lock_guard const lock(mutex_);
  auto const first = page_of(pointer);
  auto const block = is_mapped_ ? std::nullopt : blocks_->find(first);
  if (!block) reject_pointer(pointer, "exporting");
  auto entry = exported_.find(first);
  if (entry == exported_.end()) {
    entry = exported_.emplace(first, exported_block{0, last_serial_ + 1}).first;
    try {
      entry->second.slot = new_slot();
    } catch (...) {
      exported_.erase(entry);
      throw;
    }
    auto& written = record(entry->second.slot);
    written.first_page = block->first;
    written.pages = block->count;
    written.serial.store(++last_serial_, std::memory_order_release);
  }
  payload_record const out{payload_magic, entry->second.slot, entry->second.serial, block->first,
                           block->count};
  pointer_payload payload{};
  std::memcpy(payload.data(), &out, sizeof out);
  return payload;
}

device_pointer host_pool::import_pointer(pointer_payload const& payload) {
  payload_record wanted{};
  std::memcpy(&wanted, payload.data(), sizeof wanted);
  std::uint64_t const pool_pages = memory_ / granularity;
  if (wanted.magic != payload_magic || wanted.slot >= slot_limit || wanted.serial == 0 ||
      wanted.pages == 0 || wanted.pages > pool_pages ||
      wanted.first_page > pool_pages - wanted.pages) {
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
                             std::to_string(wanted.pages * granularity) +
                             " bytes, which is not what its owner allocated");
  }
  std::lock_guard const lock(mutex_);
  imported_[wanted.first_page] = wanted.pages;
  return reinterpret_cast<device_pointer>(data() + wanted.first_page * granularity);
}

std::size_t host_pool::range_size(device_pointer pointer) const {
  std::lock_guard const lock(mutex_);
  auto const first = page_of(pointer);
  if (!is_mapped_) {
    auto const block = blocks_->find(first);
    if (!block) reject_pointer(pointer, "measuring");
    return block->count * granularity;
  }
  auto const entry = imported_.find(first);
  if (entry == imported_.end()) reject_pointer(pointer, "measuring");
  return entry->second * granularity;
}

}  // namespace rankshare::detail
