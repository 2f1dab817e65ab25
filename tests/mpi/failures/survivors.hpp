// SPDX-License-Identifier: Apache-2.0
/// @file
/// For cases in which ranks end; see survivors_test.sh.
#pragma once

namespace rankshare::test {

/// Adds a line to the verdict of this rank: "ends" just before it ends in the middle of a case.
void write_verdict(char const* word);

}  // namespace rankshare::test
