// SPDX-License-Identifier: Apache-2.0
#include <support/leftovers.hpp>

#include <dirent.h>
#include <unistd.h>

#include <climits>
#include <fstream>
#include <memory>
#include <sstream>

namespace rankshare::test {
namespace {

using counts = std::map<std::string, long>;

void count_file_descriptors(counts& held) {
  std::unique_ptr<DIR, int (*)(DIR*)> const folder(::opendir("/proc/self/fd"), ::closedir);
  if (folder == nullptr) {
    ADD_FAILURE() << "/proc/self/fd cannot be read";
    return;
  }
  auto const own = std::to_string(::dirfd(folder.get()));
  while (dirent const* entry = ::readdir(folder.get())) {
    if (entry->d_name[0] == '.' || entry->d_name == own) continue;
    char target[PATH_MAX];
    auto const length = ::readlinkat(::dirfd(folder.get()), entry->d_name, target, sizeof target);
    if (length > 0) ++held["fd " + std::string(target, static_cast<std::size_t>(length))];
  }
}

// Shared memory of MPI itself lies in /dev/shm or is anonymous ("/dev/zero").
bool is_ours(std::string const& name) {
  auto const begins_with = [&](char const* text) { return name.rfind(text, 0) == 0; };
  if (begins_with("/memfd:")) return true;
  return begins_with("/dev/") && !begins_with("/dev/shm/") && !begins_with("/dev/zero");
}

// A mapping is counted in bytes, since the kernel may show one mapping as several.
void count_mappings(counts& held) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    std::istringstream fields(line);
    std::string range, access, offset, device, inode, name;
    fields >> range >> access >> offset >> device >> inode >> std::ws;
    std::getline(fields, name);
    if (!is_ours(name)) continue;
    auto const dash = range.find('-');
    auto const bytes = std::stoull(range.substr(dash + 1), nullptr, 16) -
                       std::stoull(range.substr(0, dash), nullptr, 16);
    held["mapped bytes of " + name] += static_cast<long>(bytes);
  }
}

void count_driver_objects(counts& held, checked_driver const& checked) {
  for (auto const& [kind, count] : checked.live_objects()) {
    if (count != 0) held["driver " + kind] += static_cast<long>(count);
  }
}

}  // namespace

footprint footprint::now(checked_driver const* checked) {
  footprint result(checked);
  count_file_descriptors(result.held_);
  count_mappings(result.held_);
  if (checked != nullptr) count_driver_objects(result.held_, *checked);
  return result;
}

testing::AssertionResult footprint::is_as_before(std::string const& but_for) const {
  auto difference = footprint::now(checked_).held_;
  for (auto const& [what, count] : held_) difference[what] -= count;
  std::ostringstream text;
  for (auto const& [what, count] : difference) {
    if (!but_for.empty() && what.rfind(but_for, 0) == 0) continue;
    if (count != 0) text << "\n  " << (count > 0 ? "+" : "") << count << "  " << what;
  }
  if (text.str().empty()) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "the process does not hold what it held before:" << text.str();
}

}  // namespace rankshare::test
