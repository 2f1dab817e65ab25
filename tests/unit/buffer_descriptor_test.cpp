// SPDX-License-Identifier: Apache-2.0
#include <rankshare/ipc/buffer_descriptor.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <rankshare/base/error.hpp>
#include <support/sealed_bytes.hpp>
#include <support/throws.hpp>

namespace rankshare {
namespace {

using test::throws;

buffer_descriptor::fields sound_fields() {
  buffer_descriptor::fields content;
  content.pool = uuid::from_string("00112233-4455-6677-8899-aabbccddeeff");
  content.kind = memory_kind::pinned;
  content.serial = 0x0102030405060708;
  content.size = 1000;
  content.offset = 4096;
  content.lease = {7, 9};
  for (std::size_t i = 0; i < content.payload.size(); ++i) content.payload[i] = std::byte(i);
  return content;
}

buffer_descriptor read(buffer_descriptor::bytes_type const& bytes) {
  return buffer_descriptor::from_bytes(bytes.data(), bytes.size());
}

TEST(BufferDescriptorTest, GoesThroughBytesUnchanged) {
  auto const wanted = sound_fields();
  auto const got = read(buffer_descriptor(wanted).bytes()).content();
  EXPECT_EQ(got.pool, wanted.pool);
  EXPECT_EQ(got.kind, wanted.kind);
  EXPECT_EQ(got.serial, wanted.serial);
  EXPECT_EQ(got.size, wanted.size);
  EXPECT_EQ(got.offset, wanted.offset);
  EXPECT_EQ(got.lease.slot, wanted.lease.slot);
  EXPECT_EQ(got.lease.generation, wanted.lease.generation);
  EXPECT_EQ(got.payload, wanted.payload);
}

TEST(BufferDescriptorTest, TellsSizeAndPool) {
  buffer_descriptor const made(sound_fields());
  EXPECT_EQ(made.size(), 1000U);
  EXPECT_EQ(made.pool_id(), sound_fields().pool);
  EXPECT_EQ(made.content().serial, sound_fields().serial);
}

TEST(BufferDescriptorTest, BytesBeginWithMagicAndVersion) {
  auto const bytes = buffer_descriptor(sound_fields()).bytes();
  EXPECT_EQ(std::string(reinterpret_cast<char const*>(bytes.data()), 4), "rsbd");
  EXPECT_EQ(bytes[4], std::byte{buffer_descriptor::version});
  EXPECT_EQ(bytes[5], std::byte{0});
}

TEST(BufferDescriptorTest, WithoutALeaseItHasNone) {
  auto content = sound_fields();
  content.lease = {};
  EXPECT_TRUE(read(buffer_descriptor(content).bytes()).content().lease.is_none());
}

TEST(BufferDescriptorTest, AnotherLeaseChangesNothingElse) {
  buffer_descriptor const made(sound_fields());
  auto const leased = made.with_lease({11, 13});
  EXPECT_EQ(leased.content().lease.slot, 11U);
  EXPECT_EQ(leased.content().lease.generation, 13U);
  EXPECT_EQ(made.content().lease.slot, 7U);
  EXPECT_EQ(leased.with_lease({7, 9}).bytes(), made.bytes());
}

TEST(BufferDescriptorTest, UnsoundFieldsAreRefused) {
  auto const expect_refused = [](auto const& spoil) {
    auto content = sound_fields();
    spoil(content);
    EXPECT_TRUE(throws<invalid_argument>([&] { buffer_descriptor{content}; },
                                         "making a buffer descriptor", "it needs"));
  };
  using fields = buffer_descriptor::fields;
  expect_refused([](fields& content) { content.pool = {}; });
  expect_refused([](fields& content) { content.serial = 0; });
  expect_refused([](fields& content) { content.kind = static_cast<memory_kind>(0); });
  expect_refused([](fields& content) { content.kind = static_cast<memory_kind>(4); });
  expect_refused([](fields& content) { content.size = ~std::uint64_t{0}; });
  expect_refused([](fields& content) { content.offset = ~std::uint64_t{0}; });
}

TEST(BufferDescriptorTest, EveryOtherLengthIsRefused) {
  auto const bytes = buffer_descriptor(sound_fields()).bytes();
  std::vector<std::byte> more(bytes.begin(), bytes.end());
  more.resize(2 * bytes.size());
  for (std::size_t count = 0; count <= more.size(); ++count) {
    if (count == bytes.size()) continue;
    EXPECT_TRUE(throws<invalid_descriptor>(
        [&] { buffer_descriptor::from_bytes(more.data(), count); }, "reading a buffer descriptor",
        "there are " + std::to_string(count) + " bytes, and it has 144", "send all of them"));
  }
  EXPECT_TRUE(throws<invalid_descriptor>([] { buffer_descriptor::from_bytes(nullptr, 144); }));
}

TEST(BufferDescriptorTest, AnotherVersionIsRefusedAndNamed) {
  auto bytes = buffer_descriptor(sound_fields()).bytes();
  bytes[4] = std::byte{2};
  EXPECT_TRUE(throws<invalid_descriptor>([&] { read(bytes); }, "of version 2",
                                         "this library reads version 1",
                                         "link all ranks with the same rankshare"));
  bytes[5] = std::byte{1};
  EXPECT_TRUE(throws<invalid_descriptor>([&] { read(bytes); }, "of version 258"));
}

TEST(BufferDescriptorTest, OtherBytesAreRefused) {
  EXPECT_TRUE(throws<invalid_descriptor>([] { read({}); }, "the bytes are something else"));
  auto bytes = buffer_descriptor(sound_fields()).bytes();
  bytes[8] = std::byte{1};  // its own length
  EXPECT_TRUE(throws<invalid_descriptor>([&] { read(bytes); }, "reading a buffer descriptor"));
}

TEST(BufferDescriptorTest, UnsoundBytesAreRefused) {
  auto const good = buffer_descriptor(sound_fields()).bytes();
  auto const expect_refused = [&](std::size_t from, std::size_t count, std::byte value) {
    auto bytes = good;
    for (std::size_t i = from; i < from + count; ++i) bytes[i] = value;
    test::seal(bytes);
    EXPECT_TRUE(throws<invalid_descriptor>([&] { read(bytes); }, "its fields describe no buffer",
                                           "send the bytes as its owner made them"));
  };
  expect_refused(16, 16, std::byte{0});    // pool
  expect_refused(32, 8, std::byte{0});     // serial
  expect_refused(40, 8, std::byte{0xFF});  // size
  expect_refused(48, 8, std::byte{0xFF});  // offset
  expect_refused(68, 1, std::byte{0});     // kind
  expect_refused(68, 1, std::byte{0x80});  // kind
}

TEST(BufferDescriptorTest, EveryFlippedBitIsNoticed) {
  auto const good = buffer_descriptor(sound_fields()).bytes();
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    auto bytes = good;
    bytes[bit / 8] ^= std::byte(1U << bit % 8);
    EXPECT_TRUE(throws<invalid_descriptor>([&] { read(bytes); }, "reading a buffer descriptor",
                                           bit / 8 < 16 ? "" : "the check does not fit"))
        << "bit " << bit;
  }
}

}  // namespace
}  // namespace rankshare
