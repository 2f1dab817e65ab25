// SPDX-License-Identifier: Apache-2.0
/// @file
/// The contexts of emulated devices.
#pragma once

#include <rankshare/driver/driver.hpp>

namespace rankshare::detail {

/// What is current in the calling thread: each has a stack. A cheap view; the handles are those of
/// the process, one for each ordinal, and one for the host where there are no devices.
class emulated_contexts {
 public:
  /// @param devices number that there are
  explicit emulated_contexts(int devices) noexcept : devices_(devices) {}

  /// @param ordinal of a device that there is; -1: the host, where there are none
  CUctx_st* of(int ordinal) const noexcept;
  /// @return what was pushed last; that of device 0, or of the host, if nothing was
  CUctx_st* current() const noexcept;
  /// @return ordinal of the device whose context is current; -1: the host
  int current_device() const noexcept;
  /// @throws invalid_argument if it is no context, or too many are pushed
  void push(CUctx_st* context) const;
  /// @throws invalid_argument if this thread has pushed none
  void pop() const;

 private:
  bool is_context_of(int ordinal) const noexcept;

  int devices_;
};

}  // namespace rankshare::detail
