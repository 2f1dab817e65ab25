// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reports that cannot be exceptions: failures in destructors, warnings, progress of long waits.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <rankshare/base/export.hpp>

namespace rankshare {

/// How much is reported; `RANKSHARE_LOG` sets it.
enum class log_level : int {
  off = 0,    ///< nothing
  error = 1,  ///< failures and warnings (default)
  info = 2,   ///< what was chosen, and why
  trace = 3,  ///< every step
};

/// Receives each report that passes the level. It may be called from any thread, and must not
/// throw.
using log_handler = std::function<void(log_level level, std::string_view message)>;

/// Replaces the handler of this process.
///
/// @param handler the new handler; an empty one restores the default, which writes one line with
///                rank and pid to stderr
/// @return the handler that was in force; empty for the default
/// @par Thread safety
/// May be called from any thread.
RANKSHARE_EXPORT log_handler set_log_handler(log_handler handler);

/// Sets the level of this process, overriding `RANKSHARE_LOG`.
RANKSHARE_EXPORT void set_log_level(log_level level) noexcept;

/// @return the level in force
RANKSHARE_EXPORT log_level current_log_level() noexcept;

namespace detail {

/// Names the rank that the default handler prints; -1 for none.
RANKSHARE_EXPORT void set_log_rank(int rank) noexcept;

/// Reports `message`. Never throws.
RANKSHARE_EXPORT void log(log_level level, std::string_view message) noexcept;

/// Reports `message` unless this process has reported one of the same `topic` before. Never throws.
RANKSHARE_EXPORT void log_once(log_level level, std::string_view topic,
                               std::string_view message) noexcept;

}  // namespace detail
}  // namespace rankshare
