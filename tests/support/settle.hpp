// SPDX-License-Identifier: Apache-2.0
/// @file
/// Makes a driver take back what it puts off, so that what is held can be compared.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>

#include <rankshare/base/error.hpp>
#include <rankshare/driver/driver.hpp>

namespace rankshare::test {

/// CUDA takes memory and descriptors of pools that are gone back when somebody asks for more than
/// there is. Call it before a footprint is taken, and before it is compared.
///
/// @param served_by not a checked driver, which would count this
inline void settle(driver& served_by, int device) {
  auto* const order = served_by.stream_create(device);
  pool_properties properties;
  properties.kind = memory_kind::device;
  properties.location = device;
  properties.shareable = false;
  auto* const pool = served_by.mem_pool_create(properties);
  EXPECT_THROW(served_by.mem_alloc_from_pool_async(pool, std::size_t{1} << 46, order),
               out_of_memory);
  served_by.mem_pool_destroy(pool);
  served_by.stream_synchronize(order);
  served_by.stream_destroy(order);
}

}  // namespace rankshare::test
