// SPDX-License-Identifier: Apache-2.0
/// @file
/// A memfd whose size never changes.
#pragma once

#include <cstddef>
#include <string>

#include <rankshare/base/unique_fd.hpp>

namespace rankshare {

/// Makes a sparse memfd, close-on-exec, sealed against shrinking, growing and further seals, so
/// that whoever maps it never meets an end that moved.
///
/// @param name  seen in /proc
/// @param bytes of the file
/// @param doing what it is for, for messages
/// @throws not_supported if the kernel is older than Linux 3.17
/// @throws system_error  EMFILE: no descriptors are left; EFBIG: it may not be that large
/// @par Source
/// memfd_create(2), fcntl(2) (file sealing), setrlimit(2) (RLIMIT_FSIZE).
RANKSHARE_EXPORT unique_fd make_sealed_memfd(char const* name, std::size_t bytes,
                                             std::string const& doing);

/// @return whether `fd` is sealed as `make_sealed_memfd` does it; false for what is no memfd
RANKSHARE_EXPORT bool is_sealed_memfd(int fd) noexcept;

}  // namespace rankshare
