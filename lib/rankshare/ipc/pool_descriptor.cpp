// SPDX-License-Identifier: Apache-2.0
#include <rankshare/ipc/pool_descriptor.hpp>

#include <cstring>
#include <type_traits>

#include <rankshare/base/error.hpp>
#include <rankshare/ipc/wire.hpp>

namespace rankshare {
namespace {

struct record {
  detail::wire_header header;
  uuid pool;
  uuid boot;
  uuid device;
  std::uint64_t pid_namespace;
  std::uint64_t user_namespace;
  std::uint64_t start_time;
  std::uint64_t generation;
  std::int32_t pid;
  std::int32_t fd;
  std::uint32_t slot;
  std::int32_t numa_node;
  std::uint32_t granularity;
  std::uint8_t kind;
  std::uint8_t reserved[27];
};
static_assert(sizeof(record) == pool_descriptor::byte_count);
static_assert(std::is_trivially_copyable_v<record>);

constexpr char magic[] = "rspd";

bool is_sound(pool_descriptor::fields const& content) {
  auto const kind = static_cast<int>(content.kind);
  return kind >= static_cast<int>(memory_kind::device) &&
         kind <= static_cast<int>(memory_kind::host) && !content.pool.is_nil() && content.pid > 0 &&
         content.fd >= 0;
}

}  // namespace

pool_descriptor::pool_descriptor(fields const& content) : fields_(content) {
  if (!is_sound(content)) {
    throw invalid_argument(
        "making a pool descriptor: it needs a uuid, a process and a file "
        "descriptor");
  }
}

pool_descriptor pool_descriptor::from_bytes(void const* bytes, std::size_t count) {
  auto const in = detail::read_wire<record>(bytes, count, magic, version, "pool descriptor");
  fields content;
  content.pool = in.pool;
  content.kind = static_cast<memory_kind>(in.kind);
  content.host = {in.boot, in.pid_namespace, in.user_namespace};
  content.pid = in.pid;
  content.start_time = in.start_time;
  content.fd = in.fd;
  content.device = in.device;
  content.numa_node = in.numa_node;
  content.granularity = in.granularity;
  content.lease = {in.slot, in.generation};
  if (!is_sound(content)) {
    throw invalid_descriptor(
        "reading a pool descriptor: its fields describe no pool; send the bytes "
        "as its owner made them");
  }
  return pool_descriptor(content);
}

pool_descriptor::bytes_type pool_descriptor::bytes() const noexcept {
  record out{};
  out.header = detail::make_wire_header(magic, version, sizeof out);
  out.pool = fields_.pool;
  out.kind = static_cast<std::uint8_t>(fields_.kind);
  out.boot = fields_.host.boot;
  out.pid_namespace = fields_.host.pid_namespace;
  out.user_namespace = fields_.host.user_namespace;
  out.pid = fields_.pid;
  out.start_time = fields_.start_time;
  out.fd = fields_.fd;
  out.device = fields_.device;
  out.numa_node = fields_.numa_node;
  out.granularity = fields_.granularity;
  out.slot = fields_.lease.slot;
  out.generation = fields_.lease.generation;
  detail::seal_wire(out);
  bytes_type bytes;
  std::memcpy(bytes.data(), &out, sizeof out);
  return bytes;
}

}  // namespace rankshare
