// SPDX-License-Identifier: Apache-2.0
// A buffer is moved, not copied; neither is anything else that owns something.
#include <utility>

#include <rankshare/rankshare.hpp>

rankshare::buffer move(rankshare::buffer& from) { return std::move(from); }

#ifdef SECTION_CopyOfABuffer  // error: deleted
rankshare::buffer wrong(rankshare::buffer const& from) { return from; }
#endif
#ifdef SECTION_CopyAssignmentOfABuffer  // error: deleted
void wrong(rankshare::buffer& to, rankshare::buffer const& from) { to = from; }
#endif
#ifdef SECTION_BufferFromAnAddress  // error: conver(t|sion)
rankshare::buffer wrong(void* address) { return address; }
#endif
#ifdef SECTION_ImportOfBytes  // error: conver(t|sion)
                              // conversion|invalid initialization)
rankshare::buffer wrong(rankshare::host_memory_resource const& through,
                        rankshare::buffer_descriptor::bytes_type const& bytes) {
  return rankshare::buffer::from_ipc_descriptor(through, bytes,
                                                rankshare::stream_ref::legacy_default());
}
#endif
#ifdef SECTION_ImportThroughAnyResource  // error: conver(t|sion)
                                         // conversion|invalid initialization)
rankshare::buffer wrong(rankshare::memory_resource const& through,
                        rankshare::buffer_descriptor const& descriptor) {
  return rankshare::buffer::from_ipc_descriptor(through, descriptor,
                                                rankshare::stream_ref::legacy_default());
}
#endif
#ifdef SECTION_CopyOfAStream  // error: deleted
rankshare::stream wrong(rankshare::stream const& from) { return from; }
#endif
#ifdef SECTION_CopyOfAnAllocationHandle  // error: deleted
rankshare::allocation_handle wrong(rankshare::allocation_handle const& from) { return from; }
#endif
