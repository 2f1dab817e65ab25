// SPDX-License-Identifier: Apache-2.0
/// @file
/// The live imports of one pool in this process: each allocation is imported once, and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <thread>
#include <tuple>
#include <unordered_map>

#include <rankshare/base/light_mutex.hpp>
#include <rankshare/driver/driver.hpp>
#include <rankshare/handle/device.hpp>
#include <rankshare/handle/event.hpp>
#include <rankshare/handle/pool.hpp>
#include <rankshare/handle/stream_order.hpp>

namespace rankshare::detail {

/// Counts the imports of one pool by serial.
///
/// Import and release of a serial exclude each other: an import that comes while the last release
/// is under way, or its stream has not come to it yet, waits for it, and imports anew.
///
/// @par Thread safety
/// Every function may be called from any thread.
class RANKSHARE_EXPORT import_cache {
 public:
  /// An allocation that is mapped here.
  struct mapping {
    device_pointer address;
    std::size_t extent;  ///< bytes mapped from `address` on
  };

  /// @param source an imported pool that outlives the cache
  /// @param where  device that serves it
  import_cache(pool& source, device where) noexcept : source_(&source), where_(where) {}

  /// Imports an allocation, or counts one more user of it.
  ///
  /// @param serial  of the allocation in its pool
  /// @param payload what the exporter's driver says of it
  /// @param stream  orders what is given up again at once, where the import turns out to be
  /// unusable
  /// @throws invalid_descriptor if the payload is not that of the serial, is that of another serial
  ///                            that is mapped, or is no payload
  /// @throws stale_descriptor   if the allocation was freed, where the driver can tell
  mapping acquire(std::uint64_t serial, pointer_payload const& payload, kept_stream const& stream);

  /// Drops one user; the last one gives the import back to the driver once earlier work on `stream`
  /// is done. Failures are reported.
  ///
  /// @param instead where `stream` is capturing a graph: gives the stream that is used instead
  void release(std::uint64_t serial, kept_stream const& stream,
               std::function<kept_stream()> const& instead) noexcept;

  /// Waits until the driver has given up all that was released, and must have before the pool goes:
  /// see Note [End of an import]. Failures are reported.
  void finish_releases() noexcept;

  /// @param serial of an allocation that is imported
  /// @return what the exporter's driver says of it
  pointer_payload payload_of(std::uint64_t serial) const;

  /// @return number of allocations that are imported
  std::size_t size() const;

 private:
  struct entry {
    mapping mapped;
    pointer_payload payload;
    std::uint64_t users;
  };

  using entry_map = std::unordered_map<std::uint64_t, entry>;

  static constexpr std::size_t most_releases = 64;  // remembered; more are waited for

  mapping import(pointer_payload const& payload, kept_stream const& stream);
  bool is_capturing(kept_stream const& stream) const;
  void give_up(entry const& last, kept_stream const& stream);
  void remember_release_of(pointer_payload const& payload, kept_stream const& stream,
                           stream_ref given);
  void mark_release_on(kept_stream const& stream, stream_ref given);
  void wait_for_release_of(pointer_payload const& payload);
  void wait_for_all_releases();
  void forget(entry_map::iterator gone) noexcept;

  pool* source_;
  device where_;
  mutable light_mutex mutex_;  // a repeated import takes little more than it
  entry_map entries_;
  // A driver that is given one payload twice makes two imports of one mapping.
  std::map<pointer_payload, std::uint64_t> serials_;
  // What was given back on a stream that has not come to it yet, as far as is known.
  std::map<pointer_payload, event> released_;
  // Of each stream that something was given back on, the point after the last of it. A default
  // stream is one for each context and thread.
  std::map<std::tuple<CUstream_st*, CUctx_st*, std::thread::id>, event> last_releases_;
};

}  // namespace rankshare::detail
