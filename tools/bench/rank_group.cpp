// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/rank_group.hpp"

#include <mpi.h>

#include <array>
#include <cstddef>

namespace rankshare::bench {
namespace {

bool mpi_is_initialised() {
  int initialised = 0;
  MPI_Initialized(&initialised);
  return initialised != 0;
}

}  // namespace

rank_group::rank_group() : alone_(!mpi_is_initialised()) {
  if (alone_) return;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
}

void rank_group::barrier() const {
  if (!alone_) MPI_Barrier(MPI_COMM_WORLD);
}

std::vector<double> rank_group::largest(std::vector<double> const& mine) const {
  if (alone_) return mine;
  std::vector<double> all(rank_ == 0 ? mine.size() : 0);
  MPI_Reduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_MAX, 0,
             MPI_COMM_WORLD);
  return all;
}

double rank_group::sum(double mine) const {
  if (alone_) return mine;
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

std::string rank_group::first_text(std::string const& mine) const {
  if (alone_) return mine;
  using line = std::array<char, 200>;
  line own{};
  mine.copy(own.data(), own.size() - 1);
  std::vector<line> all(static_cast<std::size_t>(size_));
  constexpr int bytes = sizeof(line);
  MPI_Allgather(own.data(), bytes, MPI_CHAR, all.data(), bytes, MPI_CHAR, MPI_COMM_WORLD);
  for (int rank = 0; rank < size_; ++rank) {
    auto const& text = all[static_cast<std::size_t>(rank)];
    if (text[0] != '\0') return "rank " + std::to_string(rank) + ": " + text.data();
  }
  return {};
}

}  // namespace rankshare::bench
