// SPDX-License-Identifier: Apache-2.0
/// @file
/// The CUDA contexts that threads pushed, and whether one is current.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

struct CUctx_st;

namespace rankshare::test {

class checked_violations;

/// Each thread has a stack of its own. Thread-safe.
class checked_contexts {
 public:
  /// @param violations where a thread that ends with contexts pushed is written down
  explicit checked_contexts(std::shared_ptr<checked_violations> violations);
  ~checked_contexts();
  checked_contexts(checked_contexts const&) = delete;
  checked_contexts& operator=(checked_contexts const&) = delete;

  /// @param current whether threads that pushed no context have one (at first they do)
  void set_current(bool current) noexcept { current_ = current; }
  /// @return whether this thread has a context
  bool is_current() const;
  /// @return whether this thread pushed one that it has not popped
  bool has_pushed() const;
  /// @return the context that this thread pushed last; null: none
  CUctx_st* top() const;
  void push(CUctx_st* context);
  /// Needs `has_pushed()`.
  void pop();
  /// @return contexts that are pushed, in all threads
  std::size_t pushed() const;

 private:
  class stacks;

  std::atomic<bool> current_{true};
  std::shared_ptr<stacks> stacks_;
};

}  // namespace rankshare::test
