// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include <optional>
#include <string>

#include <rankshare/mpi/node_communicator.hpp>

#include "tools/bench/alternation.hpp"
#include "tools/bench/rank_group.hpp"
#include "tools/bench/requirements.hpp"
#include "tools/bench/topics.hpp"

namespace rankshare::bench {
namespace {

constexpr int repetitions = 15;

/// Starts each repetition with a communicator that nobody has seen before: a node communicator
/// finds again what was built for one that it knows.
class construct_side : public side {
 public:
  using side::side;

  void prepare() override { MPI_Comm_dup(MPI_COMM_WORLD, &fresh_); }
  void finish() override { MPI_Comm_free(&fresh_); }

 protected:
  MPI_Comm fresh() const noexcept { return fresh_; }

 private:
  MPI_Comm fresh_ = MPI_COMM_NULL;
};

class rankshare_side final : public construct_side {
 public:
  rankshare_side() : construct_side("ours") {}

  void run() override { node_.emplace(fresh()); }
  void finish() override {
    node_.reset();
    construct_side::finish();
  }

 private:
  std::optional<mpi::node_communicator> node_;
};

class split_side final : public construct_side {
 public:
  split_side() : construct_side("baseline") {}

  void run() override {
    MPI_Comm_dup(fresh(), &duplicate_);
    MPI_Comm_split_type(fresh(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node_);
  }
  void finish() override {
    MPI_Comm_free(&node_);
    MPI_Comm_free(&duplicate_);
    construct_side::finish();
  }

 private:
  MPI_Comm duplicate_ = MPI_COMM_NULL;
  MPI_Comm node_ = MPI_COMM_NULL;
};

findings construct() {
  rank_group const group;
  rankshare_side ours;
  split_side baseline;
  auto const times = alternate(group, {&ours, &baseline}, repetitions);
  auto found = in_microseconds(times, repetitions);
  found.values.push_back(ratio_of("ratio", times[0], times[1]));
  return found;
}

}  // namespace

std::vector<measurement> construct_measurements() {
  std::vector<measurement> table;
  for (int const ranks : {2, 8, 64}) {
    table.push_back({"construct_" + std::to_string(ranks),
                     "making a node communicator from a new communicator; baseline: MPI_Comm_dup "
                     "and MPI_Comm_split_type",
                     ranks, why_no_fetch, construct});
  }
  return table;
}

}  // namespace rankshare::bench
