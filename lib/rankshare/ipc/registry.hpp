// SPDX-License-Identifier: Apache-2.0
/// @file
/// The pools that this process has imported, by uuid.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <rankshare/ipc/shared_pool.hpp>

namespace rankshare::detail {

/// Process-wide map from uuid to imported pool. It holds no pool alive.
///
/// @par Thread safety
/// Every function may be called from any thread. An import of a pool waits while the same pool is
/// being given up.
class RANKSHARE_EXPORT registry {
 public:
  using importer = std::function<allocation_handle()>;

  /// @return the pool entered under `id`, null if there is none
  static std::shared_ptr<shared_pool> find(uuid const& id);

  /// Finds the pool `id`, or imports it and enters it.
  ///
  /// @param id         of the pool; nil: not known, then it is imported, unless the driver answers
  ///                   with a pool that is here
  /// @param where      device that serves the import
  /// @param kind       where its memory is
  /// @param get_handle called once, and only if the pool is not there
  /// @throws invalid_descriptor if the pool is there, and its memory is of another kind
  /// @throws stale_descriptor   if the handle is that of another pool, where that can be told
  /// @throws what `get_handle` or the driver throws; nothing is entered then
  static std::shared_ptr<shared_pool> find_or_import(uuid const& id, device where, memory_kind kind,
                                                     importer const& get_handle);

  /// @return number of entries whose pool lives
  static std::size_t size();
};

}  // namespace rankshare::detail
