// SPDX-License-Identifier: Apache-2.0
#include <rankshare/mpi/peer_buffers.hpp>

#include <string>
#include <utility>

#include <rankshare/base/error.hpp>

namespace rankshare::mpi {

peer_buffers::peer_buffers(std::vector<buffer> buffers, std::vector<bool> reachable)
    : buffers_(std::move(buffers)), reachable_(std::move(reachable)) {}

bool peer_buffers::is_reachable(int rank) const {
  if (rank < 0 || rank >= size()) {
    throw invalid_argument("looking up the buffer of rank " + std::to_string(rank) +
                           ": there are " + std::to_string(size()) +
                           " entries; pass a rank of the communicator, before close()");
  }
  return reachable_[static_cast<std::size_t>(rank)];
}

void peer_buffers::check(int rank) const {
  if (is_reachable(rank)) return;
  throw not_supported(
      "looking up the buffer of rank " + std::to_string(rank) +
      ": it is on another node, whose memory cannot be mapped; send the data by MPI");
}

buffer const& peer_buffers::operator[](int rank) const {
  check(rank);
  return buffers_[static_cast<std::size_t>(rank)];
}

buffer& peer_buffers::operator[](int rank) {
  check(rank);
  return buffers_[static_cast<std::size_t>(rank)];
}

void peer_buffers::close() noexcept {
  buffers_.clear();
  reachable_.clear();
}

}  // namespace rankshare::mpi
