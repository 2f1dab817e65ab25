// SPDX-License-Identifier: Apache-2.0
/// @file
/// The buffers of all ranks, each reachable through this rank's own mapping.
#pragma once

#include <cstddef>
#include <vector>

#include <rankshare/memory/buffer.hpp>

namespace rankshare::mpi {

/// Buffers by rank. Entry r is what rank r shared; this rank's own entry is another handle to its
/// own buffer. Move-only; a moved-from one is empty.
///
/// Closing is local. Ranks of other nodes have no entry.
class RANKSHARE_EXPORT peer_buffers {
 public:
  /// Makes one without entries.
  peer_buffers() = default;
  /// Not for users: `node_communicator` makes them.
  /// @param buffers     by rank
  /// @param reachable   by rank: whether the rank is on this node
  peer_buffers(std::vector<buffer> buffers, std::vector<bool> reachable);
  peer_buffers(peer_buffers&&) noexcept = default;
  peer_buffers& operator=(peer_buffers&&) noexcept = default;

  /// @return number of ranks of the communicator; 0 if closed
  int size() const noexcept { return static_cast<int>(buffers_.size()); }
  /// @return whether `rank` is on this node, so that it has an entry
  /// @throws invalid_argument if there is no such rank
  bool is_reachable(int rank) const;

  /// @return what `rank` shared
  /// @throws invalid_argument if there is no such rank
  /// @throws not_supported    if it is on another node: send the data by MPI
  buffer const& operator[](int rank) const;
  buffer& operator[](int rank);

  /// @return address of what `rank` shared, as a pointer to `T`; null if that has size 0
  /// @throws invalid_argument if it is not aligned for `T`; otherwise as `operator[]`
  template <class T>
  T* pointer(int rank) const {
    return (*this)[rank].template as<T>();
  }

  /// Closes all entries; later calls do nothing.
  void close() noexcept;

 private:
  void check(int rank) const;

  std::vector<buffer> buffers_;
  std::vector<bool> reachable_;
};

}  // namespace rankshare::mpi
