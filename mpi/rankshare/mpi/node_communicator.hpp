// SPDX-License-Identifier: Apache-2.0
/// @file
/// The ranks of a communicator that share memory.
#pragma once

#include <mpi.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <rankshare/handle/device.hpp>
#include <rankshare/handle/stream_ref.hpp>
#include <rankshare/memory/buffer.hpp>
#include <rankshare/memory/pool_memory_resource.hpp>
#include <rankshare/mpi/error.hpp>
#include <rankshare/mpi/peer_buffers.hpp>

namespace rankshare::mpi {

/// What a node communicator is made with.
struct node_communicator_options {
  /// Longest wait of a collective for other ranks; none: `RANKSHARE_TIMEOUT` if that is set, else
  /// as long as they live.
  std::optional<std::chrono::milliseconds> timeout;
};

/// Lets the ranks of a communicator that are on one machine map each other's memory.
///
/// The first one made from a communicator duplicates it and builds a board for the ranks of the
/// node; both stay with the user's communicator until that is freed (at the latest in
/// `MPI_Finalize`), so that further ones are cheap. Destroying a node communicator is local; mapped
/// buffers stay.
///
/// Every failure of a collective is an error on all ranks of the node: the failing rank throws its
/// own, the others `remote_error`, and nothing stays mapped. A rank that ends while others wait for
/// it gives `peer_lost` there, and breaks the node communicator: every later call throws
/// `broken_communicator`.
///
/// @par Thread safety
/// One thread at a time; two threads in collectives of one communicator at once break it. With
/// `MPI_THREAD_SINGLE` and `MPI_THREAD_FUNNELED` only the main thread may call.
class RANKSHARE_EXPORT node_communicator {
 public:
  using options = node_communicator_options;

  /// Makes a node communicator.
  ///
  /// @param communicator an intracommunicator; stays the user's
  /// @throws invalid_argument if MPI is not initialised or already finalised, `communicator` is
  ///                          null or an intercommunicator, or an environment variable has a wrong
  ///                          value
  /// @throws not_supported    if ranks have different versions of rankshare, or cannot reach each
  ///                          other's file descriptors
  /// @throws system_error     if a rank has no file descriptors left, or may not fetch them
  /// @throws remote_error     if another rank failed
  /// @throws peer_lost        if another rank of this node has ended
  /// @throws timeout          if a limit is set and not every rank came A rank that dies before all
  ///                          have told who they are is not noticed: only a limit ends that wait.
  ///
  /// @par Collective
  /// Over `communicator`.
  explicit node_communicator(MPI_Comm communicator, options const& made_with = {});
  node_communicator(node_communicator&&) noexcept;
  node_communicator& operator=(node_communicator&&) noexcept;
  ~node_communicator();

  /// @return rank in the user's communicator
  int rank() const;
  /// @return number of ranks of the user's communicator
  int size() const;
  /// @return rank among the ranks of this node
  int local_rank() const;
  /// @return number of ranks of this node
  int local_size() const;
  /// @return whether `rank` is on this node
  bool is_local(int rank) const;
  /// @return the GPU for this rank, of those that it sees the one of its local rank; the host where
  ///         there is none (`device::why_no_gpu()` tells why). Initialises CUDA.
  /// @throws not_supported if `RANKSHARE_DRIVER=cuda` and there is no GPU
  rankshare::device device() const;
  /// @return what was chosen and why, in one line. GPUs are in it only once this process has asked
  ///         for one.
  std::string description() const;

  /// Makes a pool known to the other ranks. Maps nothing: the first buffer of it does.
  ///
  /// @param resource a pool of this rank
  /// @throws closed_error          if it is closed
  /// @throws mapped_resource_error if it belongs to another process
  /// @throws remote_error, peer_lost, timeout, broken_communicator as described above
  /// @par Collective
  /// Over the ranks of this node.
  void share(pool_memory_resource const& resource);

  /// Shares one buffer of each rank with all ranks of the node.
  ///
  /// Before the buffer is announced, the host waits for all work on `stream` so far, so that the
  /// peers see it. When this returns, every peer has mapped it. Keep the buffer open until the
  /// peers are done with it: a `fence` tells. A buffer of a GPU is mapped for the GPU of `stream`
  /// on every rank, wherever the ranks number that GPU.
  ///
  /// @param mine   this rank's buffer; size 0 is a value
  /// @param stream the stream that `mine` was allocated and written on; also orders the end of the
  ///               mappings
  /// @return the buffers of all ranks
  /// @throws closed_error  if `mine` is closed
  /// @throws not_shareable if `mine` was imported, or its memory cannot be shared
  /// @throws capture_error if `stream` is capturing a graph; the capture goes on
  /// @throws not_supported if a peer's buffer is on a GPU that no GPU of this rank reaches
  /// @throws remote_error, peer_lost, timeout, broken_communicator as described above
  /// @par Collective
  /// Over the ranks of this node.
  peer_buffers share_all(buffer const& mine, stream_ref stream);

  /// Shares a buffer of one rank with all ranks of the node.
  ///
  /// @param mine   the buffer on `root`; null elsewhere
  /// @param root   rank that shares, in the user's communicator; on this node
  /// @param stream as for `share_all`
  /// @return the buffer of `root`; on `root` another handle to `*mine`
  /// @throws invalid_argument if `root` is no rank of this node, not the same on all ranks, or
  ///                          `mine` is null on `root` or given elsewhere
  /// @throws closed_error, not_shareable, remote_error, peer_lost, timeout, broken_communicator as
  ///         `share_all`
  /// @par Collective
  /// Over the ranks of this node.
  buffer share_from(buffer const* mine, int root, stream_ref stream);

  /// Waits for all work on `stream` so far, then for all ranks of the node. Afterwards everything
  /// that any of them wrote before is visible to all.
  ///
  /// @throws capture_error if `stream` is capturing a graph; the capture goes on
  /// @throws remote_error, peer_lost, timeout, broken_communicator as described above
  /// @par Collective
  /// Over the ranks of this node.
  void fence(stream_ref stream);

 private:
  struct implementation;

  implementation& self(char const* doing) const;

  std::unique_ptr<implementation> implementation_;
};

}  // namespace rankshare::mpi
