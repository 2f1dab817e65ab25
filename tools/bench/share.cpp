// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include <rankshare/base/process.hpp>
#include <rankshare/base/unique_fd.hpp>
#include <rankshare/handle/device.hpp>
#include <rankshare/handle/stream.hpp>
#include <rankshare/memory/buffer.hpp>
#include <rankshare/memory/host_memory_resource.hpp>
#include <rankshare/mpi/node_communicator.hpp>
#include <rankshare/mpi/peer_buffers.hpp>

#include "tools/bench/alternation.hpp"
#include "tools/bench/rank_group.hpp"
#include "tools/bench/requirements.hpp"
#include "tools/bench/topics.hpp"

// Note [Sharing small buffers]
//
// Each side makes 4 KiB of this rank reachable to all ranks, reads one cache line of each rank's,
// and meets the others in MPI_Barrier. Nothing is written before: that would need a further barrier
// in the baseline, whose call allocates and shares at once. In the round that does not count every
// rank writes its number afterwards, and all look for all numbers. Giving back is not timed; that
// includes what the node communicator puts off to its next collective, so `finish` makes one.

namespace rankshare::bench {
namespace {

constexpr std::size_t bytes = 4096;
constexpr int repetitions = 15;

using address = void*;

class share_side : public side {
 public:
  share_side(rank_group const& group, std::string name) : side(std::move(name)), group_(group) {}

  void verify() override {
    std::uint64_t const own = static_cast<std::uint64_t>(group_.rank()) + 1;
    *static_cast<std::uint64_t volatile*>(memory_of(group_.rank())) = own;
    group_.barrier();
    for (int rank = 0; rank < group_.size(); ++rank) {
      auto const found = *static_cast<std::uint64_t const volatile*>(memory_of(rank));
      if (found == static_cast<std::uint64_t>(rank) + 1) continue;
      throw std::runtime_error(name() + ": rank " + std::to_string(group_.rank()) + " read " +
                               std::to_string(found) + " in the memory of rank " +
                               std::to_string(rank) + ", where that wrote its number");
    }
    group_.barrier();
  }

 protected:
  rank_group const& group() const noexcept { return group_; }

  /// @return where this rank sees the memory of another
  virtual address memory_of(int rank) = 0;

  static void read_line(address where) {
    auto const* const words = static_cast<std::uint64_t const volatile*>(where);
    for (std::size_t word = 0; word < 64 / sizeof *words; ++word) static_cast<void>(words[word]);
  }

  void read_all_and_meet() {
    for (int rank = 0; rank < group_.size(); ++rank) read_line(memory_of(rank));
    group_.barrier();
  }

 private:
  rank_group const& group_;
};

class window_side final : public share_side {
 public:
  explicit window_side(rank_group const& group) : share_side(group, "baseline") {}

  void run() override {
    address own = nullptr;
    MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window_);
    read_all_and_meet();
  }
  void finish() override { MPI_Win_free(&window_); }

 private:
  address memory_of(int rank) override {
    MPI_Aint size = 0;
    int unit = 0;
    address where = nullptr;
    MPI_Win_shared_query(window_, rank, &size, &unit, &where);
    return where;
  }

  MPI_Win window_ = MPI_WIN_NULL;
};

enum class pool_kind {
  fresh,     ///< the pool is made within the time
  unshared,  ///< it exists, and no peer has mapped it: the peers map it within the time
  existing,  ///< every peer has mapped it before
};

char const* name_of(pool_kind kind) {
  switch (kind) {
    case pool_kind::fresh:
      return "fresh_pool";
    case pool_kind::unshared:
      return "unshared_pool";
    case pool_kind::existing:
      break;
  }
  return "existing_pool";
}

class rankshare_side final : public share_side {
 public:
  rankshare_side(rank_group const& group, pool_kind kind, mpi::node_communicator& node)
      : share_side(group, name_of(kind)), kind_(kind), node_(node), stream_(device::host()) {
    if (kind != pool_kind::fresh) pool_.emplace();
  }

  void run() override {
    if (kind_ == pool_kind::fresh) pool_.emplace();
    mine_ = pool_->allocate(bytes, stream_);
    all_ = node_.share_all(mine_, stream_);
    read_all_and_meet();
  }

  void finish() override {
    all_.close();
    group().barrier();
    mine_.close();
    if (kind_ != pool_kind::existing) pool_.reset();
    group().barrier();
    node_.fence(stream_);  // here the peers let go of a pool that is closed
    if (kind_ == pool_kind::unshared) pool_.emplace();
  }

 private:
  address memory_of(int rank) override { return all_[rank].data(); }

  pool_kind kind_;
  mpi::node_communicator& node_;
  stream stream_;
  std::optional<host_memory_resource> pool_;
  buffer mine_;
  mpi::peer_buffers all_;
};

/// The least that sharing one file of each rank takes: no library, no check.
class floor_side final : public share_side {
 public:
  explicit floor_side(rank_group const& group)
      : share_side(group, "floor"), memory_(static_cast<std::size_t>(group.size())) {}

  void run() override {
    file_ = unique_fd(::memfd_create("floor", MFD_CLOEXEC));
    if (!file_ || ::ftruncate(file_.get(), bytes) != 0) {
      throw std::runtime_error("floor: no memfd of " + std::to_string(bytes) + " bytes");
    }
    struct place {
      int pid;
      int fd;
    };
    place const own{::getpid(), file_.get()};
    std::vector<place> all(memory_.size());
    MPI_Allgather(&own, 2, MPI_INT, all.data(), 2, MPI_INT, MPI_COMM_WORLD);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      if (static_cast<int>(rank) == group().rank()) {
        memory_[rank] = map(file_);
      } else {
        auto const pidfd = open_pidfd(all[rank].pid);
        memory_[rank] = map(fetch_fd(pidfd.get(), all[rank].fd, all[rank].pid));
      }
    }
    read_all_and_meet();
  }

  void finish() override {
    for (auto* const memory : memory_) ::munmap(memory, bytes);
    file_.reset();
  }

 private:
  static address map(unique_fd const& file) {
    address const memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED) throw std::runtime_error("floor: a file cannot be mapped");
    return memory;
  }
  address memory_of(int rank) override { return memory_[static_cast<std::size_t>(rank)]; }

  unique_fd file_;
  std::vector<address> memory_;
};

findings share() {
  rank_group const group;
  mpi::node_communicator node(MPI_COMM_WORLD);
  rankshare_side fresh(group, pool_kind::fresh, node);
  rankshare_side unshared(group, pool_kind::unshared, node);
  rankshare_side existing(group, pool_kind::existing, node);
  window_side baseline(group);
  floor_side floor(group);
  auto const times =
      alternate(group, {&fresh, &unshared, &existing, &baseline, &floor}, repetitions);
  auto found = in_microseconds(times, repetitions);
  found.values.push_back(ratio_of("fresh_ratio", times[0], times[3]));
  found.values.push_back(ratio_of("unshared_ratio", times[1], times[3]));
  found.values.push_back(ratio_of("existing_ratio", times[2], times[3]));
  found.values.push_back(ratio_of("floor_ratio", times[4], times[3]));
  return found;
}

}  // namespace

std::vector<measurement> share_measurements() {
  std::vector<measurement> table;
  for (int const ranks : {8, 64}) {
    table.push_back({"share_" + std::to_string(ranks) + "x4k",
                     "4 KiB of each rank: allocate, share_all, read a line of each, MPI_Barrier; "
                     "baseline: MPI_Win_allocate_shared; floor: a memfd each, no library",
                     ranks, why_no_fetch, share});
  }
  return table;
}

}  // namespace rankshare::bench
