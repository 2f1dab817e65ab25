// SPDX-License-Identifier: Apache-2.0
#include <rankshare/mpi/exchange.hpp>

#include <algorithm>
#include <string>

#include <rankshare/base/error.hpp>
#include <rankshare/base/log.hpp>
#include <rankshare/handle/device.hpp>
#include <rankshare/handle/stream_order.hpp>
#include <rankshare/ipc/registry.hpp>
#include <rankshare/memory/allocation.hpp>
#include <rankshare/memory/buffer_access.hpp>
#include <rankshare/memory/pool_resource_state.hpp>

namespace rankshare::mpi::detail {
namespace {

using rankshare::detail::buffer_access;
using rankshare::detail::shared_pool;

template <class Bytes>
void append(std::vector<std::byte>& record, Bytes const& bytes) {
  record.insert(record.end(), bytes.begin(), bytes.end());
}

// Steps are described only where they are reported.
template <class Describe>
void trace(Describe const& describe) {
  if (current_log_level() < log_level::trace) return;
  rankshare::detail::log(log_level::trace, describe());
}

// Devices travel as UUIDs. Where this process does not see the GPU, another one of its own may
// reach the memory: the driver tells when it is granted access.
device device_of(pool_descriptor::fields const& content) {
  if (content.kind == memory_kind::host) return device::host();
  if (auto const same = device::find_gpu(content.device)) return *same;
  if (device::count() > 0) return device::gpu(0);
  throw not_supported("importing pool " + to_string(content.pool) + " of GPU " +
                      to_string(content.device) +
                      ": this rank has no GPU to reach it with: " + device::why_no_gpu());
}

// The driver imports a pool of a GPU that this process does not see, and only use shows whether its
// memory is reached.
void check_reached(buffer const& imported, pool_descriptor::fields const& content,
                   stream_ref stream) {
  if (content.kind != memory_kind::device || imported.size() == 0) return;
  auto const where = buffer_access::state(imported)->where();
  if (where.uuid() == content.device) return;
  try {
    std::byte seen{};
    rankshare::detail::stream_order const order(stream, where);
    where.driver().memcpy_async(reinterpret_cast<device_pointer>(&seen), imported.handle(), 1,
                                order.handle());
    rankshare::detail::wait_for(stream, where);
  } catch (error const& failure) {
    throw not_supported("importing a buffer of GPU " + to_string(content.device) +
                        ", which this rank does not see, through " + where.description() + ": " +
                        failure.what() +
                        "; let CUDA_VISIBLE_DEVICES name both GPUs on this rank, or place the "
                        "ranks on GPUs that reach each other");
  }
}

}  // namespace

pool_descriptor exchange::describe(shared_pool& source) {
  auto const& self = state_->record(state_->rank());
  pool_descriptor::fields content;
  content.pool = source.id();
  content.kind = source.kind();
  content.host = self.host();
  content.pid = self.pid;
  content.start_time = self.start_time;
  content.fd = source.handle().fd();
  content.device = source.where().uuid();
  content.granularity = static_cast<std::uint32_t>(source.granularity());
  content.lease = source.leases().in(state_->meeting().leases());
  return pool_descriptor(content);
}

std::vector<std::byte> exchange::publish(pool_memory_resource const& resource) {
  auto const& source = resource.source();
  if (source->is_mapped()) {
    throw mapped_resource_error("sharing pool " + to_string(source->id()) +
                                ": it belongs to another process; share it from there");
  }
  std::vector<std::byte> record;
  append(record, describe(*source).bytes());
  return record;
}

std::vector<std::byte> exchange::publish(buffer const& shared) {
  auto const descriptor = shared.ipc_descriptor();  // throws if it is closed
  auto const& allocation = buffer_access::state(shared);
  if (allocation->is_mapped()) {
    throw not_shareable("sharing a buffer of pool " + to_string(descriptor.pool_id()) +
                        ": it belongs to another process; share it from there");
  }
  auto const leased = descriptor.with_lease(allocation->leases()->in(state_->meeting().leases()));
  std::vector<std::byte> record;
  append(record, describe(*rankshare::detail::pool_of(shared)).bytes());
  append(record, leased.bytes());
  return record;
}

void exchange::check_sender(int local_rank, pool_descriptor::fields const& content) const {
  int const rank = state_->meeting().member(local_rank).rank;
  auto const& sender = state_->record(rank);
  if (content.pid == sender.pid && content.start_time == sender.start_time &&
      content.host == sender.host()) {
    return;
  }
  throw invalid_descriptor("importing pool " + to_string(content.pool) + " from rank " +
                           std::to_string(rank) + ": the descriptor names process " +
                           std::to_string(content.pid) + ", and that rank is process " +
                           std::to_string(sender.pid) +
                           "; send descriptors of this job as their owners made them");
}

void exchange::check_current(int local_rank, lease const& published, char const* what) const {
  auto& meeting = state_->meeting();
  if (meeting.view_of(local_rank).is_current(published)) return;
  throw stale_descriptor(std::string("importing a buffer of rank ") +
                         std::to_string(meeting.member(local_rank).rank) +
                         ": its owner has closed the " + what +
                         " since it was shared; keep it open until the importers are done");
}

exchange::known_pool& exchange::enter(int local_rank, pool_descriptor const& descriptor) {
  auto const& content = descriptor.content();
  check_sender(local_rank, content);
  new_pools_.reserve(new_pools_.size() + 1);
  auto const [entry, is_new] =
      pools_.try_emplace(content.pool, known_pool{local_rank, content.lease, nullptr, {}});
  auto& known = entry->second;
  if (is_new) {
    new_pools_.push_back(content.pool);
    return known;
  }
  if (known.local_rank != local_rank || known.published.slot != content.lease.slot ||
      known.published.generation != content.lease.generation) {
    throw invalid_descriptor(
        "importing pool " + to_string(content.pool) + ": rank " +
        std::to_string(state_->meeting().member(local_rank).rank) +
        " describes it otherwise than before; send descriptors as their owners "
        "made them");
  }
  return known;
}

void exchange::remember_pool(int local_rank, std::vector<std::byte> const& record) {
  enter(local_rank, pool_descriptor::from_bytes(record.data(), record.size()));
}

exchange::known_pool& exchange::map_pool(int local_rank, pool_descriptor const& descriptor) {
  auto& known = enter(local_rank, descriptor);
  if (known.pool != nullptr) return known;
  auto const& content = descriptor.content();
  int const rank = state_->meeting().member(local_rank).rank;
  if (content.fd == state_->meeting().board_fd_of(local_rank)) {
    throw invalid_descriptor("importing pool " + to_string(content.pool) + ": file descriptor " +
                             std::to_string(content.fd) + " of rank " + std::to_string(rank) +
                             " is the board of a node communicator, not a pool; send the "
                             "descriptor as its owner made it");
  }
  mapped_pools_.push_back(content.pool);
  known.pool = rankshare::detail::registry::find_or_import(
      content.pool, device_of(content), content.kind, [&] {
        auto const& owner = state_->record(rank);
        // A rank that holds its lock lives, so its pid is its own.
        if (transport_.connect(owner) && state_->meeting().is_gone(local_rank)) {
          throw stale_descriptor("importing pool " + to_string(content.pool) + ": rank " +
                                 std::to_string(rank) + " has ended");
        }
        auto fetched = transport_.fetch(owner, content.fd);
        // The rank still has the pool, so what was fetched is the pool.
        check_current(local_rank, content.lease, "pool");
        trace([&] {
          return "fetched pool " + to_string(content.pool) + " of rank " + std::to_string(rank) +
                 " by " + fd_transport::name;
        });
        return allocation_handle(std::move(fetched), content.pool);
      });
  return known;
}

// A pool is reached by the GPU that it is on; the GPU that works on `stream` may be another.
void exchange::grant_access(known_pool& known, stream_ref stream) const {
  auto& pool = *known.pool;
  if (pool.kind() != memory_kind::device) return;
  auto const* const state = stream.state();
  auto const& meeting = state_->meeting();
  int const local = state != nullptr && !state->where().is_host()
                        ? state->where().id()
                        : meeting.local_rank() % pool.where().driver().device_count();
  if (local == pool.where().id() || known.granted.count(local) != 0) return;
  try {
    pool.driver_pool().set_access(local, true);
  } catch (error const& failure) {
    throw not_supported(
        "importing pool " + to_string(pool.id()) + ": GPU " + std::to_string(local) +
        " of this rank does not reach the memory of GPU " + std::to_string(pool.where().id()) +
        " (" + failure.what() +
        "); place the ranks on GPUs that reach each other, see nvidia-smi topo -p2p "
        "r");
  }
  known.granted.insert(local);
}

buffer exchange::import_buffer(int local_rank, std::vector<std::byte> const& record,
                               stream_ref stream) {
  auto const split = std::min(record.size(), pool_descriptor::byte_count);
  auto const pool = pool_descriptor::from_bytes(record.data(), split);
  auto const wanted = buffer_descriptor::from_bytes(record.data() + split, record.size() - split);
  check_current(local_rank, pool.content().lease, "pool");
  check_current(local_rank, wanted.content().lease, "buffer");
  auto& known = map_pool(local_rank, pool);
  grant_access(known, stream);
  auto mapped = rankshare::detail::import_from_pool(known.pool, wanted, stream);
  check_current(local_rank, wanted.content().lease, "buffer");
  check_reached(mapped, pool.content(), stream);
  trace([&] {
    return "mapped " + std::to_string(mapped.size()) + " bytes of rank " +
           std::to_string(state_->meeting().member(local_rank).rank) + ", pool " +
           to_string(wanted.pool_id());
  });
  return mapped;
}

void exchange::begin() {
  new_pools_.clear();
  mapped_pools_.clear();
  for (auto entry = pools_.begin(); entry != pools_.end();) {
    auto const& known = entry->second;
    bool const current = state_->meeting().view_of(known.local_rank).is_current(known.published);
    entry = current ? std::next(entry) : pools_.erase(entry);
  }
}

void exchange::undo() noexcept {
  for (auto const& id : mapped_pools_) {
    if (auto const entry = pools_.find(id); entry != pools_.end()) {
      entry->second.pool.reset();
      entry->second.granted.clear();
    }
  }
  for (auto const& id : new_pools_) pools_.erase(id);
  mapped_pools_.clear();
  new_pools_.clear();
}

}  // namespace rankshare::mpi::detail
