// SPDX-License-Identifier: Apache-2.0
// Pools, memory and copies.
#include <cstring>
#include <string>

#include <rankshare/base/error.hpp>
#include <rankshare/driver/cuda_calls.hpp>
#include <rankshare/driver/cuda_scopes.hpp>

#if RANKSHARE_HAS_CUDA

namespace rankshare::detail {
namespace {

using text = std::string;

constexpr auto fd_handle = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

text describe(pool_properties const& properties) {
  return properties.kind == memory_kind::device
             ? "memory of GPU " + std::to_string(properties.location)
             : "pinned memory of NUMA node " + std::to_string(properties.location);
}

CUmemPoolProps to_cuda(pool_properties const& properties) {
  CUmemPoolProps wanted{};
  wanted.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.handleTypes = properties.shareable ? fd_handle : CU_MEM_HANDLE_TYPE_NONE;
  wanted.location.type = properties.kind == memory_kind::device ? CU_MEM_LOCATION_TYPE_DEVICE
                                                                : CU_MEM_LOCATION_TYPE_HOST_NUMA;
  wanted.location.id = properties.location;
  wanted.maxSize = properties.max_size;
  return wanted;
}

}  // namespace

// Pools.

CUmemPoolHandle_st* cuda_calls::mem_pool_create(pool_properties const& properties) {
  check_not_forked("making a pool");
  auto const doing = [&] { return "making a pool of " + describe(properties); };
  if (properties.kind == memory_kind::host) {
    throw invalid_argument(
        "making a pool: the CUDA driver serves device and pinned memory; use device::host() for "
        "host memory");
  }
  if (properties.kind == memory_kind::device) device_of(properties.location);
  relaxed_capture const relaxed(cu_);
  auto const wanted = to_cuda(properties);
  CUmemoryPool made = nullptr;
  check(cu_.MemPoolCreate(&made, &wanted), "cuMemPoolCreate", doing);
  cuuint64_t kept = properties.release_threshold;
  auto const result = cu_.MemPoolSetAttribute(made, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &kept);
  if (result != CUDA_SUCCESS) cu_.MemPoolDestroy(made);
  check(result, "cuMemPoolSetAttribute", doing);
  return made;
}

void cuda_calls::mem_pool_destroy(CUmemPoolHandle_st* pool) {
  if (is_over()) return;
  relaxed_capture const relaxed(cu_);
  auto const result = cu_.MemPoolDestroy(pool);
  if (result == CUDA_ERROR_DEINITIALIZED) return;
  check(result, "cuMemPoolDestroy", [] { return text("destroying a pool"); });
}

// The driver says of an allocation exactly what was asked for.
std::size_t cuda_calls::mem_pool_granularity(CUmemPoolHandle_st*) { return 1; }

void cuda_calls::mem_pool_set_access(CUmemPoolHandle_st* pool, int device, bool granted) {
  CUmemAccessDesc wanted{};
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wanted.location.id = device;
  wanted.flags = granted ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  relaxed_capture const relaxed(cu_);
  check(cu_.MemPoolSetAccess(pool, &wanted, 1), "cuMemPoolSetAccess", [&] {
    return text(granted ? "granting" : "withdrawing") + " access to a pool " +
           (granted ? "to" : "from") + " GPU " + std::to_string(device);
  });
}

unique_fd cuda_calls::mem_pool_export_to_shareable_handle(CUmemPoolHandle_st* pool) {
  relaxed_capture const relaxed(cu_);
  int fd = -1;
  check(cu_.MemPoolExportToShareableHandle(&fd, pool, fd_handle, 0),
        "cuMemPoolExportToShareableHandle",
        [] { return text("exporting a pool (one that was made to be shareable?)"); });
  return unique_fd(fd);
}

CUmemPoolHandle_st* cuda_calls::mem_pool_import_from_shareable_handle(int fd, memory_kind,
                                                                      uuid const& expected) {
  check_not_forked("importing a pool");
  relaxed_capture const relaxed(cu_);
  CUmemoryPool imported = nullptr;
  auto* const handle = reinterpret_cast<void*>(static_cast<std::intptr_t>(fd));
  auto const result = cu_.MemPoolImportFromShareableHandle(&imported, handle, fd_handle, 0);
  if (result == CUDA_SUCCESS) return imported;
  auto const doing = "importing a pool from file descriptor " + std::to_string(fd);
  // What the driver answers where the descriptor is something else.
  if (result != CUDA_ERROR_UNKNOWN && result != CUDA_ERROR_INVALID_VALUE) {
    fail(result, "cuMemPoolImportFromShareableHandle", doing);
  }
  auto const answer = doing + ": the CUDA driver answered " + name_of(result) + ": it is no pool";
  if (expected.is_nil()) {
    throw invalid_descriptor(answer + "; pass the fd of an allocation handle",
                             "cuMemPoolImportFromShareableHandle");
  }
  throw stale_descriptor(
      answer + ", so its owner has closed pool " + to_string(expected) + " since",
      "cuMemPoolImportFromShareableHandle");
}

// Memory.

device_pointer cuda_calls::mem_alloc_from_pool_async(CUmemPoolHandle_st* pool, std::size_t bytes,
                                                     CUstream_st* stream) {
  check_not_forked("allocating memory");
  CUdeviceptr made = 0;
  CUresult result;
  {
    relaxed_capture const relaxed(cu_);
    result = cu_.MemAllocFromPoolAsync(&made, bytes, pool, stream);
    // Of driver 580: once an imported pool of pinned memory is gone, one allocation that comes to
    // lie where it was is refused, and granted when it is asked for again.
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      result = cu_.MemAllocFromPoolAsync(&made, bytes, pool, stream);
    }
  }
  if (result != CUDA_SUCCESS) {
    fail(result, "cuMemAllocFromPoolAsync", "allocating " + std::to_string(bytes) + " bytes",
         bytes);
  }
  return made;
}

void cuda_calls::mem_free_async(CUmemPoolHandle_st*, device_pointer pointer, CUstream_st* stream) {
  if (is_over()) return;
  CUresult result = CUDA_ERROR_INVALID_VALUE;  // to the driver, freeing 0 is no error
  if (pointer != 0) {
    relaxed_capture const relaxed(cu_);
    result = cu_.MemFreeAsync(pointer, stream);
  }
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_DEINITIALIZED) return;
  auto const doing = "freeing the allocation at address " + std::to_string(pointer);
  if (result == CUDA_ERROR_INVALID_VALUE && stream_is_capturing(stream)) {
    fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "cuMemFreeAsync", doing);
  }
  fail(result, "cuMemFreeAsync", doing);
}

pointer_payload cuda_calls::mem_pool_export_pointer(CUmemPoolHandle_st*, device_pointer pointer) {
  relaxed_capture const relaxed(cu_);
  CUmemPoolPtrExportData answer{};
  check(cu_.MemPoolExportPointer(&answer, pointer), "cuMemPoolExportPointer",
        [&] { return "exporting the allocation at address " + std::to_string(pointer); });
  pointer_payload payload;
  static_assert(sizeof answer == sizeof payload);
  std::memcpy(payload.data(), &answer, sizeof answer);
  return payload;
}

device_pointer cuda_calls::mem_pool_import_pointer(CUmemPoolHandle_st* pool,
                                                   pointer_payload const& payload) {
  check_not_forked("importing memory");
  relaxed_capture const relaxed(cu_);
  CUmemPoolPtrExportData wanted{};
  std::memcpy(&wanted, payload.data(), sizeof wanted);
  CUdeviceptr imported = 0;
  auto const result = cu_.MemPoolImportPointer(&imported, pool, &wanted);
  if (result == CUDA_ERROR_INVALID_VALUE) {
    throw invalid_descriptor(
        "importing memory: the CUDA driver answered " + name_of(result) +
            ": the payload describes no allocation of this pool; pass the bytes of a buffer "
            "descriptor as its owner made them",
        "cuMemPoolImportPointer");
  }
  check(result, "cuMemPoolImportPointer", [] { return text("importing memory"); });
  return imported;
}

std::size_t cuda_calls::pointer_range_size(CUmemPoolHandle_st*, device_pointer pointer) {
  std::size_t bytes = 0;
  check(cu_.PointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, pointer),
        "cuPointerGetAttribute",
        [&] { return "measuring the allocation at address " + std::to_string(pointer); });
  return bytes;
}

// Work.

void cuda_calls::memset_d8_async(device_pointer target, std::byte value, std::size_t bytes,
                                 CUstream_st* stream) {
  check(cu_.MemsetD8Async(target, std::to_integer<unsigned char>(value), bytes, stream),
        "cuMemsetD8Async", [&] {
          return "filling " + std::to_string(bytes) + " bytes at address " + std::to_string(target);
        });
}

void cuda_calls::memcpy_async(device_pointer target, device_pointer source, std::size_t bytes,
                              CUstream_st* stream) {
  check(cu_.MemcpyAsync(target, source, bytes, stream), "cuMemcpyAsync", [&] {
    return "copying " + std::to_string(bytes) + " bytes from address " + std::to_string(source) +
           " to " + std::to_string(target);
  });
}

}  // namespace rankshare::detail

#endif  // RANKSHARE_HAS_CUDA
