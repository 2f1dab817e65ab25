// SPDX-License-Identifier: Apache-2.0
/// @file
/// The measurements, by topic: one function and one source each.
#pragma once

#include <vector>

#include "tools/bench/measurement.hpp"

namespace rankshare::bench {

/// Sharing small buffers of all ranks, against a shared MPI window.
std::vector<measurement> share_measurements();
/// Making a node communicator, against duplicating and splitting a communicator.
std::vector<measurement> construct_measurements();
/// `fence`, against `MPI_Barrier`.
std::vector<measurement> fence_measurements();
/// Host memory within one process: allocating, closing, importing again.
std::vector<measurement> host_memory_measurements();
/// Memory of a GPU within one process, against calls of the driver.
std::vector<measurement> gpu_memory_measurements();
/// Reading a peer's memory of a GPU, against a mapping made by calls of the driver.
std::vector<measurement> gpu_peer_measurements();
/// The heat equation on one GPU, against MPI with staging.
std::vector<measurement> gpu_heat_measurements();
/// What sharing costs that is counted, not timed.
std::vector<measurement> counted_measurements();

}  // namespace rankshare::bench
