// SPDX-License-Identifier: Apache-2.0
// While somebody captures a graph, in the strictest mode, all goes on; and the capture is intact.
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>
#include <utility>

#include <gpu/gpu_fixture.hpp>
#include <rankshare/handle/stream_order.hpp>

namespace rankshare::test {
namespace {

/// Captures in a thread of its own while it lives.
class capturing_thread {
 public:
  explicit capturing_thread(device where)
      : thread_([this, where] {
          stream const order(where);
          scoped_capture capture(order.native_handle());
          begun_.set_value();
          may_end_.get_future().wait();
          was_intact_ = capture.end();
        }) {
    begun_.get_future().wait();
  }
  ~capturing_thread() { end(); }

  bool end() {
    if (thread_.joinable()) {
      may_end_.set_value();
      thread_.join();
    }
    return was_intact_;
  }

 private:
  std::promise<void> begun_;
  std::promise<void> may_end_;
  bool was_intact_ = false;
  std::thread thread_;  // last: it uses the others
};

template <class Memory>
void use_everything(device where) {
  stream const order(where);
  Memory const memory(where, {});
  auto mine = memory.allocate(1000, order);
  auto other = memory.allocate(1000);
  mine.fill(std::byte{7}, order);
  mine.copy_to(other, order);
  order.synchronize();
  EXPECT_TRUE(order.is_idle());
  detail::wait_for(order, where);
  auto const mapped = Memory::from_allocation_handle(where, memory.allocation_handle());
  auto seen = import_buffer(mapped, other, order);
  EXPECT_TRUE(is_full_of(7, seen, where));
  seen.close();
  seen = import_buffer(mapped, other, order);
  mine.close();
  EXPECT_NO_THROW(memory.allocate(1000, order));
}

class CapturesGpuTest : public gpu_fixture {
 protected:
  device_memory_resource make() const { return device_memory_resource(where(), {true, 32 * mib}); }
};

TEST_F(CapturesGpuTest, EverythingWorksWhileThisThreadCaptures) {
  stream const capturing(where());
  scoped_capture capture(capturing.native_handle());
  use_everything<device_memory_resource>(where());
  use_everything<pinned_memory_resource>(where());
  EXPECT_TRUE(capture.end());
}

TEST_F(CapturesGpuTest, EverythingWorksWhileAnotherThreadCaptures) {
  capturing_thread other(where());
  use_everything<device_memory_resource>(where());
  use_everything<pinned_memory_resource>(where());
  EXPECT_TRUE(other.end());
}

TEST_F(CapturesGpuTest, CapturingStreamIsRefusedWhereItCannotServe) {
  auto const memory = make();
  stream const capturing(where());
  scoped_capture capture(capturing.native_handle());
  auto const expect_refused = [](auto const& call) {
    EXPECT_TRUE(throws<capture_error>(call, "capturing a graph"));
  };
  expect_refused([&] { memory.allocate(1000, capturing); });
  expect_refused([&] { memory.allocate(0, capturing); });
  expect_refused([&] { memory.allocate(1000, capturing.native_handle()); });
  expect_refused([&] { capturing.synchronize(); });
  expect_refused([&] { (void)capturing.is_idle(); });
  expect_refused([&] { detail::wait_for(capturing, where()); });
  expect_refused([&] { host_memory_resource().allocate(1).fill(std::byte{1}, capturing); });
  EXPECT_TRUE(capture.end());
  EXPECT_NO_THROW(memory.allocate(1000, capturing));
}

// A capture on a stream that waits for the legacy default stream.
TEST_F(CapturesGpuTest, LegacyStreamIsRefusedWhileItWouldSpoilACapture) {
  scoped_context const current(raw_cuda::primary_context());
  auto const memory = make();
  auto* const blocking = raw_cuda::make_blocking_stream();
  scoped_capture capture(blocking);
  EXPECT_TRUE(throws<capture_error>([&] { memory.allocate(1, stream_ref::legacy_default()); }));
  EXPECT_TRUE(
      throws<capture_error>([&] { detail::wait_for(stream_ref::legacy_default(), where()); }));
  EXPECT_TRUE(capture.end());
  raw_cuda::destroy_stream(blocking);
}

TEST_F(CapturesGpuTest, WorkOnTheCapturingStreamGoesIntoTheGraph) {
  auto const memory = make();
  auto mine = memory.allocate(1000);
  fill(mine, 1);
  stream const capturing(where());
  scoped_capture capture(capturing.native_handle());
  mine.fill(std::byte{2}, capturing);
  EXPECT_TRUE(is_full_of(1, mine));
  EXPECT_TRUE(capture.end());
  EXPECT_TRUE(is_full_of(1, mine)) << "the graph was never launched";
}

// One case: the report comes once in a process.
TEST_F(CapturesGpuTest, BufferClosesWhileItsStreamCapturesWithOneReport) {
  expect_reports();
  auto const memory = make();
  auto const mapped = import_pool(memory);
  stream const capturing(where());
  auto mine = memory.allocate(16 * mib, capturing);
  auto other = memory.allocate(16 * mib);
  capturing.synchronize();
  fill(other, 3);
  auto seen = import_buffer(mapped, other, capturing);
  scoped_capture capture(capturing.native_handle());
  mine.close();
  EXPECT_NE(log_.text().find("whose stream is capturing a graph"), std::string::npos)
      << log_.text();
  EXPECT_NO_THROW(memory.allocate(16 * mib));
  EXPECT_TRUE(is_full_of(3, seen));
  seen.close();
  seen = import_buffer(mapped, other, stream(where()));
  EXPECT_TRUE(is_full_of(3, seen));
  EXPECT_EQ(log_.reports().size(), 1U) << log_.text();
  EXPECT_TRUE(capture.end());
}

}  // namespace
}  // namespace rankshare::test
