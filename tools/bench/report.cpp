// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/report.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

#include "tools/bench/number.hpp"

namespace rankshare::bench {
namespace {

using line = std::vector<std::string>;

/// Pads all columns but the last to the width of their longest text.
void print_table(std::ostream& out, std::vector<line> const& lines) {
  std::map<std::size_t, std::size_t> widths;
  for (auto const& cells : lines) {
    for (std::size_t column = 0; column < cells.size(); ++column) {
      widths[column] = std::max(widths[column], cells[column].size());
    }
  }
  for (auto const& cells : lines) {
    std::string text;
    for (std::size_t column = 0; column < cells.size(); ++column) {
      text += cells[column] + std::string(widths[column] + 2 - cells[column].size(), ' ');
    }
    out << text.substr(0, text.find_last_not_of(' ') + 1) << '\n';
  }
}

std::string spread_of(value const& one) {
  if (!one.spread) return {};
  return "quartiles " + number(one.spread->lower_quartile) + " .. " +
         number(one.spread->upper_quartile) + ", all " + number(one.spread->min) + " .. " +
         number(one.spread->max);
}

char const* text_of(verdict::kind result) {
  switch (result) {
    case verdict::kind::ok:
      return "ok";
    case verdict::kind::falls_short:
      return "FALLS SHORT";
    case verdict::kind::skipped:
      return "skipped";
  }
  return "";
}

}  // namespace

void print_results(std::ostream& out, results const& all) {
  auto const& machine = all.machine;
  out << "machine: " << machine.processor << ", " << machine.cores << " cores, load "
      << number(machine.load) << "; " << machine.kernel << "; " << machine.mpi << "; "
      << machine.compiler << "; " << machine.date << '\n';
  if (machine.load > machine.cores / 2.0) {
    out << "note: others are using this machine; believe ratios more than times, and neither "
           "much\n";
  }
  std::vector<line> lines{{"row", "ranks", "repetitions", "value", "", "", ""}};
  for (auto const& one : all.rows) {
    if (!one.skipped.empty()) {
      lines.push_back({one.key, std::to_string(one.ranks), "", "skipped: " + one.skipped});
      continue;
    }
    std::string key = one.key;
    std::string ranks = std::to_string(one.ranks);
    std::string repetitions = std::to_string(one.found.repetitions);
    for (auto const& found : one.found.values) {
      lines.push_back({key, ranks, repetitions, found.name, number(found.amount), found.unit,
                       spread_of(found)});
      key = ranks = repetitions = "";
    }
  }
  print_table(out, lines);
}

void print_verdicts(std::ostream& out, std::vector<verdict> const& all) {
  std::map<verdict::kind, int> counts;
  std::vector<line> lines{{"row", "measured", "target", "verdict"}};
  for (auto const& one : all) {
    ++counts[one.result];
    lines.push_back({one.key, one.measured.empty() ? "-" : one.measured, one.wanted,
                     text_of(one.result) + (one.reason.empty() ? "" : ": " + one.reason)});
  }
  print_table(out, lines);
  out << counts[verdict::kind::ok] << " ok, " << counts[verdict::kind::falls_short]
      << " fall short, " << counts[verdict::kind::skipped] << " skipped\n";
}

}  // namespace rankshare::bench
