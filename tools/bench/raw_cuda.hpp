// SPDX-License-Identifier: Apache-2.0
/// @file
/// The CUDA driver without the library, as the baseline of what the library does.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <rankshare/driver/driver.hpp>

namespace rankshare::bench {

/// @return why this process cannot measure GPUs; empty if it can
std::string why_no_gpu();

/// A pool like that of a device memory resource on GPU 0, used with calls of the driver only.
/// Throws `std::runtime_error` where a call fails.
class raw_pool {
 public:
  raw_pool();
  ~raw_pool();
  raw_pool(raw_pool const&) = delete;
  raw_pool& operator=(raw_pool const&) = delete;

  /// Allocates and frees again, `times` times.
  void allocate_and_free(std::size_t bytes, int times);

  /// @return memory that lives as long as the pool
  device_pointer allocate(std::size_t bytes);
  /// @return a descriptor that shares the pool; owned here
  int fd() const;
  pointer_payload payload_of(device_pointer pointer) const;

  /// A mapping of an allocation of another process' pool; lives as long as this object.
  device_pointer import_from(int fd, pointer_payload const& payload);

 private:
  struct implementation;
  std::unique_ptr<implementation> self_;
};

}  // namespace rankshare::bench
