// SPDX-License-Identifier: Apache-2.0
/// @file
/// Counts calls by the name of the function, makes the n-th one fail, and hides functions.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace rankshare::test {

/// Thread-safe.
class call_counter {
 public:
  /// Throws what the failing call is to throw.
  using thrower = std::function<void()>;

  /// Stands for every function but those that give something back (`*_destroy`, `mem_free_async`,
  /// `module_unload`, `ctx_pop_current`): what a failed release leaves behind is nobody's fault.
  static constexpr char const* any_call = "*";

  /// Counts a call, and throws if it is the one that is to fail, or if the function is hidden.
  void enter(char const* function);

  /// @return calls of `function` since the last reset
  std::size_t calls(std::string const& function) const;
  std::size_t total_calls() const;
  void reset_counts();

  /// The `nth` call of `function` from now on, from 1, throws what `raise` throws. One failure is
  /// in force at a time; it happens once.
  void fail_call(std::string function, std::size_t nth, thrower raise);
  /// Drops the failure in force.
  /// @return whether it was still to come
  bool cancel_failure();

  /// From now on each call of a function throws `not_supported`, as where the installed driver
  /// lacks the symbol.
  ///
  /// @param function "mem_pool_set_access"; or the symbol, with or without its cu:
  ///                 "MemPoolSetAccess". What several functions need hides all of them.
  void hide(std::string const& function);
  void unhide(std::string const& function);

 private:
  bool is_hidden(char const* function) const;

  mutable std::mutex mutex_;
  std::map<std::string, std::size_t> counts_;
  std::string failing_;
  std::size_t until_failure_ = 0;  // 0: none in force
  thrower raise_;
  std::set<std::string> hidden_;  // symbols, without cu
};

}  // namespace rankshare::test
