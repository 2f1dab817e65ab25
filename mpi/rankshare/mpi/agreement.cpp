// SPDX-License-Identifier: Apache-2.0
#include <rankshare/mpi/agreement.hpp>

#include <cstring>
#include <exception>
#include <string>

#include <rankshare/mpi/error.hpp>

namespace rankshare::mpi::detail {
namespace {

std::vector<std::byte> to_bytes(std::string const& text) {
  std::vector<std::byte> bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

// Some rank failed: every rank finds the same first reason, in the order of local ranks.
[[noreturn]] void throw_first_failure(board const& meeting, operation called) {
  for (int peer = 0; peer < meeting.local_size(); ++peer) {
    auto const theirs = meeting.read(peer);
    if (theirs.kind == error_kind::none) continue;
    int const rank = meeting.member(peer).rank;
    throw remote_error(rank, theirs.kind,
                       std::string(to_string(called)) + ": rank " + std::to_string(rank) +
                           " failed with " + rankshare::to_string(theirs.kind) + ": " +
                           theirs.text());
  }
  std::string calls;
  for (int peer = 0; peer < meeting.local_size(); ++peer) {
    calls += (peer == 0 ? "rank " : ", rank ") + std::to_string(meeting.member(peer).rank) +
             " called " + to_string(meeting.read(peer).called);
  }
  throw invalid_argument("ranks called different collectives at a time: " + calls +
                         "; call them in the same order on every rank");
}

}  // namespace

void agree(board& meeting, operation called, board::limit longest,
           std::function<std::vector<std::byte>()> const& local) {
  contribution mine;
  mine.called = called;
  std::exception_ptr own_failure;
  try {
    mine.payload = local();
    if (mine.payload.size() > mailbox_bytes) {
      throw invalid_argument(std::string(to_string(called)) + ": a record of " +
                             std::to_string(mine.payload.size()) + " bytes is longer than the " +
                             std::to_string(mailbox_bytes) + " bytes of a mailbox");
    }
  } catch (...) {
    own_failure = std::current_exception();
    mine.kind = current_error_kind();
    mine.payload = to_bytes(current_error_text());
  }
  bool const good = meeting.round(mine, longest);
  if (own_failure) std::rethrow_exception(own_failure);
  if (!good) throw_first_failure(meeting, called);
}

}  // namespace rankshare::mpi::detail
