// SPDX-License-Identifier: Apache-2.0
// The main of test programs that start themselves in roles; see child_process.hpp.
#include <gtest/gtest.h>

#include <support/child_process.hpp>

int main(int argc, char** argv) {
  if (auto const status = rankshare::test::run_role(argc, argv)) return *status;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
