// SPDX-License-Identifier: Apache-2.0
/// @file
/// A driver that watches how another one is used, and that makes it fail or wait on demand.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <rankshare/driver/driver.hpp>
#include <support/call_counter.hpp>
#include <support/checked_contexts.hpp>
#include <support/checked_pool.hpp>
#include <support/checked_violations.hpp>
#include <support/held_work.hpp>

namespace rankshare::test {

/// Passes every call on to another driver, and
/// - counts calls by function, and live objects by kind;
/// - refuses what a driver need not survive (an object that is unknown or gone), and what CUDA does
///   not allow: Note [The contract of CUDA] in checked_driver.cpp. The call throws
///   `invalid_argument`, nothing is done, and the violation is kept;
/// - lets the n-th call of a function fail, or a function be missing;
/// - holds back the work of streams (memset, memcpy, free) until somebody waits for it, if told to.
///
/// Handles are those of the other driver. Work that is held back keeps the pool that it touches. A
/// kernel is not held back: what waits in its stream is done first.
///
/// @par Thread safety
/// Every function may be called from any thread.
class checked_driver final : public driver {
 public:
  /// @param inner does the work; outlives this
  explicit checked_driver(driver& inner);
  ~checked_driver() override;

  /// @name What was seen
  /// @{
  std::size_t calls(std::string const& function) const { return counter_.calls(function); }
  std::size_t total_calls() const { return counter_.total_calls(); }
  void reset_counts() { counter_.reset_counts(); }
  /// @return number of live objects of each kind: "streams", "events", "pools", "imported pools",
  ///         "allocations", "imports", "modules", "pushed contexts"; all kinds are there
  std::map<std::string, std::size_t> live_objects() const;
  /// @return number of live objects of all kinds
  std::size_t live_total() const;
  /// @return what was done that must not be; in order
  std::vector<std::string> violations() const { return violations_->all(); }
  /// @return how often a payload was imported that its pool had imported already, or was about to
  ///         give up. No violation; but on a GPU, one free ends all of them.
  std::size_t aliased_imports() const;
  /// @return captures that a call spoilt; each counts once
  std::size_t spoilt_captures() const;
  /// @return contexts that were pushed and not popped, in all threads
  std::size_t contexts_pushed() const { return contexts_.pushed(); }
  /// @}

  /// @name What is to happen
  /// @{

  /// See `call_counter::fail_call`. Without `raise` the call throws `out_of_memory`.
  void fail_call(std::string function, std::size_t nth, call_counter::thrower raise = nullptr);
  /// Drops the failure in force.
  /// @return whether it was still to come
  bool cancel_failure() { return counter_.cancel_failure(); }
  /// See `call_counter::hide`.
  void hide(std::string const& function) { counter_.hide(function); }
  void unhide(std::string const& function) { counter_.unhide(function); }
  /// @param held whether stream work waits until somebody waits for it (at first it does not)
  void hold_back(bool held) { work_.hold_back(held); }
  /// @return pieces of work that wait
  std::size_t held_back() const { return work_.waiting(); }
  /// Begins or ends the capture of a graph. What `stream` is given meanwhile is checked as ever,
  /// goes into the graph, and never runs.
  void set_capturing(CUstream_st* stream, bool capturing);
  /// @param current whether a thread that pushed no context has one (at first it does). Without one
  ///                the default streams throw `no_context`, which is no violation.
  void set_context_current(bool current) { contexts_.set_current(current); }
  /// @}

  char const* name() const noexcept override { return inner_->name(); }

  int device_count() override;
  uuid device_uuid(int device) override;
  std::string device_name(int device) override;
  int device_numa_node(int device) override;

  CUctx_st* ctx_get_current() override;
  void ctx_push_current(CUctx_st* context) override;
  void ctx_pop_current() override;

  CUstream_st* stream_create(int device) override;
  void stream_destroy(CUstream_st* stream) override;
  bool stream_query(CUstream_st* stream) override;
  void stream_synchronize(CUstream_st* stream) override;
  bool stream_is_capturing(CUstream_st* stream) override;

  CUevent_st* event_create(CUstream_st* stream) override;
  void event_destroy(CUevent_st* event) override;
  void event_record(CUevent_st* event, CUstream_st* stream) override;
  void event_synchronize(CUevent_st* event) override;

  CUmemPoolHandle_st* mem_pool_create(pool_properties const& properties) override;
  void mem_pool_destroy(CUmemPoolHandle_st* pool) override;
  std::size_t mem_pool_granularity(CUmemPoolHandle_st* pool) override;
  void mem_pool_set_access(CUmemPoolHandle_st* pool, int device, bool granted) override;
  unique_fd mem_pool_export_to_shareable_handle(CUmemPoolHandle_st* pool) override;
  CUmemPoolHandle_st* mem_pool_import_from_shareable_handle(int fd, memory_kind kind,
                                                            uuid const& expected) override;

  device_pointer mem_alloc_from_pool_async(CUmemPoolHandle_st* pool, std::size_t bytes,
                                           CUstream_st* stream) override;
  void mem_free_async(CUmemPoolHandle_st* pool, device_pointer pointer,
                      CUstream_st* stream) override;
  pointer_payload mem_pool_export_pointer(CUmemPoolHandle_st* pool,
                                          device_pointer pointer) override;
  device_pointer mem_pool_import_pointer(CUmemPoolHandle_st* pool,
                                         pointer_payload const& payload) override;
  std::size_t pointer_range_size(CUmemPoolHandle_st* pool, device_pointer pointer) override;

  void memset_d8_async(device_pointer target, std::byte value, std::size_t bytes,
                       CUstream_st* stream) override;
  void memcpy_async(device_pointer target, device_pointer source, std::size_t bytes,
                    CUstream_st* stream) override;

  CUmod_st* module_load_data(int device, void const* image) override;
  void module_unload(CUmod_st* module) override;
  CUfunc_st* module_get_function(CUmod_st* module, char const* name) override;
  void launch_kernel(CUfunc_st* function, launch_shape const& shape, void** arguments,
                     CUstream_st* stream) override;

 private:
  using shared_record = std::shared_ptr<checked_pool>;

  struct event_record_point {
    std::optional<int> device;  // none: made for a default stream
    CUstream_st* stream = nullptr;
    held_work::number last = 0;
  };

  static bool is_token(CUstream_st* stream) noexcept;
  static std::string text_of(void const* handle);
  static std::string text_of(device_pointer pointer);
  void note(std::string const& text) const { violations_->add(text); }
  [[noreturn]] void violate(std::string const& text) const;
  // The device of a stream that was made here; none for a default stream.
  std::optional<int> check_stream(CUstream_st* stream, char const* function) const;
  void check_event(CUevent_st* event, char const* function) const;
  void check_module(CUmod_st* module, char const* function) const;
  bool may_record_again(CUstream_st* stream) const;
  bool is_capturing(CUstream_st* stream) const;
  void check_not_capturing(CUstream_st* stream, char const* function);
  void check_untouched(checked_pool const& pool, device_pointer pointer, CUstream_st* stream) const;
  CUmemPoolHandle_st* keep(CUmemPoolHandle_st* pool, checked_pool::origin from);
  shared_record find(CUmemPoolHandle_st* pool, char const* function) const;
  shared_record find_live(CUmemPoolHandle_st* pool, device_pointer pointer,
                          char const* function) const;
  // What work may touch; null for memory that is not of a pool.
  shared_record find_touched(touched_range const& range, std::optional<int> device,
                             char const* function) const;
  void undo_import(CUmemPoolHandle_st* pool, device_pointer pointer) noexcept;

  driver* inner_;
  call_counter counter_;
  std::shared_ptr<checked_violations> violations_;
  checked_contexts contexts_;
  mutable std::mutex mutex_;                // not held while work_ is called, whose work takes it
  std::map<CUstream_st*, int> streams_;     // with their devices
  std::map<CUstream_st*, bool> capturing_;  // with whether the capture is spoilt
  std::map<CUevent_st*, event_record_point> events_;
  std::map<CUmemPoolHandle_st*, shared_record> pools_;
  std::map<CUmemPoolHandle_st*, std::weak_ptr<checked_pool>> ever_;
  std::set<CUmod_st*> modules_;
  std::map<CUfunc_st*, CUmod_st*> functions_;
  std::size_t aliased_imports_ = 0;
  std::size_t spoilt_captures_ = 0;
  held_work work_;
};

}  // namespace rankshare::test
