// SPDX-License-Identifier: Apache-2.0
#include <rankshare/ipc/buffer_descriptor.hpp>

#include <cstring>
#include <type_traits>

#include <rankshare/base/error.hpp>
#include <rankshare/ipc/wire.hpp>

namespace rankshare {
namespace {

struct record {
  detail::wire_header header;
  uuid pool;
  std::uint64_t serial;
  std::uint64_t size;
  std::uint64_t offset;
  std::uint64_t generation;
  std::uint32_t slot;
  std::uint8_t kind;
  std::uint8_t reserved[11];
  pointer_payload payload;
};
static_assert(sizeof(record) == buffer_descriptor::byte_count);
static_assert(std::is_trivially_copyable_v<record>);

constexpr char magic[] = "rsbd";

bool is_sound(buffer_descriptor::fields const& content) {
  auto const kind = static_cast<int>(content.kind);
  return kind >= static_cast<int>(memory_kind::device) &&
         kind <= static_cast<int>(memory_kind::host) && !content.pool.is_nil() &&
         content.serial != 0 && content.offset + content.size >= content.size;
}

}  // namespace

buffer_descriptor::buffer_descriptor(fields const& content) : fields_(content) {
  if (!is_sound(content)) {
    throw invalid_argument(
        "making a buffer descriptor: it needs a pool, a serial, and an end that "
        "does not overflow");
  }
}

buffer_descriptor buffer_descriptor::from_bytes(void const* bytes, std::size_t count) {
  auto const in = detail::read_wire<record>(bytes, count, magic, version, "buffer descriptor");
  fields content;
  content.pool = in.pool;
  content.kind = static_cast<memory_kind>(in.kind);
  content.serial = in.serial;
  content.size = in.size;
  content.offset = in.offset;
  content.lease = {in.slot, in.generation};
  content.payload = in.payload;
  if (!is_sound(content)) {
    throw invalid_descriptor(
        "reading a buffer descriptor: its fields describe no buffer; send the "
        "bytes as its owner made them");
  }
  return buffer_descriptor(content);
}

buffer_descriptor::bytes_type buffer_descriptor::bytes() const noexcept {
  record out{};
  out.header = detail::make_wire_header(magic, version, sizeof out);
  out.pool = fields_.pool;
  out.kind = static_cast<std::uint8_t>(fields_.kind);
  out.serial = fields_.serial;
  out.size = fields_.size;
  out.offset = fields_.offset;
  out.slot = fields_.lease.slot;
  out.generation = fields_.lease.generation;
  out.payload = fields_.payload;
  detail::seal_wire(out);
  bytes_type bytes;
  std::memcpy(bytes.data(), &out, sizeof out);
  return bytes;
}

buffer_descriptor buffer_descriptor::with_lease(rankshare::lease const& granted) const {
  fields content = fields_;
  content.lease = granted;
  return buffer_descriptor(content);
}

}  // namespace rankshare
