// SPDX-License-Identifier: Apache-2.0
/// @file
/// A check of bytes that travel: finds every changed bit, and no intent. Not for users.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rankshare/base/export.hpp>

namespace rankshare::detail {

/// @return the CRC-32C of `count` bytes
/// @par Source
/// RFC 3720, appendix B.4 (Castagnoli polynomial).
RANKSHARE_EXPORT std::uint32_t crc32c(void const* bytes, std::size_t count) noexcept;

}  // namespace rankshare::detail
