// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/machine.hpp"

#include <mpi.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>

namespace rankshare::bench {
namespace {

std::string utc_now() {
  std::time_t const now = std::time(nullptr);
  std::tm fields{};
  ::gmtime_r(&now, &fields);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &fields);
  return text.data();
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("model name", 0) != 0) continue;
    auto const colon = line.find(": ");
    return colon == std::string::npos ? std::string() : line.substr(colon + 2);
  }
  return {};
}

// Of the machine: mpirun may have bound this rank to one of them.
int usable_cores() { return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)); }

double load_average() {
  double load = 0;
  return ::getloadavg(&load, 1) == 1 ? load : 0;
}

std::string kernel_release() {
  utsname found{};
  return ::uname(&found) == 0 ? std::string(found.sysname) + " " + found.release : std::string();
}

/// The only function of MPI that may be called before MPI_Init, besides those that ask for that.
std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  std::string const all = text.data();
  return all.substr(0, all.find('\n'));
}

std::string compiler_name() {
#ifdef __clang__
  return "clang " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

}  // namespace

machine_facts machine_facts::now() {
  return {utc_now(),        processor_name(), usable_cores(), load_average(),
          kernel_release(), mpi_version(),    compiler_name()};
}

}  // namespace rankshare::bench
