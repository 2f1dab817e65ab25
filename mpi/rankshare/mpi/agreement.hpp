// SPDX-License-Identifier: Apache-2.0
/// @file
/// One rank's failure is every rank's error. Not for users.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <rankshare/mpi/board.hpp>

namespace rankshare::mpi::detail {

/// Runs the local part of a collective, and a round in which its outcome is agreed on.
///
/// @param meeting the board
/// @param called  what the user called
/// @param longest longest wait for other ranks
/// @param local   makes no MPI call; returns this rank's payload, or throws
/// @throws what `local` threw, if it threw
/// @throws remote_error     if it succeeded and that of another rank threw
/// @throws invalid_argument if ranks called different functions
/// @throws peer_lost, timeout, broken_communicator as `board::round`
RANKSHARE_EXPORT void agree(board& meeting, operation called, board::limit longest,
                            std::function<std::vector<std::byte>()> const& local);

}  // namespace rankshare::mpi::detail
