// SPDX-License-Identifier: Apache-2.0
// The program behind tools/bench/bench, which builds it and starts it as each row needs.
#include <mpi.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tools/bench/machine.hpp"
#include "tools/bench/rank_group.hpp"
#include "tools/bench/registry.hpp"
#include "tools/bench/report.hpp"
#include "tools/bench/results.hpp"
#include "tools/bench/targets.hpp"

namespace rankshare::bench {
namespace {

constexpr int exit_falls_short = 1;
constexpr int exit_usage = 2;

struct options {
  std::vector<std::string> filters;
  std::string key;
  std::string json;
  std::string targets;
  std::vector<std::string> parts;
};

int list(options const& asked) {
  for (auto const& one : all_measurements()) {
    if (!is_selected(one.key, asked.filters)) continue;
    std::printf("%-24s %4d  %s\n", one.key.c_str(), one.ranks, one.description.c_str());
  }
  return 0;
}

bool is_row(std::string const& key) { return find_measurement(key) != nullptr; }

int check_targets(options const& asked) {
  check_keys(read_targets(asked.targets), is_row);
  return 0;
}

int run_here(measurement const& one, options const& asked) {
  rank_group const group;
  if (group.size() != one.ranks) {
    std::cerr << "bench: " << one.key << " runs on " << one.ranks << " ranks, and this job has "
              << group.size() << '\n';
    return exit_usage;
  }
  results all;
  if (group.rank() == 0) all.machine = machine_facts::now();
  row made;
  made.key = one.key;
  made.ranks = one.ranks;
  made.skipped = group.first_text(one.can_run());
  if (made.skipped.empty()) made.found = one.run();
  if (group.rank() != 0) return 0;
  all.rows.push_back(made);
  write_results(asked.json, all);
  return 0;
}

/// A rank that throws ends the job: the others wait for it.
int run(options const& asked) {
  auto const* const one = find_measurement(asked.key);
  if (one == nullptr) {
    std::cerr << "bench: there is no measurement \"" << asked.key << "\"\n";
    return exit_usage;
  }
  if (one->ranks == 1) return run_here(*one, asked);
  MPI_Init(nullptr, nullptr);
  int status = 1;
  try {
    status = run_here(*one, asked);
  } catch (std::exception const& failure) {
    std::cerr << "bench: " << one->key << ", rank " << rank_group().rank() << ": " << failure.what()
              << '\n';
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}

int report(options const& asked) {
  results all;
  all.machine = machine_facts::now();
  for (auto const& part : asked.parts) {
    auto const one = read_results(part);
    if (all.rows.empty()) all.machine = one.machine;  // of the first: its load is not of our making
    all.rows.insert(all.rows.end(), one.rows.begin(), one.rows.end());
  }
  print_results(std::cout, all);
  if (!asked.json.empty()) write_results(asked.json, all);
  bool good = true;
  for (auto const& one : all_measurements()) {
    if (!is_selected(one.key, asked.filters) || all.find(one.key) != nullptr) continue;
    std::cout << one.key << " did not run to its end\n";
    good = false;
  }
  if (asked.targets.empty()) return good ? 0 : exit_falls_short;

  std::vector<target> wanted;
  for (auto const& one : read_targets(asked.targets)) {
    if (is_selected(one.key, asked.filters)) wanted.push_back(one);
  }
  auto const verdicts = judge(wanted, all);
  std::cout << '\n';
  print_verdicts(std::cout, verdicts);
  for (auto const& one : verdicts) good = good && one.result != verdict::kind::falls_short;
  return good ? 0 : exit_falls_short;
}

int main_of(int argc, char** argv) {
  options asked;
  CLI::App app("Measurements of rankshare; tools/bench/bench starts this program.");
  app.require_subcommand(1);

  auto* const listing = app.add_subcommand("list", "key, ranks and description of each row");
  auto* const checking = app.add_subcommand("check_targets", "whether a file of targets is sound");
  auto* const running = app.add_subcommand("run", "run one row; its ranks are those of the job");
  auto* const reporting = app.add_subcommand("report", "print results, and compare with targets");
  for (auto* const command : {listing, reporting}) {
    command->add_option("--filter", asked.filters, "only rows whose key contains this")
        ->allow_extra_args(false);  // what follows the value is no further one
  }
  checking->add_option("targets", asked.targets)->required();
  running->add_option("key", asked.key)->required();
  running->add_option("--json", asked.json, "where the result goes")->required();
  reporting->add_option("--check", asked.targets, "file of targets; exit with 1 if one is missed");
  reporting->add_option("--json", asked.json, "where all results go");
  reporting->add_option("parts", asked.parts, "files that `run` wrote");
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& stopped) {
    return app.exit(stopped) == 0 ? 0 : exit_usage;
  }
  if (listing->parsed()) return list(asked);
  if (checking->parsed()) return check_targets(asked);
  return running->parsed() ? run(asked) : report(asked);
}

}  // namespace
}  // namespace rankshare::bench

int main(int argc, char** argv) {
  try {
    return rankshare::bench::main_of(argc, argv);
  } catch (std::exception const& failure) {
    std::cerr << "bench: " << failure.what() << '\n';
    return rankshare::bench::exit_usage;
  }
}
