// SPDX-License-Identifier: Apache-2.0
#include <rankshare/base/error.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>

namespace rankshare {
namespace {

// Throws an `Error`, and sees that it is caught both as `Std` and as the mix-in.
template <class Error, class Std>
void expect_is_both(error_kind kind) {
  std::string const text = "doing a thing: it failed; do it otherwise";
  try {
    throw Error(text, "some_call");
  } catch (Std const& thrown) {
    EXPECT_EQ(thrown.what(), text);
  }
  try {
    throw Error(text, "some_call");
  } catch (error const& thrown) {
    EXPECT_EQ(thrown.kind(), kind);
    EXPECT_EQ(thrown.what(), text);
    EXPECT_STREQ(thrown.api(), "some_call");
  }
}

TEST(ErrorTest, EachTypeIsAStandardOneAndOurs) {
  expect_is_both<invalid_argument, std::invalid_argument>(error_kind::invalid_argument);
  expect_is_both<closed_error, std::logic_error>(error_kind::closed);
  expect_is_both<mapped_resource_error, std::logic_error>(error_kind::mapped_resource);
  expect_is_both<not_shareable, std::logic_error>(error_kind::not_shareable);
  expect_is_both<capture_error, std::logic_error>(error_kind::capture);
  expect_is_both<not_registered, std::runtime_error>(error_kind::not_registered);
  expect_is_both<invalid_descriptor, std::runtime_error>(error_kind::invalid_descriptor);
  expect_is_both<stale_descriptor, std::runtime_error>(error_kind::stale_descriptor);
  expect_is_both<not_supported, std::runtime_error>(error_kind::not_supported);
}

TEST(ErrorTest, KnowsWhereItWasMade) {
  closed_error const made("text");
  EXPECT_STREQ(made.api(), "");
  EXPECT_NE(std::string(made.where().file).find("error_test.cpp"), std::string::npos);
  EXPECT_EQ(made.where().line, __LINE__ - 3);
}

TEST(ErrorTest, OutOfMemoryIsBadAllocWithBytes) {
  try {
    throw out_of_memory("allocating 12 bytes: there are none", 12, "mmap");
  } catch (std::bad_alloc const& thrown) {
    EXPECT_STREQ(thrown.what(), "allocating 12 bytes: there are none");
    auto const& ours = dynamic_cast<out_of_memory const&>(thrown);
    EXPECT_EQ(ours.bytes(), 12U);
    EXPECT_EQ(ours.kind(), error_kind::out_of_memory);
    EXPECT_STREQ(ours.api(), "mmap");
  }
}

TEST(ErrorTest, SystemErrorHoldsTheErrno) {
  try {
    throw rankshare::system_error(EMFILE, "opening a thing: raise ulimit -n", "open");
  } catch (std::system_error const& thrown) {
    EXPECT_EQ(thrown.code(), std::errc::too_many_files_open);
    auto const& ours = dynamic_cast<rankshare::system_error const&>(thrown);
    EXPECT_EQ(ours.kind(), error_kind::system);
    EXPECT_STREQ(ours.api(), "open");
    EXPECT_NE(std::string(static_cast<error const&>(ours).what()).find("ulimit -n"),
              std::string::npos);
  }
}

TEST(ErrorTest, EachKindHasANameOfItsOwn) {
  std::set<std::string> names;
  int const last = static_cast<int>(error_kind::other);
  for (int kind = 0; kind <= last; ++kind) {
    names.insert(to_string(static_cast<error_kind>(kind)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(last) + 1);
  EXPECT_EQ(names.count("unknown error kind"), 0U);
  EXPECT_STREQ(to_string(static_cast<error_kind>(last + 1)), "unknown error kind");
}

TEST(ErrorTest, TellsTheExceptionThatIsBeingHandled) {
  try {
    throw stale_descriptor("it is gone");
  } catch (...) {
    EXPECT_EQ(current_error_kind(), error_kind::stale_descriptor);
    EXPECT_EQ(current_error_text(), "it is gone");
  }
}

TEST(ErrorTest, TellsForeignExceptionsToo) {
  try {
    throw std::bad_alloc();
  } catch (...) {
    EXPECT_EQ(current_error_kind(), error_kind::out_of_memory);
  }
  try {
    throw std::runtime_error("theirs");
  } catch (...) {
    EXPECT_EQ(current_error_kind(), error_kind::other);
    EXPECT_EQ(current_error_text(), "theirs");
  }
  try {
    throw 1;
  } catch (...) {
    EXPECT_EQ(current_error_kind(), error_kind::other);
    EXPECT_EQ(current_error_text(), "an exception that is not a std::exception");
  }
}

}  // namespace
}  // namespace rankshare
