// SPDX-License-Identifier: Apache-2.0
#include <support/call_counter.hpp>

#include <string_view>
#include <utility>

namespace rankshare::test {
namespace {

bool gives_back(std::string_view function) {
  constexpr std::string_view ending = "_destroy";
  return function == "mem_free_async" ||
         (function.size() > ending.size() &&
          function.substr(function.size() - ending.size()) == ending);
}

}  // namespace

void call_counter::enter(char const* function) {
  thrower raise;
  {
    std::lock_guard const lock(mutex_);
    ++counts_[function];
    if (until_failure_ == 0) return;
    bool const fits = failing_ == any_call ? !gives_back(function) : failing_ == function;
    if (!fits || --until_failure_ != 0) return;
    raise = std::exchange(raise_, nullptr);
  }
  raise();
}

std::size_t call_counter::calls(std::string const& function) const {
  std::lock_guard const lock(mutex_);
  auto const found = counts_.find(function);
  return found == counts_.end() ? 0 : found->second;
}

std::size_t call_counter::total_calls() const {
  std::lock_guard const lock(mutex_);
  std::size_t total = 0;
  for (auto const& entry : counts_) total += entry.second;
  return total;
}

void call_counter::reset_counts() {
  std::lock_guard const lock(mutex_);
  counts_.clear();
}

void call_counter::fail_call(std::string function, std::size_t nth, thrower raise) {
  std::lock_guard const lock(mutex_);
  failing_ = std::move(function);
  until_failure_ = nth;
  raise_ = std::move(raise);
}

bool call_counter::cancel_failure() {
  std::lock_guard const lock(mutex_);
  raise_ = nullptr;
  return std::exchange(until_failure_, 0) != 0;
}

}  // namespace rankshare::test
