// SPDX-License-Identifier: Apache-2.0
// Processes from which the GPUs of this machine are hidden.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include <gpu/gpu_fixture.hpp>
#include <rankshare/base/error.hpp>
#include <rankshare/handle/device.hpp>
#include <support/channel.hpp>
#include <support/child_process.hpp>

namespace rankshare::test {
namespace {

// Looks for GPUs, for the first time in its process.
int run_look(channel& parent) {
  int count = -1;
  parent.send_outcome([&] { count = device::count(); });
  parent.send(count);
  parent.send_text(count == 0 ? device::why_no_gpu() : "");
  parent.send_outcome([] { device::gpu(0); });
  return 0;
}

role const look_role("gpu look", run_look);

class HiddenGpusTest : public gpu_fixture {};

TEST_F(HiddenGpusTest, HiddenGpusAreSaidToBeHidden) {
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  child_process child("gpu look");
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(child.talk().receive<error_kind>(), error_kind::none);
  EXPECT_EQ(child.talk().receive_text(), "");
  EXPECT_EQ(child.talk().receive<int>(), 0);
  EXPECT_NE(child.talk().receive_text().find("CUDA_VISIBLE_DEVICES=''"), std::string::npos);
  EXPECT_EQ(child.talk().receive<error_kind>(), error_kind::not_supported);
  EXPECT_NE(child.talk().receive_text().find("using GPU 0: "), std::string::npos);
  EXPECT_EQ(child.wait(), 0);
}

TEST_F(HiddenGpusTest, HiddenGpusAreAnErrorWhereOneIsAskedFor) {
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  ::setenv("RANKSHARE_DRIVER", "cuda", 1);
  child_process child("gpu look");
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  ::unsetenv("RANKSHARE_DRIVER");
  EXPECT_EQ(child.talk().receive<error_kind>(), error_kind::not_supported);
  auto const text = child.talk().receive_text();
  EXPECT_NE(text.find("RANKSHARE_DRIVER=cuda asks for a GPU"), std::string::npos) << text;
  EXPECT_NE(text.find("CUDA_VISIBLE_DEVICES=''"), std::string::npos) << text;
}

TEST_F(HiddenGpusTest, HostDriverHidesGpusWithoutInitialisingCuda) {
  ::setenv("RANKSHARE_DRIVER", "host", 1);
  child_process child("gpu look");
  ::unsetenv("RANKSHARE_DRIVER");
  EXPECT_EQ(child.talk().receive<error_kind>(), error_kind::none);
  (void)child.talk().receive_text();
  EXPECT_EQ(child.talk().receive<int>(), 0);
  EXPECT_NE(child.talk().receive_text().find("RANKSHARE_DRIVER=host"), std::string::npos);
  EXPECT_EQ(child.talk().receive<error_kind>(), error_kind::not_supported);
}

}  // namespace
}  // namespace rankshare::test
