// SPDX-License-Identifier: Apache-2.0
/// @file
/// All of the core library: memory resources, buffers, streams, descriptors, errors.
#pragma once

#if __cplusplus < 201703L
#error "rankshare needs C++17 or later: compile with -std=c++17"
#endif

#include <rankshare/base/error.hpp>
#include <rankshare/base/log.hpp>
#include <rankshare/base/settings.hpp>
#include <rankshare/base/uuid.hpp>
#include <rankshare/handle/device.hpp>
#include <rankshare/handle/kernels.hpp>
#include <rankshare/handle/stream.hpp>
#include <rankshare/handle/stream_ref.hpp>
#include <rankshare/ipc/allocation_handle.hpp>
#include <rankshare/ipc/buffer_descriptor.hpp>
#include <rankshare/ipc/pool_descriptor.hpp>
#include <rankshare/memory/buffer.hpp>
#include <rankshare/memory/device_memory_resource.hpp>
#include <rankshare/memory/host_memory_resource.hpp>
#include <rankshare/memory/memory_resource.hpp>
#include <rankshare/memory/pinned_memory_resource.hpp>
#include <rankshare/memory/pool_memory_resource.hpp>
