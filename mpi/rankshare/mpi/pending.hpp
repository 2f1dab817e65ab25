// SPDX-License-Identifier: Apache-2.0
/// @file
/// Waiting for non-blocking MPI operations while a node communicator has no board yet. Not for
/// users.
#pragma once

#include <mpi.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <rankshare/base/export.hpp>

namespace rankshare::mpi::detail {

/// Non-blocking operations together with the memory that they use.
///
/// Left unfinished, both are left alone: MPI may still write there.
class RANKSHARE_EXPORT pending {
 public:
  /// Called while waiting, four times a second; throws to end the wait.
  using check = std::function<void()>;

  pending() = default;
  ~pending();
  pending(pending const&) = delete;
  pending& operator=(pending const&) = delete;

  /// Adds an operation that `start` begins, and keeps `memory` until it is done.
  void add(char const* api, std::shared_ptr<void> memory,
           std::function<int(MPI_Request*)> const& start);

  /// Waits for all operations: polls, yields the processor, then sleeps between polls.
  ///
  /// @param doing   what this is for, for messages
  /// @param longest longest wait; none: for ever
  /// @throws timeout   if they are not done within `longest`
  /// @throws mpi_error if MPI says so
  void wait(char const* doing, std::optional<std::chrono::milliseconds> longest,
            check const& still_good);

 private:
  std::vector<MPI_Request> requests_;
  std::vector<std::shared_ptr<void>> memory_;
};

}  // namespace rankshare::mpi::detail
