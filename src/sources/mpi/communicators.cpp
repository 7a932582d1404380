// Finds out which ranks a communicator has and gives it a number, the same in all its members.
#include "sources/mpi/communicators.hpp"

#include <algorithm>
#include <mutex>

#include "sources/mpi/shim.hpp"

namespace substrata::mpi {
namespace {

uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

// The world's ranks of a group, -1 for ranks of another job.
std::vector<int> world_ranks_of(MPI_Group group) {
  MPI_Group world;
  pmpi().Comm_group(MPI_COMM_WORLD, &world);
  int size = 0;
  pmpi().Group_size(group, &size);
  std::vector<int> theirs(static_cast<size_t>(size));
  std::vector<int> mine(theirs.size());
  for (int i = 0; i < size; ++i) mine[static_cast<size_t>(i)] = i;
  if (size > 0) pmpi().Group_translate_ranks(group, size, mine.data(), world, theirs.data());
  for (int& rank : theirs)
    if (rank == MPI_UNDEFINED) rank = -1;
  pmpi().Group_free(&world);
  return theirs;
}

}  // namespace

Communicator describe_communicator(MPI_Comm comm) {
  Communicator out;
  int inter = 0;
  MPI_Group group;
  // The program's handle may be none: its own call reports that.
  if (pmpi().Comm_test_inter(comm, &inter) != MPI_SUCCESS || pmpi().Comm_group(comm, &group) != MPI_SUCCESS)
    return out;
  std::vector<int> members = world_ranks_of(group);
  pmpi().Group_free(&group);
  if (inter) {
    pmpi().Comm_remote_group(comm, &group);
    out.world_ranks = world_ranks_of(group);
    pmpi().Group_free(&group);
    // Both sides must come to the same number.
    members.insert(members.end(), out.world_ranks.begin(), out.world_ranks.end());
    std::sort(members.begin(), members.end());
  }
  out.id = inter ? 2 : 1;
  for (const int rank : members) out.id = mixed(out.id, static_cast<uint64_t>(rank) + 1);
  if (!inter) out.world_ranks = std::move(members);
  return out;
}

void Channels::open(int ranks) {
  sent_to_.resize(static_cast<size_t>(ranks));
  received_from_.resize(static_cast<size_t>(ranks));
  number_to_.resize(static_cast<size_t>(ranks));
}

void Channels::made(MPI_Comm comm, Communicator communicator) {
  // Of communicators with the same ranks, each is another one; all members make them in the same order.
  communicator.id = mixed(communicator.id, ++made_of_group_[communicator.id]);
  communicators_[comm] = std::make_shared<Communicator>(std::move(communicator));
}

void communicator_made(MPI_Comm comm, MPI_Comm like) {
  Shim& self = shim();
  if (comm == MPI_COMM_NULL || !self.counting) return;
  unharmed([&] {
    Communicator made = describe_communicator(like);
    const std::lock_guard guard(self.lock);
    self.channels.made(comm, std::move(made));
  });
}

void communicator_given_up(MPI_Comm comm) {
  Shim& self = shim();
  if (comm == MPI_COMM_NULL) return;
  if (self.level != 2) return communicator_freed(comm);
  const std::lock_guard guard(self.lock);
  self.channels.communicator(comm);
}

void communicator_freed(MPI_Comm comm) {
  Shim& self = shim();
  const std::lock_guard guard(self.lock);
  self.channels.freed(comm);
}

}  // namespace substrata::mpi
