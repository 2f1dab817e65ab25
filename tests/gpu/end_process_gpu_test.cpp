// SPDX-License-Identifier: Apache-2.0
// The end of a process that uses a GPU, and of its forked children.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>

#include <gpu/gpu_fixture.hpp>
#include <rankshare/base/text_file.hpp>
#include <support/child_process.hpp>

namespace rankshare::test {
namespace {

// What lives past main, made so that it goes in an order that does not help: what is made first
// goes last, after the CUDA driver.
struct lasting {
  std::optional<device_memory_resource> memory;
  std::optional<pool_memory_resource> mapped;
  std::optional<stream> order;
  buffer mine;
  buffer seen;
  buffer on_default_stream;
};

lasting& kept() {
  static lasting instance;
  return instance;
}

void make_all(lasting& into) {
  auto const where = device::gpu(0);
  into.order.emplace(where);
  into.memory.emplace(where);
  into.mine = into.memory->allocate(1000, *into.order);
  into.mapped = import_pool(*into.memory);
  into.seen = import_buffer(*into.mapped, into.mine, *into.order);
  scoped_context const current(raw_cuda::primary_context());
  into.on_default_stream = into.memory->allocate(1000, stream_ref::legacy_default());
}

int run_static_objects(channel& parent) {
  auto const file = parent.receive_text();
  int const log = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  ::dup2(log, STDERR_FILENO);
  kept();
  make_all(kept());
  parent.send(0);
  return 0;
}

role const static_objects_role("gpu static objects", run_static_objects);

class EndProcessGpuTest : public gpu_fixture {};

TEST_F(EndProcessGpuTest, StaticObjectsMayOutliveTheDriver) {
  auto const file = testing::TempDir() + "static_objects_" + std::to_string(::getpid());
  child_process child("gpu static objects");
  child.talk().send_text(file);
  child.talk().receive<int>();
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(text_of_file(file.c_str()), "");
  ::unlink(file.c_str());
}

// What a forked child may not do it is told; what it gives back stays its parent's.
// @return 0, else which of these is not so; what was said instead is on stderr
int end_of_forked_child(lasting& inherited) {
  auto const where = inherited.memory->device();
  testing::AssertionResult const told[] = {
      throws<not_supported>([&] { inherited.memory->allocate(1); }, "forked from"),
      throws<not_supported>([&] { device::gpu(0); }, "forked from", "exec"),
      throws<not_supported>([&] { stream{where}; }, "forked from"),
      throws<not_supported>(
          [&] {
            device_memory_resource(where, {true, mib});
          },
          "forked from"),
  };
  inherited.seen.close();
  inherited.mine.close();
  inherited.on_default_stream.close();
  inherited.mapped.reset();
  inherited.memory.reset();
  inherited.order.reset();
  int wrong = 0;
  for (int number = 0; number < 4; ++number) {
    if (told[number]) continue;
    std::fprintf(stderr, "%s\n", told[number].message());
    wrong = number + 1;
  }
  return wrong;
}

TEST_F(EndProcessGpuTest, EndOfAForkedChildTakesNothingFromItsParent) {
  lasting mine;
  make_all(mine);
  fill(mine.mine, 7);
  pid_t const child = ::fork();
  if (child == 0) {
    int status = end_of_forked_child(mine);
    if (!log_.text().empty()) status = 9;
    ::_exit(status);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(is_full_of(7, mine.seen));
  EXPECT_NO_THROW(mine.memory->allocate(1000));
}

}  // namespace
}  // namespace rankshare::test
