// SPDX-License-Identifier: Apache-2.0
/// @file
/// All of rankshare for MPI jobs: the core library and the MPI layer.
#pragma once

#if __cplusplus < 201703L
#error "rankshare needs C++17 or later: compile with -std=c++17"
#endif

#include <rankshare/mpi/error.hpp>
#include <rankshare/mpi/node_communicator.hpp>
#include <rankshare/mpi/peer_buffers.hpp>
#include <rankshare/rankshare.hpp>
