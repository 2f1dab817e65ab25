// SPDX-License-Identifier: Apache-2.0
#include <rankshare/mpi/node_communicator.hpp>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <rankshare/base/log.hpp>
#include <rankshare/base/settings.hpp>
#include <rankshare/driver/gpu_driver.hpp>
#include <rankshare/handle/stream_order.hpp>
#include <rankshare/memory/allocation.hpp>
#include <rankshare/memory/buffer_access.hpp>
#include <rankshare/mpi/agreement.hpp>
#include <rankshare/mpi/communicator_state.hpp>
#include <rankshare/mpi/construction.hpp>
#include <rankshare/mpi/exchange.hpp>
#include <rankshare/mpi/fd_transport.hpp>
#include <rankshare/mpi/mpi_call.hpp>

namespace rankshare::mpi {

using detail::operation;
using rankshare::detail::buffer_access;

struct node_communicator::implementation {
  explicit implementation(std::shared_ptr<detail::communicator_state> found)
      : state(std::move(found)), traffic(state) {}

  std::shared_ptr<detail::communicator_state> state;
  detail::exchange traffic;
  detail::board::limit longest;

  detail::board& meeting() { return state->meeting(); }
  int local_rank_of(int rank) const;
  std::string describe_device();
  std::vector<detail::contribution> receive();
  std::vector<std::byte> announce(buffer const& mine, stream_ref stream);
  template <class Local>
  void collective(operation called, Local const& local);
};

namespace {

// A limit that is wrong is this rank's failure, which it tells the others without one.
detail::board::limit limit_or_none(detail::board::limit asked_for) {
  try {
    return detail::limit_in_force(asked_for);
  } catch (invalid_argument const&) {
    return std::nullopt;
  }
}

std::shared_ptr<detail::communicator_state> find_or_construct(MPI_Comm communicator,
                                                              detail::board::limit asked_for) {
  if (auto known = detail::communicator_state::find(communicator)) {
    detail::collective_guard const guard(*known, operation::attach);
    detail::agree(known->meeting(), operation::attach, limit_or_none(asked_for), [&] {
      detail::limit_in_force(asked_for);
      return std::vector<std::byte>();
    });
    return known;
  }
  auto made = detail::construct_state(communicator, asked_for);
  detail::communicator_state::attach(communicator, made);
  return made;
}

void check_communicator(MPI_Comm communicator) {
  constexpr char doing[] = "making a node communicator";
  detail::require_active_mpi(doing);
  detail::require_mpi_thread(doing);
  if (communicator == MPI_COMM_NULL) {
    throw invalid_argument(std::string(doing) +
                           ": the communicator is MPI_COMM_NULL; pass one that "
                           "this rank belongs to");
  }
  int is_inter = 0;
  detail::check_mpi(MPI_Comm_test_inter(communicator, &is_inter), "MPI_Comm_test_inter", doing);
  if (is_inter != 0) {
    throw invalid_argument(std::string(doing) +
                           ": the communicator is an intercommunicator; merge "
                           "it with MPI_Intercomm_merge first");
  }
}

}  // namespace

node_communicator::node_communicator(MPI_Comm communicator, options const& made_with) {
  check_communicator(communicator);
  implementation_ =
      std::make_unique<implementation>(find_or_construct(communicator, made_with.timeout));
  implementation_->longest = detail::limit_in_force(made_with.timeout);
  rankshare::detail::set_log_rank(rank());
  if (current_log_level() >= log_level::info) {
    rankshare::detail::log(log_level::info, description());
  }
}

node_communicator::node_communicator(node_communicator&&) noexcept = default;
node_communicator& node_communicator::operator=(node_communicator&&) noexcept = default;
node_communicator::~node_communicator() = default;

node_communicator::implementation& node_communicator::self(char const* doing) const {
  if (implementation_ == nullptr) {
    throw closed_error(
        std::string(doing) +
        ": the node communicator has been moved from; use the one that it was moved to");
  }
  return *implementation_;
}

int node_communicator::rank() const { return self("asking for the rank").state->rank(); }
int node_communicator::size() const { return self("asking for the size").state->size(); }

int node_communicator::local_rank() const {
  return self("asking for the local rank").meeting().local_rank();
}

int node_communicator::local_size() const {
  return self("asking for the local size").meeting().local_size();
}

bool node_communicator::is_local(int rank) const {
  return self("asking whether a rank is local").local_rank_of(rank) >= 0;
}

device node_communicator::device() const {
  auto& me = self("asking for the device");
  int const gpus = rankshare::device::count();  // throws where a GPU is demanded
  return gpus > 0 ? rankshare::device::gpu(me.meeting().local_rank() % gpus)
                  : rankshare::device::host();
}

// It initialises no driver: a job on host memory leaves CUDA alone.
std::string node_communicator::implementation::describe_device() {
  if (!rankshare::detail::gpu_driver::was_asked_for()) return "GPUs not looked for yet";
  try {
    int const gpus = rankshare::device::count();
    if (gpus == 0) return "host memory, no GPU: " + rankshare::device::why_no_gpu();
    auto const mine = rankshare::device::gpu(meeting().local_rank() % gpus);
    return mine.description() + ", UUID " + to_string(mine.uuid());
  } catch (error const& failure) {
    return std::string("no GPU: ") + failure.what();
  }
}

std::string node_communicator::description() const {
  auto& me = self("describing a node communicator");
  auto const& state = *me.state;
  return "node communicator of rank " + std::to_string(rank()) + ": " +
         std::to_string(state.size()) + " ranks, " + std::to_string(local_size()) +
         " on this node; file descriptors by " + detail::fd_transport::name +
         (local_size() > 1 ? " (tried)" : " (no peer to try with)") + "; " + me.describe_device();
}

int node_communicator::implementation::local_rank_of(int rank) const {
  auto const& local = state->local_ranks();
  auto const found = std::find(local.begin(), local.end(), rank);
  return found == local.end() ? -1 : static_cast<int>(found - local.begin());
}

// The calls of a thread that may not call MPI, or on a freed communicator, still meet the others on
// the board, with their error.
template <class Local>
void node_communicator::implementation::collective(operation called, Local const& local) {
  constexpr char doing[] = "calling a collective of a node communicator";
  detail::require_active_mpi(doing);
  try {
    detail::agree(meeting(), called, longest, [&]() -> std::vector<std::byte> {
      state->check_attached(doing);
      detail::require_mpi_thread(doing);
      return local();
    });
  } catch (...) {
    traffic.undo();
    throw;
  }
}

std::vector<std::byte> node_communicator::implementation::announce(buffer const& mine,
                                                                   stream_ref stream) {
  auto record = traffic.publish(mine);
  auto const& memory = *buffer_access::state(mine);
  if (memory.order().ref() != stream) memory.order().wait(memory.where());
  rankshare::detail::wait_for(stream, memory.where());
  return record;
}

// What all ranks contributed to the round before, by local rank. Called in the local part of the
// next round, so that a failure here is one of that round.
std::vector<detail::contribution> node_communicator::implementation::receive() {
  std::vector<detail::contribution> received;
  for (int peer = 0; peer < meeting().local_size(); ++peer) {
    received.push_back(meeting().read(peer));
  }
  return received;
}

void node_communicator::share(pool_memory_resource const& resource) {
  auto& me = self("sharing a resource");
  detail::collective_guard const guard(*me.state, operation::share);
  me.traffic.begin();
  me.collective(operation::share, [&] { return me.traffic.publish(resource); });
  me.collective(operation::import_peers, [&] {
    auto const received = me.receive();
    for (int peer = 0; peer < me.meeting().local_size(); ++peer) {
      if (peer == me.meeting().local_rank()) continue;
      me.traffic.remember_pool(peer, received[static_cast<std::size_t>(peer)].payload);
    }
    return std::vector<std::byte>();
  });
}

peer_buffers node_communicator::share_all(buffer const& mine, stream_ref stream) {
  auto& me = self("sharing a buffer");
  detail::collective_guard const guard(*me.state, operation::share_all);
  me.traffic.begin();
  me.collective(operation::share_all, [&] { return me.announce(mine, stream); });
  std::vector<buffer> buffers;
  std::vector<bool> reachable;
  me.collective(operation::import_peers, [&] {
    auto const received = me.receive();
    buffers.resize(static_cast<std::size_t>(me.state->size()));
    reachable.resize(buffers.size(), false);
    for (int peer = 0; peer < me.meeting().local_size(); ++peer) {
      auto const rank = static_cast<std::size_t>(me.meeting().member(peer).rank);
      buffers[rank] = peer == me.meeting().local_rank()
                          ? buffer_access::alias(mine)
                          : me.traffic.import_buffer(
                                peer, received[static_cast<std::size_t>(peer)].payload, stream);
      reachable[rank] = true;
    }
    return std::vector<std::byte>();
  });
  return {std::move(buffers), std::move(reachable)};
}

buffer node_communicator::share_from(buffer const* mine, int root, stream_ref stream) {
  auto& me = self("sharing a buffer");
  detail::collective_guard const guard(*me.state, operation::share_from);
  me.traffic.begin();
  int const local_root = me.local_rank_of(root);
  // Every record begins with the root, so that ranks that disagree are told so.
  me.collective(operation::share_from, [&] {
    std::vector<std::byte> record(sizeof root);
    std::memcpy(record.data(), &root, sizeof root);
    if (local_root < 0) {
      throw invalid_argument(
          "sharing a buffer from rank " + std::to_string(root) +
          ": there is no such rank on this node; pass a rank of the communicator, from 0 to " +
          std::to_string(me.state->size() - 1) + ", that is on it");
    }
    if ((mine != nullptr) != (root == me.state->rank())) {
      throw invalid_argument("sharing a buffer from rank " + std::to_string(root) +
                             ": pass the buffer on that rank, and a null pointer elsewhere");
    }
    if (mine == nullptr) return record;
    auto const announced = me.announce(*mine, stream);
    record.insert(record.end(), announced.begin(), announced.end());
    return record;
  });
  buffer result;
  me.collective(operation::import_peers, [&] {
    auto const received = me.receive();
    for (int peer = 0; peer < me.meeting().local_size(); ++peer) {
      auto const& theirs = received[static_cast<std::size_t>(peer)].payload;
      int their_root = -1;
      if (theirs.size() >= sizeof root) std::memcpy(&their_root, theirs.data(), sizeof root);
      if (their_root == root) continue;
      throw invalid_argument("sharing a buffer from rank " + std::to_string(root) + ": rank " +
                             std::to_string(me.meeting().member(peer).rank) + " passed root " +
                             std::to_string(their_root) + "; pass the same root on every rank");
    }
    if (mine != nullptr) {
      result = buffer_access::alias(*mine);
    } else {
      auto const& record = received[static_cast<std::size_t>(local_root)].payload;
      result = me.traffic.import_buffer(
          local_root, {record.begin() + static_cast<long>(sizeof root), record.end()}, stream);
    }
    return std::vector<std::byte>();
  });
  return result;
}

void node_communicator::fence(stream_ref stream) {
  auto& me = self("fencing");
  detail::collective_guard const guard(*me.state, operation::fence);
  me.traffic.begin();
  me.collective(operation::fence, [&] {
    rankshare::detail::wait_for(stream, rankshare::device::host());
    return std::vector<std::byte>();
  });
}

}  // namespace rankshare::mpi
