// SPDX-License-Identifier: Apache-2.0
/// @file
/// Times what is compared in turn, so that a change in the machine's load meets all of it.
#pragma once

#include <string>
#include <vector>

#include "tools/bench/measurement.hpp"
#include "tools/bench/rank_group.hpp"

namespace rankshare::bench {

/// One of the things that are compared. Every function is called on every rank.
class side {
 public:
  explicit side(std::string name) : name_(std::move(name)) {}
  side(side const&) = delete;
  side& operator=(side const&) = delete;
  virtual ~side() = default;

  std::string const& name() const noexcept { return name_; }

  /// Before each repetition; not timed.
  virtual void prepare() {}
  /// What is timed.
  virtual void run() = 0;
  /// After each repetition; not timed.
  virtual void finish() {}
  /// Once, after the first `run`, which does not count: throws if that did not do what it should.
  virtual void verify() {}
  /// @return how often one `run` does what is measured
  virtual int operations() const { return 1; }

 private:
  std::string name_;
};

/// The times of a side.
struct series {
  std::string name;
  std::vector<double> seconds;  ///< by repetition: one operation, on the slowest rank
};

/// Runs the sides in turn, `repetitions` times each, after one round that does not count.
///
/// Every repetition begins with a barrier; each rank takes its own time, and the largest one
/// counts. Every round begins with another side.
///
/// @return in the order of `sides`; times on rank 0 only
std::vector<series> alternate(rank_group const& group, std::vector<side*> const& sides,
                              int repetitions);

/// @param per_second 1e6 for "us", 1e9 for "ns"
/// @return the median of a series, with its spread; an empty value on ranks other than 0
value median_of(series const& of, std::string const& unit, double per_second);

/// @return the median of `ours` divided by that of `baseline`; an empty value on ranks other than 0
value ratio_of(std::string const& name, series const& ours, series const& baseline);

/// @return the medians of all series in microseconds
findings in_microseconds(std::vector<series> const& all, int repetitions);

/// @return the medians of all series in nanoseconds
findings in_nanoseconds(std::vector<series> const& all, int repetitions);

}  // namespace rankshare::bench
