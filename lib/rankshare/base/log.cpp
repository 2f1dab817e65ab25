// SPDX-License-Identifier: Apache-2.0
#include <rankshare/base/log.hpp>

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>

namespace rankshare {
namespace {

// Never destroyed: reports may come from static destructors.
struct log_state {
  std::mutex mutex;
  log_handler handler;
  std::set<std::string, std::less<>> reported;
  std::atomic<int> level{-1};  // -1: not read from the environment yet
  std::atomic<int> rank{-1};
};

log_state& state() {
  static auto* const instance = new log_state;
  return *instance;
}

// An unknown value counts as the default here; `settings()` turns it into an error.
int level_from_environment() {
  char const* const text = std::getenv("RANKSHARE_LOG");
  if (text == nullptr) return static_cast<int>(log_level::error);
  std::string_view const value(text);
  if (value == "off") return static_cast<int>(log_level::off);
  if (value == "info") return static_cast<int>(log_level::info);
  if (value == "trace") return static_cast<int>(log_level::trace);
  return static_cast<int>(log_level::error);
}

void write_line(std::string_view message) {
  std::string line = "rankshare";
  int const rank = state().rank.load();
  if (rank >= 0) line += " [rank " + std::to_string(rank) + "]";
  line += " [pid " + std::to_string(::getpid()) + "] ";
  line += message;
  line += '\n';
  // One write, so that lines of several ranks do not mix.
  [[maybe_unused]] auto const written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

log_handler set_log_handler(log_handler handler) {
  std::lock_guard const lock(state().mutex);
  std::swap(state().handler, handler);
  return handler;
}

void set_log_level(log_level level) noexcept { state().level = static_cast<int>(level); }

log_level current_log_level() noexcept {
  int level = state().level.load(std::memory_order_relaxed);
  if (level < 0) {
    int expected = -1;
    state().level.compare_exchange_strong(expected, level_from_environment());
    level = state().level.load();
  }
  return static_cast<log_level>(level);
}

namespace detail {

void set_log_rank(int rank) noexcept { state().rank = rank; }

void log(log_level level, std::string_view message) noexcept {
  if (level > current_log_level()) return;
  try {
    log_handler handler;
    {
      std::lock_guard const lock(state().mutex);
      handler = state().handler;
    }
    if (handler) {
      handler(level, message);
    } else {
      write_line(message);
    }
  } catch (...) {
    // Nobody is left to tell.
  }
}

void log_once(log_level level, std::string_view topic, std::string_view message) noexcept {
  try {
    std::lock_guard const lock(state().mutex);
    if (!state().reported.emplace(topic).second) return;
  } catch (...) {
    return;
  }
  log(level, message);
}

}  // namespace detail
}  // namespace rankshare
