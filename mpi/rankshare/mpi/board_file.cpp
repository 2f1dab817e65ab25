// SPDX-License-Identifier: Apache-2.0
#include <rankshare/mpi/board_file.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include <rankshare/base/error.hpp>
#include <rankshare/base/sealed_memfd.hpp>

namespace rankshare::mpi::detail {
namespace {

constexpr char board_magic[8] = {'r', 's', 'h', 'b', 'o', 'a', 'r', 'd'};

// What a board file begins with.
struct header {
  char magic[8];
  std::uint64_t bytes;
  uuid nonce;
};
static_assert(sizeof(header) == 32);

header make_header(uuid const& nonce) {
  header made{};
  std::memcpy(made.magic, board_magic, sizeof made.magic);
  made.bytes = sizeof(board_layout);
  made.nonce = nonce;
  return made;
}

// Boards of this process. Never destroyed: boards may outlive statics.
struct live_boards {
  std::mutex mutex;
  std::vector<board_file*> boards;
};

live_boards& live() {
  static auto* const instance = new live_boards;
  return *instance;
}

board_layout* map_layout(int fd) {
  void* const memory = ::mmap(nullptr, sizeof(board_layout), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (memory == MAP_FAILED) {
    throw out_of_memory("mapping the board of a node: no address space for " +
                            std::to_string(sizeof(board_layout)) + " bytes (" +
                            std::strerror(errno) + "); raise ulimit -v",
                        sizeof(board_layout), "mmap");
  }
  return static_cast<board_layout*>(memory);
}

}  // namespace

board_file::board_file(unique_fd file, board_layout* layout)
    : file_(std::move(file)), layout_(layout) {
  struct stat entry {};
  ::fstat(file_.get(), &entry);
  device_ = entry.st_dev;
  inode_ = entry.st_ino;
  std::lock_guard const lock(live().mutex);
  live().boards.push_back(this);
}

board_file::~board_file() {
  {
    std::lock_guard const lock(live().mutex);
    auto& boards = live().boards;
    boards.erase(std::remove(boards.begin(), boards.end(), this), boards.end());
  }
  ::munmap(layout_, sizeof(board_layout));
}

board_file::candidate board_file::make_candidate() {
  constexpr char doing[] = "making the board of a node";
  unique_fd file = make_sealed_memfd("rankshare-board", sizeof(board_layout), doing);
  header const written = make_header(uuid::random());
  if (::pwrite(file.get(), &written, sizeof written, 0) != static_cast<ssize_t>(sizeof written)) {
    throw system_error(errno, std::string(doing) + ": its memfd cannot be written", "pwrite");
  }
  return {std::move(file), written.nonce};
}

void board_file::check(unique_fd const& file, uuid const& nonce) {
  // Read, not mapped: nothing foreign is ever mapped here.
  header found{};
  header const wanted = make_header(nonce);
  struct stat entry {};
  if (is_sealed_memfd(file.get()) && ::fstat(file.get(), &entry) == 0 &&
      static_cast<std::size_t>(entry.st_size) == sizeof(board_layout) &&
      ::pread(file.get(), &found, sizeof found, 0) == static_cast<ssize_t>(sizeof found) &&
      std::memcmp(&found, &wanted, sizeof found) == 0) {
    return;
  }
  throw invalid_descriptor(
      "fetching the board of this node: what came is not the board " + to_string(nonce) +
      "; its owner has given up since, or the ranks are not on one machine, or "
      "do not share a PID namespace");
}

std::shared_ptr<board_file> board_file::open(unique_fd file, uuid const& nonce) {
  check(file, nonce);
  auto* const layout = map_layout(file.get());
  return std::shared_ptr<board_file>(new board_file(std::move(file), layout));
}

void board_file::lock(int local_rank) {
  struct flock wanted {};
  wanted.l_type = F_WRLCK;
  wanted.l_whence = SEEK_SET;
  wanted.l_start = local_rank;
  wanted.l_len = 1;
  if (::fcntl(file_.get(), F_SETLK, &wanted) != 0) {
    throw system_error(errno,
                       "joining the board of this node: the record lock of local rank " +
                           std::to_string(local_rank) + " is taken by another process",
                       "fcntl");
  }
}

bool board_file::is_gone(int local_rank) const noexcept {
  struct flock probe {};
  probe.l_type = F_WRLCK;
  probe.l_whence = SEEK_SET;
  probe.l_start = local_rank;
  probe.l_len = 1;
  return ::fcntl(file_.get(), F_GETLK, &probe) == 0 && probe.l_type == F_UNLCK;
}

bool board_file::keep_if_board(unique_fd& fd) {
  struct stat entry {};
  if (!fd || ::fstat(fd.get(), &entry) != 0) return false;
  std::lock_guard const lock(live().mutex);
  for (auto* const known : live().boards) {
    if (known->device_ != entry.st_dev || known->inode_ != entry.st_ino) continue;
    std::lock_guard const inner(known->mutex_);
    known->kept_.push_back(std::move(fd));
    return true;
  }
  return false;
}

}  // namespace rankshare::mpi::detail
