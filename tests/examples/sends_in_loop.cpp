// SPDX-License-Identifier: Apache-2.0
/// @file
/// A loop of which it is known what it sends, to show that count_sends.cpp counts it.
///
///     sends_in_loop --iterations=N BYTES     each rank sends BYTES to the next one N times

#include <mpi.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <vector>

int main(int argc, char** argv) {
  constexpr char option[] = "--iterations=";
  if (argc != 3 || std::strncmp(argv[1], option, sizeof option - 1) != 0) return 2;
  int const iterations = std::atoi(argv[1] + sizeof option - 1);
  int const bytes = std::atoi(argv[2]);
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<char> out(static_cast<std::size_t>(bytes));
  std::vector<char> in(out.size());
  MPI_Barrier(MPI_COMM_WORLD);
  for (int k = 0; k < iterations; ++k) {
    MPI_Sendrecv(out.data(), bytes, MPI_CHAR, (rank + 1) % ranks, 0, in.data(), bytes, MPI_CHAR,
                 (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
