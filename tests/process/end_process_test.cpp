// SPDX-License-Identifier: Apache-2.0
// The end of a process: objects may go in any order, and a forked child takes nothing from its
// parent.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include <rankshare/base/error.hpp>
#include <rankshare/memory/host_memory_resource.hpp>
#include <support/child_process.hpp>
#include <support/throws.hpp>

namespace rankshare {
namespace {

// Of static lifetime, and made in an order that does not help.
buffer& static_buffer() {
  static buffer kept;
  return kept;
}

std::optional<host_memory_resource>& static_resource() {
  static std::optional<host_memory_resource> kept;
  return kept;
}

int run_static_objects(test::channel& parent) {
  static_buffer();
  static buffer seen;
  static_resource().emplace(host_memory_resource::options{1 << 20});
  static_buffer() = static_resource()->allocate(100);
  auto const mapped =
      host_memory_resource::from_allocation_handle(static_resource()->allocation_handle());
  seen = buffer::from_ipc_descriptor(mapped, static_buffer().ipc_descriptor(),
                                     stream_ref::legacy_default());
  parent.send(0);
  return 0;
}

test::role const static_objects_role("static objects", run_static_objects);

TEST(EndProcessTest, StaticObjectsMayGoInAnyOrder) {
  test::child_process child("static objects");
  child.talk().receive<int>();
  EXPECT_EQ(child.wait(), 0);
}

TEST(EndProcessTest, EndOfAForkedChildTakesNothingFromItsParent) {
  static_resource().emplace(host_memory_resource::options{1 << 20});
  static_buffer() = static_resource()->allocate(100);
  static_buffer().as<char>()[0] = 'x';
  auto const mapped =
      host_memory_resource::from_allocation_handle(static_resource()->allocation_handle());
  auto const other = static_resource()->allocate(100);
  auto const& descriptor = static_buffer().ipc_descriptor();
  pid_t const child = ::fork();
  if (child == 0) {
    bool const refused =
        bool(test::throws<invalid_argument>([] { static_resource()->allocate(1); },
                                            "forked from")) &&
        bool(test::throws<invalid_argument>([&] { (void)other.ipc_descriptor(); }, "forked from"));
    static_buffer().close();
    static_resource().reset();
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  auto const seen = buffer::from_ipc_descriptor(mapped, descriptor, stream_ref::legacy_default());
  EXPECT_EQ(*seen.as<char>(), 'x');
  static_buffer().close();
  static_resource().reset();
}

}  // namespace
}  // namespace rankshare
