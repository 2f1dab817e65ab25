// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/alternation.hpp"

#include <chrono>
#include <cstddef>

namespace rankshare::bench {
namespace {

using clock = std::chrono::steady_clock;

double time_one(rank_group const& group, side& one, bool first) {
  one.prepare();
  group.barrier();
  auto const start = clock::now();
  one.run();
  std::chrono::duration<double> const taken = clock::now() - start;
  if (first) one.verify();
  one.finish();
  return taken.count() / one.operations();
}

findings medians(std::vector<series> const& all, int repetitions, std::string const& unit,
                 double per_second) {
  findings found;
  found.repetitions = repetitions;
  for (auto const& one : all) found.values.push_back(median_of(one, unit, per_second));
  return found;
}

}  // namespace

std::vector<series> alternate(rank_group const& group, std::vector<side*> const& sides,
                              int repetitions) {
  std::vector<series> result;
  for (auto* const one : sides) {
    result.push_back({one->name(), {}});
    time_one(group, *one, true);
  }
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (std::size_t turn = 0; turn < sides.size(); ++turn) {
      auto const who = (turn + static_cast<std::size_t>(repetition)) % sides.size();
      result[who].seconds.push_back(time_one(group, *sides[who], false));
    }
  }
  for (auto& one : result) one.seconds = group.largest(one.seconds);
  return result;
}

value median_of(series const& of, std::string const& unit, double per_second) {
  if (of.seconds.empty()) return {};
  auto scaled = of.seconds;
  for (auto& one : scaled) one *= per_second;
  auto const spread = summarize(scaled);
  return {of.name, spread.median, unit, spread};
}

value ratio_of(std::string const& name, series const& ours, series const& baseline) {
  if (ours.seconds.empty()) return {};
  auto const ratio = summarize(ours.seconds).median / summarize(baseline.seconds).median;
  return {name, ratio, "ratio", std::nullopt};
}

findings in_microseconds(std::vector<series> const& all, int repetitions) {
  return medians(all, repetitions, "us", 1e6);
}

findings in_nanoseconds(std::vector<series> const& all, int repetitions) {
  return medians(all, repetitions, "ns", 1e9);
}

}  // namespace rankshare::bench
