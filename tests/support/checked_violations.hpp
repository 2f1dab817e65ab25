// SPDX-License-Identifier: Apache-2.0
/// @file
/// What was done that must not be.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace rankshare::test {

/// The violations that a checked driver saw, in order. Those who may see one when the driver is
/// gone already (held-back work, a thread that ends) share it. Thread-safe.
class checked_violations {
 public:
  void add(std::string text) {
    std::lock_guard const lock(mutex_);
    texts_.push_back(std::move(text));
  }
  std::vector<std::string> all() const {
    std::lock_guard const lock(mutex_);
    return texts_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> texts_;
};

}  // namespace rankshare::test
