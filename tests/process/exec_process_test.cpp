// SPDX-License-Identifier: Apache-2.0
// A program that this one starts inherits no descriptor of the library.
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <string>

#include <rankshare/base/process.hpp>
#include <rankshare/memory/host_memory_resource.hpp>
#include <support/child_process.hpp>
#include <support/leftovers.hpp>

namespace rankshare {
namespace {

// Tells which files it has open.
int run_list(test::channel& parent) {
  auto const own = test::footprint::now();
  for (auto const& [what, count] : own.held()) {
    if (what.rfind("fd pipe:", 0) != 0) parent.send_text(what + " x " + std::to_string(count));
  }
  parent.send_text("");
  return 0;
}

test::role const list_role("list", run_list);

std::string inherited() {
  test::child_process child("list");
  std::string all;
  for (auto next = child.talk().receive_text(); !next.empty(); next = child.talk().receive_text()) {
    all += next + "\n";
  }
  EXPECT_EQ(child.wait(), 0);
  return all;
}

TEST(ExecProcessTest, NoDescriptorIsInherited) {
  auto const without = inherited();
  host_memory_resource const memory({1 << 20});
  auto const mine = memory.allocate(100);
  auto const copy = unique_fd::duplicate_of(memory.allocation_handle().fd());
  auto const mapped = host_memory_resource::from_allocation_handle(memory.allocation_handle());
  auto const seen =
      buffer::from_ipc_descriptor(mapped, mine.ipc_descriptor(), stream_ref::legacy_default());
  auto const pidfd = open_pidfd(::getpid());
  auto const fetched = fetch_fd(pidfd.get(), copy.get(), ::getpid());
  ASSERT_GE(test::footprint::now().held().at("fd /memfd:rankshare-pool (deleted)"), 4);
  EXPECT_EQ(inherited(), without);
}

}  // namespace
}  // namespace rankshare
