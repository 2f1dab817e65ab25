// SPDX-License-Identifier: Apache-2.0
#include <rankshare/mpi/mpi_call.hpp>

#include <rankshare/mpi/error.hpp>

namespace rankshare::mpi::detail {

void check_mpi(int code, char const* api, char const* doing) {
  if (code == MPI_SUCCESS) return;
  int error_class = MPI_ERR_UNKNOWN;
  MPI_Error_class(code, &error_class);
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw mpi_error(code, error_class,
                  std::string(doing) + ": " + api + " failed (code " + std::to_string(code) +
                      ", class " + std::to_string(error_class) + "): " + text,
                  api);
}

bool mpi_is_active() noexcept {
  int initialised = 0;
  int finalised = 0;
  MPI_Initialized(&initialised);
  MPI_Finalized(&finalised);
  return initialised != 0 && finalised == 0;
}

void require_active_mpi(char const* doing) {
  if (mpi_is_active()) return;
  int initialised = 0;
  MPI_Initialized(&initialised);
  throw invalid_argument(std::string(doing) + (initialised == 0
                                                   ? ": MPI is not initialised; call MPI_Init first"
                                                   : ": MPI is finalised already; call this before "
                                                     "MPI_Finalize"));
}

bool thread_may_call_mpi() noexcept {
  int level = MPI_THREAD_SINGLE;
  if (MPI_Query_thread(&level) != MPI_SUCCESS) return false;
  if (level >= MPI_THREAD_SERIALIZED) return true;
  int is_main = 0;
  return MPI_Is_thread_main(&is_main) == MPI_SUCCESS && is_main != 0;
}

void require_mpi_thread(char const* doing) {
  if (thread_may_call_mpi()) return;
  throw invalid_argument(std::string(doing) +
                         ": this is not the main thread, and MPI was initialised with "
                         "MPI_THREAD_SINGLE or MPI_THREAD_FUNNELED; call from the main thread, or "
                         "initialise MPI with MPI_THREAD_MULTIPLE");
}

std::string name_ranks(std::vector<int> const& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

}  // namespace rankshare::mpi::detail
