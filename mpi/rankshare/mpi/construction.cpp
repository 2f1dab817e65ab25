// SPDX-License-Identifier: Apache-2.0
#include <rankshare/mpi/construction.hpp>

#include <climits>
#include <cstring>
#include <exception>
#include <string>

#include <rankshare/base/process.hpp>
#include <rankshare/base/settings.hpp>
#include <rankshare/base/version.hpp>
#include <rankshare/mpi/error.hpp>
#include <rankshare/mpi/fd_transport.hpp>
#include <rankshare/mpi/mpi_call.hpp>
#include <rankshare/mpi/pending.hpp>

// Note [Construction]
//
// Rationale: every rank must end up with the same board or the same error, though at the start
// nothing but MPI connects them, and a blocking MPI collective spins for ever when a peer is dead.
//
// Approach: each rank makes a file that may become the board and gathers everybody's record, which
// names it, over a duplicate of the communicator. From the records each rank finds the same groups
// and the same errors without further messages. Local rank 0's file becomes the board of its node;
// the others fetch it, which proves that they can reach that rank, and local rank 0 fetches that of
// local rank 1. One reduction agrees on the outcome.
//
// Limits: until the records are in, a rank that never comes is noticed only if a limit is set.

namespace rankshare::mpi::detail {
namespace {

constexpr char doing[] = "making a node communicator";

// What one construction holds until the board stands.
struct attempt {
  MPI_Comm communicator = MPI_COMM_NULL;
  int rank = 0;
  int size = 0;
  board::limit asked_for;
  board::limit longest;  // in force
  board_file::candidate candidate;
  std::exception_ptr own_failure;
  error_kind own_kind = error_kind::none;
  std::string own_text;
  std::shared_ptr<MPI_Comm> duplicate = std::make_shared<MPI_Comm>(MPI_COMM_NULL);
  std::vector<process_record> records;
  std::vector<int> local_ranks;
};

[[noreturn]] void throw_remote(int rank, error_kind kind, std::string const& text) {
  throw remote_error(rank, kind,
                     std::string(doing) + ": rank " + std::to_string(rank) + " failed with " +
                         to_string(kind) + ": " + text);
}

process_record offer(attempt& now) {
  try {
    now.longest = limit_in_force(now.asked_for);
    auto record = process_record::of_this_process();
    now.candidate = board_file::make_candidate();
    record.board_fd = now.candidate.fd.get();
    record.board_nonce = now.candidate.nonce;
    return record;
  } catch (...) {
    now.own_failure = std::current_exception();
    return process_record::of_current_exception();
  }
}

void gather_records(attempt& now) {
  struct gathering {
    process_record mine;
    std::vector<process_record> all;
  };
  auto const shared = std::make_shared<gathering>();
  shared->mine = offer(now);
  shared->all.resize(static_cast<std::size_t>(now.size));
  // One after the other: MPI_Comm_idup itself starts collectives on the user's communicator, some
  // of them late, and others beside them would not be in the same order on all ranks.
  pending duplication;
  duplication.add("MPI_Comm_idup", now.duplicate, [&](MPI_Request* request) {
    return MPI_Comm_idup(now.communicator, now.duplicate.get(), request);
  });
  duplication.wait(doing, now.longest, [] {});
  MPI_Comm_set_errhandler(*now.duplicate, MPI_ERRORS_RETURN);
  pending gather;
  gather.add("MPI_Iallgather", shared, [&](MPI_Request* request) {
    constexpr int bytes = sizeof(process_record);
    return MPI_Iallgather(&shared->mine, bytes, MPI_BYTE, shared->all.data(), bytes, MPI_BYTE,
                          *now.duplicate, request);
  });
  gather.wait(doing, now.longest, [] {});
  now.records = shared->all;
}

void check_versions(std::vector<process_record> const& records) {
  auto const& first = records.front();
  for (std::size_t rank = 1; rank < records.size(); ++rank) {
    auto const& other = records[rank];
    if (other.wire_version == first.wire_version && other.version() == first.version()) continue;
    throw not_supported(std::string(doing) + ": rank 0 has rankshare " + first.version() +
                        " (wire version " + std::to_string(first.wire_version) + ") and rank " +
                        std::to_string(rank) + " has " + other.version() + " (wire version " +
                        std::to_string(other.wire_version) +
                        "); link all ranks with the same rankshare");
  }
}

// Every rank draws the same conclusion from the same records.
void check_records(attempt const& now) {
  if (now.own_failure) std::rethrow_exception(now.own_failure);
  check_versions(now.records);
  for (int rank = 0; rank < now.size; ++rank) {
    auto const& other = now.records[static_cast<std::size_t>(rank)];
    auto const kind = static_cast<error_kind>(other.error_kind);
    if (kind == error_kind::none) continue;
    throw_remote(rank, kind, other.error());
  }
}

std::shared_ptr<board_file> fetch_board(process_record const& owner) {
  return board_file::open(fd_transport().fetch(owner, owner.board_fd), owner.board_nonce);
}

std::shared_ptr<board_file> join_board(attempt& now, int local_rank) {
  if (now.local_ranks.size() > max_board_ranks) {
    throw not_supported(std::string(doing) + ": " + std::to_string(now.local_ranks.size()) +
                        " ranks are on one node, and a board holds " +
                        std::to_string(max_board_ranks) +
                        "; split the communicator into smaller ones");
  }
  auto const record_of = [&](std::size_t local) -> process_record const& {
    return now.records[static_cast<std::size_t>(now.local_ranks[local])];
  };
  if (local_rank == 0 && now.local_ranks.size() > 1) {
    auto const& back = record_of(1);  // fetched to prove that this direction works too
    board_file::check(fd_transport().fetch(back, back.board_fd), back.board_nonce);
  }
  // The candidate of local rank 0 is moved, never duplicated: closing a second descriptor of the
  // board would drop the lock.
  auto file = local_rank == 0 ? board_file::open(std::move(now.candidate.fd), now.candidate.nonce)
                              : fetch_board(record_of(0));
  file->lock(local_rank);
  return file;
}

bool has_ended(process_record const& peer) {
  // 0: it cannot be read, for want of a descriptor or of the process; the pidfd tells.
  auto const started = process_start_time(peer.pid);
  if (started != 0 && started != peer.start_time) return true;
  try {
    return has_exited(open_pidfd(peer.pid).get());
  } catch (system_error const& failure) {
    return failure.code().value() == ESRCH;  // else it is not known
  } catch (not_supported const&) {
    return false;
  }
}

// Ends a wait when a process of this node has ended. It keeps no descriptors.
pending::check peers_alive(attempt const& now) {
  return [&now] {
    auto const& self = now.records[static_cast<std::size_t>(now.rank)];
    for (int const rank : now.local_ranks) {
      auto const& peer = now.records[static_cast<std::size_t>(rank)];
      // A pid of another PID namespace means another process here.
      if (rank == now.rank || peer.pid_namespace != self.pid_namespace || !has_ended(peer)) {
        continue;
      }
      throw peer_lost({rank}, std::string(doing) + ": rank " + std::to_string(rank) +
                                  " has ended; see the output of that process for why");
    }
  };
}

// Agrees on the first rank that failed to join, and spreads what it says.
void agree_on_joining(attempt const& now) {
  struct verdict {
    int own = INT_MAX;
    int first = INT_MAX;
    struct {
      int kind = 0;
      char text[1020] = "";
    } failure;
  };
  auto const shared = std::make_shared<verdict>();
  if (now.own_failure) shared->own = now.rank;
  auto const alive = peers_alive(now);
  pending reduction;
  reduction.add("MPI_Iallreduce", shared, [&](MPI_Request* request) {
    return MPI_Iallreduce(&shared->own, &shared->first, 1, MPI_INT, MPI_MIN, *now.duplicate,
                          request);
  });
  reduction.wait(doing, now.longest, alive);
  if (shared->first == INT_MAX) return;
  if (shared->first == now.rank) {
    shared->failure.kind = static_cast<int>(now.own_kind);
    now.own_text.copy(shared->failure.text, sizeof shared->failure.text - 1);
  }
  pending broadcast;
  broadcast.add("MPI_Ibcast", shared, [&](MPI_Request* request) {
    return MPI_Ibcast(&shared->failure, sizeof shared->failure, MPI_BYTE, shared->first,
                      *now.duplicate, request);
  });
  broadcast.wait(doing, now.longest, alive);
  if (now.own_failure) std::rethrow_exception(now.own_failure);
  throw_remote(shared->first, static_cast<error_kind>(shared->failure.kind), shared->failure.text);
}

std::shared_ptr<communicator_state> build(attempt& now) {
  check_records(now);
  now.local_ranks = ranks_of_same_host(now.records, now.rank);
  int local_rank = 0;
  while (now.local_ranks[static_cast<std::size_t>(local_rank)] != now.rank) ++local_rank;
  std::shared_ptr<board_file> file;
  try {
    file = join_board(now, local_rank);
  } catch (...) {
    now.own_failure = std::current_exception();
    now.own_kind = current_error_kind();
    now.own_text = current_error_text();
  }
  agree_on_joining(now);
  std::vector<board_member> members;
  for (int const rank : now.local_ranks) {
    members.push_back({rank, now.records[static_cast<std::size_t>(rank)].pid});
  }
  auto meeting =
      std::make_unique<board>(std::move(file), local_rank, std::move(members), *now.duplicate);
  return std::make_shared<communicator_state>(*now.duplicate, now.records, now.local_ranks,
                                              now.rank, std::move(meeting));
}

}  // namespace

std::vector<int> ranks_of_same_host(std::vector<process_record> const& records, int rank) {
  auto const& own = records[static_cast<std::size_t>(rank)];
  std::vector<int> result;
  for (std::size_t other = 0; other < records.size(); ++other) {
    if (records[other].boot == own.boot) result.push_back(static_cast<int>(other));
  }
  return result;
}

board::limit limit_in_force(board::limit asked_for) {
  auto const& settings = current_settings();
  if (!asked_for) return settings.timeout;
  if (asked_for->count() <= 0 || *asked_for > settings::longest_timeout) {
    throw invalid_argument(std::string(doing) + ": a timeout of " +
                           std::to_string(asked_for->count()) +
                           " ms is not allowed; set it above 0 and to at most " +
                           std::to_string(settings::longest_timeout.count()) +
                           " ms, or leave it out to wait as long as the others live");
  }
  return asked_for;
}

std::shared_ptr<communicator_state> construct_state(MPI_Comm communicator, board::limit asked_for) {
  attempt now;
  now.communicator = communicator;
  now.asked_for = asked_for;
  check_mpi(MPI_Comm_rank(communicator, &now.rank), "MPI_Comm_rank", doing);
  check_mpi(MPI_Comm_size(communicator, &now.size), "MPI_Comm_size", doing);
  gather_records(now);
  try {
    return build(now);
  } catch (peer_lost const&) {
    throw;  // operations may be unfinished: the duplicate is left alone
  } catch (timeout const&) {
    throw;
  } catch (...) {
    MPI_Comm_free(now.duplicate.get());
    throw;
  }
}

}  // namespace rankshare::mpi::detail
