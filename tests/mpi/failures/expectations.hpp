// SPDX-License-Identifier: Apache-2.0
/// @file
/// Checks the exceptions by which ranks hear of other ranks: type, ranks, and what they say.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include <rankshare/mpi/error.hpp>
#include <support/throws.hpp>

namespace rankshare::test {

/// `call` throws `Expected`, a `peer_lost` or a `timeout`, for exactly `ranks`, and names them.
template <class Expected, class Call, class... Words>
testing::AssertionResult throws_for(std::vector<int> const& ranks, Call const& call,
                                    Words const&... words) {
  std::optional<std::vector<int>> named;
  auto const result = throws<Expected>(
      [&] {
        try {
          call();
        } catch (Expected const& thrown) {
          named = thrown.ranks();
          throw;
        }
      },
      words...);
  if (!result || named == ranks) return result;
  return testing::AssertionFailure() << "it is thrown for " << testing::PrintToString(*named)
                                     << ", not for " << testing::PrintToString(ranks);
}

/// `call` throws `remote_error` because `rank` threw something of `kind`.
template <class Call, class... Words>
testing::AssertionResult throws_remote(int rank, error_kind kind, Call const& call,
                                       Words const&... words) {
  int named = -1;
  error_kind named_kind = error_kind::none;
  auto const result = throws<mpi::remote_error>(
      [&] {
        try {
          call();
        } catch (mpi::remote_error const& thrown) {
          named = thrown.rank();
          named_kind = thrown.remote_kind();
          throw;
        }
      },
      "rank " + std::to_string(rank), words...);
  if (!result || (named == rank && named_kind == kind)) return result;
  return testing::AssertionFailure()
         << "it names rank " << named << " and " << to_string(named_kind) << ", not rank " << rank
         << " and " << to_string(kind);
}

}  // namespace rankshare::test
