// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/targets.hpp"

#include <algorithm>
#include <fstream>
#include <initializer_list>

#include <nlohmann/json.hpp>

#include "tools/bench/number.hpp"

namespace rankshare::bench {
namespace {

using nlohmann::json;

void check_fields(json const& from, std::initializer_list<char const*> allowed) {
  for (auto const& field : from.items()) {
    if (std::find(allowed.begin(), allowed.end(), field.key()) == allowed.end()) {
      throw bad_targets("there is no field \"" + field.key() + "\"");
    }
  }
}

bound bound_from(json const& from) {
  bound made{from.at("value"), from.at("unit"), std::nullopt, std::nullopt};
  if (from.contains("at_most")) made.at_most = from.at("at_most").get<double>();
  if (from.contains("at_least")) made.at_least = from.at("at_least").get<double>();
  if (made.at_most.has_value() == made.at_least.has_value()) {
    throw bad_targets("value \"" + made.value + "\" needs either at_most or at_least");
  }
  return made;
}

target target_from(json const& from) {
  target made{from.at("key"), {}, from.at("source")};
  if (!from.contains("any_of")) {
    check_fields(from, {"key", "source", "value", "unit", "at_most", "at_least"});
    made.any_of.push_back(bound_from(from));
    return made;
  }
  check_fields(from, {"key", "source", "any_of"});
  for (auto const& one : from.at("any_of")) {
    check_fields(one, {"value", "unit", "at_most", "at_least"});
    made.any_of.push_back(bound_from(one));
  }
  if (made.any_of.empty()) throw bad_targets("any_of is empty");
  return made;
}

std::string text_of(bound const& one) {
  return one.value +
         (one.at_most ? " <= " + number(*one.at_most) : " >= " + number(*one.at_least)) + " " +
         one.unit;
}

value const& find_value(row const& found, bound const& wanted) {
  std::string known;
  for (auto const& one : found.found.values) {
    if (one.name == wanted.value && one.unit == wanted.unit) return one;
    known += (known.empty() ? "" : ", ") + one.name + " [" + one.unit + "]";
  }
  throw bad_targets("the target of " + found.key + " is for " + wanted.value + " [" + wanted.unit +
                    "], and that row has " + known);
}

verdict judge(target const& wanted, row const* found) {
  verdict made;
  made.key = wanted.key;
  made.result = verdict::kind::falls_short;
  for (auto const& one : wanted.any_of) {
    made.wanted += (made.wanted.empty() ? "" : " or ") + text_of(one);
  }
  if (found == nullptr) {
    made.reason = "it did not run";
    return made;
  }
  if (!found->skipped.empty()) {
    made.result = verdict::kind::skipped;
    made.reason = found->skipped;
    return made;
  }
  for (auto const& one : wanted.any_of) {
    auto const& measured = find_value(*found, one);
    made.measured += (made.measured.empty() ? "" : ", ") + number(measured.amount) + " " + one.unit;
    if (one.holds(measured.amount)) made.result = verdict::kind::ok;
  }
  return made;
}

}  // namespace

std::vector<target> read_targets(std::string const& path) {
  std::ifstream file(path);
  if (!file) throw bad_targets("reading targets: there is no " + path);
  std::vector<target> made;
  try {
    auto const list = json::parse(file);
    if (!list.is_array()) throw bad_targets("it is not a list");
    for (auto const& one : list) made.push_back(target_from(one));
  } catch (std::exception const& failure) {  // ours, and those of the JSON library
    throw bad_targets("reading targets from " + path + ", entry " +
                      std::to_string(made.size() + 1) + ": " + failure.what());
  }
  return made;
}

void check_keys(std::vector<target> const& all,
                std::function<bool(std::string const&)> const& is_row) {
  for (auto const& one : all) {
    if (is_row(one.key)) continue;
    throw bad_targets("there is a target for \"" + one.key +
                      "\", and no measurement of that key (--list shows all)");
  }
}

std::vector<verdict> judge(std::vector<target> const& wanted, results const& found) {
  std::vector<verdict> made;
  for (auto const& one : wanted) made.push_back(judge(one, found.find(one.key)));
  return made;
}

}  // namespace rankshare::bench
