// SPDX-License-Identifier: Apache-2.0
// Writes to each element its index, times `factor`.
extern "C" __global__ void write_index(unsigned* target, unsigned count, unsigned factor) {
  unsigned const at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count) target[at] = at * factor;
}
