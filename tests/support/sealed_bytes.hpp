// SPDX-License-Identifier: Apache-2.0
/// @file
/// Gives spoilt bytes of a descriptor the check that they would have if their owner had made them.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>

#include <rankshare/ipc/wire.hpp>

namespace rankshare::test {

template <std::size_t count>
void seal(std::array<std::byte, count>& bytes) {
  struct record {
    rankshare::detail::wire_header header;
    std::byte rest[count - sizeof(rankshare::detail::wire_header)];
  } sealed;
  static_assert(sizeof sealed == count);
  std::memcpy(&sealed, bytes.data(), count);
  rankshare::detail::seal_wire(sealed);
  std::memcpy(bytes.data(), &sealed, count);
}

}  // namespace rankshare::test
