// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include <rankshare/handle/stream.hpp>
#include <rankshare/memory/host_memory_resource.hpp>
#include <rankshare/mpi/construction.hpp>
#include <rankshare/mpi/peer_buffers.hpp>
#include <rankshare/mpi/process_record.hpp>
#include <support/checked_host.hpp>
#include <support/throws.hpp>

namespace rankshare::test {
namespace {

class PeerBuffersTest : public checked_host {
 protected:
  // Rank 1 is on another node.
  static mpi::peer_buffers of_two_nodes(host_memory_resource const& memory, stream const& work) {
    std::vector<buffer> buffers(3);
    buffers[0] = memory.allocate(16, work);
    buffers[2] = memory.allocate(0, work);
    return {std::move(buffers), {true, false, true}};
  }
};

TEST_F(PeerBuffersTest, WithoutRanksItIsEmpty) {
  mpi::peer_buffers const none;
  EXPECT_EQ(none.size(), 0);
  EXPECT_TRUE(throws<invalid_argument>([&] { none[0]; }, "rank 0", "0 entries"));
}

TEST_F(PeerBuffersTest, RanksOfOtherNodesHaveNoEntryAndTheErrorSaysWhy) {
  host_memory_resource const memory;
  stream const work(device::host());
  auto const all = of_two_nodes(memory, work);

  EXPECT_TRUE(all.is_reachable(0));
  EXPECT_FALSE(all.is_reachable(1));
  EXPECT_TRUE(throws<not_supported>([&] { all[1]; }, "rank 1", "another node", "MPI"));
  EXPECT_NE(all.pointer<char>(0), nullptr);
  EXPECT_EQ(all.pointer<char>(2), nullptr);
}

TEST_F(PeerBuffersTest, ClosingGivesAllBackAndTwiceIsOnce) {
  host_memory_resource const memory;
  stream const work(device::host());
  auto all = of_two_nodes(memory, work);
  all.close();
  all.close();
  EXPECT_EQ(all.size(), 0);
  EXPECT_EQ(checked_.live_objects().at("allocations"), 0U);
}

TEST(ConstructionTest, RanksOfOneMachineAreThoseWithItsBootId) {
  std::vector<mpi::detail::process_record> records(5);
  uuid const first = uuid::random();
  uuid const second = uuid::random();
  for (std::size_t rank : {0U, 2U, 3U}) records[rank].boot = first;
  for (std::size_t rank : {1U, 4U}) records[rank].boot = second;

  EXPECT_EQ(mpi::detail::ranks_of_same_host(records, 0), (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(mpi::detail::ranks_of_same_host(records, 3), (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(mpi::detail::ranks_of_same_host(records, 4), (std::vector<int>{1, 4}));
}

}  // namespace
}  // namespace rankshare::test
