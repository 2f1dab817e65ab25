// SPDX-License-Identifier: Apache-2.0
/// @file
/// How ranks find each other and get their board. Not for users.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include <rankshare/mpi/communicator_state.hpp>

namespace rankshare::mpi::detail {

/// @return ranks whose record names the same machine as that of `rank`, ascending
RANKSHARE_EXPORT std::vector<int> ranks_of_same_host(std::vector<process_record> const& records,
                                                     int rank);

/// @return `asked_for`, else `RANKSHARE_TIMEOUT`
/// @throws invalid_argument if it is not above 0 or too long, or if an environment variable has a
///                          value that is not allowed
RANKSHARE_EXPORT board::limit limit_in_force(board::limit asked_for);

/// Makes the state of a communicator that has none. Collective; fails on all ranks or on none,
/// unless one dies or a limit ends meanwhile.
///
/// @param asked_for longest wait; none: `RANKSHARE_TIMEOUT`
/// @throws not_supported    if ranks have different versions of rankshare, or cannot reach each
///                          other
/// @throws remote_error     if another rank failed
/// @throws peer_lost        if another rank of this node ended
/// @throws timeout          if a limit is set and not every rank came
RANKSHARE_EXPORT std::shared_ptr<communicator_state> construct_state(MPI_Comm communicator,
                                                                     board::limit asked_for);

}  // namespace rankshare::mpi::detail
