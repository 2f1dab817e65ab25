// SPDX-License-Identifier: Apache-2.0
// Legal programs that would stand still if MPI made no progress while rankshare waits.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <functional>
#include <vector>

#include <mpi/failures/failure_fixture.hpp>

namespace rankshare::test {
namespace {

class ProgressTest : public failure_fixture, public testing::WithParamInterface<std::size_t> {
 protected:
  // Rank 0 begins to send to all others, and calls; they receive, and then call.
  void send_around(std::function<void()> const& call, bool is_synchronous = false) const {
    std::size_t const bytes = GetParam();
    std::vector<unsigned char> data(bytes, rank_ == 0 ? 0x5A : 0);
    if (rank_ == 0) {
      std::vector<MPI_Request> requests(static_cast<std::size_t>(size_), MPI_REQUEST_NULL);
      for (int peer = 1; peer < size_; ++peer) {
        (is_synchronous ? MPI_Issend : MPI_Isend)(data.data(), static_cast<int>(bytes), MPI_BYTE,
                                                  peer, 3, communicator_,
                                                  &requests[static_cast<std::size_t>(peer)]);
      }
      call();
      MPI_Waitall(size_, requests.data(), MPI_STATUSES_IGNORE);
    } else {
      MPI_Recv(data.data(), static_cast<int>(bytes), MPI_BYTE, 0, 3, communicator_,
               MPI_STATUS_IGNORE);
      call();
      EXPECT_EQ(data.front(), 0x5A);
      EXPECT_EQ(data.back(), 0x5A);
    }
  }
};

TEST_P(ProgressTest, AMessageArrivesWhileItsSenderFences) {
  build_board();
  mpi::node_communicator node(communicator_);
  send_around([&] { node.fence(stream()); });
  send_around([&] { node.fence(stream()); }, true);
}

TEST_P(ProgressTest, AMessageArrivesWhileItsSenderShares) {
  build_board();
  mpi::node_communicator node(communicator_);
  send_around([&] { expect_sharing_works(node); });
}

TEST_P(ProgressTest, AMessageArrivesWhileItsSenderMakesANodeCommunicator) {
  send_around([&] { mpi::node_communicator const first(communicator_); }, true);
  send_around([&] { mpi::node_communicator const second(communicator_); }, true);
}

INSTANTIATE_TEST_SUITE_P(Bytes, ProgressTest,
                         testing::Values(std::size_t{1}, std::size_t{1} << 20,
                                         std::size_t{64} << 20),
                         [](auto const& given) { return std::to_string(given.param); });

}  // namespace
}  // namespace rankshare::test
