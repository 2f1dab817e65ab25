// SPDX-License-Identifier: Apache-2.0
// What stands under the number of a pool's file descriptor is not believed: other files are
// refused, and none of them is mapped.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <rankshare/base/error.hpp>
#include <rankshare/driver/host_pool_file.hpp>
#include <rankshare/driver/imported_host_pool.hpp>
#include <rankshare/driver/owned_host_pool.hpp>
#include <support/leftovers.hpp>
#include <support/throws.hpp>

namespace rankshare::detail {
namespace {

using test::throws;

constexpr int all_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// What the file of a pool begins with.
struct file_header {
  char magic[8];
  std::uint64_t memory;  // bytes
  uuid id;
  std::uint8_t kind;
  std::uint8_t reserved[3];
  std::int32_t location;
  std::uint8_t more_reserved[24];
};
static_assert(sizeof(file_header) == 64);

unique_fd make_memfd(file_header const& header, std::size_t bytes, int seals = all_seals) {
  unique_fd file(::memfd_create("forged", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(file.get(), static_cast<off_t>(bytes)), 0);
  auto const written = std::min(sizeof header, bytes);
  EXPECT_EQ(::pwrite(file.get(), &header, written, 0), static_cast<ssize_t>(written));
  EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, seals), 0);
  return file;
}

class HostPoolFileTest : public testing::Test {
 protected:
  // Without an expected uuid it is no pool; with one, the pool is not there any more.
  void expect_refused(int fd, std::string const& why) const {
    auto const before = test::footprint::now();
    auto const number = "file descriptor " + std::to_string(fd);
    EXPECT_TRUE(throws<invalid_descriptor>([&] { imported_host_pool(fd, uuid{}); }, number, why,
                                           "pass the fd of an allocation handle"));
    EXPECT_TRUE(throws<stale_descriptor>([&] { imported_host_pool(fd, id_); }, number, why,
                                         "its owner has closed pool " + to_string(id_)));
    EXPECT_TRUE(test::nothing_left_since(before));
  }

  // Header and length of a real pool, which every forgery begins with.
  void SetUp() override {
    pool_properties properties;
    properties.max_size = 4096;
    properties.id = id_;
    auto const real = owned_host_pool(properties).export_handle();
    ASSERT_EQ(::pread(real.get(), &header_, sizeof header_, 0),
              static_cast<ssize_t>(sizeof header_));
    ASSERT_EQ(header_.id, id_);
    ASSERT_EQ(header_.memory, 4096U);
    ASSERT_EQ(header_.kind, 3U);
    ASSERT_EQ(header_.location, -1);
    struct stat entry {};
    ASSERT_EQ(::fstat(real.get(), &entry), 0);
    bytes_ = static_cast<std::size_t>(entry.st_size);
  }

  uuid const id_ = uuid::random();
  file_header header_{};
  std::size_t bytes_ = 0;  // of the whole file
};

TEST_F(HostPoolFileTest, ForgeryWithEverythingRightIsAPool) {
  auto const file = make_memfd(header_, bytes_);
  EXPECT_NO_THROW(imported_host_pool(file.get(), id_));
}

TEST_F(HostPoolFileTest, ClosedNumberIsRefused) {
  auto file = make_memfd(header_, bytes_);
  int const number = file.get();
  file.reset();
  expect_refused(number, "not a memfd");
  expect_refused(-1, "not a memfd");
}

TEST_F(HostPoolFileTest, PlainFileIsRefused) {
  char path[] = "/tmp/rankshare_XXXXXX";
  unique_fd const file(::mkstemp(path));
  ASSERT_TRUE(file);
  ::unlink(path);
  auto const content = header_;
  ASSERT_EQ(::write(file.get(), &content, sizeof content), static_cast<ssize_t>(sizeof content));
  ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(bytes_)), 0);
  // On tmpfs a file has seals, and they forbid any further one.
  auto const before = test::footprint::now();
  EXPECT_TRUE(throws<invalid_descriptor>([&] { imported_host_pool(file.get(), uuid{}); }));
  EXPECT_TRUE(throws<stale_descriptor>([&] { imported_host_pool(file.get(), id_); }));
  EXPECT_TRUE(test::nothing_left_since(before));
}

TEST_F(HostPoolFileTest, PipeSocketFolderAndDeviceAreRefused) {
  int pipe_ends[2];
  ASSERT_EQ(::pipe2(pipe_ends, O_CLOEXEC), 0);
  unique_fd const in(pipe_ends[0]);
  unique_fd const out(pipe_ends[1]);
  expect_refused(in.get(), "not a memfd");
  unique_fd const socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  expect_refused(socket.get(), "not a memfd");
  unique_fd const folder(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  expect_refused(folder.get(), "not a memfd");
  unique_fd const device(::open("/dev/null", O_RDWR | O_CLOEXEC));
  expect_refused(device.get(), "not a memfd");
}

TEST_F(HostPoolFileTest, MemfdThatMayShrinkOrGrowIsRefused) {
  for (int const seals : {0, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_SHRINK | F_SEAL_GROW}) {
    expect_refused(make_memfd(header_, bytes_, seals).get(), "not sealed");
  }
}

TEST_F(HostPoolFileTest, MemfdOfOtherContentIsRefused) {
  auto other = header_;
  other.magic[7] = '2';
  expect_refused(make_memfd(other, bytes_).get(), "no host pool");
  expect_refused(make_memfd(file_header{}, bytes_).get(), "no host pool");
}

TEST_F(HostPoolFileTest, MemfdOfAnotherLengthIsRefused) {
  expect_refused(make_memfd(header_, bytes_ - 4096).get(), "no host pool");
  expect_refused(make_memfd(header_, bytes_ + 4096).get(), "no host pool");
}

TEST_F(HostPoolFileTest, MemfdThatClaimsAnotherLengthIsRefused) {
  for (std::uint64_t const memory : {std::uint64_t{0}, std::uint64_t{4095}, std::uint64_t{8192},
                                     std::uint64_t{1} << 46, ~std::uint64_t{0}}) {
    auto other = header_;
    other.memory = memory;
    expect_refused(make_memfd(other, bytes_).get(), "no host pool");
  }
}

TEST_F(HostPoolFileTest, MemfdThatIsTooShortForAHeaderIsRefused) {
  for (std::size_t const bytes : {0U, 1U, 63U}) {
    expect_refused(make_memfd(header_, bytes).get(), "no host pool");
  }
}

TEST_F(HostPoolFileTest, MemfdThatCannotBeWrittenIsRefused) {
  expect_refused(make_memfd(header_, bytes_, all_seals | F_SEAL_WRITE).get(), "written");
  expect_refused(make_memfd(header_, bytes_, all_seals | F_SEAL_FUTURE_WRITE).get(), "written");
  auto const file = make_memfd(header_, bytes_);
  auto const path = "/proc/self/fd/" + std::to_string(file.get());
  unique_fd const read_only(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(read_only);
  expect_refused(read_only.get(), "written");
}

TEST_F(HostPoolFileTest, PoolOfAnotherKindIsRefused) {
  auto other = header_;
  other.kind = 1;
  other.location = 5;
  expect_refused(make_memfd(other, bytes_).get(), "it is a pool of device memory, not of host");
  other.kind = 2;
  other.location = 0;
  expect_refused(make_memfd(other, bytes_).get(), "it is a pool of pinned memory, not of host");
}

TEST_F(HostPoolFileTest, MemfdThatClaimsAnUnknownKindOrPlaceIsRefused) {
  struct {
    std::uint8_t kind;
    std::int32_t location;
  } const cases[] = {{0, -1}, {4, 0}, {255, 0}, {1, -1}, {1, 64}, {2, -1}, {2, 1}, {3, 0}};
  for (auto const& one : cases) {
    auto other = header_;
    other.kind = one.kind;
    other.location = one.location;
    expect_refused(make_memfd(other, bytes_).get(), "no host pool");
  }
}

TEST_F(HostPoolFileTest, KindAndPlaceOfAPoolAreRead) {
  auto other = header_;
  other.kind = static_cast<std::uint8_t>(memory_kind::device);
  other.location = 63;
  auto const file = make_memfd(other, bytes_);
  auto const found = check_host_pool_file(file.get(), memory_kind::device, id_);
  EXPECT_EQ(found.location, 63);
  EXPECT_EQ(found.layout.memory, 4096U);
  EXPECT_TRUE(
      throws<stale_descriptor>([&] { check_host_pool_file(file.get(), memory_kind::pinned, id_); },
                               "it is a pool of device memory, not of pinned"));
}

TEST_F(HostPoolFileTest, AnotherPoolIsStale) {
  auto other = header_;
  other.id = uuid::random();
  auto const file = make_memfd(other, bytes_);
  auto const before = test::footprint::now();
  EXPECT_TRUE(throws<stale_descriptor>([&] { imported_host_pool(file.get(), id_); },
                                       "it is pool " + to_string(other.id), to_string(id_)));
  EXPECT_TRUE(test::nothing_left_since(before));
}

}  // namespace
}  // namespace rankshare::detail
