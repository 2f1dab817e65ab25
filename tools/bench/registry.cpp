// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/registry.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tools/bench/topics.hpp"

namespace rankshare::bench {

std::vector<measurement> const& all_measurements() {
  static auto const all = [] {
    std::vector<measurement> table;
    for (auto* const topic : {host_memory_measurements, counted_measurements, share_measurements,
                              construct_measurements, fence_measurements, gpu_memory_measurements,
                              gpu_peer_measurements, gpu_heat_measurements}) {
      auto of_topic = topic();
      std::move(of_topic.begin(), of_topic.end(), std::back_inserter(table));
    }
    return table;
  }();
  return all;
}

measurement const* find_measurement(std::string const& key) {
  auto const& all = all_measurements();
  auto const found =
      std::find_if(all.begin(), all.end(), [&](auto const& one) { return one.key == key; });
  return found == all.end() ? nullptr : &*found;
}

bool is_selected(std::string const& key, std::vector<std::string> const& filters) {
  return filters.empty() || std::any_of(filters.begin(), filters.end(), [&](auto const& part) {
           return key.find(part) != std::string::npos;
         });
}

}  // namespace rankshare::bench
