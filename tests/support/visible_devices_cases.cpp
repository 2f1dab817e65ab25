// SPDX-License-Identifier: Apache-2.0
// Ranks that see GPUs differently. The same cases run on emulated devices (tests/mpi) and on GPUs
// (tests/mpi_gpu); the program is started for each of them with --visible=, which each rank obeys
// before it looks for GPUs:
//   none_on_last  the last rank sees none
//   swapped       odd ranks see two GPUs in the other order
//   one_each      rank r sees GPU r modulo 2 only
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>
#include <string>
#include <vector>

#include <rankshare/handle/device.hpp>
#include <rankshare/handle/stream.hpp>
#include <rankshare/memory/device_memory_resource.hpp>
#include <rankshare/memory/host_memory_resource.hpp>
#include <rankshare/mpi/error.hpp>
#include <rankshare/mpi/node_communicator.hpp>
#include <rankshare/mpi/peer_buffers.hpp>
#include <support/throws.hpp>

namespace rankshare::test {
namespace {

std::string visible() {
  for (auto const& argument : testing::internal::GetArgvs()) {
    if (argument.rfind("--visible=", 0) == 0) return argument.substr(10);
  }
  return {};
}

class VisibleDevicesTest : public testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    if (visible() == "none_on_last" && rank_ == size_ - 1) hide("");
    if (visible() == "swapped") hide(rank_ % 2 == 0 ? "0,1" : "1,0");
    if (visible() == "one_each") hide(rank_ % 2 == 0 ? "0" : "1");
    int mine = device::count();
    MPI_Allreduce(&mine, &most_, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &fewest_, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (most_ == 0) GTEST_SKIP() << "no GPU: " << device::why_no_gpu();
  }

  static void hide(char const* all_but) { ::setenv("CUDA_VISIBLE_DEVICES", all_but, 1); }

  // Every rank fills a buffer on its first GPU and reads those of all.
  void share_and_compare() const {
    mpi::node_communicator node(MPI_COMM_WORLD);
    auto const where = device::gpu(0);
    stream const order(where);
    device_memory_resource const memory(where);
    auto mine = memory.allocate(1000, order);
    mine.fill(std::byte(rank_ + 1), order);
    auto const all = node.share_all(mine, order);
    host_memory_resource const host;
    for (int peer = 0; peer < size_; ++peer) {
      auto copy = host.allocate(1000);
      all[peer].copy_to(copy, order);
      order.synchronize();
      EXPECT_EQ(copy.as<char>()[999], peer + 1);
    }
    node.fence(order);
  }

  int rank_ = -1;
  int size_ = 0;
  int most_ = 0;
  int fewest_ = 0;
};

TEST_F(VisibleDevicesTest, RanksReadEachOther) {
  if (visible() == "none_on_last") return;
  if (visible() == "swapped" && fewest_ < 2) GTEST_SKIP() << "fewer than two GPUs";
  if (visible() == "one_each" && fewest_ < 1) GTEST_SKIP() << "fewer than two GPUs";
  share_and_compare();
}

TEST_F(VisibleDevicesTest, ARankThatSeesNoGpuSaysSoOnAll) {
  if (visible() != "none_on_last") return;
  if (size_ == 1) return;
  mpi::node_communicator node(MPI_COMM_WORLD);
  bool const sees_none = rank_ == size_ - 1;
  EXPECT_EQ(node.device().is_host(), sees_none);
  stream const order(node.device());
  host_memory_resource const host;
  auto const mine =
      sees_none ? host.allocate(10) : device_memory_resource(node.device()).allocate(10, order);
  auto const share = [&] { node.share_all(mine, order); };
  if (sees_none) {
    EXPECT_TRUE(throws<not_supported>(share, "no GPU to reach it with", "CUDA_VISIBLE_DEVICES"));
  } else {
    EXPECT_TRUE(throws<mpi::remote_error>(share, "rank " + std::to_string(size_ - 1),
                                          "no GPU to reach it with"));
  }
  node.fence(order);
}

}  // namespace
}  // namespace rankshare::test
