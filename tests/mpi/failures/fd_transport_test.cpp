// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include <rankshare/mpi/fd_transport.hpp>
#include <rankshare/mpi/process_record.hpp>
#include <support/leftovers.hpp>
#include <support/throws.hpp>

namespace rankshare::test {
namespace {

using mpi::detail::fd_transport;
using mpi::detail::process_record;

// The own process stands for another rank.
class FdTransportTest : public testing::Test {
 protected:
  process_record owner_ = process_record::of_this_process();
  footprint before_ = footprint::now();
};

TEST_F(FdTransportTest, FetchesAndHoldsTheProcessOnce) {
  {
    fd_transport transport;
    EXPECT_TRUE(transport.connect(owner_));
    EXPECT_FALSE(transport.connect(owner_));
    EXPECT_TRUE(transport.fetch(owner_, STDERR_FILENO));
  }
  EXPECT_TRUE(nothing_left_since(before_));
}

// As in containers that do not share it: the pid means another process here, or none.
TEST_F(FdTransportTest, AnotherPidNamespaceIsNotSupportedAndTheRemedyIsNamed) {
  ++owner_.pid_namespace;
  fd_transport transport;
  EXPECT_TRUE(throws<not_supported>([&] { transport.fetch(owner_, STDERR_FILENO); },
                                    "process " + std::to_string(owner_.pid),
                                    "another PID namespace", "--pid=host"));
  EXPECT_TRUE(nothing_left_since(before_));
}

TEST_F(FdTransportTest, AProcessThatHasEndedIsASystemError) {
  owner_.pid = 1 << 30;  // above every pid
  fd_transport transport;
  EXPECT_TRUE(throws<system_error>([&] { transport.fetch(owner_, STDERR_FILENO); }, "has ended"));
  EXPECT_TRUE(nothing_left_since(before_));
}

TEST_F(FdTransportTest, ANumberThatIsNotOpenIsStale) {
  fd_transport transport;
  EXPECT_TRUE(throws<stale_descriptor>([&] { transport.fetch(owner_, 100'000); }, "100000",
                                       "not open there"));
}

}  // namespace
}  // namespace rankshare::test
