// SPDX-License-Identifier: Apache-2.0
/// @file
/// A point in the work of a stream.
#pragma once

#include <rankshare/handle/stream_ref.hpp>

namespace rankshare {

/// Owns an event. Move-only.
class RANKSHARE_EXPORT event {
 public:
  /// @param served_by the driver of `stream`
  /// @param stream    what it is to be recorded on
  event(driver& served_by, stream_ref stream);
  event(event&& other) noexcept;
  event& operator=(event&&) = delete;
  ~event();

  /// Marks the point that `stream` has reached in its queue.
  void record(stream_ref stream);
  /// Waits until that point is done.
  void synchronize() const;

 private:
  driver* driver_;
  CUevent_st* handle_;
};

}  // namespace rankshare
