// SPDX-License-Identifier: Apache-2.0
/// @file
/// The ranks that run a measurement together.
#pragma once

#include <string>
#include <vector>

namespace rankshare::bench {

/// All ranks of the job, or this process alone where MPI is not initialised.
class rank_group {
 public:
  rank_group();

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }

  void barrier() const;

  /// @param mine one number for each repetition
  /// @return the largest of all ranks for each repetition; on rank 0 only, empty elsewhere
  std::vector<double> largest(std::vector<double> const& mine) const;

  /// @return the sum over all ranks, on every rank
  double sum(double mine) const;

  /// @return the text of the lowest rank that has one, after its rank; empty if none has. On every
  ///         rank. Long ones are cut.
  std::string first_text(std::string const& mine) const;

 private:
  bool alone_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace rankshare::bench
