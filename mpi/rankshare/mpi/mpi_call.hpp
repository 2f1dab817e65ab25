// SPDX-License-Identifier: Apache-2.0
/// @file
/// When MPI may be called, and what its codes become. Not for users.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include <rankshare/base/export.hpp>

namespace rankshare::mpi::detail {

/// @throws mpi_error if `code` is not MPI_SUCCESS
RANKSHARE_EXPORT void check_mpi(int code, char const* api, char const* doing);

/// @return whether MPI is initialised and not finalised
RANKSHARE_EXPORT bool mpi_is_active() noexcept;

/// @throws invalid_argument before MPI_Init and after MPI_Finalize
RANKSHARE_EXPORT void require_active_mpi(char const* doing);

/// @return whether the calling thread may call MPI at the thread level that MPI was initialised
///         with
RANKSHARE_EXPORT bool thread_may_call_mpi() noexcept;

/// @throws invalid_argument if the calling thread may not call MPI
RANKSHARE_EXPORT void require_mpi_thread(char const* doing);

/// @return "rank 1", "ranks 1, 2 and 5"
RANKSHARE_EXPORT std::string name_ranks(std::vector<int> const& ranks);

}  // namespace rankshare::mpi::detail
