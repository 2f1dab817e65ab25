// SPDX-License-Identifier: Apache-2.0
// The main of tests in which ranks end. It merges nothing: each rank writes its verdict to a file,
// and survivors_test.sh reads them.
//
// Survivors leave in the middle of MPI_Finalize, when all that rankshare does there is done: what
// follows in Open MPI 4.1 is a barrier of its own, which at times waits for the dead for ever.
//
// --verdicts=FOLDER  where the files rank.0, rank.1, ... go
#include <mpi/failures/survivors.hpp>

#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace rankshare::test {
namespace {

std::string& verdict_file() {
  static auto* const name = new std::string;
  return *name;
}

// What fails is printed by the rank where it fails.
class printer final : public testing::EmptyTestEventListener {
 public:
  explicit printer(int rank) : rank_(rank) {}
  void OnTestPartResult(testing::TestPartResult const& part) override {
    if (part.passed()) return;
    std::fprintf(stderr, "%s:%d: [rank %d] %s\n",
                 part.file_name() != nullptr ? part.file_name() : "", part.line_number(), rank_,
                 part.message());
  }

 private:
  int rank_;
};

int leave(MPI_Comm, int, void*, void*) {
  write_verdict("left");
  ::_exit(0);
}

// The attributes of MPI_COMM_SELF go first in MPI_Finalize, the youngest before the older ones.
void leave_after_all_attributes() {
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, leave, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
}

void run(std::string const& folder) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  verdict_file() = folder + "/rank." + std::to_string(rank);
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new printer(rank));
  write_verdict(RUN_ALL_TESTS() == 0 ? "passed" : "failed");
}

}  // namespace

void write_verdict(char const* word) {
  std::ofstream file(verdict_file(), std::ios::app);
  file << word << '\n';
}

}  // namespace rankshare::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (GTEST_FLAG_GET(list_tests)) return RUN_ALL_TESTS();
  constexpr std::string_view option = "--verdicts=";
  if (argc != 2 || std::string_view(argv[1]).substr(0, option.size()) != option) {
    std::fprintf(stderr, "usage: %s --gtest_filter=CASE --verdicts=FOLDER\n", argv[0]);
    return 2;
  }
  MPI_Init(&argc, &argv);
  rankshare::test::leave_after_all_attributes();
  rankshare::test::run(argv[1] + option.size());
  MPI_Finalize();
  return 1;  // not reached
}
