// SPDX-License-Identifier: Apache-2.0
// Calls before MPI_Init and after MPI_Finalize. The cases are run in this order.
#include <gtest/gtest.h>
#include <mpi.h>

#include <string>
#include <vector>

#include <rankshare/handle/stream_ref.hpp>
#include <rankshare/memory/host_memory_resource.hpp>
#include <rankshare/mpi/node_communicator.hpp>
#include <support/checked_host.hpp>
#include <support/throws.hpp>

namespace rankshare::test {
namespace {

class OutsideMpiTest : public checked_host {};

TEST_F(OutsideMpiTest, BeforeInitTheConstructorSaysSo) {
  EXPECT_TRUE(throws<invalid_argument>([] { mpi::node_communicator node(MPI_COMM_WORLD); },
                                       "making a node communicator", "MPI is not initialised",
                                       "call MPI_Init first"));
}

// MPI closes its own descriptors, so only ours count here.
TEST(OutsideMpi, AfterFinalizeEveryCallSaysSoAndClosingWorks) {
  host_driver inner;
  checked_driver checked(inner);
  scoped_host_driver const installed(checked);
  captured_log const log;
  auto const stream = stream_ref::legacy_default();
  MPI_Init(nullptr, nullptr);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm never_freed = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &never_freed);
  {
    mpi::node_communicator node(MPI_COMM_WORLD);
    mpi::node_communicator other(never_freed);
    host_memory_resource memory;
    buffer mine = memory.allocate(100, stream);
    mine.fill(static_cast<std::byte>(rank), stream);
    auto all = node.share_all(mine, stream);
    auto const from_first = other.share_from(rank == 0 ? &mine : nullptr, 0, stream);
    node.fence(stream);
    MPI_Finalize();

    auto const refused = [](auto const& call) {
      return throws<invalid_argument>(call, "MPI is finalised already",
                                      "call this before MPI_Finalize");
    };
    for (auto* one : {&node, &other}) {
      EXPECT_TRUE(refused([&] { one->fence(stream); }));
      EXPECT_TRUE(refused([&] { one->share(memory); }));
      EXPECT_TRUE(refused([&] { one->share_all(mine, stream); }));
      EXPECT_TRUE(refused([&] { one->share_from(rank == 0 ? &mine : nullptr, 0, stream); }));
      EXPECT_EQ(one->rank(), rank);
    }
    EXPECT_TRUE(refused([] { mpi::node_communicator again(MPI_COMM_WORLD); }));
    for (int peer = 0; peer < node.size(); ++peer) {
      EXPECT_EQ(all.pointer<unsigned char>(peer)[99], peer);
    }
  }
  EXPECT_EQ(checked.live_total(), 0U);
  EXPECT_EQ(checked.violations(), std::vector<std::string>{});
  auto const left = footprint::now();
  for (auto const& [what, count] : left.held()) {
    EXPECT_EQ(what.find("rankshare"), std::string::npos) << count << " " << what;
  }
  EXPECT_EQ(log.text(), "");
}

}  // namespace
}  // namespace rankshare::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
