// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include <rankshare/handle/device.hpp>
#include <rankshare/handle/kernels.hpp>
#include <rankshare/handle/stream.hpp>
#include <rankshare/memory/buffer.hpp>
#include <rankshare/memory/device_memory_resource.hpp>
#include <rankshare/memory/host_memory_resource.hpp>
#include <rankshare/memory/pinned_memory_resource.hpp>
#include <rankshare/mpi/node_communicator.hpp>
#include <rankshare/mpi/peer_buffers.hpp>

#include "tools/bench/alternation.hpp"
#include "tools/bench/gpu_kernels.hpp"
#include "tools/bench/rank_group.hpp"
#include "tools/bench/raw_cuda.hpp"
#include "tools/bench/topics.hpp"

// Note [Heat equation on one GPU]
//
// The job of examples/02_jacobi, three ways: the ranks read their neighbours' rows in place; they
// copy their border rows to pinned memory, exchange them by MPI, and copy them back; one rank alone
// does all. All ranks are on GPU 0, so the first two show what sharing costs, not what it gains.

namespace rankshare::bench {
namespace {

constexpr std::size_t width = 4096;
constexpr int iterations = 40;
constexpr int repetitions = 15;

struct strip {
  std::size_t first;
  std::size_t count;
  std::size_t bytes() const { return count * width * sizeof(double); }
};

strip strip_of(int rank, int ranks) {
  auto const border = [&](int r) {
    return width * static_cast<std::size_t>(r) / static_cast<std::size_t>(ranks);
  };
  return {border(rank), border(rank + 1) - border(rank)};
}

/// The rows of a rank, twice: each iteration reads one copy and writes the other.
class grid_side : public side {
 public:
  grid_side(std::string name, strip rows) : side(std::move(name)), rows_(rows) {}

  int operations() const override { return iterations; }

  void prepare() override {
    if (rows_.count == 0) return;
    auto start = host_.allocate(2 * rows_.bytes());
    auto* const values = start.as<double>();
    for (std::size_t i = 0; i < 2 * rows_.count * width; ++i) {
      auto const place = rows_.first * width + i % (rows_.count * width);
      values[i] = static_cast<double>(place * 2654435761U % 1000003) / 1000003;
    }
    memory_.copy_from(start, order_);
    order_.synchronize();
  }

  /// @return the values after the last iteration
  std::vector<double> result() {
    auto copy = host_.allocate(2 * rows_.bytes());
    memory_.copy_to(copy, order_);
    order_.synchronize();
    auto const* const values = copy.as<double>() + iterations % 2 * rows_.count * width;
    return {values, values + rows_.count * width};
  }

 protected:
  double* copy_of(int iteration, buffer const& of, std::size_t count) const {
    return of.as<double>() + static_cast<std::size_t>(iteration % 2) * count * width;
  }
  double* now(int iteration) const { return copy_of(iteration, memory_, rows_.count); }

  void step(int iteration, double const* above, double const* below) {
    auto const blocks = [](std::size_t all, std::size_t block) {
      return static_cast<unsigned>((all + block - 1) / block);
    };
    heat_.launch(order_, {{blocks(width, 32), blocks(rows_.count, 8), 1}, {32, 8, 1}, 0},
                 now(iteration), now(iteration + 1), above, below, rows_.count, width, rows_.first);
  }

  strip rows_;
  stream order_{device::gpu(0)};
  device_memory_resource pool_{device::gpu(0)};
  buffer memory_ = pool_.allocate(2 * rows_.bytes(), order_);

 private:
  host_memory_resource host_;
  kernel_module loaded_{device::gpu(0), kernels::gpu_kernels_image()};
  kernel heat_ = loaded_.find("heat");
};

class shared_side final : public grid_side {
 public:
  explicit shared_side(rank_group const& group)
      : grid_side("ours", strip_of(group.rank(), group.size())), group_(group) {}

  void prepare() override {
    grid_side::prepare();
    if (shared_.size() == 0) shared_ = node_.share_all(memory_, order_);
    node_.fence(order_);
  }

  void run() override {
    for (int k = 0; k < iterations; ++k) {
      step(k, neighbour(-1, k, true), neighbour(1, k, false));
      node_.fence(order_);
    }
  }

  void close() {
    shared_.close();
    node_.fence(order_);
  }

 private:
  double const* neighbour(int offset, int iteration, bool last_row) {
    int const rank = group_.rank() + offset;
    if (rank < 0 || rank >= group_.size()) return nullptr;
    auto const count = strip_of(rank, group_.size()).count;
    return copy_of(iteration, shared_[rank], count) + (last_row ? (count - 1) * width : 0);
  }

  rank_group const& group_;
  mpi::node_communicator node_{MPI_COMM_WORLD};
  mpi::peer_buffers shared_;
};

class staged_side final : public grid_side {
 public:
  staged_side(rank_group const& group, shared_side& other)
      : grid_side("staged", strip_of(group.rank(), group.size())), other_(other) {
    above_ = group.rank() > 0 ? group.rank() - 1 : MPI_PROC_NULL;
    below_ = group.rank() < group.size() - 1 ? group.rank() + 1 : MPI_PROC_NULL;
  }

  void run() override {
    for (int k = 0; k < iterations; ++k) {
      exchange(k);
      auto* const halo = halo_.as<double>();
      step(k, halo, halo + width);
    }
    order_.synchronize();
  }

  void verify() override {
    if (result() != other_.result()) throw std::runtime_error("staged and ours differ");
  }

 private:
  static constexpr std::size_t row_bytes = width * sizeof(double);

  // Rows in pinned memory: first and last of this rank, then those of the neighbours.
  void exchange(int k) {
    auto* const host = staging_.as<double>();
    copy(host, now(k));
    copy(host + width, now(k) + (rows_.count - 1) * width);
    order_.synchronize();
    MPI_Sendrecv(host, width, MPI_DOUBLE, above_, 0, host + 3 * width, width, MPI_DOUBLE, below_, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(host + width, width, MPI_DOUBLE, below_, 1, host + 2 * width, width, MPI_DOUBLE,
                 above_, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    copy(halo_.as<double>(), host + 2 * width);
    copy(halo_.as<double>() + width, host + 3 * width);
  }
  void copy(double* target, double const* source) {
    device::gpu(0).driver().memcpy_async(reinterpret_cast<device_pointer>(target),
                                         reinterpret_cast<device_pointer>(source), row_bytes,
                                         order_.native_handle());
  }

  shared_side& other_;
  int above_;
  int below_;
  pinned_memory_resource pinned_{device::gpu(0)};
  buffer staging_ = pinned_.allocate(4 * row_bytes, order_);
  buffer halo_ = pool_.allocate(2 * row_bytes, order_);
};

class alone_side final : public grid_side {
 public:
  explicit alone_side(rank_group const& group)
      : grid_side("one_rank", group.rank() == 0 ? strip{0, width} : strip{0, 0}) {}

  void run() override {
    if (rows_.count == 0) return;
    for (int k = 0; k < iterations; ++k) step(k, nullptr, nullptr);
    order_.synchronize();
  }
};

findings heat() {
  rank_group const group;
  shared_side ours(group);
  staged_side staged(group, ours);
  alone_side alone(group);
  auto const times = alternate(group, {&ours, &staged, &alone}, repetitions);
  ours.close();
  auto found = in_microseconds(times, repetitions);
  found.values.push_back(ratio_of("staged_ratio", times[0], times[1]));
  return found;
}

}  // namespace

std::vector<measurement> gpu_heat_measurements() {
  auto const on = [](int ranks) {
    return measurement{
        "gpu_heat_" + std::to_string(ranks),
        "an iteration of the heat equation, 4096 x 4096, ranks of one GPU; beside it "
        "with MPI and staging in pinned memory, and one rank alone",
        ranks, why_no_gpu, heat};
  };
  return {on(2), on(4)};
}

}  // namespace rankshare::bench
