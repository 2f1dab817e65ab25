// SPDX-License-Identifier: Apache-2.0
/// @file
/// The loop of `update_on_host` in 02_jacobi.cpp, one thread for each value. Its result has the
/// same bits: the operations are the same, in the same order, and each is rounded by itself, since
/// rankshare_cuda_kernels compiles with --fmad=false.

/// One iteration of the rows of one rank: `count` rows of `width` values, of which the first is row
/// `first` of a square grid. `above` and `below` are rows of the ranks next to it, in their memory;
/// they are not read at the upper and lower border of the grid.
extern "C" __global__ void jacobi(double const* now, double* next, double const* above,
                                  double const* below, size_t first, size_t count, size_t width) {
  size_t const x = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  size_t const row = static_cast<size_t>(blockIdx.y) * blockDim.y + threadIdx.y;
  if (row >= count || x == 0 || x >= width - 1) return;
  if (first + row == 0 || first + row == width - 1) return;
  double const* const here = now + row * width;
  double const* const up = row == 0 ? above : here - width;
  double const* const down = row == count - 1 ? below : here + width;
  double const around = up[x] + down[x] + here[x - 1] + here[x + 1];
  next[row * width + x] = here[x] + 0.2 * (around - 4.0 * here[x]);
}
