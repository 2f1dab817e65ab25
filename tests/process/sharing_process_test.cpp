// SPDX-License-Identifier: Apache-2.0
// Two processes share a pool: what each sees, also when the other goes at a bad moment.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include <rankshare/base/error.hpp>
#include <rankshare/base/process.hpp>
#include <rankshare/memory/host_memory_resource.hpp>
#include <support/child_process.hpp>
#include <support/fd_limit.hpp>
#include <support/leftovers.hpp>
#include <support/throws.hpp>

namespace rankshare {
namespace {

using test::channel;
using test::child_process;
using test::throws;

constexpr std::size_t size = 10000;

// What an exporter tells of one buffer.
struct announcement {
  pid_t pid;
  int fd;
  uuid pool;
  buffer_descriptor::bytes_type descriptor;
};

announcement announce(host_memory_resource const& memory, buffer const& mine) {
  return {::getpid(), memory.allocation_handle().fd(), memory.uuid(),
          mine.ipc_descriptor().bytes()};
}

allocation_handle fetch(announcement const& from) {
  auto const pidfd = open_pidfd(from.pid);
  return {fetch_fd(pidfd.get(), from.fd, from.pid), from.pool};
}

buffer import(host_memory_resource const& through, announcement const& from) {
  return buffer::from_ipc_descriptor(
      through, buffer_descriptor::from_bytes(from.descriptor.data(), from.descriptor.size()),
      stream_ref::legacy_default());
}

void write_value(buffer const& target, int value) {
  std::memset(target.data(), value, target.size());
}

bool has_value(buffer const& source, int value) {
  auto const* const bytes = source.as<std::byte>();
  return std::all_of(bytes, bytes + source.size(),
                     [&](std::byte byte) { return byte == std::byte(value); });
}

// What the exporter is told to do next.
enum class command : int {
  check_value_2,
  free_buffer,
  close_and_open_memfds,
  close_and_open_pools
};

// Exports a buffer that is full of 1.
int run_exporter(channel& parent) {
  std::optional<host_memory_resource> memory(std::in_place, host_memory_resource::options{1 << 20});
  auto mine = memory->allocate(size);
  write_value(mine, 1);
  int const fd = memory->allocation_handle().fd();
  parent.send(announce(*memory, mine));
  std::vector<host_memory_resource> pools;
  for (;;) {
    switch (parent.receive<command>()) {
      case command::check_value_2:
        parent.send(has_value(mine, 2));
        break;
      case command::free_buffer:
        mine.close();
        parent.send(true);
        break;
      case command::close_and_open_memfds:
        mine.close();
        memory.reset();
        for (int i = 0; i < 100; ++i) ::memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        parent.send(::fcntl(fd, F_GETFD) >= 0);
        break;
      case command::close_and_open_pools:
        mine.close();
        memory.reset();
        for (int i = 0; i < 20; ++i) pools.push_back(host_memory_resource({1 << 20}));
        parent.send(::fcntl(fd, F_GETFD) >= 0);
        break;
    }
  }
}

// Imports what the parent announces, says so, and writes 3 to it when told to.
int run_importer(channel& parent) {
  auto const from = parent.receive<announcement>();
  auto const memory = host_memory_resource::from_allocation_handle(fetch(from));
  auto const seen = import(memory, from);
  parent.send(has_value(seen, 1));
  parent.receive<int>();
  write_value(seen, 3);
  parent.send(0);
  parent.receive<int>();
  return 0;
}

test::role const exporter_role("exporter", run_exporter);
test::role const importer_role("importer", run_importer);

bool tell(child_process& child, command what) {
  child.talk().send(what);
  return child.talk().receive<bool>();
}

class SharingProcessTest : public testing::Test {
 protected:
  void TearDown() override {
    exporter_.reset();
    EXPECT_TRUE(test::nothing_left_since(before_));
  }

  void start_exporter() {
    exporter_.emplace("exporter");
    from_ = exporter_->talk().receive<announcement>();
    with_exporter_ = test::footprint::now();
  }

  // Everything of the import is given back, whatever came of it.
  void expect_nothing_left() const { EXPECT_TRUE(test::nothing_left_since(*with_exporter_)); }

  test::footprint before_ = test::footprint::now();
  std::optional<child_process> exporter_;
  std::optional<test::footprint> with_exporter_;
  announcement from_{};
};

TEST_F(SharingProcessTest, ImporterReadsAndWritesBack) {
  start_exporter();
  {
    auto const memory = host_memory_resource::from_allocation_handle(fetch(from_));
    auto const seen = import(memory, from_);
    EXPECT_EQ(memory.uuid(), from_.pool);
    EXPECT_EQ(seen.size(), size);
    EXPECT_TRUE(has_value(seen, 1));
    write_value(seen, 2);
    EXPECT_TRUE(tell(*exporter_, command::check_value_2));
  }
  expect_nothing_left();
}

TEST_F(SharingProcessTest, FreedBufferIsStale) {
  start_exporter();
  {
    auto const memory = host_memory_resource::from_allocation_handle(fetch(from_));
    ASSERT_TRUE(tell(*exporter_, command::free_buffer));
    EXPECT_TRUE(throws<stale_descriptor>([&] { import(memory, from_); }, "its owner has freed it"));
  }
  expect_nothing_left();
}

TEST_F(SharingProcessTest, OtherMemfdsUnderTheSameNumberAreStaleAndNotMapped) {
  start_exporter();
  ASSERT_TRUE(tell(*exporter_, command::close_and_open_memfds)) << "the number is not in use again";
  EXPECT_TRUE(
      throws<stale_descriptor>([&] { host_memory_resource::from_allocation_handle(fetch(from_)); },
                               "its owner has closed pool " + to_string(from_.pool)));
  expect_nothing_left();
}

TEST_F(SharingProcessTest, OtherPoolsUnderTheSameNumberAreStaleAndNotMapped) {
  start_exporter();
  ASSERT_TRUE(tell(*exporter_, command::close_and_open_pools)) << "the number is not in use again";
  EXPECT_TRUE(
      throws<stale_descriptor>([&] { host_memory_resource::from_allocation_handle(fetch(from_)); },
                               "its owner has closed pool " + to_string(from_.pool)));
  expect_nothing_left();
}

TEST_F(SharingProcessTest, NumberThatIsClosedIsStale) {
  start_exporter();
  from_.fd = 1000;
  EXPECT_TRUE(throws<stale_descriptor>([&] { fetch(from_); }, "file descriptor 1000",
                                       std::to_string(from_.pid)));
  expect_nothing_left();
}

TEST_F(SharingProcessTest, ExporterMayDieBeforeTheFetch) {
  start_exporter();
  auto const pidfd = open_pidfd(from_.pid);
  exporter_->kill();
  EXPECT_TRUE(has_exited(pidfd.get()));
  EXPECT_TRUE(throws<rankshare::system_error>([&] { fetch_fd(pidfd.get(), from_.fd, from_.pid); },
                                              "process " + std::to_string(from_.pid),
                                              "the process has ended"));
  EXPECT_TRUE(throws<rankshare::system_error>([&] { open_pidfd(from_.pid); }, "it has ended"));
}

TEST_F(SharingProcessTest, ExporterMayDieBeforeTheImport) {
  start_exporter();
  auto const handle = fetch(from_);
  exporter_->kill();
  auto const memory = host_memory_resource::from_allocation_handle(handle);
  EXPECT_TRUE(has_value(import(memory, from_), 1));
}

TEST_F(SharingProcessTest, MappingOutlivesAKilledExporter) {
  start_exporter();
  auto const memory = host_memory_resource::from_allocation_handle(fetch(from_));
  auto const seen = import(memory, from_);
  exporter_->kill();
  EXPECT_TRUE(has_value(seen, 1));
  write_value(seen, 2);
  EXPECT_TRUE(has_value(import(memory, from_), 2));
}

TEST_F(SharingProcessTest, NoDescriptorsLeftIsAnErrorThatNamesTheRemedy) {
  start_exporter();
  // The pidfd, the fetched one and the copy that the import keeps.
  for (int left = 0; left < 3; ++left) {
    auto const thrown = test::run_with_fds_left(
        left, [&] { host_memory_resource::from_allocation_handle(fetch(from_)); });
    ASSERT_NE(thrown, nullptr) << left;
    EXPECT_TRUE(
        throws<rankshare::system_error>([&] { std::rethrow_exception(thrown); }, "ulimit -n"))
        << left;
    expect_nothing_left();
  }
  EXPECT_NO_THROW(host_memory_resource::from_allocation_handle(fetch(from_)));
}

class SurvivingExporterProcessTest : public testing::Test {
 protected:
  void SetUp() override {
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // for Yama: the child reaches into its parent
    write_value(mine_, 1);
    importer_.talk().send(announce(memory_, mine_));
    ASSERT_TRUE(importer_.talk().receive<bool>());
  }

  host_memory_resource memory_{{1 << 20}};
  buffer mine_ = memory_.allocate(size);
  child_process importer_{"importer"};
};

TEST_F(SurvivingExporterProcessTest, ImporterWritesIntoIt) {
  importer_.talk().send(0);
  importer_.talk().receive<int>();
  EXPECT_TRUE(has_value(mine_, 3));
  importer_.talk().send(0);
  EXPECT_EQ(importer_.wait(), 0);
}

TEST_F(SurvivingExporterProcessTest, KilledImporterIsNoHarm) {
  importer_.kill();
  EXPECT_TRUE(has_value(mine_, 1));
  auto const address = mine_.handle();
  mine_.close();
  EXPECT_EQ(memory_.allocate(size).handle(), address);
}

}  // namespace
}  // namespace rankshare
