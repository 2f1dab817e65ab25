// SPDX-License-Identifier: Apache-2.0
#include <rankshare/ipc/pool_descriptor.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <random>
#include <string>
#include <vector>

#include <rankshare/base/error.hpp>
#include <support/sealed_bytes.hpp>
#include <support/throws.hpp>

namespace rankshare {
namespace {

using test::throws;

pool_descriptor::fields sound_fields() {
  pool_descriptor::fields content;
  content.pool = uuid::from_string("00112233-4455-6677-8899-aabbccddeeff");
  content.kind = memory_kind::host;
  content.host = {uuid::from_string("10112233-4455-6677-8899-aabbccddeeff"), 3, 5};
  content.pid = 1234;
  content.start_time = 0x0102030405060708;
  content.fd = 17;
  content.device = uuid::from_string("20112233-4455-6677-8899-aabbccddeeff");
  content.numa_node = 2;
  content.granularity = 4096;
  content.lease = {7, 9};
  return content;
}

pool_descriptor read(pool_descriptor::bytes_type const& bytes) {
  return pool_descriptor::from_bytes(bytes.data(), bytes.size());
}

TEST(PoolDescriptorTest, GoesThroughBytesUnchanged) {
  auto const wanted = sound_fields();
  auto const got = read(pool_descriptor(wanted).bytes()).content();
  EXPECT_EQ(got.pool, wanted.pool);
  EXPECT_EQ(got.kind, wanted.kind);
  EXPECT_EQ(got.host, wanted.host);
  EXPECT_EQ(got.pid, wanted.pid);
  EXPECT_EQ(got.start_time, wanted.start_time);
  EXPECT_EQ(got.fd, wanted.fd);
  EXPECT_EQ(got.device, wanted.device);
  EXPECT_EQ(got.numa_node, wanted.numa_node);
  EXPECT_EQ(got.granularity, wanted.granularity);
  EXPECT_EQ(got.lease.slot, wanted.lease.slot);
  EXPECT_EQ(got.lease.generation, wanted.lease.generation);
}

TEST(PoolDescriptorTest, BytesBeginWithMagicAndVersion) {
  auto const bytes = pool_descriptor(sound_fields()).bytes();
  EXPECT_EQ(std::string(reinterpret_cast<char const*>(bytes.data()), 4), "rspd");
  EXPECT_EQ(bytes[4], std::byte{pool_descriptor::version});
}

TEST(PoolDescriptorTest, UnsoundFieldsAreRefused) {
  auto const expect_refused = [](auto const& spoil) {
    auto content = sound_fields();
    spoil(content);
    EXPECT_TRUE(throws<invalid_argument>([&] { pool_descriptor{content}; },
                                         "making a pool descriptor", "it needs a uuid"));
  };
  using fields = pool_descriptor::fields;
  expect_refused([](fields& content) { content.pool = {}; });
  expect_refused([](fields& content) { content.kind = static_cast<memory_kind>(0); });
  expect_refused([](fields& content) { content.kind = static_cast<memory_kind>(4); });
  expect_refused([](fields& content) { content.pid = 0; });
  expect_refused([](fields& content) { content.pid = -1; });
  expect_refused([](fields& content) { content.fd = -1; });
}

TEST(PoolDescriptorTest, EveryOtherLengthIsRefused) {
  auto const bytes = pool_descriptor(sound_fields()).bytes();
  std::vector<std::byte> more(bytes.begin(), bytes.end());
  more.resize(2 * bytes.size());
  for (std::size_t count = 0; count <= more.size(); ++count) {
    if (count == bytes.size()) continue;
    EXPECT_TRUE(throws<invalid_descriptor>([&] { pool_descriptor::from_bytes(more.data(), count); },
                                           "reading a pool descriptor",
                                           "there are " + std::to_string(count) + " bytes"));
  }
}

TEST(PoolDescriptorTest, AnotherVersionIsRefusedAndNamed) {
  auto bytes = pool_descriptor(sound_fields()).bytes();
  bytes[4] = std::byte{9};
  EXPECT_TRUE(throws<invalid_descriptor>([&] { read(bytes); }, "of version 9", "reads version 1",
                                         "same rankshare"));
}

TEST(PoolDescriptorTest, BytesOfOtherThingsAreRefused) {
  EXPECT_TRUE(throws<invalid_descriptor>([] { read({}); }, "the bytes are something else"));
  auto bytes = pool_descriptor(sound_fields()).bytes();
  bytes[2] = std::byte{'b'};  // as a buffer descriptor begins
  EXPECT_TRUE(throws<invalid_descriptor>([&] { read(bytes); }, "the bytes are something else"));
}

TEST(PoolDescriptorTest, EveryFlippedBitIsNoticed) {
  auto const good = pool_descriptor(sound_fields()).bytes();
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    auto bytes = good;
    bytes[bit / 8] ^= std::byte(1U << bit % 8);
    EXPECT_TRUE(throws<invalid_descriptor>([&] { read(bytes); }, "reading a pool descriptor"))
        << "bit " << bit;
  }
}

TEST(PoolDescriptorTest, RandomBytesUnderARightCheckAreRefusedOrSound) {
  std::mt19937_64 random(3);
  auto const good = pool_descriptor(sound_fields()).bytes();
  for (int i = 0; i < 10000; ++i) {
    auto bytes = good;
    for (std::size_t at = 16; at < bytes.size(); ++at) bytes[at] = std::byte(random() & 0xFF);
    test::seal(bytes);
    try {
      auto const content = read(bytes).content();
      EXPECT_GT(content.pid, 0);
      EXPECT_GE(content.fd, 0);
    } catch (invalid_descriptor const&) {
    }
  }
}

}  // namespace
}  // namespace rankshare
