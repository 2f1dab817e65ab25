// SPDX-License-Identifier: Apache-2.0
/// @file
/// Catches what the library reports.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rankshare/base/log.hpp>

namespace rankshare::test {

/// While it lives, reports go here. A report "once a kind" comes only for the first time in a
/// process, whoever caught it.
class captured_log {
 public:
  struct report {
    log_level level;
    std::string text;
  };

  /// @param level what is reported while this lives
  explicit captured_log(log_level level = log_level::error)
      : state_(std::make_shared<state>()), former_level_(current_log_level()) {
    set_log_level(level);
    // The handler owns the state: another thread may still be in it when this goes.
    former_ = set_log_handler([kept = state_](log_level of, std::string_view message) {
      std::lock_guard const lock(kept->mutex);
      kept->reports.push_back({of, std::string(message)});
    });
  }
  ~captured_log() {
    set_log_handler(std::move(former_));
    set_log_level(former_level_);
  }
  captured_log(captured_log const&) = delete;
  captured_log& operator=(captured_log const&) = delete;

  std::vector<report> reports() const {
    std::lock_guard const lock(state_->mutex);
    return state_->reports;
  }

  /// @return the texts of all reports, one a line; "" if there are none
  std::string text() const {
    std::string all;
    for (auto const& one : reports()) all += one.text + "\n";
    return all;
  }

 private:
  struct state {
    std::mutex mutex;
    std::vector<report> reports;
  };

  std::shared_ptr<state> state_;
  log_level former_level_;
  log_handler former_;
};

}  // namespace rankshare::test
