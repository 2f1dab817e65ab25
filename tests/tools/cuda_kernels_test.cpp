// SPDX-License-Identifier: Apache-2.0
// Of rankshare_cuda_kernels. EXPECT_IMAGE is true where the build has nvcc; without it nothing is
// embedded, and these tests check that. Whether a GPU takes the image is for the tests of what
// loads it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <type_traits>
#include <vector>

#include <tools/scale_add.hpp>

namespace rankshare::kernels {
namespace {

/// The start of a fatbin. NVIDIA documents it nowhere; cuobjdump shows the same of what it holds.
struct fatbin_header {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t bytes;  ///< that follow the header
};

enum class code_kind : std::uint16_t { ptx = 1, machine_code = 2 };

/// The start of each of its entries.
struct entry_header {
  code_kind kind;
  std::uint16_t version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;  ///< that follow the header
  std::uint32_t unused[3];
  std::uint32_t architecture;  ///< 90 for sm_90 and compute_90
};

struct entry {
  code_kind kind;
  std::uint32_t architecture;
};

bool operator==(entry const& left, entry const& right) {
  return left.kind == right.kind && left.architecture == right.architecture;
}

std::ostream& operator<<(std::ostream& out, entry const& shown) {
  return out << (shown.kind == code_kind::ptx ? "compute_" : "sm_") << shown.architecture;
}

/// A T at an offset in the image, or zeros where it ends before.
template <typename T>
T at(std::size_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  T result{};
  if (offset + sizeof(T) <= scale_and_add_image_size()) {
    std::memcpy(&result, static_cast<char const*>(scale_and_add_image()) + offset, sizeof(T));
  }
  return result;
}

std::vector<entry> entries() {
  std::vector<entry> found;
  std::size_t offset = at<fatbin_header>(0).header_bytes;
  while (offset < scale_and_add_image_size()) {
    auto const next = at<entry_header>(offset);
    if (next.header_bytes == 0) break;
    found.push_back({next.kind, next.architecture});
    offset += next.header_bytes + next.bytes;
  }
  return found;
}

TEST(CudaKernelsTest, ImageIsThereWhereThereIsNvcc) {
  EXPECT_EQ(scale_and_add_image() != nullptr, EXPECT_IMAGE);
  EXPECT_EQ(scale_and_add_image_size() != 0, EXPECT_IMAGE);
}

TEST(CudaKernelsTest, ImageIsAWholeFatbin) {
  auto const header = at<fatbin_header>(0);

  EXPECT_EQ(header.magic, EXPECT_IMAGE ? 0xba55ed50 : 0);
  EXPECT_EQ(header.header_bytes + header.bytes, scale_and_add_image_size());
}

TEST(CudaKernelsTest, HasMachineCodeForTwoArchitecturesAndPtxForNewerOnes) {
  std::vector<entry> expected;
  if (EXPECT_IMAGE) {
    expected = {{code_kind::machine_code, 80}, {code_kind::machine_code, 90}, {code_kind::ptx, 80}};
  }

  EXPECT_THAT(entries(), testing::UnorderedElementsAreArray(expected));
}

TEST(CudaKernelsTest, ImageIsAligned) {
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(scale_and_add_image()) % 16, 0);
}

}  // namespace
}  // namespace rankshare::kernels
