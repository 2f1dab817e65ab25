// SPDX-License-Identifier: Apache-2.0
// Descriptors that are wrong, foreign or stale: rank 0 makes them, every other rank imports them.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <rankshare/base/unique_fd.hpp>
#include <rankshare/ipc/buffer_descriptor.hpp>
#include <rankshare/ipc/pool_descriptor.hpp>
#include <rankshare/mpi/board_file.hpp>
#include <rankshare/mpi/communicator_state.hpp>
#include <rankshare/mpi/exchange.hpp>
#include <support/node_fixture.hpp>
#include <support/throws.hpp>

namespace rankshare::test {
namespace {

using record = std::vector<std::byte>;

class ExchangeTest : public node_fixture {
 protected:
  void SetUp() override {
    node_fixture::SetUp();
    state_ = mpi::detail::communicator_state::find(MPI_COMM_WORLD);
    traffic_.emplace(state_);
    if (rank_ == 0) {
      memory_.emplace();
      mine_ = memory_->allocate(10'000, *stream_);
      write_pattern(mine_, 0);
    }
  }
  void TearDown() override {
    MPI_Barrier(MPI_COMM_WORLD);  // nobody imports any more
    traffic_.reset();
    state_.reset();
    mine_.close();
    memory_.reset();
    node_fixture::TearDown();
  }

  // What rank 0 publishes, on every rank.
  record published() {
    record bytes(pool_descriptor::byte_count + buffer_descriptor::byte_count);
    if (rank_ == 0) bytes = traffic_->publish(mine_);
    MPI_Bcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
    return bytes;
  }

  buffer import(record const& bytes) { return traffic_->import_buffer(0, bytes, *stream_); }

  template <class Expected, class... Words>
  void expect_refused(record const& bytes, Words const&... words) {
    if (rank_ == 0) return;
    traffic_->begin();
    auto const mapped = checked_.live_objects();
    EXPECT_TRUE(throws<Expected>([&] { import(bytes); }, words...));
    traffic_->undo();
    EXPECT_EQ(checked_.live_objects(), mapped);
  }

  static pool_descriptor::fields pool_in(record const& bytes) {
    return pool_descriptor::from_bytes(bytes.data(), pool_descriptor::byte_count).content();
  }
  static buffer_descriptor::fields buffer_in(record const& bytes) {
    return buffer_descriptor::from_bytes(bytes.data() + pool_descriptor::byte_count,
                                         buffer_descriptor::byte_count)
        .content();
  }
  static record rewritten(pool_descriptor::fields const& pool,
                          buffer_descriptor::fields const& of_pool) {
    record bytes;
    for (auto const byte : pool_descriptor(pool).bytes()) bytes.push_back(byte);
    for (auto const byte : buffer_descriptor(of_pool).bytes()) bytes.push_back(byte);
    return bytes;
  }

  std::shared_ptr<mpi::detail::communicator_state> state_;
  std::optional<mpi::detail::exchange> traffic_;
  std::optional<host_memory_resource> memory_;
  buffer mine_;
};

TEST_F(ExchangeTest, TheRightBytesGiveTheBuffer) {
  auto const bytes = published();
  if (rank_ == 0) return;
  EXPECT_TRUE(has_pattern(import(bytes), 0, 10'000));
}

TEST_F(ExchangeTest, ZerosAreRefused) {
  expect_refused<invalid_descriptor>(record(published().size()), "pool descriptor");
}

TEST_F(ExchangeTest, EveryTruncationIsRefused) {
  auto const bytes = published();
  for (std::size_t count = 0; count < bytes.size(); ++count) {
    expect_refused<invalid_descriptor>(
        record(bytes.begin(), bytes.begin() + static_cast<long>(count)), "bytes");
  }
}

TEST_F(ExchangeTest, TooManyBytesAreRefused) {
  auto bytes = published();
  bytes.push_back(std::byte{0});
  expect_refused<invalid_descriptor>(bytes, "bytes");
}

TEST_F(ExchangeTest, RandomBytesAreRefused) {
  auto bytes = published();
  std::mt19937_64 random(1);
  for (int round = 0; round < 1000; ++round) {
    for (auto& byte : bytes) byte = static_cast<std::byte>(random() & 0xFF);
    expect_refused<invalid_descriptor>(bytes);
  }
}

// A changed byte is refused, or it stands where nothing is read, or makes the buffer smaller.
TEST_F(ExchangeTest, NoChangedByteGivesOtherMemory) {
  auto const bytes = published();
  if (rank_ == 0) return;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    auto changed = bytes;
    changed[at] ^= std::byte{0x41};
    try {
      auto const mapped = import(changed);
      ASSERT_LE(mapped.size(), mapped.capacity()) << "byte " << at;
      ASSERT_LE(mapped.capacity(), 12'288U) << "byte " << at;
      if (buffer_in(changed).offset != 0) continue;
      if (mapped.size() > 10'000) continue;  // to the end of its last page
      ASSERT_TRUE(has_pattern(mapped, 0, mapped.size())) << "byte " << at;
    } catch (invalid_descriptor const&) {
    } catch (stale_descriptor const&) {
    }
  }
}

TEST_F(ExchangeTest, OtherVersionsAreRefused) {
  auto bytes = published();
  for (std::size_t const version_at : {std::size_t{4}, pool_descriptor::byte_count + 4}) {
    auto other = bytes;
    other[version_at] = std::byte{9};
    expect_refused<invalid_descriptor>(other, "version 9", "version 1",
                                       "link all ranks with the same rankshare");
  }
}

TEST_F(ExchangeTest, ALargerSizeThanTheAllocationIsRefused) {
  auto const bytes = published();
  auto of_pool = buffer_in(bytes);
  of_pool.size = 10'000'000;
  expect_refused<invalid_descriptor>(rewritten(pool_in(bytes), of_pool), "10000000 bytes", "12288");
  of_pool.size = 10'000;
  of_pool.offset = 4096;
  expect_refused<invalid_descriptor>(rewritten(pool_in(bytes), of_pool), "offset 4096");
}

TEST_F(ExchangeTest, ADescriptorOfAnotherJobIsRefused) {
  auto const bytes = published();
  auto pool = pool_in(bytes);
  pool.pid = 1;
  expect_refused<invalid_descriptor>(rewritten(pool, buffer_in(bytes)), "process 1", "this job");
  pool = pool_in(bytes);
  pool.host.boot = uuid::random();
  expect_refused<invalid_descriptor>(rewritten(pool, buffer_in(bytes)), "this job");
}

TEST_F(ExchangeTest, ABufferOfAnotherPoolIsRefused) {
  auto const bytes = published();
  auto of_pool = buffer_in(bytes);
  of_pool.pool = uuid::random();
  expect_refused<invalid_descriptor>(rewritten(pool_in(bytes), of_pool), "pool");
}

TEST_F(ExchangeTest, AnInventedPoolUuidIsStale) {
  auto const bytes = published();
  auto pool = pool_in(bytes);
  auto of_pool = buffer_in(bytes);
  pool.pool = of_pool.pool = uuid::random();
  expect_refused<stale_descriptor>(rewritten(pool, of_pool));
}

TEST_F(ExchangeTest, AKindThatIsNotServedIsRefused) {
  auto const bytes = published();
  auto pool = pool_in(bytes);
  pool.kind = memory_kind::device;
  expect_refused<not_supported>(rewritten(pool, buffer_in(bytes)), "no GPU to reach it with");
}

TEST_F(ExchangeTest, AClosedBufferIsStale) {
  auto const bytes = published();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_ == 0) mine_.close();
  MPI_Barrier(MPI_COMM_WORLD);
  expect_refused<stale_descriptor>(bytes, "rank 0", "closed the buffer");
}

TEST_F(ExchangeTest, AReusedPlaceIsStaleAndTheNewBufferIsNot) {
  auto const old_bytes = published();
  MPI_Barrier(MPI_COMM_WORLD);
  auto const former = mine_.handle();
  if (rank_ == 0) {
    mine_.close();
    mine_ = memory_->allocate(10'000, *stream_);
    write_pattern(mine_, 1);
  }
  EXPECT_EQ(mine_.handle(), former);
  auto const new_bytes = published();

  expect_refused<stale_descriptor>(old_bytes, "closed the buffer");
  if (rank_ != 0) {
    EXPECT_TRUE(has_pattern(import(new_bytes), 1, 10'000));
  }
}

TEST_F(ExchangeTest, FilesOnTheFormerNumbersOfAClosedPoolAreNeverMapped) {
  auto const bytes = published();
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<unique_fd> others;
  if (rank_ == 0) {
    mine_.close();
    memory_.reset();
    for (int i = 0; i < 100; ++i) others.emplace_back(::memfd_create("other", MFD_CLOEXEC));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  expect_refused<stale_descriptor>(bytes, "rank 0", "closed the pool");
}

// The lease says that the pool lives, but another file stands under the number.
TEST_F(ExchangeTest, AnotherFileUnderTheNumberIsNeverMapped) {
  unique_fd const other(::memfd_create("other", MFD_CLOEXEC));
  host_memory_resource second;
  for (int const fd : {other.get(), second.allocation_handle().fd()}) {
    auto const bytes = published();
    int number = fd;
    MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    auto pool = pool_in(bytes);
    pool.fd = number;
    expect_refused<stale_descriptor>(rewritten(pool, buffer_in(bytes)), "closed pool");
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(ExchangeTest, ANumberThatIsNotOpenIsStale) {
  auto const bytes = published();
  auto pool = pool_in(bytes);
  pool.fd = 100'000;
  expect_refused<stale_descriptor>(rewritten(pool, buffer_in(bytes)), "100000", "not open there");
}

// The number of a board's own descriptor: closing a copy of it would drop this rank's lock.
TEST_F(ExchangeTest, TheNumberOfABoardIsRefusedAndTheImporterStaysAliveForAll) {
  int board_fd = -1;
  for (int fd = 3; fd < 1000; ++fd) {
    char target[64] = "";
    auto const length =
        ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, sizeof target - 1);
    if (length > 0 && std::string(target).find("rankshare-board") != std::string::npos) {
      board_fd = fd;
    }
  }
  ASSERT_GE(board_fd, 0);
  MPI_Bcast(&board_fd, 1, MPI_INT, 0, MPI_COMM_WORLD);
  auto const bytes = published();
  auto pool = pool_in(bytes);
  pool.fd = board_fd;
  expect_refused<invalid_descriptor>(rewritten(pool, buffer_in(bytes)),
                                     "board of a node communicator");
  MPI_Barrier(MPI_COMM_WORLD);
  for (int peer = 0; peer < size_; ++peer) EXPECT_FALSE(state_->meeting().is_gone(peer));
}

// The same, where the owner hides the number: what was fetched is recognised, and kept as long as
// the board.
TEST_F(ExchangeTest, AFetchedBoardIsRecognised) {
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  {
    mpi::node_communicator maker(communicator);
    maker.fence(*stream_);  // from the first round on the numbers are known
    auto const board = mpi::detail::communicator_state::find(communicator);
    unique_fd copy(::dup(board->meeting().board_fd_of(board->meeting().local_rank())));
    EXPECT_TRUE(mpi::detail::board_file::keep_if_board(copy));
    EXPECT_FALSE(copy);
    unique_fd other(::memfd_create("other", MFD_CLOEXEC));
    EXPECT_FALSE(mpi::detail::board_file::keep_if_board(other));
    EXPECT_TRUE(other);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int peer = 0; peer < size_; ++peer) EXPECT_FALSE(board->meeting().is_gone(peer));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Comm_free(&communicator);
}

}  // namespace
}  // namespace rankshare::test
