// SPDX-License-Identifier: Apache-2.0
// A stream_ref comes from a stream, and from nothing that happens to be a number.
#include <rankshare/handle/stream.hpp>
#include <rankshare/handle/stream_ref.hpp>

using cuda_stream = CUstream_st*;  // what CUstream and cudaStream_t are

rankshare::stream_ref from_cuda(cuda_stream handle) { return handle; }
rankshare::stream_ref from_owner(rankshare::stream const& owner) { return owner; }
rankshare::stream_ref from_token() { return rankshare::stream_ref::legacy_default(); }

#ifdef SECTION_FromZero  // error: (ambiguous|deleted)
rankshare::stream_ref const wrong(0);
#endif
#ifdef SECTION_FromInteger  // error: deleted
rankshare::stream_ref const wrong(1);
#endif
#ifdef SECTION_FromIntegerWithoutParentheses  // error: deleted
rankshare::stream_ref const wrong = 1;
#endif
#ifdef SECTION_FromLong  // error: (ambiguous|deleted)
rankshare::stream_ref const wrong(0L);
#endif
#ifdef SECTION_FromSize  // error: deleted
rankshare::stream_ref const wrong(sizeof(int));
#endif
#ifdef SECTION_FromNullptr  // error: deleted
rankshare::stream_ref const wrong(nullptr);
#endif
#ifdef SECTION_FromNothing  // error: no matching (function|constructor)
rankshare::stream_ref const wrong;
#endif
#ifdef SECTION_FromAnyPointer  // error: (deleted|no matching)
rankshare::stream_ref wrong(void* pointer) { return rankshare::stream_ref(pointer); }
#endif
#ifdef SECTION_FromAnEvent  // error: (deleted|no matching)
rankshare::stream_ref wrong(CUevent_st* event) { return rankshare::stream_ref(event); }
#endif
