// SPDX-License-Identifier: Apache-2.0
#include <gpu/raw_cuda.hpp>

#include <dlfcn.h>

#include <stdexcept>
#include <string>

struct CUgraph_st;

namespace rankshare::test {
namespace {

// Calls a function of libcuda, whose arguments must be of its types.
template <class... Arguments>
int call(char const* name, Arguments... arguments) {
  static void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  auto* const found = library != nullptr ? ::dlsym(library, name) : nullptr;
  if (found == nullptr) throw std::runtime_error(std::string("libcuda has no ") + name);
  return reinterpret_cast<int (*)(Arguments...)>(found)(arguments...);
}

template <class... Arguments>
void must(char const* name, Arguments... arguments) {
  int const result = call(name, arguments...);
  if (result == 0) return;
  throw std::runtime_error(std::string(name) + " answered " + std::to_string(result));
}

constexpr int gpu = 0;
constexpr int global_mode = 0;
constexpr unsigned non_blocking = 1;

}  // namespace

CUctx_st* raw_cuda::primary_context() {
  static CUctx_st* const kept = [] {
    CUctx_st* made = nullptr;
    must("cuDevicePrimaryCtxRetain", &made, gpu);
    return made;
  }();
  return kept;
}

CUctx_st* raw_cuda::current_context() {
  CUctx_st* current = nullptr;
  must("cuCtxGetCurrent", &current);
  return current;
}

CUctx_st* raw_cuda::make_context() {
  CUctx_st* made = nullptr;
  must("cuCtxCreate_v2", &made, 0U, gpu);
  pop();  // making one makes it current
  return made;
}

void raw_cuda::destroy_context(CUctx_st* context) { must("cuCtxDestroy_v2", context); }
void raw_cuda::push(CUctx_st* context) { must("cuCtxPushCurrent_v2", context); }

void raw_cuda::pop() {
  CUctx_st* popped = nullptr;
  must("cuCtxPopCurrent_v2", &popped);
}

void raw_cuda::begin_capture(CUstream_st* stream) {
  must("cuStreamBeginCapture_v2", stream, global_mode);
}

bool raw_cuda::end_capture(CUstream_st* stream) {
  CUgraph_st* graph = nullptr;
  int const result = call("cuStreamEndCapture", stream, &graph);
  if (graph != nullptr) must("cuGraphDestroy", graph);
  return result == 0;
}

CUstream_st* raw_cuda::make_stream() {
  CUstream_st* made = nullptr;
  must("cuStreamCreate", &made, non_blocking);
  return made;
}

CUstream_st* raw_cuda::make_blocking_stream() {
  CUstream_st* made = nullptr;
  must("cuStreamCreate", &made, 0U);
  return made;
}

void raw_cuda::destroy_stream(CUstream_st* stream) { must("cuStreamDestroy_v2", stream); }

std::size_t raw_cuda::free_memory() {
  scoped_context const current(primary_context());
  std::size_t free = 0;
  std::size_t total = 0;
  must("cuMemGetInfo_v2", &free, &total);
  return free;
}

std::size_t raw_cuda::total_memory() {
  std::size_t total = 0;
  must("cuDeviceTotalMem_v2", &total, gpu);
  return total;
}

}  // namespace rankshare::test
