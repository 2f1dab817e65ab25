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

struct CUstream_st;

namespace rankshare::test {

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

  /// Enqueues work, or does it at once.
  void enqueue(CUstream_st* stream, work what);

  /// Does the work of `stream` up to the one numbered `last`.
  void run(CUstream_st* stream, number last = everything);

  bool is_idle(CUstream_st* stream) const;
  /// @return pieces of work that wait
  std::size_t waiting() const;
  /// @return the number of the piece enqueued last on any stream
  number last_enqueued() const;

 private:
  struct entry {
    CUstream_st* stream;
    number place;
    work what;
  };

  static bool covers(CUstream_st* waited_for, CUstream_st* stream);
  void run_locked(CUstream_st* stream, number last);

  // Held while work runs, so that a second waiter returns only when it is done.
  mutable std::mutex mutex_;
  std::deque<entry> entries_;
  number last_ = 0;
  bool held_ = false;
};

}  // namespace rankshare::test
