// SPDX-License-Identifier: Apache-2.0
#include <rankshare/mpi/communicator_state.hpp>

#include <algorithm>
#include <mutex>
#include <string>

#include <rankshare/base/log.hpp>
#include <rankshare/base/process.hpp>
#include <rankshare/mpi/error.hpp>
#include <rankshare/mpi/mpi_call.hpp>

// Note [Attributes]
//
// Rationale: destructors must make no MPI call, since they run in any order and also after
// MPI_Finalize; yet the duplicate must be freed.
//
// Approach: the state hangs on the user's communicator as an attribute, whose delete callback frees
// the duplicate in MPI_Comm_free. For communicators that the user never frees, MPI_COMM_SELF
// carries a hook: MPI_Finalize deletes its attributes first, with MPI still usable.
//
// Limits: callbacks of MPI_COMM_WORLD's own attributes run when MPI is finalised; by then the hook
// has freed everything. Communicators that are never freed have no callback: their empty holders
// stay.

namespace rankshare::mpi::detail {
namespace {

using holder = std::shared_ptr<communicator_state>;

// Never destroyed: callbacks may run after static destructors.
struct attribute_keys {
  std::mutex mutex;
  int state = MPI_KEYVAL_INVALID;
  int finalize_hook = MPI_KEYVAL_INVALID;
  std::vector<holder*> attached;
};

attribute_keys& keys() {
  static auto* const instance = new attribute_keys;
  return *instance;
}

void forget(holder* held) {
  std::lock_guard const lock(keys().mutex);
  auto& attached = keys().attached;
  attached.erase(std::remove(attached.begin(), attached.end(), held), attached.end());
}

// Frees the duplicate, and the board unless a node communicator still has it.
void give_up(holder& held) {
  if (held != nullptr) held->release_mpi();
  held.reset();
}

int delete_state(MPI_Comm, int, void* attribute, void*) {
  auto* const held = static_cast<holder*>(attribute);
  forget(held);
  give_up(*held);
  delete held;
  return MPI_SUCCESS;
}

int run_finalize_hook(MPI_Comm, int, void*, void*) {
  std::vector<holder*> attached;
  {
    std::lock_guard const lock(keys().mutex);
    attached = keys().attached;
  }
  for (auto* const held : attached) give_up(*held);
  return MPI_SUCCESS;
}

void make_keys() {
  std::lock_guard const lock(keys().mutex);
  if (keys().state != MPI_KEYVAL_INVALID) return;
  char const doing[] = "making a node communicator";
  check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_state, &keys().state, nullptr),
            "MPI_Comm_create_keyval", doing);
  check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, run_finalize_hook, &keys().finalize_hook,
                                   nullptr),
            "MPI_Comm_create_keyval", doing);
  check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, keys().finalize_hook, nullptr), "MPI_Comm_set_attr",
            doing);
}

}  // namespace

communicator_state::communicator_state(MPI_Comm duplicate, std::vector<process_record> records,
                                       std::vector<int> local_ranks, int rank,
                                       std::unique_ptr<board> meeting)
    : duplicate_(duplicate),
      records_(std::move(records)),
      local_ranks_(std::move(local_ranks)),
      rank_(rank),
      board_(std::move(meeting)),
      made_in_(fork_generation()) {}

communicator_state::~communicator_state() = default;

std::shared_ptr<communicator_state> communicator_state::find(MPI_Comm communicator) {
  make_keys();
  void* attribute = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(communicator, keys().state, &attribute, &found), "MPI_Comm_get_attr",
            "making a node communicator");
  return found != 0 ? *static_cast<holder*>(attribute) : nullptr;
}

void communicator_state::attach(MPI_Comm communicator, std::shared_ptr<communicator_state> state) {
  make_keys();
  auto held = std::make_unique<holder>(std::move(state));
  {
    std::lock_guard const lock(keys().mutex);
    keys().attached.push_back(held.get());
  }
  int const code = MPI_Comm_set_attr(communicator, keys().state, held.get());
  if (code != MPI_SUCCESS) forget(held.get());
  check_mpi(code, "MPI_Comm_set_attr", "making a node communicator");
  static_cast<void>(held.release());  // the delete callback has it now
}

void communicator_state::release_mpi() noexcept {
  board_->forget_mpi();
  if (duplicate_ == MPI_COMM_NULL) return;
  // With a broken board, peers may be gone and operations unfinished: leave the duplicate alone.
  if (mpi_is_active() && !board_->is_broken()) MPI_Comm_free(&duplicate_);
  duplicate_ = MPI_COMM_NULL;
}

void communicator_state::check_attached(char const* doing) const {
  if (duplicate_ != MPI_COMM_NULL) return;
  throw closed_error(std::string(doing) +
                     ": the communicator that this node communicator was made from has been freed; "
                     "make a new one");
}

collective_guard::collective_guard(communicator_state& state, operation called) : state_(state) {
  if (fork_generation() != state.made_in_) {
    throw invalid_argument(std::string("calling ") + to_string(called) +
                           ": this process was forked from rank " + std::to_string(state.rank()) +
                           ", and only that rank meets the others; call it there");
  }
  if (!state.in_collective_.exchange(true, std::memory_order_acquire)) return;
  std::string const text = "two threads of rank " + std::to_string(state.rank()) +
                           " were in collectives of one node communicator at once, the second in " +
                           to_string(called) +
                           "; call them one after the other, or make a node communicator for each "
                           "thread from a communicator of its own";
  state.meeting().break_up(error_kind::invalid_argument, text);
  throw invalid_argument(text);
}

collective_guard::~collective_guard() {
  state_.in_collective_.store(false, std::memory_order_release);
}

}  // namespace rankshare::mpi::detail
