// SPDX-License-Identifier: Apache-2.0
/// @file
/// The exceptions of rankshare. Each derives from a type of the standard library and from the
/// mix-in `rankshare::error`, so that a caller may catch either.
#pragma once

#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include <rankshare/base/export.hpp>

namespace rankshare {

/// What went wrong, as a value that travels between ranks.
enum class error_kind : int {
  none = 0,             ///< no error
  invalid_argument,     ///< broken precondition, bad value, overflow, uuid mismatch
  closed,               ///< the object was closed before
  mapped_resource,      ///< allocation on an imported resource
  not_shareable,        ///< this memory cannot be shared
  capture,              ///< a capturing stream where it cannot serve
  no_context,           ///< no current context for a default-stream token
  not_registered,       ///< the registry has no entry of that uuid
  invalid_descriptor,   ///< forged, short, foreign or wrong kind of descriptor
  stale_descriptor,     ///< the described memory was freed, or its place is used again
  out_of_memory,        ///< not enough memory
  not_supported,        ///< the kernel, the driver or the build lacks something
  system,               ///< a system call failed
  cuda,                 ///< a call of the CUDA driver failed
  mpi,                  ///< an MPI call failed
  remote,               ///< another rank failed
  peer_lost,            ///< another rank died
  timeout,              ///< another rank did not come within the limit that was set
  broken_communicator,  ///< the node communicator broke earlier
  other,                ///< an exception that is not one of ours
};

/// @return the name of `kind` as it is written in the source, never null
RANKSHARE_EXPORT char const* to_string(error_kind kind) noexcept;

/// A place in the source of rankshare.
struct call_site {
  char const* file = "";  ///< path as the compiler saw it
  int line = 0;           ///< line, from 1

  /// @return the place of the call
  static constexpr call_site here(char const* file = __builtin_FILE(),
                                  int line = __builtin_LINE()) noexcept {
    return {file, line};
  }
};

/// Mix-in of every exception that rankshare throws.
class RANKSHARE_EXPORT error {
 public:
  error(error_kind kind, char const* api, call_site where) noexcept
      : kind_(kind), api_(api), where_(where) {}
  virtual ~error();

  /// @return what went wrong
  error_kind kind() const noexcept { return kind_; }
  /// @return the system, driver or MPI function that failed; "" when none was called
  char const* api() const noexcept { return api_; }
  /// @return where in rankshare the exception was made
  call_site where() const noexcept { return where_; }
  /// @return what was being done, on what, what the system answered, what the user can do
  virtual char const* what() const noexcept = 0;

 protected:
  error(error const&) = default;
  error& operator=(error const&) = default;

 private:
  error_kind kind_;
  char const* api_;
  call_site where_;
};

namespace detail {

/// An exception that is both a `Std` and a `rankshare::error` of one kind.
template <class Std, error_kind Kind>
class RANKSHARE_EXPORT error_of : public Std, public error {
 public:
  explicit error_of(std::string const& message, char const* api = "",
                    call_site where = call_site::here())
      : Std(message), error(Kind, api, where) {}
  char const* what() const noexcept override { return Std::what(); }
};

}  // namespace detail

/// Broken precondition, bad value, overflow, uuid mismatch.
struct RANKSHARE_EXPORT invalid_argument
    : detail::error_of<std::invalid_argument, error_kind::invalid_argument> {
  using error_of::error_of;
};

/// The object was closed before.
struct RANKSHARE_EXPORT closed_error : detail::error_of<std::logic_error, error_kind::closed> {
  using error_of::error_of;
};

/// An imported resource was asked for an allocation.
struct RANKSHARE_EXPORT mapped_resource_error
    : detail::error_of<std::logic_error, error_kind::mapped_resource> {
  using error_of::error_of;
};

/// This memory cannot be shared with other processes.
struct RANKSHARE_EXPORT not_shareable
    : detail::error_of<std::logic_error, error_kind::not_shareable> {
  using error_of::error_of;
};

/// A capturing stream was given where it cannot serve.
struct RANKSHARE_EXPORT capture_error : detail::error_of<std::logic_error, error_kind::capture> {
  using error_of::error_of;
};

/// A default stream was given while no CUDA context is current.
struct RANKSHARE_EXPORT no_context : detail::error_of<std::logic_error, error_kind::no_context> {
  using error_of::error_of;
};

/// The registry has no entry of that uuid.
struct RANKSHARE_EXPORT not_registered
    : detail::error_of<std::runtime_error, error_kind::not_registered> {
  using error_of::error_of;
};

/// A descriptor that is forged, short, foreign, of another version or of the wrong kind.
struct RANKSHARE_EXPORT invalid_descriptor
    : detail::error_of<std::runtime_error, error_kind::invalid_descriptor> {
  using error_of::error_of;
};

/// A descriptor of memory that its owner has freed since, or uses for something else.
struct RANKSHARE_EXPORT stale_descriptor
    : detail::error_of<std::runtime_error, error_kind::stale_descriptor> {
  using error_of::error_of;
};

/// The kernel, the driver, the permissions or this build lack something that is needed.
struct RANKSHARE_EXPORT not_supported
    : detail::error_of<std::runtime_error, error_kind::not_supported> {
  using error_of::error_of;
};

/// Not enough memory.
class RANKSHARE_EXPORT out_of_memory : public std::bad_alloc, public error {
 public:
  out_of_memory(std::string message, std::size_t bytes, char const* api = "",
                call_site where = call_site::here())
      : error(error_kind::out_of_memory, api, where), message_(std::move(message)), bytes_(bytes) {}
  char const* what() const noexcept override { return message_.c_str(); }
  /// @return the bytes that were asked for
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::string message_;
  std::size_t bytes_;
};

/// A system call failed; `code()` holds the errno.
class RANKSHARE_EXPORT system_error : public std::system_error, public error {
 public:
  /// @param errnum  errno of the failed call
  /// @param message what was being done, on what, the cause and the remedy
  /// @param api     name of the system call
  system_error(int errnum, std::string const& message, char const* api,
               call_site where = call_site::here())
      : std::system_error(errnum, std::generic_category(), message),
        error(error_kind::system, api, where) {}
  char const* what() const noexcept override { return std::system_error::what(); }
};

/// A call of the CUDA driver failed in a way that no other exception names; `code()` holds the
/// `CUresult`.
class RANKSHARE_EXPORT cuda_error : public std::runtime_error, public error {
 public:
  /// @param code    `CUresult` of the failed call
  /// @param message what was being done, on what, the name of the code and the remedy
  /// @param api     name of the driver function
  cuda_error(int code, std::string const& message, char const* api,
             call_site where = call_site::here())
      : std::runtime_error(message), error(error_kind::cuda, api, where), code_(code) {}
  char const* what() const noexcept override { return std::runtime_error::what(); }
  /// @return the `CUresult`
  int code() const noexcept { return code_; }

 private:
  int code_;
};

/// @return the kind of the exception that is being handled; `other` for a foreign one. Call it in a
///         catch block only.
RANKSHARE_EXPORT error_kind current_error_kind() noexcept;

/// @return the text of the exception that is being handled. Call it in a catch block only.
RANKSHARE_EXPORT std::string current_error_text();

}  // namespace rankshare
