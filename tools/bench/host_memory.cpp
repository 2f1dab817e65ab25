// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <rankshare/handle/device.hpp>
#include <rankshare/handle/stream.hpp>
#include <rankshare/ipc/buffer_descriptor.hpp>
#include <rankshare/memory/buffer.hpp>
#include <rankshare/memory/host_memory_resource.hpp>

#include "tools/bench/alternation.hpp"
#include "tools/bench/batches.hpp"
#include "tools/bench/rank_group.hpp"
#include "tools/bench/topics.hpp"

namespace rankshare::bench {
namespace {

std::string always() { return {}; }

/// Keeps the compiler from dropping an allocation that nobody uses.
void use(void* pointer) { asm volatile("" : : "g"(pointer) : "memory"); }

class allocate_close_side final : public batch_side {
 public:
  explicit allocate_close_side(std::size_t bytes) : batch_side("ours"), bytes_(bytes) {}

  void run() override {
    stream_ref const stream = stream_;
    for (int i = 0; i < batch; ++i) {
      buffer made = pool_.allocate(bytes_, stream);
      use(made.data());
      made.close();
    }
  }

 private:
  std::size_t bytes_;
  stream stream_{device::host()};
  host_memory_resource pool_;
};

class malloc_free_side final : public batch_side {
 public:
  explicit malloc_free_side(std::size_t bytes) : batch_side("malloc_free"), bytes_(bytes) {}

  void run() override {
    for (int i = 0; i < batch; ++i) {
      void* const made = std::malloc(bytes_);
      use(made);
      std::free(made);
    }
  }

 private:
  std::size_t bytes_;
};

findings allocate_close(std::size_t bytes) {
  allocate_close_side ours(bytes);
  malloc_free_side baseline(bytes);
  auto const times = alternate(rank_group(), {&ours, &baseline}, batches);
  auto found = in_nanoseconds(times, batches);
  found.values.push_back(ratio_of("ratio", times[0], times[1]));
  return found;
}

/// A buffer that this process has mapped by its descriptor, as it would one of another process.
struct mapped_buffer {
  stream order{device::host()};
  host_memory_resource owner;
  buffer original = owner.allocate(4096, order);
  host_memory_resource resource =
      host_memory_resource::from_allocation_handle(owner.allocation_handle());
  buffer_descriptor descriptor = original.ipc_descriptor();
  buffer first = buffer::from_ipc_descriptor(resource, descriptor, order);

  buffer import_again() const { return buffer::from_ipc_descriptor(resource, descriptor, order); }
};

class import_close_side final : public batch_side {
 public:
  explicit import_close_side(mapped_buffer const& from) : batch_side("import_close"), from_(from) {}

  void run() override {
    for (int i = 0; i < batch; ++i) from_.import_again().close();
  }

 private:
  mapped_buffer const& from_;
};

findings import_repeated() {
  mapped_buffer const mapped;
  import_side<mapped_buffer> import(mapped);
  import_close_side import_close(mapped);
  return in_nanoseconds(alternate(rank_group(), {&import, &import_close}, batches), batches);
}

}  // namespace

std::vector<measurement> host_memory_measurements() {
  std::vector<measurement> table;
  struct size {
    char const* name;
    std::size_t bytes;
  };
  for (auto const& [name, bytes] :
       {size{"64k", std::size_t{64} << 10}, size{"1m", std::size_t{1} << 20},
        size{"16m", std::size_t{16} << 20}}) {
    table.push_back({std::string("allocate_close_") + name,
                     "allocating host memory from a pool and closing the buffer, 10,000 times; "
                     "beside it malloc and free",
                     1, always, [bytes = bytes] { return allocate_close(bytes); }});
  }
  table.push_back({"import_repeated",
                   "buffer::from_ipc_descriptor of a buffer that is mapped already, 10,000 times: "
                   "import alone, and import and close",
                   1, always, import_repeated});
  return table;
}

}  // namespace rankshare::bench
