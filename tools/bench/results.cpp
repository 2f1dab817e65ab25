// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/results.hpp"

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace rankshare::bench {
namespace {

using json = nlohmann::ordered_json;

json to_json(machine_facts const& machine) {
  return {{"date", machine.date},        {"processor", machine.processor}, {"cores", machine.cores},
          {"load", machine.load},        {"kernel", machine.kernel},       {"mpi", machine.mpi},
          {"compiler", machine.compiler}};
}

machine_facts machine_from(json const& from) {
  return {from.at("date"),   from.at("processor"), from.at("cores"),   from.at("load"),
          from.at("kernel"), from.at("mpi"),       from.at("compiler")};
}

json to_json(value const& one) {
  json made = {{"name", one.name}, {"amount", one.amount}, {"unit", one.unit}};
  if (one.spread) {
    made["min"] = one.spread->min;
    made["lower_quartile"] = one.spread->lower_quartile;
    made["upper_quartile"] = one.spread->upper_quartile;
    made["max"] = one.spread->max;
  }
  return made;
}

value value_from(json const& from) {
  value made{from.at("name"), from.at("amount"), from.at("unit"), std::nullopt};
  if (from.contains("min")) {
    made.spread = summary{from.at("min"), from.at("lower_quartile"), made.amount,
                          from.at("upper_quartile"), from.at("max")};
  }
  return made;
}

json to_json(row const& one) {
  json made = {{"key", one.key}, {"ranks", one.ranks}};
  if (!one.skipped.empty()) {
    made["skipped"] = one.skipped;
    return made;
  }
  made["repetitions"] = one.found.repetitions;
  made["values"] = json::array();
  for (auto const& found : one.found.values) made["values"].push_back(to_json(found));
  return made;
}

row row_from(json const& from) {
  row made;
  made.key = from.at("key");
  made.ranks = from.at("ranks");
  made.skipped = from.value("skipped", std::string());
  if (!made.skipped.empty()) return made;
  made.found.repetitions = from.at("repetitions");
  for (auto const& found : from.at("values")) made.found.values.push_back(value_from(found));
  return made;
}

}  // namespace

row const* results::find(std::string const& key) const {
  auto const found =
      std::find_if(rows.begin(), rows.end(), [&](row const& one) { return one.key == key; });
  return found == rows.end() ? nullptr : &*found;
}

void write_results(std::string const& path, results const& all) {
  json made = {{"machine", to_json(all.machine)}, {"rows", json::array()}};
  for (auto const& one : all.rows) made["rows"].push_back(to_json(one));
  std::ofstream file(path);
  file << made.dump(2) << '\n';
  file.close();
  if (!file) throw std::runtime_error("writing results: " + path + " cannot be written");
}

results read_results(std::string const& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("reading results: there is no " + path);
  try {
    auto const from = json::parse(file);
    results made;
    made.machine = machine_from(from.at("machine"));
    for (auto const& one : from.at("rows")) made.rows.push_back(row_from(one));
    return made;
  } catch (json::exception const& failure) {
    throw std::runtime_error("reading results from " + path + ": " + failure.what());
  }
}

}  // namespace rankshare::bench
