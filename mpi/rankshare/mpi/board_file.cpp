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

namespace rankshare::mpi::detail {
namespace {

constexpr char board_magic[8] = {'r', 's', 'h', 'b', 'o', 'a', 'r', 'd'};
constexpr int wanted_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr std::size_t header_bytes = 8 + 8 + 16;

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

std::shared_ptr<board_file> board_file::create() {
  unique_fd file(::memfd_create("rankshare-board", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) {
    throw system_error(errno,
                       "making the board of a node: no memfd; raise the limit of open files "
                       "(ulimit -n)",
                       "memfd_create");
  }
  if (::ftruncate(file.get(), static_cast<off_t>(sizeof(board_layout))) != 0 ||
      ::fcntl(file.get(), F_ADD_SEALS, wanted_seals) != 0) {
    throw system_error(errno, "making the board of a node: its memfd cannot be sized and sealed",
                       "ftruncate");
  }
  auto* const layout = map_layout(file.get());
  std::shared_ptr<board_file> made(new board_file(std::move(file), layout));
  std::memcpy(layout->magic, board_magic, sizeof board_magic);
  layout->bytes = sizeof(board_layout);
  layout->nonce = uuid::random();
  return made;
}

std::shared_ptr<board_file> board_file::import_from(unique_fd file, uuid const& nonce) {
  // Read, not mapped: nothing foreign is ever mapped here.
  std::array<std::byte, header_bytes> header{};
  std::array<std::byte, header_bytes> wanted{};
  std::uint64_t const bytes = sizeof(board_layout);
  std::memcpy(wanted.data(), board_magic, 8);
  std::memcpy(wanted.data() + 8, &bytes, 8);
  std::memcpy(wanted.data() + 16, nonce.bytes.data(), 16);
  struct stat entry {};
  int const seals = ::fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & wanted_seals) != wanted_seals || ::fstat(file.get(), &entry) != 0 ||
      static_cast<std::uint64_t>(entry.st_size) != bytes ||
      ::pread(file.get(), header.data(), header.size(), 0) != static_cast<ssize_t>(header.size()) ||
      header != wanted) {
    keep_if_board(file);
    throw invalid_descriptor("fetching the board of this node: what came is not the board " +
                             to_string(nonce) +
                             "; the ranks are not on one machine, or do not share a PID namespace");
  }
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
