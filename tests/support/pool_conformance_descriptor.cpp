// SPDX-License-Identifier: Apache-2.0
// Conformance of pool resources: descriptors that are forged, spoilt, foreign or out of date. None
// crashes, and none maps anything beyond the allocation.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <rankshare/ipc/buffer_descriptor.hpp>
#include <support/pool_conformance.hpp>
#include <support/sealed_bytes.hpp>

namespace rankshare::test {
namespace {

using bytes_type = buffer_descriptor::bytes_type;

// Where things are in a descriptor of version 1.
constexpr std::size_t content_begin = 32;
constexpr std::size_t kind_at = 68;
constexpr std::size_t payload_begin = 80;

// A byte that tells nothing about the memory, or the check itself.
bool is_reserved(std::size_t at) {
  return (at >= 6 && at < 8) || (at >= 12 && at < 16) || (at >= 69 && at < payload_begin);
}

// Names the allocation, a part of it, a lease, or is the driver's own; never decides alone.
bool may_be_accepted(std::size_t at) {
  return is_reserved(at) || (at >= content_begin && at < kind_at) || at >= payload_begin;
}

buffer import_bytes(pool_memory_resource const& through, bytes_type const& bytes,
                    stream_ref order) {
  return buffer::from_ipc_descriptor(
      through, buffer_descriptor::from_bytes(bytes.data(), bytes.size()), order);
}

buffer import_content(pool_memory_resource const& through, buffer_descriptor::fields const& content,
                      stream_ref order) {
  return buffer::from_ipc_descriptor(through, buffer_descriptor(content), order);
}

// Bytes under a right check give one of two errors, or a buffer.
std::optional<buffer> try_import(pool_memory_resource const& through, bytes_type const& bytes,
                                 stream_ref order) {
  try {
    return import_bytes(through, bytes, order);
  } catch (invalid_descriptor const&) {
  } catch (stale_descriptor const&) {
  } catch (std::exception const& thrown) {
    ADD_FAILURE() << "an error of another type: " << thrown.what();
  }
  return std::nullopt;
}

testing::AssertionResult is_refused(pool_memory_resource const& through, bytes_type const& bytes,
                                    stream_ref order) {
  return throws<invalid_descriptor>([&] { import_bytes(through, bytes, order); });
}

// Not for drivers that cannot take it.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ForgedPayloadConformanceTest);

TEST_P(PoolConformanceTest, ZerosAreNoDescriptor) {
  auto const mapped = import(make());
  EXPECT_TRUE(
      throws<invalid_descriptor>([&] { import_bytes(mapped, {}, order()); }, "something else"));
}

TEST_P(PoolConformanceTest, RandomBytesAreNoDescriptor) {
  auto const mapped = import(make());
  auto const before = footprint_now();
  checked_.reset_counts();
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i) {
    bytes_type bytes;
    for (auto& byte : bytes) byte = std::byte(random() & 0xFF);
    EXPECT_TRUE(is_refused(mapped, bytes, order()));
  }
  EXPECT_EQ(checked_.total_calls(), 0U);
  EXPECT_TRUE(nothing_left_since(before));
}

// `sealed`: under a right check.
bytes_type with_random_content(buffer const& of, std::mt19937_64& random, bool keeps_more,
                               bool sealed) {
  auto bytes = of.ipc_descriptor().bytes();
  for (std::size_t at = content_begin; at < bytes.size(); ++at) {
    bool const keeps = at == kind_at || (at >= 40 && at < 56) ||
                       (keeps_more && at >= payload_begin && at < payload_begin + 8);
    if (!keeps) bytes[at] = std::byte(random() & 0xFF);
  }
  if (sealed) seal(bytes);
  return bytes;
}

// Header, pool and kind are right; all else is random.
TEST_P(PoolConformanceTest, RandomBytesBehindASoundHeaderAreNoDescriptor) {
  auto const memory = make();
  auto const mine = memory.allocate(100);
  auto const mapped = import(memory);
  auto const before = footprint_now();
  std::mt19937_64 random(2);
  for (int i = 0; i < 10000; ++i) {
    auto const bytes = with_random_content(mine, random, i % 2 == 0, false);
    EXPECT_TRUE(is_refused(mapped, bytes, order()));
  }
  EXPECT_TRUE(nothing_left_since(before));
}

TEST_P(ForgedPayloadConformanceTest, RandomContentUnderARightCheckIsNoBuffer) {
  auto const memory = make();
  auto const mine = memory.allocate(100);
  auto const mapped = import(memory);
  auto const before = footprint_now();
  std::mt19937_64 random(2);
  for (int i = 0; i < 10000; ++i) {
    auto const bytes = with_random_content(mine, random, i % 2 == 0, true);
    EXPECT_FALSE(try_import(mapped, bytes, order()));
  }
  EXPECT_TRUE(nothing_left_since(before));
}

TEST_P(PoolConformanceTest, EveryTruncationIsRefused) {
  auto const memory = make();
  auto const mine = memory.allocate(100);
  auto const bytes = mine.ipc_descriptor().bytes();
  for (std::size_t count = 0; count < bytes.size(); ++count) {
    EXPECT_TRUE(
        throws<invalid_descriptor>([&] { buffer_descriptor::from_bytes(bytes.data(), count); },
                                   std::to_string(count) + " bytes"));
  }
}

// Each bit is flipped, while the genuine buffer is mapped and while it is not.
TEST_P(PoolConformanceTest, EveryFlippedBitIsRefused) {
  auto const memory = make();
  auto mine = memory.allocate(10000);
  write_pattern(mine, 1);
  auto const good = mine.ipc_descriptor().bytes();
  auto const mapped = import(memory);
  auto genuine = import_bytes(mapped, good, order());
  auto const expect_refusals = [&] {
    checked_.reset_counts();
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
      auto bytes = good;
      bytes[bit / 8] ^= std::byte(1U << bit % 8);
      EXPECT_TRUE(is_refused(mapped, bytes, order())) << "bit " << bit;
    }
    EXPECT_EQ(checked_.total_calls(), 0U);
  };
  expect_refusals();
  EXPECT_TRUE(has_pattern(genuine, 1));
  genuine.close();
  expect_refusals();
  EXPECT_TRUE(has_pattern(import_bytes(mapped, good, order()), 1));
}

TEST_P(ForgedPayloadConformanceTest, NoFlippedBitUnderARightCheckMapsAnythingElse) {
  auto const memory = make();
  auto const below = memory.allocate(100);
  auto const mine = memory.allocate(10000);
  auto const above = memory.allocate(100);
  (void)above.ipc_descriptor();
  auto const good = mine.ipc_descriptor().bytes();
  auto const mapped = import(memory);
  auto genuine = import_bytes(mapped, good, order());
  auto const first = genuine.handle();
  auto const end = first + genuine.capacity();
  auto const flip_each_bit = [&] {
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
      auto bytes = good;
      bytes[bit / 8] ^= std::byte(1U << bit % 8);
      seal(bytes);
      auto const got = try_import(mapped, bytes, order());
      EXPECT_TRUE(got || !is_reserved(bit / 8)) << "bit " << bit;
      if (!got || got->size() == 0) continue;
      EXPECT_TRUE(may_be_accepted(bit / 8)) << "bit " << bit;
      EXPECT_GE(got->handle(), first) << "bit " << bit;
      EXPECT_LE(got->handle() + got->size(), end) << "bit " << bit;
    }
  };
  flip_each_bit();
  genuine.close();
  flip_each_bit();
  // What a pool maps of its own tables stays with it; nothing else does.
  auto const before = footprint_now();
  flip_each_bit();
  EXPECT_TRUE(nothing_left_since(before));
}

TEST_P(PoolConformanceTest, LargerSizeThanTheAllocationIsRefused) {
  auto const memory = make();
  auto const mine = memory.allocate(100);
  auto const mapped = import(memory);
  import_buffer(mapped, mine).close();  // the mark of its end stays with the pool
  auto const before = footprint_now();
  auto content = mine.ipc_descriptor().content();
  auto const expect_refused = [&](std::uint64_t offset, std::uint64_t size) {
    content.offset = offset;
    content.size = size;
    EXPECT_TRUE(throws<invalid_descriptor>(
        [&] { import_content(mapped, content, order()); }, to_string(memory.uuid()),
        std::to_string(size) + " bytes at offset " + std::to_string(offset),
        "its owner allocated " + std::to_string(mine.capacity())));
  };
  expect_refused(0, mine.capacity() + 1);
  expect_refused(1, mine.capacity());
  expect_refused(mine.capacity(), 1);
  expect_refused(mine.capacity() + 1, 1);
  if (is_host()) {
    expect_refused(0, ~std::uint64_t{0});
    expect_refused(~std::uint64_t{0} - 1, 1);
  }
  EXPECT_TRUE(nothing_left_since(before));
}

// No driver is asked for what no GPU imports.
TEST_P(PoolConformanceTest, SizeThatGpusDoNotShareIsNotSupported) {
  if (is_host()) return;
  auto const memory = make();
  auto const mine = memory.allocate(100);
  auto const mapped = import(memory);
  auto content = mine.ipc_descriptor().content();
  constexpr auto most = std::uint64_t{2} << 30;
  checked_.reset_counts();
  for (auto const& [offset, size] :
       {std::pair(std::uint64_t{0}, most + 1), std::pair(std::uint64_t{0}, ~std::uint64_t{0}),
        std::pair(most, std::uint64_t{1}), std::pair(~std::uint64_t{0} - 1, std::uint64_t{1})}) {
    content.offset = offset;
    content.size = size;
    EXPECT_TRUE(throws<not_supported>([&] { import_content(mapped, content, order()); },
                                      "buffer of pool " + to_string(memory.uuid()),
                                      std::to_string(offset + size) + " bytes",
                                      "several smaller buffers"));
  }
  EXPECT_EQ(checked_.total_calls(), 0U);
}

TEST_P(PoolConformanceTest, PartOfABufferMayBeDescribed) {
  auto const memory = make();
  auto mine = memory.allocate(1000);
  write_pattern(mine, 1);
  auto const mapped = import(memory);
  auto content = mine.ipc_descriptor().content();
  content.offset = 100;
  content.size = 50;
  auto const part = import_content(mapped, content, order());
  auto const whole = import_content(mapped, mine.ipc_descriptor().content(), order());
  EXPECT_EQ(part.handle(), whole.handle() + 100);
  EXPECT_EQ(part.size(), 50U);
  EXPECT_EQ(part.capacity(), whole.capacity() - 100);
  auto const all = bytes_of(mine);
  EXPECT_EQ(bytes_of(part), std::vector<std::byte>(all.begin() + 100, all.begin() + 150));
}

TEST_P(PoolConformanceTest, DescriptorOfAnotherPoolIsRefused) {
  auto const memory = make();
  auto const other = make();
  auto const mine = other.allocate(100);
  auto const mapped = import(memory);
  EXPECT_TRUE(throws<invalid_descriptor>(
      [&] { import_content(mapped, mine.ipc_descriptor().content(), order()); },
      "buffer of pool " + to_string(other.uuid()), "resource of pool " + to_string(memory.uuid()),
      "pool_id()"));
}

TEST_P(PoolConformanceTest, DescriptorOfAnotherKindIsRefused) {
  auto const memory = make();
  auto const mine = memory.allocate(100);
  auto const mapped = import(memory);
  auto content = mine.ipc_descriptor().content();
  for (auto const kind : {memory_kind::device, memory_kind::pinned, memory_kind::host}) {
    if (kind == mine.ipc_descriptor().content().kind) continue;
    content.kind = kind;
    EXPECT_TRUE(throws<invalid_descriptor>([&] { import_content(mapped, content, order()); },
                                           to_string(memory.uuid()), "another kind",
                                           "send the bytes as its owner made them"));
  }
}

TEST_P(PoolConformanceTest, DescriptorOfAnotherVersionIsRefused) {
  auto const memory = make();
  auto const mine = memory.allocate(100);
  auto const mapped = import(memory);
  auto bytes = mine.ipc_descriptor().bytes();
  bytes[4] = std::byte{buffer_descriptor::version + 1};
  EXPECT_TRUE(throws<invalid_descriptor>([&] { import_bytes(mapped, bytes, order()); },
                                         "of version 2", "reads version 1", "the same rankshare"));
}

TEST_P(PoolConformanceTest, DescriptorOfFreedMemoryIsStaleWhereThatCanBeTold) {
  auto const memory = make();
  auto const mapped = import(memory);
  auto mine = memory.allocate(100);
  auto const old = mine.ipc_descriptor().content();
  auto const address = mine.handle();
  mine.close();
  auto const expect_stale = [&] {
    if (GetParam().tells_freed_memory) {
      EXPECT_TRUE(throws<stale_descriptor>([&] { import_content(mapped, old, order()); },
                                           "its owner has freed it", "share it again"));
    } else {
      EXPECT_EQ(import_content(mapped, old, order()).size(), 100U);
    }
  };
  expect_stale();
  auto const next = memory.allocate(100);
  EXPECT_EQ(next.handle(), address) << "the case needs the same place";
  expect_stale();
  (void)next.ipc_descriptor();
  expect_stale();
  EXPECT_NE(next.ipc_descriptor().content().serial, old.serial);
}

}  // namespace
}  // namespace rankshare::test
