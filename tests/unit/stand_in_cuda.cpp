// SPDX-License-Identifier: Apache-2.0
// A library that stands in for libcuda, as another version of the driver would be. What it is like
// is set where it is compiled:
//   STAND_IN_VERSION            what it says of itself, 12030 for CUDA 12.3
//   STAND_IN_FINDS_FUNCTIONS    1: it has cuGetProcAddress_v2
//   STAND_IN_LACKS              a function that it does not find; "" if none
//   STAND_IN_INIT               what cuInit answers
#include <cstdint>
#include <cstring>

#define STAND_IN_EXPORT extern "C" __attribute__((visibility("default")))

STAND_IN_EXPORT int cuDriverGetVersion(int* version) {
  *version = STAND_IN_VERSION;
  return 0;
}

#if STAND_IN_FINDS_FUNCTIONS

namespace {

constexpr int not_found = 1;

int do_nothing() { return 0; }
int initialise(unsigned) { return STAND_IN_INIT; }

int name_of_error(int, char const** name) {
  *name = "CUDA_ERROR_OF_A_STAND_IN";
  return 0;
}

void* find(char const* name) {
  if (std::strcmp(name, STAND_IN_LACKS) == 0) return nullptr;
  if (std::strcmp(name, "cuInit") == 0) return reinterpret_cast<void*>(initialise);
  if (std::strcmp(name, "cuGetErrorName") == 0) return reinterpret_cast<void*>(name_of_error);
  return reinterpret_cast<void*>(do_nothing);
}

}  // namespace

STAND_IN_EXPORT int cuGetProcAddress_v2(char const* name, void** function, int, std::uint64_t,
                                        int* answer) {
  *function = find(name);
  *answer = *function != nullptr ? 0 : not_found;
  return 0;
}

#endif
