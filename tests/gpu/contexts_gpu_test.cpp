// SPDX-License-Identifier: Apache-2.0
// Which CUDA context is current, if any, matters to default streams alone, and nothing changes it.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>

#include <gpu/gpu_fixture.hpp>
#include <rankshare/driver/cuda_driver.hpp>
#include <rankshare/handle/stream_order.hpp>
#include <support/checked_driver.hpp>
#include <support/scoped_gpu_driver.hpp>

namespace rankshare::test {
namespace {

// Does something that must leave the current context as it is.
template <class Call>
auto watched(char const* what, Call const& call) {
  struct check {
    ~check() { EXPECT_EQ(raw_cuda::current_context(), before) << what; }
    char const* what;
    CUctx_st* before;
  } const at_end{what, raw_cuda::current_context()};
  return call();
}

template <class Memory>
Memory import_same(Memory const& owner) {
  return Memory::from_allocation_handle(owner.device(), owner.allocation_handle());
}

// Each public operation once.
template <class Memory>
void use_everything(device where) {
  stream order = watched("make a stream", [&] { return stream(where); });
  auto memory = watched("make a resource", [&] { return Memory(where, {}); });
  auto mine = watched("allocate on a stream", [&] { return memory.allocate(1000, order); });
  auto other = watched("allocate", [&] { return memory.allocate(1000); });
  watched("fill", [&] { mine.fill(std::byte{7}, order); });
  watched("copy", [&] { mine.copy_to(other, order); });
  watched("synchronize", [&] { order.synchronize(); });
  watched("wait", [&] { detail::wait_for(order, where); });
  watched("describe", [&] { (void)mine.ipc_descriptor(); });
  auto mapped = watched("import a pool", [&] { return import_same(memory); });
  auto seen = watched("import a buffer", [&] { return import_buffer(mapped, other, order); });
  watched("read", [&] { EXPECT_TRUE(is_full_of(7, seen, where)); });
  watched("close an import", [&] { seen.close(); });
  watched("close a mapped resource", [&] { mapped.close(); });
  watched("close a buffer", [&] { mine.close(); });
  watched("close a buffer of the pool's stream", [&] { other.close(); });
  watched("close a resource", [&] { memory.close(); });
  watched("close a stream", [&] { order.close(); });
}

void use_everything_of_both_kinds(device where) {
  use_everything<device_memory_resource>(where);
  use_everything<pinned_memory_resource>(where);
}

class ContextsGpuTest : public gpu_fixture {
 protected:
  device_memory_resource make() const { return device_memory_resource(where(), {true, 32 * mib}); }
};

TEST_F(ContextsGpuTest, EverythingWorksWithoutACurrentContext) {
  use_everything_of_both_kinds(where());
}

TEST_F(ContextsGpuTest, EverythingWorksUnderAForeignContext) {
  foreign_context const current;
  use_everything_of_both_kinds(where());
}

TEST_F(ContextsGpuTest, EverythingWorksUnderThePrimaryContext) {
  scoped_context const current(raw_cuda::primary_context());
  use_everything_of_both_kinds(where());
}

TEST_F(ContextsGpuTest, StreamOfAForeignContextServes) {
  auto const memory = make();
  auto const mapped = import_pool(memory);
  foreign_context const current;
  auto* const handle = raw_cuda::make_stream();
  raw_cuda::pop();
  {
    auto mine = memory.allocate(1000, handle);
    mine.fill(std::byte{3}, handle);
    detail::wait_for(handle, where());
    auto seen = import_buffer(mapped, mine, handle);
    EXPECT_TRUE(is_full_of(3, seen));
    seen.close();
    seen = import_buffer(mapped, mine, handle);
    EXPECT_TRUE(is_full_of(3, seen));
    EXPECT_EQ(raw_cuda::current_context(), nullptr);
  }
  raw_cuda::push(current.handle());
  raw_cuda::destroy_stream(handle);
}

TEST_F(ContextsGpuTest, DefaultStreamsWithoutAContextChangeNothing) {
  checked_driver checked(detail::cuda_driver());
  scoped_gpu_driver const installed(checked);
  device_memory_resource const memory(device::gpu(0), {true, 32 * mib});
  auto mine = memory.allocate(1000);
  auto other = memory.allocate(1000);
  auto const mapped = import_pool(memory);
  auto const before = checked.live_objects();
  for (auto const token : {stream_ref::legacy_default(), stream_ref::per_thread_default()}) {
    auto const expect_refused = [&](auto const& call) {
      EXPECT_TRUE(throws<no_context>(call, "no CUDA context is current", "pass a stream"));
      EXPECT_EQ(checked.live_objects(), before);
    };
    expect_refused([&] { memory.allocate(1000, token); });
    expect_refused([&] { memory.allocate(0, token); });
    expect_refused([&] { import_buffer(mapped, mine, token); });
    expect_refused([&] { mine.fill(std::byte{1}, token); });
    expect_refused([&] { mine.copy_to(other, token); });
    expect_refused([&] { detail::wait_for(token, device::gpu(0)); });
  }
  EXPECT_EQ(checked.violations(), std::vector<std::string>{});
}

TEST_F(ContextsGpuTest, CloseOnADefaultStreamWithoutAContextIsReportedAndDone) {
  expect_reports();
  auto const memory = make();
  auto mine = memory.allocate(32 * mib);
  mine.close(stream_ref::legacy_default());
  EXPECT_TRUE(mine.is_closed());
  EXPECT_NE(log_.text().find("no CUDA context is current"), std::string::npos) << log_.text();
  EXPECT_NE(log_.text().find("the recorded stream is used"), std::string::npos) << log_.text();
  EXPECT_NO_THROW(memory.allocate(32 * mib));
}

// Whatever is current where the buffer closes.
class DefaultStreamsGpuTest : public ContextsGpuTest {
 protected:
  /// Allocates all of a pool on each default stream, lets `close` close it, and does so again.
  template <class Close>
  void expect_free_after(Close const& close) {
    for (auto const token : {stream_ref::legacy_default(), stream_ref::per_thread_default()}) {
      auto const memory = make();
      scoped_context const current(raw_cuda::primary_context());
      auto mine = memory.allocate(32 * mib, token);
      mine.fill(std::byte{5}, token);
      detail::wait_for(token, where());
      close(mine);
      EXPECT_EQ(raw_cuda::current_context(), raw_cuda::primary_context());
      detail::wait_for(stream_ref::legacy_default(), where());
      detail::wait_for(token, where());
      EXPECT_NO_THROW(memory.allocate(32 * mib, token));
    }
  }
};

TEST_F(DefaultStreamsGpuTest, BufferClosesWhereItWasMade) {
  expect_free_after([](buffer& mine) { mine.close(); });
}

TEST_F(DefaultStreamsGpuTest, BufferClosesInAThreadWithoutAContext) {
  expect_free_after([](buffer& mine) {
    std::thread([&] {
      mine.close();
      EXPECT_EQ(raw_cuda::current_context(), nullptr);
    }).join();
  });
}

TEST_F(DefaultStreamsGpuTest, BufferClosesUnderAnotherContext) {
  expect_free_after([](buffer& mine) {
    foreign_context const other;
    mine.close();
    EXPECT_EQ(raw_cuda::current_context(), other.handle());
  });
}

TEST_F(DefaultStreamsGpuTest, BufferClosesWithoutACurrentContext) {
  expect_free_after([](buffer& mine) {
    raw_cuda::pop();
    mine.close();
    EXPECT_EQ(raw_cuda::current_context(), nullptr);
    raw_cuda::push(raw_cuda::primary_context());
  });
}

TEST_F(DefaultStreamsGpuTest, ImportsCloseInAThreadWithoutAContext) {
  auto const memory = make();
  auto mine = memory.allocate(1000);
  fill(mine, 4);
  auto const mapped = import_pool(memory);
  for (auto const token : {stream_ref::legacy_default(), stream_ref::per_thread_default()}) {
    buffer seen;
    {
      scoped_context const current(raw_cuda::primary_context());
      seen = import_buffer(mapped, mine, token);
    }
    EXPECT_TRUE(is_full_of(4, seen));
    std::thread([&] { seen.close(); }).join();
  }
}

// Host memory takes the streams of GPUs too, and waits for what is on them.
TEST_F(ContextsGpuTest, HostMemoryComesAfterTheStreamThatItIsGiven) {
  auto const memory = make();
  host_memory_resource const on_host;
  stream const order(where());
  auto source = memory.allocate(16 * mib, order);
  auto target = on_host.allocate(16 * mib, order);
  source.fill(std::byte{6}, order);
  source.copy_to(target, order);
  auto copy = on_host.allocate(16 * mib, order);
  target.copy_to(copy, order);
  EXPECT_EQ(copy.as<std::byte>()[16 * mib - 1], std::byte{6});
  stream const of_host(device::host());
  EXPECT_TRUE(throws<invalid_argument>([&] { memory.allocate(1, of_host); },
                                       "by a stream of another device",
                                       "rankshare::stream stream(resource.device())"));
  EXPECT_TRUE(throws<invalid_argument>([&] { source.fill(std::byte{1}, of_host); },
                                       "by a stream of another device"));
}

TEST_F(ContextsGpuTest, StreamMayCloseBeforeItsBuffers) {
  auto const memory = make();
  auto const mapped = import_pool(memory);
  buffer mine;
  buffer seen;
  {
    stream order(where());
    mine = memory.allocate(32 * mib, order);
    mine.fill(std::byte{2}, order);
    order.synchronize();
    seen = import_buffer(mapped, mine, order);
    order.close();
  }
  EXPECT_TRUE(test::is_full_of(2, seen, where()));
  seen.close();
  mine.close();
  EXPECT_NO_THROW(memory.allocate(32 * mib));
}

}  // namespace
}  // namespace rankshare::test
