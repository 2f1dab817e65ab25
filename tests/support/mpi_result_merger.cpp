// SPDX-License-Identifier: Apache-2.0
#include <support/mpi_result_merger.hpp>

#include <cstdio>
#include <sstream>

namespace rankshare::test {
namespace {

// Ordered: the largest of the ranks is the result of the case.
enum outcome : int { passed = 0, skipped = 1, failed = 2 };

outcome outcome_of(testing::TestResult const& result) {
  if (result.Failed()) return failed;
  return result.Skipped() ? skipped : passed;
}

constexpr char separator = '\0';

}  // namespace

mpi_result_merger::mpi_result_merger(MPI_Comm comm) : comm_(comm) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &size_);
}

// What happens outside of a case, in SetUpTestSuite for instance, is not gathered: say it here.
void mpi_result_merger::OnTestPartResult(testing::TestPartResult const& part) {
  if (in_case_ || rank_ == 0 || part.passed()) return;
  std::fprintf(stderr, "%s:%d: [rank %d] %s\n",
               part.file_name() ? part.file_name() : "unknown file", part.line_number(), rank_,
               part.message());
}

void mpi_result_merger::OnTestEnd(testing::TestInfo const& test) {
  merge(*test.result());
  in_case_ = false;
}

void mpi_result_merger::merge(testing::TestResult const& result) const {
  int const mine = outcome_of(result);
  int worst = passed;
  MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, comm_);
  if (worst == passed) return;
  repeat_on_rank_0(result, worst);
  if (rank_ == 0 || mine == worst) return;
  if (worst == failed) ADD_FAILURE() << "failed on another rank";
  if (worst == skipped) [] { GTEST_SKIP() << "skipped on another rank"; }();
}

void mpi_result_merger::repeat_on_rank_0(testing::TestResult const& result, int worst) const {
  auto const written = gather(write(result, worst == skipped));
  if (rank_ != 0) return;
  bool const know_already = outcome_of(result) == worst;
  // A skip is printed once, whoever asked for it.
  if (worst == skipped && know_already) return;
  for (int rank = 1; rank < size_; ++rank) {
    for (auto const& said : read(written[static_cast<std::size_t>(rank)])) {
      if (worst == failed) {
        ADD_FAILURE_AT(said.file.c_str(), said.line) << "[rank " << rank << "] " << said.text;
      } else {
        [&] { GTEST_SKIP() << "[rank " << rank << "] " << said.text; }();
        return;
      }
    }
  }
}

std::string mpi_result_merger::write(testing::TestResult const& result, bool skips) {
  std::string written;
  for (int i = 0; i < result.total_part_count(); ++i) {
    auto const& part = result.GetTestPartResult(i);
    if (skips ? !part.skipped() : !part.failed()) continue;
    written += std::to_string(part.line_number()) + separator;
    written += (part.file_name() != nullptr ? part.file_name() : "unknown file");
    written += separator;
    written += part.message();
    written += separator;
  }
  return written;
}

std::vector<mpi_result_merger::report> mpi_result_merger::read(std::string const& written) {
  std::vector<report> reports;
  std::istringstream in(written);
  std::string line;
  report next{};
  while (std::getline(in, line, separator) && std::getline(in, next.file, separator) &&
         std::getline(in, next.text, separator)) {
    next.line = std::stoi(line);
    reports.push_back(next);
  }
  return reports;
}

std::vector<std::string> mpi_result_merger::gather(std::string const& mine) const {
  auto const ranks = static_cast<std::size_t>(size_);
  int const length = static_cast<int>(mine.size());
  std::vector<int> lengths(ranks);
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, comm_);
  std::vector<int> starts(ranks);
  int total = 0;
  for (std::size_t i = 0; rank_ == 0 && i < ranks; ++i) {
    starts[i] = total;
    total += lengths[i];
  }
  std::string all(static_cast<std::size_t>(total), separator);
  MPI_Gatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR, 0,
              comm_);
  std::vector<std::string> texts;
  for (std::size_t i = 0; rank_ == 0 && i < ranks; ++i) {
    texts.push_back(
        all.substr(static_cast<std::size_t>(starts[i]), static_cast<std::size_t>(lengths[i])));
  }
  return texts;
}

}  // namespace rankshare::test
