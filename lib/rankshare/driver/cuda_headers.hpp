// SPDX-License-Identifier: Apache-2.0
/// @file
/// The CUDA headers, where the build has them. Not for users.
#pragma once

#if __has_include(<cuda.h>) && __has_include(<cudaTypedefs.h>)
#include <cuda.h>
#include <cudaTypedefs.h>
#if CUDA_VERSION >= 12030  // since then a pool has a largest size and a NUMA node
#define RANKSHARE_HAS_CUDA 1
#endif
#endif
#ifndef RANKSHARE_HAS_CUDA
#define RANKSHARE_HAS_CUDA 0
#endif
