// SPDX-License-Identifier: Apache-2.0
#include <rankshare/driver/owned_emulated_pool.hpp>

#include <cstring>

namespace rankshare::detail {

pointer_payload owned_emulated_pool::export_pointer(device_pointer pointer) {
  auto const place = pool_.exported_place(pointer);
  emulated_payload const out{emulated_payload::expected_magic, 0, place.first, place.count};
  pointer_payload payload{};
  std::memcpy(payload.data(), &out, sizeof out);
  return payload;
}

}  // namespace rankshare::detail
