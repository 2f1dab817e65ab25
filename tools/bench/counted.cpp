// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include <rankshare/driver/host_driver.hpp>
#include <rankshare/handle/device.hpp>
#include <rankshare/handle/stream.hpp>
#include <rankshare/memory/buffer.hpp>
#include <rankshare/memory/host_memory_resource.hpp>
#include <rankshare/mpi/node_communicator.hpp>
#include <rankshare/mpi/peer_buffers.hpp>
#include <support/checked_driver.hpp>
#include <support/scoped_host_driver.hpp>

#include "tools/bench/fetch_counter.hpp"
#include "tools/bench/rank_group.hpp"
#include "tools/bench/requirements.hpp"
#include "tools/bench/topics.hpp"

namespace rankshare::bench {
namespace {

constexpr int further_buffers = 100;

/// Calls of all ranks.
struct cost {
  double fetches;
  double imports;
};

/// Shares buffers of one pool, and counts what that took since the last look.
class sharing {
 public:
  explicit sharing(rank_group const& group) : group_(group) {}

  void share_one() {
    own_.push_back(pool_.allocate(4096, stream_));
    shared_.push_back(node_.share_all(own_.back(), stream_));
  }

  cost since_last() {
    cost const found{
        group_.sum(static_cast<double>(fetch_calls() - fetches_before_)),
        group_.sum(static_cast<double>(checked_.calls("mem_pool_import_from_shareable_handle")))};
    fetches_before_ = fetch_calls();
    checked_.reset_counts();
    return found;
  }

  void close() {
    shared_.clear();
    node_.fence(stream_);
    own_.clear();
  }

 private:
  rank_group const& group_;
  host_driver inner_;
  test::checked_driver checked_{inner_};
  test::scoped_host_driver installed_{checked_};
  mpi::node_communicator node_{MPI_COMM_WORLD};
  long fetches_before_ = fetch_calls();
  stream stream_{device::host()};
  host_memory_resource pool_;
  std::vector<buffer> own_;
  std::vector<mpi::peer_buffers> shared_;
};

findings further_buffers_fetches() {
  rank_group const group;
  sharing one_pool(group);
  one_pool.share_one();
  auto const first = one_pool.since_last();
  // Counters that do not count would find what is hoped for.
  if (first.fetches == 0 || first.imports == 0) {
    throw std::runtime_error(
        "further_buffers_fetches: the first buffer of a pool was counted with " +
        std::to_string(first.fetches) + " fetches and " + std::to_string(first.imports) +
        " imports: the counters do not work");
  }
  for (int i = 0; i < further_buffers; ++i) one_pool.share_one();
  auto const further = one_pool.since_last();
  one_pool.close();
  return {1,
          {{"first_pidfd_getfd", first.fetches, "calls", {}},
           {"first_pool_imports", first.imports, "calls", {}},
           {"further_pidfd_getfd", further.fetches, "calls", {}},
           {"further_pool_imports", further.imports, "calls", {}}}};
}

}  // namespace

std::vector<measurement> counted_measurements() {
  return {{"further_buffers_fetches",
           "fetched descriptors and imported pools, all ranks together: for the first buffer of a "
           "pool of each rank, and for 100 further ones",
           8, why_no_fetch, further_buffers_fetches}};
}

}  // namespace rankshare::bench
