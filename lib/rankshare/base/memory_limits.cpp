// SPDX-License-Identifier: Apache-2.0
#include <rankshare/base/memory_limits.hpp>

#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include <rankshare/base/text_file.hpp>

namespace rankshare {
namespace {

std::optional<std::size_t> read_number(std::string const& path) {
  std::string const text = text_of_file(path);
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;  // "max": no limit
  return std::strtoull(text.c_str(), nullptr, 10);
}

std::size_t meminfo_available() {
  std::string const text = text_of_file("/proc/meminfo");
  auto const at = text.find("MemAvailable:");
  if (at == std::string::npos) return std::numeric_limits<std::size_t>::max();
  return std::strtoull(text.c_str() + at + 13, nullptr, 10) * 1024;
}

struct cgroup_files {
  std::string limit;
  std::string usage;
};

// The memory cgroup of this process and those above it, of version 2 and version 1, as far as they
// are to be seen here.
std::vector<cgroup_files> find_cgroups() {
  std::vector<cgroup_files> found;
  std::istringstream file(text_of_file("/proc/self/cgroup"));
  std::string line;
  while (std::getline(file, line)) {
    auto const first = line.find(':');
    auto const second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string const controllers = line.substr(first + 1, second - first - 1);
    bool const is_v1 = controllers.find("memory") != std::string::npos;
    if (!controllers.empty() && !is_v1) continue;
    std::string const root = is_v1 ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
    for (std::string path = line.substr(second + 1);; path.erase(path.rfind('/'))) {
      if (path == "/") path.clear();
      std::string const folder = root + path;
      found.push_back(
          is_v1 ? cgroup_files{folder + "/memory.limit_in_bytes", folder + "/memory.usage_in_bytes"}
                : cgroup_files{folder + "/memory.max", folder + "/memory.current"});
      if (path.empty() || path.rfind('/') == std::string::npos) break;
    }
  }
  return found;
}

}  // namespace

available_memory available_memory::now() {
  static auto const* const cgroups = new std::vector<cgroup_files>(find_cgroups());
  available_memory result{meminfo_available(), "MemAvailable"};
  for (auto const& group : *cgroups) {
    auto const limit = read_number(group.limit);
    if (!limit || *limit >= machine_memory())
      continue;  // no limit, in the words of version 2 and version 1
    auto const usage = read_number(group.usage).value_or(0);
    auto const rest = *limit > usage ? *limit - usage : 0;
    if (rest < result.bytes) result = {rest, "memory cgroup " + group.limit};
  }
  return result;
}

std::size_t machine_memory() {
  static std::size_t const bytes = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
                                   static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace rankshare
