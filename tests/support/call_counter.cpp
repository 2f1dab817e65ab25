// SPDX-License-Identifier: Apache-2.0
#include <support/call_counter.hpp>

#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include <rankshare/base/error.hpp>

namespace rankshare::test {
namespace {

bool gives_back(std::string_view function) {
  constexpr std::string_view ending = "_destroy";
  return function == "mem_free_async" || function == "module_unload" ||
         function == "ctx_pop_current" ||
         (function.size() > ending.size() &&
          function.substr(function.size() - ending.size()) == ending);
}

// The functions of the seam that are not called as the driver's are.
constexpr std::array<std::array<std::string_view, 2>, 5> other_names = {{
    {"device_count", "DeviceGetCount"},
    {"device_uuid", "DeviceGetUuid"},
    {"device_name", "DeviceGetName"},
    {"device_numa_node", "DeviceGetAttribute"},
    {"pointer_range_size", "PointerGetAttribute"},
}};

// "mem_pool_create" -> "MemPoolCreate", "cuMemPoolCreate" -> "MemPoolCreate"
std::string symbol_of(std::string_view function) {
  for (auto const& [ours, theirs] : other_names) {
    if (function == ours) return std::string(theirs);
  }
  if (function.substr(0, 2) == "cu" && function.size() > 2 && std::isupper(function[2]) != 0) {
    function.remove_prefix(2);
  }
  std::string symbol;
  bool starts_word = true;
  for (char const letter : function) {
    if (letter != '_') {
      symbol += starts_word ? static_cast<char>(std::toupper(letter)) : letter;
    }
    starts_word = letter == '_';
  }
  return symbol;
}

[[noreturn]] void lack(std::string const& function) {
  throw not_supported(function + ": the CUDA driver has no cu" + symbol_of(function) +
                          ", which is there since a later version; install an NVIDIA driver for "
                          "CUDA 12.0 or later",
                      "cuGetProcAddress");
}

}  // namespace

void call_counter::enter(char const* function) {
  thrower raise;
  {
    std::lock_guard const lock(mutex_);
    ++counts_[function];
    if (is_hidden(function)) lack(function);
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

bool call_counter::is_hidden(char const* function) const {
  return !hidden_.empty() && hidden_.count(symbol_of(function)) != 0;
}

void call_counter::hide(std::string const& function) {
  std::lock_guard const lock(mutex_);
  hidden_.insert(symbol_of(function));
}

void call_counter::unhide(std::string const& function) {
  std::lock_guard const lock(mutex_);
  hidden_.erase(symbol_of(function));
}

}  // namespace rankshare::test
