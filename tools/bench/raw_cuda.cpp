// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/raw_cuda.hpp"

#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include <rankshare/driver/cuda_functions.hpp>
#include <rankshare/driver/cuda_headers.hpp>
#include <rankshare/handle/device.hpp>
#include <rankshare/handle/stream.hpp>

#include "tools/bench/gpu_kernels.hpp"

namespace rankshare::bench {

std::string why_no_gpu() {
  try {
    if (device::count() == 0) return "no GPU: " + device::why_no_gpu();
    if (std::strcmp(device::gpu(0).driver().name(), "cuda") != 0) return "no GPU: emulated ones";
    if (kernels::gpu_kernels_image() == nullptr) return "no kernels: built without nvcc";
    return {};
  } catch (std::exception const& failure) {
    return failure.what();
  }
}

#if RANKSHARE_HAS_CUDA

namespace {

void check(CUresult result, char const* api) {
  if (result == CUDA_SUCCESS) return;
  throw std::runtime_error(std::string(api) + " answered " + std::to_string(result));
}

}  // namespace

struct raw_pool::implementation {
  detail::cuda_functions cu = detail::cuda_functions::load("libcuda.so.1");
  stream order{device::gpu(0)};
  CUmemoryPool pool = nullptr;
  CUmemoryPool imported = nullptr;
  int fd = -1;
  std::vector<CUdeviceptr> live;
};

raw_pool::raw_pool() : self_(std::make_unique<implementation>()) {
  CUmemPoolProps wanted{};
  wanted.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  check(self_->cu.MemPoolCreate(&self_->pool, &wanted), "cuMemPoolCreate");
  cuuint64_t kept = ~cuuint64_t{0};
  check(self_->cu.MemPoolSetAttribute(self_->pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &kept),
        "cuMemPoolSetAttribute");
  check(self_->cu.MemPoolExportToShareableHandle(&self_->fd, self_->pool,
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        "cuMemPoolExportToShareableHandle");
}

raw_pool::~raw_pool() {
  for (auto const pointer : self_->live) {
    self_->cu.MemFreeAsync(pointer, self_->order.native_handle());
  }
  self_->order.synchronize();
  if (self_->imported != nullptr) self_->cu.MemPoolDestroy(self_->imported);
  self_->cu.MemPoolDestroy(self_->pool);
  ::close(self_->fd);
}

void raw_pool::allocate_and_free(std::size_t bytes, int times) {
  auto* const order = self_->order.native_handle();
  for (int i = 0; i < times; ++i) {
    CUdeviceptr made = 0;
    check(self_->cu.MemAllocFromPoolAsync(&made, bytes, self_->pool, order),
          "cuMemAllocFromPoolAsync");
    check(self_->cu.MemFreeAsync(made, order), "cuMemFreeAsync");
  }
}

device_pointer raw_pool::allocate(std::size_t bytes) {
  CUdeviceptr made = 0;
  check(self_->cu.MemAllocFromPoolAsync(&made, bytes, self_->pool, self_->order.native_handle()),
        "cuMemAllocFromPoolAsync");
  self_->live.push_back(made);
  self_->order.synchronize();
  return made;
}

int raw_pool::fd() const { return self_->fd; }

pointer_payload raw_pool::payload_of(device_pointer pointer) const {
  CUmemPoolPtrExportData answer{};
  check(self_->cu.MemPoolExportPointer(&answer, pointer), "cuMemPoolExportPointer");
  pointer_payload payload;
  std::memcpy(payload.data(), &answer, sizeof answer);
  return payload;
}

device_pointer raw_pool::import_from(int fd, pointer_payload const& payload) {
  check(self_->cu.MemPoolImportFromShareableHandle(
            &self_->imported, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)),
            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        "cuMemPoolImportFromShareableHandle");
  CUmemPoolPtrExportData wanted{};
  std::memcpy(&wanted, payload.data(), sizeof wanted);
  CUdeviceptr mapped = 0;
  check(self_->cu.MemPoolImportPointer(&mapped, self_->imported, &wanted),
        "cuMemPoolImportPointer");
  self_->live.push_back(mapped);
  return mapped;
}

#else

struct raw_pool::implementation {};

raw_pool::raw_pool() { throw std::runtime_error("built without the CUDA headers"); }
raw_pool::~raw_pool() = default;
void raw_pool::allocate_and_free(std::size_t, int) {}
device_pointer raw_pool::allocate(std::size_t) { return 0; }
int raw_pool::fd() const { return -1; }
pointer_payload raw_pool::payload_of(device_pointer) const { return {}; }
device_pointer raw_pool::import_from(int, pointer_payload const&) { return 0; }

#endif

}  // namespace rankshare::bench
