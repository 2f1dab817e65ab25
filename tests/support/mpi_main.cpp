// SPDX-License-Identifier: Apache-2.0
// The main of test programs that run under mpirun. Every rank runs the same cases; rank 0 prints.
//
// --mpi_thread=single|funneled|serialized|multiple  what MPI_Init_thread is asked for (single)
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

#include <support/mpi_result_merger.hpp>

namespace {

constexpr std::array<std::pair<std::string_view, int>, 4> thread_levels = {{
    {"single", MPI_THREAD_SINGLE},
    {"funneled", MPI_THREAD_FUNNELED},
    {"serialized", MPI_THREAD_SERIALIZED},
    {"multiple", MPI_THREAD_MULTIPLE},
}};

/// @return the level that the arguments ask for; -1 if it is none
int wanted_thread_level(int argc, char** argv) {
  constexpr std::string_view option = "--mpi_thread=";
  int level = MPI_THREAD_SINGLE;
  for (int i = 1; i < argc; ++i) {
    std::string_view const argument(argv[i]);
    if (argument.substr(0, option.size()) != option) continue;
    level = -1;
    for (auto const& [name, value] : thread_levels) {
      if (argument.substr(option.size()) == name) level = value;
    }
  }
  return level;
}

/// Where the order of the cases is random, it is the same on every rank.
void agree_on_seed(MPI_Comm comm) {
  int seed = GTEST_FLAG_GET(random_seed);
  if (seed == 0) seed = 1 + static_cast<int>(MPI_Wtime() * 1000) % 99999;
  MPI_Bcast(&seed, 1, MPI_INT, 0, comm);
  GTEST_FLAG_SET(random_seed, seed);
}

int run_all_ranks(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) {
    if (GTEST_FLAG_GET(list_tests)) return 0;
    delete listeners.Release(listeners.default_result_printer());
    GTEST_FLAG_SET(output, "");  // one report, of rank 0
  }
  agree_on_seed(comm);
  listeners.Append(new rankshare::test::mpi_result_merger(comm));
  return RUN_ALL_TESTS();
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int const wanted = wanted_thread_level(argc, argv);
  if (wanted < 0) {
    std::fprintf(stderr, "--mpi_thread must be single, funneled, serialized or multiple\n");
    return 2;
  }
  int provided = 0;
  MPI_Init_thread(&argc, &argv, wanted, &provided);
  if (provided < wanted) {
    std::fprintf(stderr, "MPI provides thread level %d, and the test needs %d\n", provided, wanted);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  // A duplicate, so that a test may do with MPI_COMM_WORLD what it likes.
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  int const mine = run_all_ranks(comm);
  int worst = 0;
  MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, comm);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return worst;
}
