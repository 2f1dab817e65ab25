// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include <rankshare/driver/gpu_driver.hpp>
#include <rankshare/handle/device.hpp>
#include <rankshare/handle/stream.hpp>
#include <rankshare/ipc/buffer_descriptor.hpp>
#include <rankshare/memory/buffer.hpp>
#include <rankshare/memory/device_memory_resource.hpp>
#include <support/checked_driver.hpp>

#include "tools/bench/alternation.hpp"
#include "tools/bench/batches.hpp"
#include "tools/bench/rank_group.hpp"
#include "tools/bench/raw_cuda.hpp"
#include "tools/bench/statistics.hpp"
#include "tools/bench/topics.hpp"

namespace rankshare::bench {
namespace {

/// This process stays on one core: the driver's work is short, and a move costs more. It is the one
/// on which a loop runs fastest just now: others may be busy with what this machine cannot see.
class pinned_to_one_core {
 public:
  pinned_to_one_core() {
    ::sched_getaffinity(0, sizeof before_, &before_);
    int fastest = -1;
    double least = 0;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (!CPU_ISSET(core, &before_) || !stay_on(core)) continue;
      double const seconds = time_loop();
      if (fastest >= 0 && seconds >= least) continue;
      fastest = core;
      least = seconds;
    }
    if (fastest >= 0) stay_on(fastest);
  }
  ~pinned_to_one_core() { ::sched_setaffinity(0, sizeof before_, &before_); }
  pinned_to_one_core(pinned_to_one_core const&) = delete;
  pinned_to_one_core& operator=(pinned_to_one_core const&) = delete;

 private:
  static bool stay_on(int core) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    return ::sched_setaffinity(0, sizeof one, &one) == 0;
  }

  // The median of some short runs.
  static double time_loop() {
    std::vector<double> seconds;
    for (int run = 0; run < 9; ++run) {
      auto const start = std::chrono::steady_clock::now();
      unsigned state = 1;
      for (int i = 0; i < 200'000; ++i) {
        state = state * 1664525U + 1013904223U;
        asm volatile("" : "+r"(state));
      }
      seconds.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return summarize(seconds).median;
  }

  cpu_set_t before_;
};

class allocate_close_side final : public batch_side {
 public:
  explicit allocate_close_side(std::size_t bytes) : batch_side("ours"), bytes_(bytes) {}

  void run() override {
    stream_ref const order = order_;
    for (int i = 0; i < batch; ++i) pool_.allocate(bytes_, order).close();
  }
  void finish() override { order_.synchronize(); }

 private:
  std::size_t bytes_;
  stream order_{device::gpu(0)};
  device_memory_resource pool_{device::gpu(0)};
};

class raw_side final : public batch_side {
 public:
  explicit raw_side(std::size_t bytes) : batch_side("raw"), bytes_(bytes) {}

  void run() override { pool_.allocate_and_free(bytes_, batch); }

 private:
  std::size_t bytes_;
  raw_pool pool_;
};

findings allocate_close(std::size_t bytes) {
  pinned_to_one_core const pinned;
  allocate_close_side ours(bytes);
  raw_side raw(bytes);
  auto const times = alternate(rank_group(), {&ours, &raw}, batches);
  auto found = in_nanoseconds(times, batches);
  found.values.push_back(
      {"added", found.values[0].amount - found.values[1].amount, "ns", std::nullopt});
  return found;
}

/// A buffer that this process has mapped by its descriptor, as it would one of another process.
struct mapped_buffer {
  stream order{device::gpu(0)};
  device_memory_resource owner{device::gpu(0)};
  buffer original = owner.allocate(1 << 20, order);
  device_memory_resource resource =
      device_memory_resource::from_allocation_handle(device::gpu(0), owner.allocation_handle());
  buffer_descriptor descriptor = original.ipc_descriptor();
  buffer first = buffer::from_ipc_descriptor(resource, descriptor, order);

  buffer import_again() const { return buffer::from_ipc_descriptor(resource, descriptor, order); }
};

double driver_calls_of_a_repeated_import() {
  test::checked_driver checked(device::gpu(0).driver());
  detail::replace_gpu_driver(&checked);
  std::size_t calls = 0;
  {
    mapped_buffer const mapped;
    checked.reset_counts();
    auto const again = mapped.import_again();
    calls = checked.total_calls();
  }
  detail::replace_gpu_driver(nullptr);
  if (!checked.violations().empty()) throw std::runtime_error(checked.violations().front());
  return static_cast<double>(calls);
}

findings import_repeated() {
  double const calls = driver_calls_of_a_repeated_import();
  pinned_to_one_core const pinned;
  mapped_buffer const mapped;
  import_side<mapped_buffer> import(mapped);
  auto found = in_nanoseconds(alternate(rank_group(), {&import}, batches), batches);
  found.values.push_back({"driver_calls", calls, "calls", std::nullopt});
  return found;
}

}  // namespace

std::vector<measurement> gpu_memory_measurements() {
  auto const allocate = [](char const* name, std::size_t bytes) {
    return measurement{std::string("gpu_allocate_close_") + name,
                       "allocating memory of a GPU from a shareable pool and closing the buffer, "
                       "10,000 times; beside it the two calls of the driver on a pool like it",
                       1, why_no_gpu, [bytes] { return allocate_close(bytes); }};
  };
  return {allocate("256", 256),
          allocate("1m", std::size_t{1} << 20),
          {"gpu_repeated_import",
           "buffer::from_ipc_descriptor of a buffer of a GPU that is mapped already, 10,000 times; "
           "and the calls of the driver that one takes",
           1, why_no_gpu, import_repeated}};
}

}  // namespace rankshare::bench
