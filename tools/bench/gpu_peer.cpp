// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>
#include <unistd.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <rankshare/base/process.hpp>
#include <rankshare/base/unique_fd.hpp>
#include <rankshare/handle/device.hpp>
#include <rankshare/handle/kernels.hpp>
#include <rankshare/handle/stream.hpp>
#include <rankshare/memory/buffer.hpp>
#include <rankshare/memory/device_memory_resource.hpp>
#include <rankshare/mpi/node_communicator.hpp>
#include <rankshare/mpi/peer_buffers.hpp>

#include "tools/bench/alternation.hpp"
#include "tools/bench/gpu_kernels.hpp"
#include "tools/bench/rank_group.hpp"
#include "tools/bench/raw_cuda.hpp"
#include "tools/bench/topics.hpp"

// Note [Reading a peer's memory]
//
// Rank 1 reads memory of rank 0, both on GPU 0: through the mapping that the library made, and
// through one that was made with calls of the driver alone. Both lie in pools made alike. Several
// readings are enqueued at a time, so that the bandwidth counts and not the start of each.

namespace rankshare::bench {
namespace {

constexpr int repetitions = 31;
constexpr unsigned blocks = 1056;
constexpr unsigned threads = 256;

/// Memory of rank 0 that rank 1 has mapped by calls of the driver.
class raw_mapping {
 public:
  raw_mapping(rank_group const& group, std::size_t bytes) {
    struct {
      int pid;
      int fd;
      pointer_payload payload;
    } offer{};
    if (group.rank() == 0) {
      offer = {::getpid(), pool_.fd(), pool_.payload_of(pool_.allocate(bytes))};
    }
    MPI_Bcast(&offer, sizeof offer, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (group.rank() == 0) return;
    auto const owner = open_pidfd(offer.pid);
    auto const fd = fetch_fd(owner.get(), offer.fd, offer.pid);
    address_ = pool_.import_from(fd.get(), offer.payload);
  }

  device_pointer address() const { return address_; }

 private:
  raw_pool pool_;
  device_pointer address_ = 0;
};

/// What both ways of reading need on the reading rank.
struct reader {
  reader(std::size_t size, int times) : bytes(size), readings(times) {}

  std::size_t bytes;
  int readings;
  stream order{device::gpu(0)};
  device_memory_resource memory{device::gpu(0), {false, 0}};
  buffer target = memory.allocate(bytes, order);
  buffer sums = memory.allocate(std::size_t{blocks} * threads * sizeof(unsigned), order);
  kernel_module loaded{device::gpu(0), kernels::gpu_kernels_image()};
  kernel read_all = loaded.find("read_all");
};

class reading_side final : public side {
 public:
  reading_side(std::string name, reader* by, device_pointer from, bool by_kernel)
      : side(std::move(name)), by_(by), from_(from), by_kernel_(by_kernel) {}

  int operations() const override { return by_ != nullptr ? by_->readings : 1; }

  void run() override {
    if (by_ == nullptr) return;  // the rank that owns the memory
    for (int i = 0; i < by_->readings; ++i) read_once();
    by_->order.synchronize();
  }

 private:
  void read_once() {
    if (by_kernel_) {
      by_->read_all.launch(by_->order, {{blocks, 1, 1}, {threads, 1, 1}, 0}, from_, by_->bytes / 16,
                           by_->sums.handle());
    } else {
      device::gpu(0).driver().memcpy_async(by_->target.handle(), from_, by_->bytes,
                                           by_->order.native_handle());
    }
  }

  reader* by_;
  device_pointer from_;
  bool by_kernel_;
};

value bandwidth(series const& of, std::size_t bytes) {
  if (of.seconds.empty()) return {};
  return {of.name, static_cast<double>(bytes) / summarize(of.seconds).median * 1e-9, "GB/s",
          std::nullopt};
}

findings peer_read(std::size_t bytes, int readings) {
  rank_group const group;
  raw_mapping const raw(group, bytes);
  mpi::node_communicator node(MPI_COMM_WORLD);
  stream const order(device::gpu(0));
  device_memory_resource const pool(device::gpu(0));
  buffer mine = pool.allocate(group.rank() == 0 ? bytes : 0, order);
  auto shared = node.share_all(mine, order);
  std::optional<reader> here;
  if (group.rank() != 0) here.emplace(bytes, readings);
  auto* const by = here ? &*here : nullptr;
  auto const ours_at = shared[0].handle();
  reading_side copy("copy", by, ours_at, false), raw_copy("raw_copy", by, raw.address(), false);
  reading_side kernel("kernel", by, ours_at, true),
      raw_kernel("raw_kernel", by, raw.address(), true);
  // Apart, so that each side follows one of its own kind: a copy leaves the caches otherwise than a
  // kernel does.
  auto const copies = alternate(group, {&copy, &raw_copy}, repetitions);
  auto const kernels = alternate(group, {&kernel, &raw_kernel}, repetitions);
  findings found{repetitions, {}};
  for (auto const* const pair : {&copies, &kernels}) {
    for (auto const& one : *pair) found.values.push_back(bandwidth(one, bytes));
  }
  found.values.push_back(ratio_of("copy_ratio", copies[1], copies[0]));
  found.values.push_back(ratio_of("kernel_ratio", kernels[1], kernels[0]));
  here.reset();
  shared.close();
  node.fence(order);
  return found;
}

}  // namespace

std::vector<measurement> gpu_peer_measurements() {
  auto const read = [](char const* name, std::size_t mib, int readings) {
    return measurement{std::string("gpu_peer_read_") + name,
                       "copying, and reading by a kernel, out of a peer's buffer on the same GPU; "
                       "beside it through a mapping made by calls of the driver alone",
                       2, why_no_gpu, [=] { return peer_read(mib << 20, readings); }};
  };
  return {read("1m", 1, 400), read("64m", 64, 100), read("1g", 1024, 16)};
}

}  // namespace rankshare::bench
