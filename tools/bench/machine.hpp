// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a reader of results must know of the machine.
#pragma once

#include <string>

namespace rankshare::bench {

/// The machine and how the program was made.
struct machine_facts {
  std::string date;       ///< UTC, ISO 8601
  std::string processor;  ///< empty where the kernel does not say
  int cores = 0;          ///< that this process may use
  double load = 0;        ///< average of the last minute
  std::string kernel;
  std::string mpi;
  std::string compiler;

  static machine_facts now();
};

}  // namespace rankshare::bench
