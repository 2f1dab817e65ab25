// SPDX-License-Identifier: Apache-2.0
// One rank fails inside a collective, at every call of its driver in turn.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>

#include <mpi/failures/failure_fixture.hpp>

namespace rankshare::test {
namespace {

enum class place { first, last };

void PrintTo(place given, std::ostream* out) { *out << (given == place::first ? "first" : "last"); }

class DriverFailureTest : public failure_fixture, public testing::WithParamInterface<place> {
 protected:
  using collective = std::function<void(mpi::node_communicator&, buffer&)>;

  int culprit() const { return GetParam() == place::first ? 0 : size_ - 1; }

  // Makes `call` with a new pool, of which the culprit's driver fails the n-th call.
  // @return whether it succeeded
  bool try_with_failure(std::size_t nth, collective const& call) {
    mpi::node_communicator node(communicator_);
    host_memory_resource memory;
    checked_.hold_back(true);  // so that there is work to wait for
    buffer mine = make_buffer(memory, rank_);
    if (rank_ == culprit()) checked_.fail_call(call_counter::any_call, nth);
    bool const succeeded = expect_failure_or_success(node, mine, call);
    checked_.cancel_failure();
    checked_.hold_back(false);
    EXPECT_EQ(checked_.live_objects().at("imports"), 0U) << "call " << nth;
    // The same buffer again, on the same node communicator.
    EXPECT_NO_THROW(call(node, mine)) << "call " << nth;
    node.fence(stream());
    return succeeded;
  }

  void fail_every_call(std::size_t at_least, collective const& call) {
    build_board();
    std::size_t nth = 1;
    while (!try_with_failure(nth, call)) {
      ASSERT_TRUE(nothing_left_since(*built_)) << "call " << nth;
      ASSERT_LT(++nth, 1000U);
    }
    EXPECT_GT(nth, at_least);
    // Giving something back never throws: where a call is needed for it, its failure is reported.
    expect_reports();
    for (auto const& report : log_.reports()) {
      EXPECT_EQ(report.text.rfind("following the end of an import: planted failure", 0), 0U)
          << report.text;
    }
  }

 private:
  bool expect_failure_or_success(mpi::node_communicator& node, buffer& mine,
                                 collective const& call) const {
    bool succeeded = false;
    auto const note_success = [&] {
      call(node, mine);
      succeeded = true;
      throw out_of_memory("planted failure of nothing", 0);  // what the checks below accept
    };
    if (rank_ == culprit()) {
      EXPECT_TRUE(throws<out_of_memory>(note_success, "planted failure"));
      return succeeded;
    }
    auto const result =
        throws_remote(culprit(), error_kind::out_of_memory, note_success, "planted failure");
    EXPECT_TRUE(succeeded || result) << result.message();
    return succeeded;
  }
};

TEST_P(DriverFailureTest, InShareAll) {
  fail_every_call(6, [&](mpi::node_communicator& node, buffer& mine) {
    auto all = node.share_all(mine, stream());
    for (int rank = 0; rank < size_; ++rank) expect_bytes(all[rank], rank);
    node.fence(stream());
  });
}

TEST_P(DriverFailureTest, InShareFromThisRank) {
  fail_every_call(3, [&](mpi::node_communicator& node, buffer& mine) {
    int const root = culprit();
    auto const one = node.share_from(rank_ == root ? &mine : nullptr, root, stream());
    expect_bytes(one, root);
    node.fence(stream());
  });
}

TEST_P(DriverFailureTest, InShareFromAnotherRank) {
  fail_every_call(3, [&](mpi::node_communicator& node, buffer& mine) {
    int const root = (culprit() + 1) % size_;
    auto const one = node.share_from(rank_ == root ? &mine : nullptr, root, stream());
    expect_bytes(one, root);
    node.fence(stream());
  });
}

TEST_P(DriverFailureTest, InFence) {
  fail_every_call(3, [&](mpi::node_communicator& node, buffer&) { node.fence(stream()); });
}

// What is thrown need not be ours, nor an exception at all.
TEST_P(DriverFailureTest, ForeignExceptionsAreErrorsOfAll) {
  build_board();
  mpi::node_communicator node(communicator_);
  for (char const* const function : {"mem_pool_export_pointer", "mem_pool_import_pointer"}) {
    host_memory_resource memory;
    buffer mine = make_buffer(memory, rank_);
    auto const share = [&] { node.share_all(mine, stream()); };
    if (rank_ == culprit()) {
      checked_.fail_call(function, 1, [] { throw std::domain_error("somebody else's text"); });
      EXPECT_THROW(share(), std::domain_error);
      checked_.fail_call(function, 1, [] { throw 7; });
      EXPECT_THROW(share(), int);
    } else {
      EXPECT_TRUE(throws_remote(culprit(), error_kind::other, share, "somebody else's text"));
      EXPECT_TRUE(throws_remote(culprit(), error_kind::other, share));
    }
    EXPECT_EQ(checked_.live_objects().at("imports"), 0U);
    expect_sharing_works(node);
  }
}

INSTANTIATE_TEST_SUITE_P(Culprit, DriverFailureTest, testing::Values(place::first, place::last),
                         [](auto const& given) {
                           return given.param == place::first ? "First" : "Last";
                         });

}  // namespace
}  // namespace rankshare::test
