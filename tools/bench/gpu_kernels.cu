// SPDX-License-Identifier: Apache-2.0
// Kernels of the measurements on GPUs.

// Adds up 16-byte words, so that every one is read; the sum of each thread goes to `sums`.
extern "C" __global__ void read_all(uint4 const* words, size_t count, unsigned* sums) {
  size_t const thread = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  size_t const threads = gridDim.x * static_cast<size_t>(blockDim.x);
  unsigned sum = 0;
  for (size_t i = thread; i < count; i += threads) {
    uint4 const word = words[i];
    sum += word.x ^ word.y ^ word.z ^ word.w;
  }
  sums[thread] = sum;
}

// One iteration of the heat equation on `count` rows of `width` values, the first of which is row
// `first` of the grid; `above` and `below` are the rows next to them, not read at the grid's
// border.
extern "C" __global__ void heat(double const* now, double* next, double const* above,
                                double const* below, size_t count, size_t width, size_t first) {
  size_t const x = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  size_t const row = blockIdx.y * static_cast<size_t>(blockDim.y) + threadIdx.y;
  if (x == 0 || x >= width - 1 || row >= count) return;
  if (first + row == 0 || first + row == width - 1) return;
  double const* const here = now + row * width;
  double const* const up = row == 0 ? above : here - width;
  double const* const down = row == count - 1 ? below : here + width;
  double const around = up[x] + down[x] + here[x - 1] + here[x + 1];
  next[row * width + x] = here[x] + 0.2 * (around - 4.0 * here[x]);
}
