// SPDX-License-Identifier: Apache-2.0
// What is found where libcuda is looked for, as stand-ins for it show.
#include <rankshare/driver/cuda_driver.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include <rankshare/base/error.hpp>
#include <rankshare/driver/cuda_headers.hpp>
#include <support/throws.hpp>

namespace rankshare::detail {
namespace {

#if RANKSHARE_HAS_CUDA

/// Loads a stand-in, which must fail with all of the words.
template <class... Words>
testing::AssertionResult is_refused(std::string const& stand_in, Words const&... words) {
  auto const path = "tests/unit/lib" + stand_in + ".so";
  return test::throws<not_supported>([&] { load_cuda_driver(path.c_str()); }, words...);
}

constexpr char remedy[] = "install an NVIDIA driver for CUDA 12.0 or later";

TEST(CudaDriverTest, MissingLibraryIsNamed) {
  EXPECT_TRUE(is_refused("of_no_driver", "loading the CUDA driver", "tests/unit/libof_no_driver.so",
                         remedy, "RANKSHARE_DRIVER=host"));
}

TEST(CudaDriverTest, TooOldLibraryIsNamedWithItsVersion) {
  EXPECT_TRUE(is_refused("cuda_of_11_8", "libcuda_of_11_8.so has no cuGetProcAddress_v2",
                         "since CUDA 12.0", "a driver for CUDA 11.8", remedy));
}

TEST(CudaDriverTest, MissingFunctionIsNamedWithItsVersion) {
  EXPECT_TRUE(is_refused("cuda_that_lacks_one",
                         "libcuda_that_lacks_one.so has no "
                         "cuMemPoolImportPointer",
                         "since CUDA 11.2", "a driver for CUDA 12.3", remedy));
}

TEST(CudaDriverTest, NoGpuIsSaidWithItsCause) {
  char const* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::string const former = visible != nullptr ? visible : "";
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_TRUE(is_refused("cuda_without_gpu", "looking for GPUs", "sees none", "nvidia-smi",
                         "RANKSHARE_DRIVER=host"));
  ::setenv("CUDA_VISIBLE_DEVICES", "7", 1);
  EXPECT_TRUE(is_refused("cuda_without_gpu", "sees none with CUDA_VISIBLE_DEVICES='7'",
                         "unset the variable"));
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  if (visible != nullptr) ::setenv("CUDA_VISIBLE_DEVICES", former.c_str(), 1);
}

TEST(CudaDriverTest, FailureToInitialiseIsNamed) {
  EXPECT_TRUE(is_refused("cuda_that_fails", "initialising the CUDA driver",
                         "CUDA_ERROR_OF_A_STAND_IN", "nvidia-smi", "RANKSHARE_DRIVER=host"));
}

TEST(CudaDriverTest, LibraryWithAllFunctionsIsLoaded) {
  auto const loaded = load_cuda_driver("tests/unit/libcuda_of_12_3.so");
  EXPECT_STREQ(loaded->name(), "cuda");
  EXPECT_EQ(loaded->device_count(), 0);
}

#else

TEST(CudaDriverTest, BuildWithoutCudaSaysSo) {
  EXPECT_TRUE(test::throws<not_supported>([] { load_cuda_driver("libcuda.so.1"); },
                                          "built without the headers", "CUDA_HOME"));
}

#endif

// None of this is what a program asks for when it uses GPUs.
TEST(CudaDriverTest, LoadingALibraryIsNotAskingForGpus) {
  EXPECT_FALSE(cuda_driver_was_asked_for());
}

}  // namespace
}  // namespace rankshare::detail
