// SPDX-License-Identifier: Apache-2.0
// Two processes share memory of one GPU, also when the other goes at a bad moment.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <system_error>

#include <gpu/fd_socket.hpp>
#include <gpu/gpu_fixture.hpp>
#include <support/child_process.hpp>

namespace rankshare::test {
namespace {

constexpr std::size_t size = 100'000;

// What an exporter tells of one buffer; the descriptor of the pool comes through a socket.
struct announcement {
  uuid pool;
  memory_kind kind;
  buffer_descriptor::bytes_type descriptor;
};

pool_memory_resource make(memory_kind kind) {
  if (kind == memory_kind::pinned) return pinned_memory_resource(device::gpu(0));
  return device_memory_resource(device::gpu(0));
}

pool_memory_resource import(announcement const& from, fd_socket& through) {
  allocation_handle const handle(through.receive(), from.pool);
  if (from.kind == memory_kind::pinned) {
    return pinned_memory_resource::from_allocation_handle(device::gpu(0), handle);
  }
  return device_memory_resource::from_allocation_handle(device::gpu(0), handle);
}

buffer import(pool_memory_resource const& through, announcement const& from, stream_ref order) {
  return buffer::from_ipc_descriptor(
      through, buffer_descriptor::from_bytes(from.descriptor.data(), from.descriptor.size()),
      order);
}

bool holds(buffer const& source, int value) {
  return static_cast<bool>(is_full_of(value, source, device::gpu(0)));
}

// Shares a buffer that is full of 1; then says what is in it, each time it is asked.
int run_exporter(channel& parent) {
  fd_socket socket(unique_fd(parent.receive<int>()));
  auto const kind = parent.receive<memory_kind>();
  auto const memory = make(kind);
  auto mine = memory.allocate(size);
  fill(mine, 1, device::gpu(0));
  parent.send(announcement{memory.uuid(), kind, mine.ipc_descriptor().bytes()});
  socket.send(memory.allocation_handle().fd());
  for (;;) {
    int const value = parent.receive<int>();
    if (value == 0) return 0;
    parent.send(holds(mine, value));
  }
}

// Imports what the parent shares, says whether it holds 1, and writes 3 when it is told to.
int run_importer(channel& parent) {
  fd_socket socket(unique_fd(parent.receive<int>()));
  auto const from = parent.receive<announcement>();
  auto const memory = import(from, socket);
  stream const order(device::gpu(0));
  auto seen = import(memory, from, order);
  parent.send(holds(seen, 1));
  parent.receive<int>();
  fill(seen, 3, device::gpu(0));
  parent.send(0);
  parent.receive<int>();
  return 0;
}

role const exporter_role("gpu exporter", run_exporter);
role const importer_role("gpu importer", run_importer);

class SharingProcessGpuTest : public gpu_fixture, public testing::WithParamInterface<memory_kind> {
 protected:
  void SetUp() override {
    gpu_fixture::SetUp();
    if (IsSkipped()) return;
    order_.emplace(where());
  }

  void start(char const* role_name) {
    auto ends = fd_socket::make_pair();
    child_.emplace(role_name);
    child_->talk().send(ends.second.number());
    socket_.emplace(std::move(ends.first));
  }

  void start_exporter() {
    start("gpu exporter");
    child_->talk().send(GetParam());
    from_ = child_->talk().receive<announcement>();
  }

  void start_importer(pool_memory_resource const& memory, buffer const& mine) {
    start("gpu importer");
    child_->talk().send(announcement{memory.uuid(), GetParam(), mine.ipc_descriptor().bytes()});
    socket_->send(memory.allocation_handle().fd());
    ASSERT_TRUE(child_->talk().receive<bool>());
  }

  std::optional<child_process> child_;
  std::optional<fd_socket> socket_;
  std::optional<stream> order_;
  announcement from_{};
};

TEST_P(SharingProcessGpuTest, ImporterReadsAndWritesWhatTheOwnerHas) {
  start_exporter();
  auto const memory = import(from_, *socket_);
  auto seen = import(memory, from_, *order_);
  EXPECT_EQ(memory.uuid(), from_.pool);
  EXPECT_EQ(seen.size(), size);
  EXPECT_TRUE(is_full_of(1, seen));
  fill(seen, 2);
  child_->talk().send(2);
  EXPECT_TRUE(child_->talk().receive<bool>());
  child_->talk().send(0);
  EXPECT_EQ(child_->wait(), 0);
}

TEST_P(SharingProcessGpuTest, MappingOutlivesAKilledExporter) {
  start_exporter();
  auto const memory = import(from_, *socket_);
  auto seen = import(memory, from_, *order_);
  child_->kill();
  EXPECT_TRUE(is_full_of(1, seen));
  fill(seen, 2);
  EXPECT_TRUE(is_full_of(2, import(memory, from_, *order_)));
}

TEST_P(SharingProcessGpuTest, ExporterMayDieBeforeTheImport) {
  start_exporter();
  allocation_handle const handle(socket_->receive(), from_.pool);
  child_->kill();
  if (GetParam() == memory_kind::pinned) {
    auto const memory = pinned_memory_resource::from_allocation_handle(where(), handle);
    EXPECT_TRUE(is_full_of(1, import(memory, from_, *order_)));
  } else {
    auto const memory = device_memory_resource::from_allocation_handle(where(), handle);
    EXPECT_TRUE(is_full_of(1, import(memory, from_, *order_)));
  }
}

TEST_P(SharingProcessGpuTest, OwnerSeesWhatAnImporterWrites) {
  auto const memory = make(GetParam());
  auto mine = memory.allocate(size);
  fill(mine, 1);
  start_importer(memory, mine);
  child_->talk().send(0);
  child_->talk().receive<int>();
  EXPECT_TRUE(is_full_of(3, mine));
  child_->talk().send(0);
  EXPECT_EQ(child_->wait(), 0);
}

TEST_P(SharingProcessGpuTest, KilledImporterIsNoHarm) {
  auto const memory = make(GetParam());
  auto mine = memory.allocate(size);
  fill(mine, 1);
  start_importer(memory, mine);
  child_->kill();
  EXPECT_TRUE(is_full_of(1, mine));
  auto const address = mine.handle();
  mine.close();
  auto next = memory.allocate(size);
  EXPECT_EQ(next.handle(), address);
  fill(next, 4);
  EXPECT_TRUE(is_full_of(4, next));
}

std::string name_of(testing::TestParamInfo<memory_kind> const& info) {
  return info.param == memory_kind::device ? "Device" : "Pinned";
}

INSTANTIATE_TEST_SUITE_P(OneGpu, SharingProcessGpuTest,
                         testing::Values(memory_kind::device, memory_kind::pinned), name_of);

}  // namespace
}  // namespace rankshare::test
