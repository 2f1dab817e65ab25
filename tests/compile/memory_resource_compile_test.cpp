// SPDX-License-Identifier: Apache-2.0
// The second argument of allocate is a stream; there is no alignment that could be taken for one.
#include <rankshare/rankshare.hpp>

rankshare::buffer allocate(rankshare::host_memory_resource const& memory,
                           rankshare::stream const& order) {
  return memory.allocate(100, order);
}
rankshare::memory_resource erase(rankshare::host_memory_resource const& memory) { return memory; }

#ifdef SECTION_AllocateWithAlignment  // error: (deleted|no matching)
rankshare::buffer wrong(rankshare::host_memory_resource const& memory) {
  return memory.allocate(100, 256);
}
#endif
#ifdef SECTION_AllocateWithAlignmentOfASize  // error: (deleted|no matching)
rankshare::buffer wrong(rankshare::host_memory_resource const& memory) {
  return memory.allocate(100, alignof(double));
}
#endif
#ifdef SECTION_AllocateOnNullptr  // error: (deleted|no matching)
rankshare::buffer wrong(rankshare::host_memory_resource const& memory) {
  return memory.allocate(100, nullptr);
}
#endif
#ifdef SECTION_AllocateFromAnyResourceWithAlignment  // error: (deleted|no matching)
rankshare::buffer wrong(rankshare::memory_resource& memory) { return memory.allocate(100, 256); }
#endif
#ifdef SECTION_AllocateFromAnyResourceWithoutAStream  // error: (no matching|too few arguments)
rankshare::buffer wrong(rankshare::memory_resource& memory) { return memory.allocate(100); }
#endif
#ifdef SECTION_DeallocateWithAlignment  // error: (deleted|no matching)
void wrong(rankshare::host_memory_resource const& memory) { memory.deallocate(4096, 100, 256); }
#endif
#ifdef SECTION_PoolResourceOfNoKind  // error: no matching (function|constructor)
rankshare::pool_memory_resource wrong;
#endif
#ifdef SECTION_AnyResourceThatIsNone  // error: no matching (function|constructor)
rankshare::memory_resource wrong;
#endif
