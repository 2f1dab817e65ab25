// SPDX-License-Identifier: Apache-2.0
/// @file
/// Checks the exact type of an exception and what its message says.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <typeinfo>

#include <rankshare/base/error.hpp>

namespace rankshare::test {

/// `EXPECT_TRUE(throws<closed_error>([&] { stream.synchronize(); }, "stream", "closed"))`
///
/// @tparam Expected the type of the exception, not a base of it
/// @param words     each must be in the message
template <class Expected, class Call, class... Words>
testing::AssertionResult throws(Call const& call, Words const&... words) {
  try {
    call();
  } catch (error const& thrown) {
    std::string const text = thrown.what();
    if (typeid(thrown) != typeid(Expected)) {
      return testing::AssertionFailure()
             << "it throws " << to_string(thrown.kind()) << ", and says: " << text;
    }
    std::string missing;
    for (std::string const& word : {std::string(), std::string(words)...}) {
      if (text.find(word) == std::string::npos) missing += "\n  lacks: " + word;
    }
    if (missing.empty()) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "its message is: " << text << missing;
  } catch (...) {
    return testing::AssertionFailure() << "it throws a foreign exception: " << current_error_text();
  }
  return testing::AssertionFailure() << "it throws nothing";
}

}  // namespace rankshare::test
