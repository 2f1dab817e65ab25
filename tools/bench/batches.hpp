// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sides that do one short thing many times.
#pragma once

#include <memory>
#include <vector>

#include <rankshare/memory/buffer.hpp>

#include "tools/bench/alternation.hpp"

namespace rankshare::bench {

inline constexpr int batches = 31;
inline constexpr int batch = 10'000;

/// One run is a batch.
class batch_side : public side {
 public:
  using side::side;
  int operations() const override { return batch; }
};

/// The import of a buffer that is mapped already, alone: the buffers go into memory that is there
/// and was touched, and are closed later.
///
/// @tparam Mapped has `buffer import_again() const`
template <class Mapped>
class import_side final : public batch_side {
 public:
  explicit import_side(Mapped const& from) : batch_side("import"), from_(from) {
    imported_.reserve(batch);
    run();
    // What the buffers took from the heap must stay with this process when they are closed, or each
    // batch would fault it in anew: something that lives lies behind it.
    behind_ = std::make_unique<char[]>(64);
    imported_.clear();
  }

  void run() override {
    for (int i = 0; i < batch; ++i) imported_.push_back(from_.import_again());
  }
  void finish() override { imported_.clear(); }

 private:
  Mapped const& from_;
  std::vector<buffer> imported_;
  std::unique_ptr<char[]> behind_;
};

}  // namespace rankshare::bench
