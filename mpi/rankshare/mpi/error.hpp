// SPDX-License-Identifier: Apache-2.0
/// @file
/// The exceptions that only a job of several ranks knows. Ranks are those of the communicator that
/// the user gave.
#pragma once

#include <string>
#include <vector>

#include <rankshare/base/error.hpp>

namespace rankshare::mpi {

/// An MPI function returned an error code.
class RANKSHARE_EXPORT mpi_error
    : public rankshare::detail::error_of<std::runtime_error, error_kind::mpi> {
 public:
  /// @param code    what the MPI function returned
  /// @param message what was being done, with MPI's own text
  /// @param api     name of the MPI function
  mpi_error(int code, int error_class, std::string const& message, char const* api,
            call_site where = call_site::here())
      : error_of(message, api, where), code_(code), class_(error_class) {}
  /// @return the code that the MPI function returned
  int code() const noexcept { return code_; }
  /// @return its class, such as `MPI_ERR_COMM`
  int error_class() const noexcept { return class_; }

 private:
  int code_;
  int class_;
};

/// Another rank failed in a collective; this one undid its part.
class RANKSHARE_EXPORT remote_error
    : public rankshare::detail::error_of<std::runtime_error, error_kind::remote> {
 public:
  /// @param rank the rank that failed
  /// @param kind what it threw
  remote_error(int rank, error_kind kind, std::string const& message,
               call_site where = call_site::here())
      : error_of(message, "", where), rank_(rank), remote_kind_(kind) {}
  /// @return the rank that failed
  int rank() const noexcept { return rank_; }
  /// @return the kind of what that rank threw
  error_kind remote_kind() const noexcept { return remote_kind_; }

 private:
  int rank_;
  error_kind remote_kind_;
};

/// Other ranks ended while this one waited for them; the node communicator is broken.
class RANKSHARE_EXPORT peer_lost
    : public rankshare::detail::error_of<std::runtime_error, error_kind::peer_lost> {
 public:
  peer_lost(std::vector<int> ranks, std::string const& message, call_site where = call_site::here())
      : error_of(message, "", where), ranks_(std::move(ranks)) {}
  /// @return the ranks that ended
  std::vector<int> const& ranks() const noexcept { return ranks_; }

 private:
  std::vector<int> ranks_;
};

/// Other ranks did not come within the limit that was set; the node communicator is broken.
class RANKSHARE_EXPORT timeout
    : public rankshare::detail::error_of<std::runtime_error, error_kind::timeout> {
 public:
  timeout(std::vector<int> ranks, std::string const& message, call_site where = call_site::here())
      : error_of(message, "", where), ranks_(std::move(ranks)) {}
  /// @return the ranks that did not come; empty if it is not known which
  std::vector<int> const& ranks() const noexcept { return ranks_; }

 private:
  std::vector<int> ranks_;
};

/// The node communicator broke in an earlier call: a rank ended, or did not come in time.
struct RANKSHARE_EXPORT broken_communicator
    : rankshare::detail::error_of<std::runtime_error, error_kind::broken_communicator> {
  using error_of::error_of;
};

}  // namespace rankshare::mpi
