// SPDX-License-Identifier: Apache-2.0
#include <rankshare/driver/host_pool_file.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include <rankshare/base/error.hpp>
#include <rankshare/base/sealed_memfd.hpp>
#include <rankshare/base/settings.hpp>

// Note [Host pool file]
//
// Rationale: a peer that was given the fd can write every byte of the file, so nothing in it is
// believed by the owner; yet an importer must tell a live allocation from a freed one, and a pool
// from any other file that stands under the same fd number by now.
//
// Approach: the first page holds a header (what it is, whose it is, where its memory is) and the
// first export records; then comes the memory, and behind it the other records, so that a small
// pool touches few pages. A record holds the serial, place and length of one exported block while
// it lives, and serial 0 afterwards. A payload names a slot and repeats what the record must say.
// Before anything is mapped, the header is read with pread, and the seals and the length are
// compared, so that the file cannot shrink under a reader.
//
// Limits: there are 2^20 slots, the number of blocks of one pool that may be exported at a time.

namespace rankshare::detail {
namespace {

constexpr char pool_magic[8] = {'r', 's', 'h', 'p', 'o', 'o', 'l', '1'};

// What stands before the records.
struct header {
  char magic[8];
  std::uint64_t memory;
  uuid id;
  memory_kind kind;
  std::int32_t location;
};

bool is_somewhere(memory_kind kind, int location) {
  switch (kind) {
    case memory_kind::device:
      return location >= 0 && location < settings::most_host_devices;
    case memory_kind::pinned:
      return location == 0;
    case memory_kind::host:
      return location == -1;
  }
  return false;
}

char const* name_of(memory_kind kind) {
  switch (kind) {
    case memory_kind::device:
      return "device";
    case memory_kind::pinned:
      return "pinned";
    case memory_kind::host:
      break;
  }
  return "host";
}

// Null if `fd` is a host pool; its header is in `found` then.
char const* why_no_pool(int fd, header& found) {
  struct stat entry {};
  if (::fcntl(fd, F_GET_SEALS) < 0 || ::fstat(fd, &entry) != 0) return "it is not a memfd";
  if (!is_sealed_memfd(fd)) return "its memfd is not sealed";
  if (::pread(fd, &found, sizeof found, 0) != static_cast<ssize_t>(sizeof found) ||
      std::memcmp(found.magic, pool_magic, sizeof pool_magic) != 0 || found.memory == 0 ||
      found.memory > static_cast<std::uint64_t>(entry.st_size) ||
      found.memory % host_page_bytes != 0 ||
      host_pool_layout{found.memory}.file_bytes() != static_cast<std::size_t>(entry.st_size) ||
      !is_somewhere(found.kind, found.location)) {
    return "its memfd is no host pool";
  }
  return nullptr;
}

}  // namespace

unique_fd make_host_pool_file(host_pool_layout const& layout) {
  return make_sealed_memfd("rankshare-pool", layout.file_bytes(),
                           "making a host pool of " + std::to_string(layout.memory) + " bytes");
}

void write_host_pool_head(host_pool_head& head, host_pool_layout const& layout,
                          pool_properties const& properties) {
  std::memcpy(head.magic, pool_magic, sizeof pool_magic);
  head.memory = layout.memory;
  head.id = properties.id;
  head.kind = properties.kind;
  head.location = properties.kind == memory_kind::host ? -1 : properties.location;
}

void reject_host_pool_file(int fd, uuid const& expected, char const* why) {
  std::string const text =
      "importing a host pool from file descriptor " + std::to_string(fd) + ": " + why;
  if (expected.is_nil()) throw invalid_descriptor(text + "; pass the fd of an allocation handle");
  throw stale_descriptor(text + ", so its owner has closed pool " + to_string(expected) + " since");
}

host_pool_found check_host_pool_file(int fd, memory_kind kind, uuid const& expected) {
  header found{};
  if (char const* const why = why_no_pool(fd, found)) reject_host_pool_file(fd, expected, why);
  if (!expected.is_nil() && found.id != expected) {
    reject_host_pool_file(fd, expected, ("it is pool " + to_string(found.id)).c_str());
  }
  if (found.kind != kind) {
    auto const why = "it is a pool of " + std::string(name_of(found.kind)) + " memory, not of " +
                     name_of(kind) + " memory";
    reject_host_pool_file(fd, expected, why.c_str());
  }
  return {{static_cast<std::size_t>(found.memory)}, found.location};
}

std::byte* map_host_pool_file(int fd, std::size_t offset, std::size_t bytes, char const* doing) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                              fd, static_cast<off_t>(offset));
  if (memory != MAP_FAILED) return static_cast<std::byte*>(memory);
  if (errno == EACCES || errno == EPERM) return nullptr;
  throw out_of_memory(std::string(doing) + ": no address space for " + std::to_string(bytes) +
                          " bytes (" + std::strerror(errno) + "); lower max_size",
                      bytes, "mmap");
}

}  // namespace rankshare::detail
