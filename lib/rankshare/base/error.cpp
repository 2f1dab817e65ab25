// SPDX-License-Identifier: Apache-2.0
#include <rankshare/base/error.hpp>

namespace rankshare {

error::~error() = default;

char const* to_string(error_kind kind) noexcept {
  switch (kind) {
    case error_kind::none:
      return "none";
    case error_kind::invalid_argument:
      return "invalid_argument";
    case error_kind::closed:
      return "closed_error";
    case error_kind::mapped_resource:
      return "mapped_resource_error";
    case error_kind::not_shareable:
      return "not_shareable";
    case error_kind::capture:
      return "capture_error";
    case error_kind::no_context:
      return "no_context";
    case error_kind::not_registered:
      return "not_registered";
    case error_kind::invalid_descriptor:
      return "invalid_descriptor";
    case error_kind::stale_descriptor:
      return "stale_descriptor";
    case error_kind::out_of_memory:
      return "out_of_memory";
    case error_kind::not_supported:
      return "not_supported";
    case error_kind::system:
      return "system_error";
    case error_kind::cuda:
      return "cuda_error";
    case error_kind::mpi:
      return "mpi_error";
    case error_kind::remote:
      return "remote_error";
    case error_kind::peer_lost:
      return "peer_lost";
    case error_kind::timeout:
      return "timeout";
    case error_kind::broken_communicator:
      return "broken_communicator";
    case error_kind::other:
      return "exception";
  }
  return "unknown error kind";
}

error_kind current_error_kind() noexcept {
  try {
    throw;
  } catch (error const& e) {
    return e.kind();
  } catch (std::bad_alloc const&) {
    return error_kind::out_of_memory;
  } catch (...) {
    return error_kind::other;
  }
}

std::string current_error_text() {
  try {
    throw;
  } catch (std::exception const& e) {
    return e.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

}  // namespace rankshare
