// SPDX-License-Identifier: Apache-2.0
// The end of a process that uses a GPU, its forked children, and processes that see no GPU.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>
#include <cstdio>

#include <cstdlib>
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

// Looks for GPUs, for the first time in its process.
int run_look(channel& parent) {
  int count = -1;
  parent.send_outcome([&] { count = device::count(); });
  parent.send(count);
  parent.send_text(count == 0 ? device::why_no_gpu() : "");
  parent.send_outcome([] { device::gpu(0); });
  return 0;
}

role const static_objects_role("gpu static objects", run_static_objects);
role const look_role("gpu look", run_look);

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

TEST_F(EndProcessGpuTest, HiddenGpusAreSaidToBeHidden) {
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  child_process child("gpu look");
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(child.talk().receive<error_kind>(), error_kind::none);
  EXPECT_EQ(child.talk().receive_text(), "");
  EXPECT_EQ(child.talk().receive<int>(), 0);
  EXPECT_NE(child.talk().receive_text().find("CUDA_VISIBLE_DEVICES=''"), std::string::npos);
  EXPECT_EQ(child.talk().receive<error_kind>(), error_kind::not_supported);
  EXPECT_NE(child.talk().receive_text().find("using GPU 0: "), std::string::npos);
  EXPECT_EQ(child.wait(), 0);
}

TEST_F(EndProcessGpuTest, HiddenGpusAreAnErrorWhereOneIsAskedFor) {
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  ::setenv("RANKSHARE_DRIVER", "cuda", 1);
  child_process child("gpu look");
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  ::unsetenv("RANKSHARE_DRIVER");
  EXPECT_EQ(child.talk().receive<error_kind>(), error_kind::not_supported);
  auto const text = child.talk().receive_text();
  EXPECT_NE(text.find("RANKSHARE_DRIVER=cuda asks for a GPU"), std::string::npos) << text;
  EXPECT_NE(text.find("CUDA_VISIBLE_DEVICES=''"), std::string::npos) << text;
}

TEST_F(EndProcessGpuTest, HostDriverHidesGpusWithoutInitialisingCuda) {
  ::setenv("RANKSHARE_DRIVER", "host", 1);
  child_process child("gpu look");
  ::unsetenv("RANKSHARE_DRIVER");
  EXPECT_EQ(child.talk().receive<error_kind>(), error_kind::none);
  (void)child.talk().receive_text();
  EXPECT_EQ(child.talk().receive<int>(), 0);
  EXPECT_NE(child.talk().receive_text().find("RANKSHARE_DRIVER=host"), std::string::npos);
  EXPECT_EQ(child.talk().receive<error_kind>(), error_kind::not_supported);
}

}  // namespace
}  // namespace rankshare::test
