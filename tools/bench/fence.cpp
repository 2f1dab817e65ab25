// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include <string>

#include <rankshare/handle/device.hpp>
#include <rankshare/handle/stream.hpp>
#include <rankshare/mpi/node_communicator.hpp>

#include "tools/bench/alternation.hpp"
#include "tools/bench/rank_group.hpp"
#include "tools/bench/requirements.hpp"
#include "tools/bench/topics.hpp"

namespace rankshare::bench {
namespace {

constexpr int repetitions = 15;

/// @return calls in one repetition: about as long for few ranks as for many
int calls_of(int ranks) { return ranks <= 2 ? 1000 : ranks <= 8 ? 100 : 10; }

class rankshare_side final : public side {
 public:
  explicit rankshare_side(int calls) : side("ours"), calls_(calls) {}

  void run() override {
    for (int call = 0; call < calls_; ++call) node_.fence(stream_);
  }
  int operations() const override { return calls_; }

 private:
  int calls_;
  mpi::node_communicator node_{MPI_COMM_WORLD};
  stream stream_{device::host()};
};

class barrier_side final : public side {
 public:
  explicit barrier_side(int calls) : side("baseline"), calls_(calls) {}

  void run() override {
    for (int call = 0; call < calls_; ++call) MPI_Barrier(MPI_COMM_WORLD);
  }
  int operations() const override { return calls_; }

 private:
  int calls_;
};

findings fence() {
  rank_group const group;
  rankshare_side ours(calls_of(group.size()));
  barrier_side baseline(calls_of(group.size()));
  auto const times = alternate(group, {&ours, &baseline}, repetitions);
  auto found = in_microseconds(times, repetitions);
  found.values.push_back(ratio_of("ratio", times[0], times[1]));
  return found;
}

}  // namespace

std::vector<measurement> fence_measurements() {
  std::vector<measurement> table;
  for (int const ranks : {2, 8, 64}) {
    table.push_back({"fence_" + std::to_string(ranks),
                     "node_communicator::fence with nothing to wait for; baseline: MPI_Barrier",
                     ranks, why_no_fetch, fence});
  }
  return table;
}

}  // namespace rankshare::bench
