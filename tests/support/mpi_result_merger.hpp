// SPDX-License-Identifier: Apache-2.0
/// @file
/// Makes the ranks of an MPI job agree on the result of each test case.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <string>
#include <vector>

namespace rankshare::test {

/// Merges the results of a case as soon as every rank has finished it: failed on one rank is failed
/// on all, else skipped on one is skipped on all. Rank 0 repeats what other ranks said. It is
/// appended to GoogleTest's listeners, whose end events go in reverse order, so that the printer
/// sees the merged result. Every rank must run the same cases in the same order.
class mpi_result_merger final : public testing::EmptyTestEventListener {
 public:
  /// @param comm every rank of the run; stays the caller's
  explicit mpi_result_merger(MPI_Comm comm);

  void OnTestStart(testing::TestInfo const&) override { in_case_ = true; }
  void OnTestPartResult(testing::TestPartResult const& part) override;
  void OnTestEnd(testing::TestInfo const& test) override;

 private:
  // Of one assertion, as it is sent to rank 0.
  struct report {
    int line;
    std::string file;
    std::string text;
  };

  void merge(testing::TestResult const& result) const;
  static std::string write(testing::TestResult const& result, bool skips);
  static std::vector<report> read(std::string const& written);
  std::vector<std::string> gather(std::string const& mine) const;
  void repeat_on_rank_0(testing::TestResult const& result, int worst) const;

  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
  bool in_case_ = false;
};

}  // namespace rankshare::test
