// SPDX-License-Identifier: Apache-2.0
// Objects of static storage duration, which are destroyed after MPI_Finalize, or without it.
//
// usage: static_objects finalize|free|exit
//   finalize  the usual end of a program
//   free      the communicator is freed before
//   exit      the program ends without MPI_Finalize
#include <mpi.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <rankshare/mpi/mpi.hpp>

namespace {

namespace rs = rankshare;

// The node communicator goes last here, and first there.
struct objects_of_a_job {
  std::optional<rs::mpi::node_communicator> node;
  std::optional<rs::host_memory_resource> memory;
  rs::buffer mine;
  rs::mpi::peer_buffers all;
};
struct objects_in_another_order {
  rs::mpi::peer_buffers all;
  rs::buffer mine;
  std::optional<rs::host_memory_resource> memory;
  std::optional<rs::mpi::node_communicator> node;
};

objects_of_a_job first;
objects_in_another_order second;

// What was shared can be read as long as it is not closed, also when its owner has ended.
template <class Objects>
struct reader {
  Objects& of;
  ~reader() {
    for (int rank = 0; rank < of.all.size(); ++rank) {
      if (of.all.template pointer<unsigned char>(rank)[4999] == rank) continue;
      std::printf("what rank %d shared is not there any more\n", rank);
      std::_Exit(3);
    }
  }
};
reader<objects_of_a_job> const first_reader{first};
reader<objects_in_another_order> const second_reader{second};

template <class Objects>
void share(Objects& objects, MPI_Comm communicator) {
  auto const stream = rs::stream_ref::legacy_default();
  objects.node.emplace(communicator);
  objects.memory.emplace();
  objects.mine = objects.memory->allocate(5000, stream);
  objects.mine.fill(static_cast<std::byte>(objects.node->rank()), stream);
  objects.all = objects.node->share_all(objects.mine, stream);
  objects.node->fence(stream);
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view const end = argc == 2 ? argv[1] : "";
  if (end != "finalize" && end != "free" && end != "exit") return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm duplicate = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
  share(first, MPI_COMM_WORLD);
  share(second, duplicate);
  if (end == "exit") std::exit(0);
  if (end == "free") MPI_Comm_free(&duplicate);
  MPI_Finalize();
  return 0;
}
