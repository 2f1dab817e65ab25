// SPDX-License-Identifier: Apache-2.0
#include <rankshare/memory/pool_resource_state.hpp>

#include <atomic>
#include <mutex>

#include <rankshare/base/error.hpp>
#include <rankshare/base/log.hpp>
#include <rankshare/memory/buffer_access.hpp>

// Note [Pool buffers]
//
// A buffer of a pool is one small object that holds the pool. What only sharing needs (serial,
// descriptor, leases) is made at the first export, so that allocating and closing stay cheap. When
// the object goes, its leases are retired first: from then on every descriptor of it is stale, and
// only then is its memory free for somebody else.

namespace rankshare::detail {
namespace {

// What an allocation needs once it was exported.
struct exported_state {
  explicit exported_state(buffer_descriptor const& made) : descriptor(made) {}
  buffer_descriptor descriptor;
  published_leases leases;
};

// Makes the first description of any buffer exclude others; they are rare beside allocations.
std::mutex& export_mutex() {
  static auto* const instance = new std::mutex;
  return *instance;
}

// What `slot` points to; the first call makes it.
template <class Thing, class Make>
Thing& made_once(std::atomic<Thing*>& slot, Make const& make) {
  if (auto* known = slot.load(std::memory_order_acquire)) return *known;
  std::lock_guard const lock(export_mutex());
  if (auto* known = slot.load(std::memory_order_relaxed)) return *known;
  auto* const made = make();
  slot.store(made, std::memory_order_release);
  return *made;
}

// Two threads that open one pool at once must get one resource.
std::mutex& open_mutex() {
  static auto* const instance = new std::mutex;
  return *instance;
}

class pool_allocation final : public allocation {
 public:
  pool_allocation(std::shared_ptr<shared_pool> source, device_pointer address, std::size_t size,
                  std::size_t capacity, kept_stream order) noexcept
      : allocation(address, size, capacity, source->where(), std::move(order)),
        source_(std::move(source)) {}

  ~pool_allocation() override {
    delete exported_.load(std::memory_order_acquire);  // retires the leases
    if (address() != 0) source_->give_back(address(), order());
  }

  bool is_mapped() const noexcept override { return false; }
  memory_kind kind() const noexcept override { return source_->kind(); }
  rankshare::memory_resource resource() const override { return resource_of(source_); }
  buffer_descriptor const& descriptor() override { return exported().descriptor; }
  published_leases* leases() override { return &exported().leases; }
  std::shared_ptr<shared_pool> const& source() const noexcept { return source_; }

 private:
  exported_state& exported() {
    return made_once(exported_, [&] {
      (void)source_->handle();  // throws if the pool is not shareable
      buffer_descriptor::fields content;
      content.pool = source_->id();
      content.kind = source_->kind();
      content.size = size();
      if (address() != 0) content.payload = source_->driver_pool().export_pointer(address());
      content.serial = source_->next_serial();
      return new exported_state(buffer_descriptor(content));
    });
  }

  std::shared_ptr<shared_pool> source_;
  std::atomic<exported_state*> exported_{nullptr};
};

// Small, since many are made of one mapping: the descriptor is put together again where it is asked
// for, from what is kept here and the payload in the cache of imports.
class imported_allocation final : public allocation {
 public:
  imported_allocation(std::shared_ptr<shared_pool> source, device_pointer address,
                      std::size_t capacity, buffer_descriptor const& from, kept_stream order)
      : allocation(address, from.size(), capacity, source->where(), std::move(order)),
        source_(std::move(source)),
        pool_(from.content().pool),
        serial_(from.content().serial),
        offset_(from.content().offset),
        lease_(from.content().lease) {}

  ~imported_allocation() override {
    delete descriptor_.load(std::memory_order_acquire);
    if (address() != 0) source_->give_back_import(serial_, order());
  }

  bool is_mapped() const noexcept override { return true; }
  memory_kind kind() const noexcept override { return source_->kind(); }
  rankshare::memory_resource resource() const override { return resource_of(source_); }
  published_leases* leases() override { return nullptr; }
  std::shared_ptr<shared_pool> const& source() const noexcept { return source_; }

  buffer_descriptor const& descriptor() override {
    return made_once(descriptor_, [&] {
      buffer_descriptor::fields content;
      content.pool = pool_;
      content.kind = source_->kind();
      content.serial = serial_;
      content.size = size();
      content.offset = offset_;
      content.lease = lease_;
      if (address() != 0) content.payload = source_->imports().payload_of(serial_);
      return new buffer_descriptor(content);
    });
  }

 private:
  std::shared_ptr<shared_pool> source_;
  uuid pool_;  // the pool itself may have been imported without
  std::uint64_t serial_;
  std::uint64_t offset_;
  lease lease_;
  std::atomic<buffer_descriptor*> descriptor_{nullptr};
};

}  // namespace

namespace {

// The driver's import of a larger allocation out of a pool does not return, or takes seconds.
constexpr std::size_t most_shared_bytes = std::size_t{2} << 30;

bool is_too_large_to_share(memory_kind kind, std::size_t bytes) {
  return kind != memory_kind::host && bytes > most_shared_bytes;
}

void check_allocation(shared_pool const& source, std::size_t size) {
  if (!source.is_shareable() || !is_too_large_to_share(source.kind(), size)) return;
  throw not_supported("allocating " + std::to_string(size) + " bytes of " + source.description() +
                      ": the CUDA driver cannot share a pool allocation of more than " +
                      std::to_string(most_shared_bytes) +
                      " bytes; allocate several smaller ones, or make the resource with "
                      "ipc_enabled = false if this memory is not to be shared");
}

// A stream that was checked against the device; host memory does not go into graphs, and streams of
// GPUs are not asked for it.
void check_not_capturing(shared_pool const& source, std::size_t size, stream_ref stream) {
  auto const where = source.where();
  if (where.is_host() && !is_of(stream, where)) return;
  if (!where.driver().stream_is_capturing(stream.native_handle())) return;
  throw capture_error("allocating " + std::to_string(size) + " bytes of " + source.description() +
                      ": the stream is capturing a graph; allocate before the capture begins");
}

void check_import(shared_pool const& source, buffer_descriptor::fields const& content) {
  // A pool that was imported by a bare descriptor has no uuid to compare; the driver tells then.
  auto const id = source.id();
  if (!id.is_nil() && content.pool != id) {
    throw invalid_descriptor("importing a buffer of pool " + to_string(content.pool) +
                             " through the resource of pool " + to_string(id) +
                             ": look the resource up by the descriptor's pool_id()");
  }
  if (content.kind != source.kind()) {
    throw invalid_descriptor(
        "importing a buffer of pool " + to_string(content.pool) +
        ": the descriptor says that its memory is of another kind than that of "
        "the pool; send the bytes as its owner made them");
  }
  if (!is_too_large_to_share(content.kind, content.offset + content.size)) return;
  throw not_supported("importing a buffer of pool " + to_string(content.pool) + ": it has " +
                      std::to_string(content.offset + content.size) +
                      " bytes, and the CUDA driver cannot import more than " +
                      std::to_string(most_shared_bytes) +
                      " bytes of a pool at once; its owner shares several smaller buffers");
}

// Owns the memory, or gives it back.
std::shared_ptr<allocation> own_allocation(std::shared_ptr<shared_pool> const& source,
                                           device_pointer address, std::size_t size,
                                           std::size_t capacity, kept_stream& order) {
  try {
    return std::make_shared<pool_allocation>(source, address, size, capacity, std::move(order));
  } catch (...) {  // there is no room for the object: nothing was moved
    source->give_back(address, order);
    throw;
  }
}

}  // namespace

buffer allocate_from_pool(std::shared_ptr<shared_pool> const& source, std::size_t size,
                          stream_ref stream) {
  kept_stream kept(stream, source->where());
  check_not_capturing(*source, size, stream);
  if (size == 0) {
    return buffer_access::make(std::make_shared<pool_allocation>(source, 0, 0, 0, std::move(kept)));
  }
  check_allocation(*source, size);
  auto const granularity = source->granularity();
  device_pointer address = 0;
  {
    stream_order const order(kept, source->where());
    address = source->driver_pool().allocate(size, order.handle());
  }
  auto const capacity = (size + granularity - 1) / granularity * granularity;
  return buffer_access::make(own_allocation(source, address, size, capacity, kept));
}

buffer import_from_pool(std::shared_ptr<shared_pool> const& source,
                        buffer_descriptor const& descriptor, stream_ref stream) {
  auto const& content = descriptor.content();
  check_import(*source, content);
  kept_stream kept(stream, source->where());
  if (content.size == 0) {
    return buffer_access::make(
        std::make_shared<imported_allocation>(source, 0, 0, descriptor, std::move(kept)));
  }
  auto const mapped = source->imports().acquire(content.serial, content.payload, kept);
  try {
    if (content.offset > mapped.extent || content.size > mapped.extent - content.offset) {
      throw invalid_descriptor("importing a buffer of pool " + to_string(content.pool) +
                               ": the descriptor claims " + std::to_string(content.size) +
                               " bytes at offset " + std::to_string(content.offset) +
                               ", and its owner allocated " + std::to_string(mapped.extent) +
                               "; send the bytes as its owner made them");
    }
    return buffer_access::make(std::make_shared<imported_allocation>(
        source, mapped.address + content.offset, mapped.extent - content.offset, descriptor,
        std::move(kept)));
  } catch (...) {
    source->give_back_import(content.serial, kept);
    throw;
  }
}

std::shared_ptr<shared_pool> const& pool_of(buffer const& of) {
  auto const* const state = buffer_access::state(of).get();
  if (auto const* own = dynamic_cast<pool_allocation const*>(state)) {
    return own->source();
  }
  if (auto const* imported = dynamic_cast<imported_allocation const*>(state)) {
    return imported->source();
  }
  throw not_shareable(
      "sharing a buffer: its memory is not of a pool; allocate it from a memory "
      "resource that can be shared");
}

pool_resource_state::pool_resource_state(std::shared_ptr<shared_pool> source) noexcept
    : source_(std::move(source)),
      is_mapped_(source_->is_mapped()),
      kind_(source_->kind()),
      where_(source_->where()) {}

std::shared_ptr<pool_resource_state> pool_resource_state::open(
    std::shared_ptr<shared_pool> const& source) {
  std::lock_guard const lock(open_mutex());
  auto known = std::static_pointer_cast<pool_resource_state>(source->resource());
  if (known != nullptr && !known->is_closed()) return known;
  auto made = std::make_shared<pool_resource_state>(source);
  source->set_resource(made);
  return made;
}

std::shared_ptr<shared_pool> const& pool_resource_state::source() const {
  if (source_ == nullptr) {
    throw closed_error("using a memory resource of " + describe(kind_, where_) +
                       ": it has been closed; make a new one");
  }
  return source_;
}

void pool_resource_state::check_may_allocate(std::size_t size) const {
  auto const& from = source();
  if (!is_mapped_) return;
  throw mapped_resource_error("allocating " + std::to_string(size) + " bytes from pool " +
                              to_string(from->id()) +
                              ": it belongs to another process, which alone allocates from it; use "
                              "a resource of your own");
}

buffer pool_resource_state::allocate(std::size_t size) {
  check_may_allocate(size);
  auto const& own = source_->own_stream();
  buffer made = allocate(size, own);
  own.synchronize();
  return made;
}

buffer pool_resource_state::allocate(std::size_t size, stream_ref stream) {
  check_may_allocate(size);
  return allocate_from_pool(source_, size, stream);
}

void pool_resource_state::deallocate(device_pointer pointer, std::size_t, stream_ref stream) {
  auto const& from = source();
  if (is_mapped_) {
    throw mapped_resource_error("freeing memory of pool " + to_string(from->id()) +
                                ": it belongs to another process, which alone frees it; close the "
                                "buffer that was imported");
  }
  stream_order const order(stream, where_);
  from->driver_pool().free(pointer, order.handle());
}

void pool_resource_state::close() noexcept { source_.reset(); }

rankshare::uuid pool_resource_state::uuid() const noexcept {
  return source_ == nullptr ? rankshare::uuid{} : source_->id();
}

memory_resource resource_of(std::shared_ptr<shared_pool> const& source) {
  if (auto known = source->resource()) {
    return memory_resource(std::static_pointer_cast<pool_resource_state>(std::move(known)));
  }
  return memory_resource(pool_resource_state::open(source));
}

}  // namespace rankshare::detail
