// SPDX-License-Identifier: Apache-2.0
// Work of a checked driver: sets, copies and kernels.
#include <support/checked_driver.hpp>

#include <utility>

namespace rankshare::test {

checked_driver::shared_record checked_driver::find_touched(touched_range const& range,
                                                           std::optional<int> device,
                                                           char const* function) const {
  shared_record found;
  bool is_reached = true;
  bool is_ours = false;
  {
    std::lock_guard const lock(mutex_);
    for (auto const& [handle, record] : pools_) {
      is_ours = is_ours || record->knows(range.begin, range.bytes);
      if (!record->holds(range.begin, range.bytes)) continue;
      found = record;
      is_reached = !device || record->is_reached_by(*device);
      break;
    }
  }
  auto const what = std::string(function) + ": " + std::to_string(range.bytes) + " bytes at " +
                    text_of(range.begin);
  if (found == nullptr && is_ours) violate(what + " are not inside a live allocation or import");
  if (!is_reached) {
    violate(what + " are not reached by device " + std::to_string(*device) +
            ", which was granted no access to their pool");
  }
  return found;
}

void checked_driver::memset_d8_async(device_pointer target, std::byte value, std::size_t bytes,
                                     CUstream_st* stream) {
  counter_.enter("memset_d8_async");
  auto const device = check_stream(stream, "memset_d8_async");
  touched_range const range{target, bytes};
  auto record = find_touched(range, device, "memset_d8_async");
  if (record == nullptr) {
    violate("memset_d8_async: " + std::to_string(bytes) + " bytes at " + text_of(target) +
            " are not inside a live allocation or import");
  }
  if (is_capturing(stream)) return;
  work_.enqueue(stream,
                [this, kept = std::move(record), target, value, bytes, stream] {
                  inner_->memset_d8_async(target, value, bytes, stream);
                },
                {range});
}

void checked_driver::memcpy_async(device_pointer target, device_pointer source, std::size_t bytes,
                                  CUstream_st* stream) {
  counter_.enter("memcpy_async");
  auto const device = check_stream(stream, "memcpy_async");
  touched_range const to{target, bytes};
  touched_range const from{source, bytes};
  auto into = find_touched(to, device, "memcpy_async");
  auto out_of = find_touched(from, device, "memcpy_async");
  if (into == nullptr && out_of == nullptr) {
    violate("memcpy_async: neither " + text_of(target) + " nor " + text_of(source) +
            " is inside a live allocation or import");
  }
  if (is_capturing(stream)) return;
  work_.enqueue(stream,
                [this, kept = std::pair(std::move(into), std::move(out_of)), target, source, bytes,
                 stream] { inner_->memcpy_async(target, source, bytes, stream); },
                {to, from});
}

// Kernels.

CUmod_st* checked_driver::module_load_data(int device, void const* image) {
  counter_.enter("module_load_data");
  auto* const module = inner_->module_load_data(device, image);
  std::lock_guard const lock(mutex_);
  modules_.insert(module);
  return module;
}

void checked_driver::module_unload(CUmod_st* module) {
  counter_.enter("module_unload");
  check_module(module, "module_unload");
  {
    std::lock_guard const lock(mutex_);
    modules_.erase(module);
    std::erase_if(functions_, [&](auto const& one) { return one.second == module; });
  }
  inner_->module_unload(module);
}

CUfunc_st* checked_driver::module_get_function(CUmod_st* module, char const* name) {
  counter_.enter("module_get_function");
  check_module(module, "module_get_function");
  auto* const function = inner_->module_get_function(module, name);
  std::lock_guard const lock(mutex_);
  functions_[function] = module;
  return function;
}

void checked_driver::launch_kernel(CUfunc_st* function, launch_shape const& shape, void** arguments,
                                   CUstream_st* stream) {
  counter_.enter("launch_kernel");
  check_stream(stream, "launch_kernel");
  bool is_known = false;
  {
    std::lock_guard const lock(mutex_);
    is_known = functions_.count(function) != 0;
  }
  if (!is_known) {
    violate("launch_kernel: kernel " + text_of(function) + " is unknown, or its module unloaded");
  }
  if (is_capturing(stream)) return;
  work_.run(stream);
  inner_->launch_kernel(function, shape, arguments, stream);
}

}  // namespace rankshare::test
