// SPDX-License-Identifier: Apache-2.0
// Which device a rank is given. Apart from other tests: it makes this process look for GPUs.
#include <gtest/gtest.h>
#include <mpi.h>

#include <rankshare/base/uuid.hpp>
#include <rankshare/handle/device.hpp>
#include <rankshare/mpi/node_communicator.hpp>

namespace rankshare::test {
namespace {

TEST(NodeDeviceTest, IsAGpuOfThisRankOrTheHostAndTheDescriptionSaysWhich) {
  mpi::node_communicator const node(MPI_COMM_WORLD);
  int const gpus = device::count();
  if (gpus == 0) {
    EXPECT_EQ(node.device(), device::host());
    EXPECT_NE(node.description().find("host memory, no GPU: " + device::why_no_gpu()),
              std::string::npos)
        << node.description();
  } else {
    EXPECT_EQ(node.device(), device::gpu(node.local_rank() % gpus));
    EXPECT_NE(node.description().find(to_string(node.device().uuid())), std::string::npos)
        << node.description();
  }
}

}  // namespace
}  // namespace rankshare::test
