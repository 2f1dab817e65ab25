// SPDX-License-Identifier: Apache-2.0
// For cuda_kernels_test.cpp.

/// Adds `factor` times `in` to `out`.
extern "C" __global__ void scale_add(double* out, double const* in, double factor,
                                     unsigned long long count) {
  unsigned long long const i =
      blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x;
  if (i < count) out[i] = out[i] + factor * in[i];
}
