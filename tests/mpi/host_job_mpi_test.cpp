// SPDX-License-Identifier: Apache-2.0
// A job that shares host memory only.
#include <gtest/gtest.h>
#include <mpi.h>

#include <fstream>
#include <string>

#include <rankshare/driver/cuda_driver.hpp>
#include <rankshare/handle/stream.hpp>
#include <rankshare/memory/host_memory_resource.hpp>
#include <rankshare/mpi/node_communicator.hpp>

namespace rankshare::test {
namespace {

bool maps_the_cuda_driver() {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    if (line.find("libcuda.so") != std::string::npos) return true;
  }
  return false;
}

TEST(HostJobTest, LeavesCudaAlone) {
  mpi::node_communicator node(MPI_COMM_WORLD);
  EXPECT_NE(node.description().find("GPUs not looked for yet"), std::string::npos);
  host_memory_resource const memory;
  for (int i = 0; i < 10; ++i) {
    stream const order(memory.device());
    auto mine = memory.allocate(5000, order);
    mine.fill(std::byte(node.rank()), order);
    auto const all = node.share_all(mine, stream_ref::legacy_default());
    for (int rank = 0; rank < node.size(); ++rank) EXPECT_EQ(all.pointer<char>(rank)[4999], rank);
    node.fence(stream_ref::per_thread_default());
    mine.close(stream_ref::legacy_default());
  }
  EXPECT_FALSE(detail::cuda_driver_was_asked_for());
  EXPECT_FALSE(maps_the_cuda_driver());
}

}  // namespace
}  // namespace rankshare::test
