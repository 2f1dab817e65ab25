// SPDX-License-Identifier: Apache-2.0
/// @file
/// A driver that watches how another one is used, and that makes it fail or wait on demand.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <rankshare/driver/driver.hpp>
#include <support/call_counter.hpp>
#include <support/checked_pool.hpp>
#include <support/held_work.hpp>

namespace rankshare::test {

/// Passes every call on to another driver, and
/// - counts calls by function, and live objects by kind;
/// - refuses what a driver need not survive (an object that is unknown or gone): the call throws
///   `invalid_argument`, and the violation is kept;
/// - lets the n-th call of a function fail;
/// - holds back the work of streams (memset, free) until somebody waits for it, if told to.
///
/// Handles are those of the other driver. Work that is held back keeps the pool that it touches.
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
  ///         "allocations", "imports"; all kinds are there
  std::map<std::string, std::size_t> live_objects() const;
  /// @return number of live objects of all kinds
  std::size_t live_total() const;
  /// @return what was done that must not be; in order
  std::vector<std::string> violations() const;
  /// @}

  /// @name What is to happen
  /// @{

  /// See `call_counter::fail_call`. Without `raise` the call throws `out_of_memory`.
  void fail_call(std::string function, std::size_t nth, call_counter::thrower raise = nullptr);
  /// Drops the failure in force.
  /// @return whether it was still to come
  bool cancel_failure() { return counter_.cancel_failure(); }
  /// @param held whether stream work waits until somebody waits for it (at first it does not)
  void hold_back(bool held) { work_.hold_back(held); }
  /// @return pieces of work that wait
  std::size_t held_back() const { return work_.waiting(); }
  /// @param capturing what `stream_is_capturing` says of `stream`
  void set_capturing(CUstream_st* stream, bool capturing);
  /// @}

  char const* name() const noexcept override { return inner_->name(); }

  CUstream_st* stream_create(int device) override;
  void stream_destroy(CUstream_st* stream) override;
  bool stream_query(CUstream_st* stream) override;
  void stream_synchronize(CUstream_st* stream) override;
  bool stream_is_capturing(CUstream_st* stream) override;

  CUevent_st* event_create() override;
  void event_destroy(CUevent_st* event) override;
  void event_record(CUevent_st* event, CUstream_st* stream) override;
  void event_synchronize(CUevent_st* event) override;

  CUmemPoolHandle_st* mem_pool_create(pool_properties const& properties) override;
  void mem_pool_destroy(CUmemPoolHandle_st* pool) override;
  std::size_t mem_pool_granularity(CUmemPoolHandle_st* pool) override;
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

 private:
  using shared_record = std::shared_ptr<checked_pool>;

  struct event_record_point {
    CUstream_st* stream = nullptr;
    held_work::number last = 0;
  };

  static bool is_token(CUstream_st* stream) noexcept;
  static std::string text_of(void const* handle);
  static std::string text_of(device_pointer pointer);
  [[noreturn]] void violate(std::string const& text) const;
  void note(std::string const& text) const;
  void check_stream(CUstream_st* stream, char const* function) const;
  void check_event(CUevent_st* event, char const* function) const;
  CUmemPoolHandle_st* keep(CUmemPoolHandle_st* pool, bool is_imported);
  shared_record find(CUmemPoolHandle_st* pool, char const* function) const;
  shared_record find_live(CUmemPoolHandle_st* pool, device_pointer pointer,
                          char const* function) const;
  shared_record find_around(device_pointer target, std::size_t bytes) const;

  driver* inner_;
  call_counter counter_;
  mutable std::mutex mutex_;
  mutable std::vector<std::string> violations_;
  std::set<CUstream_st*> streams_;
  std::set<CUstream_st*> capturing_;
  std::map<CUevent_st*, event_record_point> events_;
  std::map<CUmemPoolHandle_st*, shared_record> pools_;
  held_work work_;
};

}  // namespace rankshare::test
