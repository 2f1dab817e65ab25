// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <rankshare/mpi/agreement.hpp>
#include <rankshare/mpi/board.hpp>
#include <rankshare/mpi/communicator_state.hpp>
#include <rankshare/mpi/error.hpp>
#include <rankshare/mpi/node_communicator.hpp>
#include <support/throws.hpp>

namespace rankshare::test {
namespace {

using mpi::detail::agree;
using mpi::detail::contribution;
using mpi::detail::operation;

class BoardTest : public testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator_);
    mpi::node_communicator const maker(communicator_);
    state_ = mpi::detail::communicator_state::find(communicator_);
  }
  void TearDown() override {
    state_.reset();
    MPI_Comm_free(&communicator_);
  }
  mpi::detail::board& meeting() { return state_->meeting(); }

  static std::vector<std::byte> bytes_of(std::string const& text) {
    std::vector<std::byte> bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
  }
  contribution saying(std::string const& text) const {
    return {operation::share, error_kind::none, bytes_of(text)};
  }

  int rank_ = -1;
  int size_ = 0;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::shared_ptr<mpi::detail::communicator_state> state_;
};

TEST_F(BoardTest, EveryRankReadsWhatEveryOtherContributedInThousandsOfRounds) {
  for (int round = 0; round < 2000; ++round) {
    auto const text = [&](int rank) {
      return "round " + std::to_string(round) + " of rank " + std::to_string(rank);
    };
    ASSERT_TRUE(meeting().round(saying(text(rank_)), std::nullopt));
    for (int peer = 0; peer < size_; ++peer) ASSERT_EQ(meeting().read(peer).text(), text(peer));
  }
}

TEST_F(BoardTest, ARoundIsABarrier) {
  std::vector<int> flags(static_cast<std::size_t>(size_));
  for (int round = 1; round <= 500; ++round) {
    ASSERT_TRUE(meeting().round(saying(std::to_string(round)), std::nullopt));
    for (int peer = 0; peer < size_; ++peer) {
      ASSERT_EQ(meeting().read(peer).text(), std::to_string(round));
    }
  }
}

TEST_F(BoardTest, AFullMailboxTravelsAndATooLargeContributionIsAnError) {
  std::string const full(mpi::detail::mailbox_bytes, static_cast<char>('a' + rank_ % 26));
  ASSERT_TRUE(meeting().round(saying(full), std::nullopt));
  for (int peer = 0; peer < size_; ++peer) {
    EXPECT_EQ(meeting().read(peer).text(),
              std::string(mpi::detail::mailbox_bytes, static_cast<char>('a' + peer % 26)));
  }
  EXPECT_TRUE(throws<invalid_argument>([&] { meeting().round(saying(full + "x"), std::nullopt); },
                                       "a mailbox holds"));
  ASSERT_TRUE(meeting().round(saying("still in step"), std::nullopt));
}

TEST_F(BoardTest, TheFailureOfAnyRankIsThatOfAllAndTheNextRoundIsWhole) {
  for (int culprit = 0; culprit < size_; ++culprit) {
    auto const local = [&]() -> std::vector<std::byte> {
      if (rank_ == culprit) throw closed_error("the door is closed");
      return {};
    };
    auto const call = [&] { agree(meeting(), operation::share, std::nullopt, local); };
    if (rank_ == culprit) {
      EXPECT_TRUE(throws<closed_error>(call, "the door is closed"));
    } else {
      EXPECT_TRUE(throws<mpi::remote_error>(call, "rank " + std::to_string(culprit), "closed_error",
                                            "the door is closed"));
    }
    EXPECT_TRUE(meeting().round(saying("next"), std::nullopt));
  }
}

TEST_F(BoardTest, WhereSeveralFailEachThrowsItsOwnAndTheOthersNameTheFirst) {
  if (size_ < 2) return;
  auto const local = [&]() -> std::vector<std::byte> {
    if (rank_ > 0) throw std::runtime_error("reason of rank " + std::to_string(rank_));
    return {};
  };
  auto const call = [&] { agree(meeting(), operation::share, std::nullopt, local); };
  if (rank_ == 0) {
    EXPECT_TRUE(throws<mpi::remote_error>(call, "rank 1", "reason of rank 1"));
  } else {
    EXPECT_THROW(call(), std::runtime_error);
  }
}

TEST_F(BoardTest, ARecordThatFitsNoMailboxIsTheFailureOfItsRank) {
  auto const local = [&] {
    return std::vector<std::byte>(rank_ == 0 ? mpi::detail::mailbox_bytes + 1 : 1);
  };
  auto const call = [&] { agree(meeting(), operation::share, std::nullopt, local); };
  if (rank_ == 0) {
    EXPECT_TRUE(throws<invalid_argument>(call, "bytes of a mailbox"));
  } else {
    EXPECT_TRUE(throws<mpi::remote_error>(call, "rank 0", "bytes of a mailbox"));
  }
  EXPECT_TRUE(meeting().round(saying("next"), std::nullopt));
}

TEST_F(BoardTest, AVeryLongErrorTextIsCutNotLost) {
  std::string const text(20'000, 'e');
  auto const local = [&]() -> std::vector<std::byte> {
    if (rank_ == 0) throw closed_error(text);
    return {};
  };
  auto const call = [&] { agree(meeting(), operation::share, std::nullopt, local); };
  if (rank_ == 0) {
    EXPECT_TRUE(throws<closed_error>(call));
  } else {
    EXPECT_TRUE(throws<mpi::remote_error>(call, std::string(4000, 'e')));
  }
}

TEST_F(BoardTest, AfterItBrokeEveryCallThrowsAtOnceOnEveryRank) {
  if (rank_ == 0) meeting().break_up(error_kind::other, "rank 0 has had enough");
  MPI_Barrier(MPI_COMM_WORLD);
  for (int call = 0; call < 3; ++call) {
    EXPECT_TRUE(
        throws<mpi::broken_communicator>([&] { meeting().round(saying("anybody?"), std::nullopt); },
                                         "rank 0 has had enough", "make a new one"));
  }
}

TEST_F(BoardTest, BreakingItEndsTheWaitsOfTheOthers) {
  if (size_ < 2) return;
  if (rank_ == 0) {
    meeting().break_up(error_kind::capture, "not today");
  } else {
    try {
      meeting().round(saying("waiting"), std::nullopt);
      ADD_FAILURE() << "it throws nothing";
    } catch (mpi::remote_error const& thrown) {  // it waited
      EXPECT_EQ(thrown.rank(), 0);
      EXPECT_EQ(thrown.remote_kind(), error_kind::capture);
    } catch (mpi::broken_communicator const& thrown) {  // it came late
      EXPECT_NE(std::string(thrown.what()).find("not today"), std::string::npos);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace rankshare::test
