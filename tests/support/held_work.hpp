// SPDX-License-Identifier: Apache-2.0
/// @file
/// Work of streams that runs only when somebody waits for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <vector>

struct CUstream_st;

namespace rankshare::test {

/// Bytes that a piece of work reads or writes.
struct touched_range {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;

  bool overlaps(touched_range const& other) const noexcept {
    if (bytes == 0 || other.bytes == 0) return false;
    return begin < other.begin ? other.begin - begin < bytes : begin - other.begin < other.bytes;
  }
};

/// Queues of all streams. The work of one stream runs in its order; streams do not wait for each
/// other, but whoever waits for the legacy default stream waits for all. Thread-safe.
class held_work {
 public:
  using work = std::function<void()>;
  /// Counts the work of all streams, from 1.
  using number = std::uint64_t;
  static constexpr number everything = std::numeric_limits<number>::max();

  /// @param held true: work waits from now on; false: what waits is done, and further work is done
  /// at once
  void hold_back(bool held);

  /// Enqueues work, or does it at once. What it throws while it is held back goes to whoever waits.
  ///
  /// @param touched memory that the work reads or writes
  void enqueue(CUstream_st* stream, work what, std::vector<touched_range> touched = {});

  /// Does the work of `stream` up to the one numbered `last`.
  void run(CUstream_st* stream, number last = everything);

  bool is_idle(CUstream_st* stream) const;
  /// @return pieces of work that wait
  std::size_t waiting() const;
  /// @return the number of the piece enqueued last on any stream
  number last_enqueued() const;
  /// @return a stream whose work waits, touches `range`, and is not in the order of `stream`; null:
  ///         none. The default streams are in one order. The legacy one is in that of no other
  ///         stream: those that drivers make for us are non-blocking.
  CUstream_st* other_that_touches(touched_range const& range, CUstream_st* stream) const;

 private:
  struct entry {
    CUstream_st* stream;
    number place;
    work what;
    std::vector<touched_range> touched;

    bool touches(touched_range const& range) const;
  };

  static bool covers(CUstream_st* waited_for, CUstream_st* stream);
  static bool are_in_order(CUstream_st* one, CUstream_st* other);
  void run_locked(CUstream_st* stream, number last);

  // Held while work runs, so that a second waiter returns only when it is done.
  mutable std::mutex mutex_;
  std::deque<entry> entries_;
  number last_ = 0;
  bool held_ = false;
};

}  // namespace rankshare::test
