// SPDX-License-Identifier: Apache-2.0
#include <rankshare/driver/emulated_devices.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <rankshare/base/error.hpp>
#include <support/throws.hpp>

namespace rankshare {
namespace {

using test::throws;

std::vector<int> numbers(emulated_devices const& devices) {
  std::vector<int> found;
  for (int ordinal = 0; ordinal < devices.count(); ++ordinal) {
    EXPECT_EQ(devices.at(ordinal, "looking").ordinal, ordinal);
    found.push_back(devices.at(ordinal, "looking").number);
  }
  return found;
}

std::vector<int> numbers(int count, std::string const& visible) {
  return numbers(emulated_devices(count, visible));
}

TEST(EmulatedDevicesTest, AllAreVisibleUnlessSomebodySaysOtherwise) {
  using list = std::vector<int>;
  EXPECT_EQ(emulated_devices().count(), 0);
  EXPECT_EQ(emulated_devices(0).count(), 0);
  EXPECT_EQ(numbers(emulated_devices(1)), (list{0}));
  EXPECT_EQ(numbers(emulated_devices(3)), (list{0, 1, 2}));
  EXPECT_EQ(emulated_devices(64).count(), 64);
}

TEST(EmulatedDevicesTest, NumberIsBounded) {
  for (int const count : {-1, 65}) {
    EXPECT_TRUE(throws<invalid_argument>([&] { emulated_devices devices(count); },
                                         "emulating " + std::to_string(count), "0 to 64"));
  }
}

TEST(EmulatedDevicesTest, VisibleOnesArePickedAndOrdered) {
  using list = std::vector<int>;
  EXPECT_EQ(numbers(3, "1,0"), (list{1, 0}));
  EXPECT_EQ(numbers(3, "2"), (list{2}));
  EXPECT_EQ(numbers(3, "0,1,2"), (list{0, 1, 2}));
  EXPECT_EQ(numbers(3, " 2, 1"), (list{2, 1}));
  EXPECT_EQ(numbers(3, "2,"), (list{2}));
  EXPECT_EQ(numbers(3, "2gpu,1 "), (list{2, 1}));
}

TEST(EmulatedDevicesTest, WhatIsNoDeviceEndsTheList) {
  using list = std::vector<int>;
  EXPECT_EQ(numbers(3, ""), list{});
  EXPECT_EQ(numbers(3, "-1"), list{});
  EXPECT_EQ(numbers(3, "3"), list{});
  EXPECT_EQ(numbers(3, "none"), list{});
  EXPECT_EQ(numbers(3, ",1"), list{});
  EXPECT_EQ(numbers(3, "1,-1,0"), (list{1}));
  EXPECT_EQ(numbers(3, "1,3,0"), (list{1}));
  EXPECT_EQ(numbers(3, "1,99999999999999999999,0"), (list{1}));
  EXPECT_EQ(numbers(3, "1,GPU-00000000,0"), (list{1}));
  EXPECT_EQ(numbers(0, "0"), list{});
}

TEST(EmulatedDevicesTest, RepeatedDeviceLeavesNone) {
  EXPECT_EQ(numbers(3, "1,1"), std::vector<int>{});
  EXPECT_EQ(numbers(3, "1,0,1,2"), std::vector<int>{});
}

TEST(EmulatedDevicesTest, OrdinalThatIsNotThereIsAnErrorThatSaysHowManyThereAre) {
  emulated_devices const two(3, "2,1");
  for (int const wrong : {-1, 2}) {
    EXPECT_TRUE(throws<invalid_argument>([&] { two.at(wrong, "looking"); }, "looking",
                                         "no device " + std::to_string(wrong), "sees 2",
                                         "CUDA_VISIBLE_DEVICES"));
  }
  EXPECT_TRUE(throws<invalid_argument>([] { emulated_devices().at(0, "looking"); }, "sees 0",
                                       "RANKSHARE_HOST_DEVICES"));
}

TEST(EmulatedDevicesTest, PlaceIsTheSameForAllProcesses) {
  emulated_devices const swapped(2, "1,0");
  EXPECT_EQ(swapped.place_of(memory_kind::device, 0), 1);
  EXPECT_EQ(swapped.place_of(memory_kind::device, 1), 0);
  EXPECT_EQ(swapped.place_of(memory_kind::pinned, 0), 0);
}

TEST(EmulatedDevicesTest, PlaceThatIsNotThereIsAnError) {
  emulated_devices const two(2);
  for (int const wrong : {-1, 2}) {
    EXPECT_TRUE(throws<invalid_argument>([&] { two.place_of(memory_kind::device, wrong); },
                                         "pool of device memory", "sees 2"));
    EXPECT_TRUE(throws<invalid_argument>([&] { two.place_of(memory_kind::pinned, wrong); },
                                         "pool of pinned memory",
                                         "NUMA node " + std::to_string(wrong), "pass 0"));
  }
  for (auto const kind : {memory_kind::device, memory_kind::pinned}) {
    EXPECT_TRUE(throws<invalid_argument>([&] { emulated_devices().place_of(kind, 0); },
                                         "host memory only", "RANKSHARE_HOST_DEVICES"));
  }
}

TEST(EmulatedDevicesTest, IdentityBelongsToTheDeviceNotToItsOrdinal) {
  emulated_devices const all(64);
  emulated_devices const swapped(2, "1,0");
  std::set<uuid> seen;
  for (int ordinal = 0; ordinal < all.count(); ++ordinal) {
    auto const id = uuid_of(all.at(ordinal, "looking"));
    EXPECT_FALSE(id.is_nil());
    EXPECT_TRUE(seen.insert(id).second);
  }
  EXPECT_EQ(uuid_of(swapped.at(0, "looking")), uuid_of(all.at(1, "looking")));
  EXPECT_EQ(name_of(swapped.at(0, "looking")), "emulated device 1");
  EXPECT_EQ(name_of(emulated_device{}), "the host");
}

// The environment is read once in a process, so each case has a process of its own.
template <class Check>
void in_another_process(Check const& check) {
  EXPECT_EXIT(
      {
        check();
        ::_exit(testing::Test::HasFailure() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(EmulatedDevicesTest, EnvironmentNamesThoseOfTheProcess) {
  in_another_process([] {
    ::setenv("RANKSHARE_HOST_DEVICES", "3", 1);
    ::setenv("CUDA_VISIBLE_DEVICES", "2,0", 1);
    EXPECT_EQ(numbers(emulated_devices::of_this_process()), (std::vector<int>{2, 0}));
    ::setenv("CUDA_VISIBLE_DEVICES", "1", 1);
    EXPECT_EQ(numbers(emulated_devices::of_this_process()), (std::vector<int>{2, 0}));
  });
  in_another_process([] {
    ::setenv("RANKSHARE_HOST_DEVICES", "2", 1);
    ::unsetenv("CUDA_VISIBLE_DEVICES");
    EXPECT_EQ(numbers(emulated_devices::of_this_process()), (std::vector<int>{0, 1}));
  });
  in_another_process([] {
    ::unsetenv("RANKSHARE_HOST_DEVICES");
    ::setenv("CUDA_VISIBLE_DEVICES", "0", 1);
    EXPECT_EQ(emulated_devices::of_this_process().count(), 0);
  });
}

TEST(EmulatedDevicesTest, WrongEnvironmentIsAnErrorUntilItIsMended) {
  in_another_process([] {
    ::setenv("RANKSHARE_HOST_DEVICES", "many", 1);
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(throws<invalid_argument>([] { emulated_devices::of_this_process(); },
                                           "RANKSHARE_HOST_DEVICES='many'"));
    }
    ::setenv("RANKSHARE_HOST_DEVICES", "1", 1);
    EXPECT_EQ(emulated_devices::of_this_process().count(), 1);
  });
}

}  // namespace
}  // namespace rankshare
