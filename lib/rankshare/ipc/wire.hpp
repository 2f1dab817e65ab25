// SPDX-License-Identifier: Apache-2.0
/// @file
/// How records that travel between processes are written and checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <rankshare/base/crc32c.hpp>
#include <rankshare/base/error.hpp>

namespace rankshare::detail {

/// What every record begins with.
struct wire_header {
  char magic[4];
  std::uint16_t version;
  std::uint16_t reserved;
  std::uint32_t bytes;  // of the whole record
  std::uint32_t check;  // CRC of the record, taken while this is 0
};

inline wire_header make_wire_header(char const (&magic)[5], std::uint16_t version,
                                    std::size_t bytes) {
  wire_header header{};
  std::memcpy(header.magic, magic, sizeof header.magic);
  header.version = version;
  header.bytes = static_cast<std::uint32_t>(bytes);
  return header;
}

/// Puts the check into a record that is otherwise complete.
template <class Record>
void seal_wire(Record& record) {
  record.header.check = 0;
  record.header.check = crc32c(&record, sizeof record);
}

/// Copies a record out of foreign bytes and checks its header, and that no byte has changed since
/// `seal_wire`: what is behind it may be handed to a driver that believes it.
///
/// @param what what it should be, for messages
/// @throws invalid_descriptor if it is not a `Record` of that magic and version, or was changed
template <class Record>
Record read_wire(void const* bytes, std::size_t count, char const (&magic)[5],
                 std::uint16_t version, std::string const& what) {
  std::string const reading = "reading a " + what + ": ";
  wire_header header{};
  if (bytes == nullptr || count < sizeof header) {
    throw invalid_descriptor(reading + "there are " + std::to_string(count) +
                             " bytes, and it has " + std::to_string(sizeof(Record)) +
                             "; send all of them");
  }
  std::memcpy(&header, bytes, sizeof header);
  if (std::memcmp(header.magic, magic, sizeof header.magic) != 0) {
    throw invalid_descriptor(reading +
                             "the bytes are something else; send them as its owner made "
                             "them");
  }
  if (header.version != version) {
    throw invalid_descriptor(reading + "it is of version " + std::to_string(header.version) +
                             " and this library reads version " + std::to_string(version) +
                             "; link all ranks with the same rankshare");
  }
  if (count != sizeof(Record) || header.bytes != sizeof(Record)) {
    throw invalid_descriptor(reading + "there are " + std::to_string(count) +
                             " bytes, and it has " + std::to_string(sizeof(Record)) +
                             "; send all of them, and no more");
  }
  Record record;
  std::memcpy(&record, bytes, sizeof record);
  record.header.check = 0;
  if (crc32c(&record, sizeof record) != header.check) {
    throw invalid_descriptor(reading +
                             "its bytes have changed on the way (the check does not fit)" +
                             "; send them as its owner made them");
  }
  return record;
}

}  // namespace rankshare::detail
