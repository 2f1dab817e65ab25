// SPDX-License-Identifier: Apache-2.0
/// @file
/// Counts the bytes that a rank sends through MPI, and prints them in MPI_Finalize. Linked into a
/// program, these functions stand in front of those of the MPI library, which they call by their
/// other names (MPI 4.0, chapter 15, profiling interface).
///
/// A collective counts as if each rank sent what it contributes to every other rank, and 8 bytes
/// at least: more than any implementation sends. count_sends_test.sh makes sure that the programs
/// call no function that sends and is not here.

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstdio>

namespace {

std::atomic<long long> sent{0};

constexpr long long least_bytes = 8;
constexpr long long communicator_bytes = 256;  // what making or freeing one may send to each rank

long long bytes_of(int count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return static_cast<long long>(count) * size;
}

void count_message(int count, MPI_Datatype type) { sent += bytes_of(count, type); }

void count_collective(long long bytes, MPI_Comm communicator) {
  int ranks = 1;
  PMPI_Comm_size(communicator, &ranks);
  sent += std::max(bytes, least_bytes) * (ranks - 1);
}

}  // namespace

int MPI_Send(void const* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  count_message(count, type);
  return PMPI_Send(data, count, type, to, tag, comm);
}

int MPI_Isend(void const* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  count_message(count, type);
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Sendrecv(void const* data, int count, MPI_Datatype type, int to, int tag, void* received,
                 int received_count, MPI_Datatype received_type, int from, int received_tag,
                 MPI_Comm comm, MPI_Status* status) {
  count_message(count, type);
  return PMPI_Sendrecv(data, count, type, to, tag, received, received_count, received_type, from,
                       received_tag, comm, status);
}

int MPI_Barrier(MPI_Comm comm) {
  count_collective(0, comm);
  return PMPI_Barrier(comm);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  count_collective(0, comm);
  return PMPI_Ibarrier(comm, request);
}

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  count_collective(bytes_of(count, type), comm);
  return PMPI_Bcast(data, count, type, root, comm);
}

int MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request* request) {
  count_collective(bytes_of(count, type), comm);
  return PMPI_Ibcast(data, count, type, root, comm, request);
}

int MPI_Allreduce(void const* data, void* result, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  count_collective(bytes_of(count, type), comm);
  return PMPI_Allreduce(data, result, count, type, op, comm);
}

int MPI_Iallreduce(void const* data, void* result, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  count_collective(bytes_of(count, type), comm);
  return PMPI_Iallreduce(data, result, count, type, op, comm, request);
}

int MPI_Allgather(void const* data, int count, MPI_Datatype type, void* all, int each,
                  MPI_Datatype all_type, MPI_Comm comm) {
  count_collective(bytes_of(each, all_type), comm);
  return PMPI_Allgather(data, count, type, all, each, all_type, comm);
}

int MPI_Iallgather(void const* data, int count, MPI_Datatype type, void* all, int each,
                   MPI_Datatype all_type, MPI_Comm comm, MPI_Request* request) {
  count_collective(bytes_of(each, all_type), comm);
  return PMPI_Iallgather(data, count, type, all, each, all_type, comm, request);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  count_collective(communicator_bytes, comm);
  return PMPI_Comm_dup(comm, made);
}

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
  count_collective(communicator_bytes, comm);
  return PMPI_Comm_idup(comm, made, request);
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  count_collective(communicator_bytes, comm);
  return PMPI_Comm_split(comm, color, key, made);
}

int MPI_Comm_free(MPI_Comm* comm) {
  count_collective(communicator_bytes, *comm);
  return PMPI_Comm_free(comm);
}

int MPI_Finalize() {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::fprintf(stderr, "rank %d sent %lld bytes\n", rank, sent.load());
  return PMPI_Finalize();
}
