// SPDX-License-Identifier: Apache-2.0
#include <rankshare/base/uuid.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <unordered_set>

#include <rankshare/base/error.hpp>
#include <support/throws.hpp>

namespace rankshare {
namespace {

constexpr char text[] = "00112233-4455-6677-8899-aabbccddeeff";

TEST(UuidTest, DefaultIsNil) {
  EXPECT_TRUE(uuid{}.is_nil());
  EXPECT_EQ(to_string(uuid{}), "00000000-0000-0000-0000-000000000000");
}

TEST(UuidTest, RandomOnesDiffer) {
  std::set<uuid> ordered;
  std::unordered_set<uuid> hashed;
  for (int i = 0; i < 1000; ++i) {
    auto const id = uuid::random();
    EXPECT_FALSE(id.is_nil());
    ordered.insert(id);
    hashed.insert(id);
  }
  EXPECT_EQ(ordered.size(), 1000U);
  EXPECT_EQ(hashed.size(), 1000U);
}

TEST(UuidTest, RandomOneIsOfVersion4) {
  auto const written = to_string(uuid::random());
  EXPECT_EQ(written[14], '4');
  EXPECT_NE(std::string("89ab").find(written[19]), std::string::npos);
}

TEST(UuidTest, TextGoesThereAndBack) {
  auto const id = uuid::from_string(text);
  EXPECT_EQ(id.bytes[0], 0x00);
  EXPECT_EQ(id.bytes[1], 0x11);
  EXPECT_EQ(id.bytes[15], 0xFF);
  EXPECT_EQ(to_string(id), text);
}

TEST(UuidTest, CapitalsAreReadToo) {
  EXPECT_EQ(uuid::from_string("00112233-4455-6677-8899-AABBCCDDEEFF"), uuid::from_string(text));
}

TEST(UuidTest, OtherFormsAreErrorsThatShowTheText) {
  std::string const good = text;
  for (std::string const& bad :
       {std::string(), good.substr(1), good + "0", "g" + good.substr(1), "{" + good.substr(2) + "}",
        std::string("001122334455-6677-8899-aabbccddeeff--"), std::string(36, '-'),
        std::string(36, '0')}) {
    EXPECT_TRUE(test::throws<invalid_argument>([&] { uuid::from_string(bad); }, "'" + bad + "'",
                                               "8-4-4-4-12"));
  }
}

TEST(UuidTest, ComparesByBytes) {
  auto const small = uuid::from_string(text);
  auto large = small;
  large.bytes[15] = 0;
  large.bytes[0] = 1;
  EXPECT_NE(small, large);
  EXPECT_LT(small, large);
  EXPECT_FALSE(large < small);
  EXPECT_EQ(small, uuid::from_string(text));
}

}  // namespace
}  // namespace rankshare
