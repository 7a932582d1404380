// Communicators as groups of the world's ranks, and how many messages each channel between two ranks has had.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sources/mpi/mpi_library.hpp"
#include "sources/mpi/recent_map.hpp"

namespace substrata::mpi {

// A communicator: the world's ranks of those it sends to (-1: of another job), and a number that all its
// members give it, 0 while it is not known.
struct Communicator {
  std::vector<int> world_ranks;
  uint64_t id = 0;
  uint32_t collectives = 0;  // collective operations that it has begun, while they are numbered
};
// Counted: an operation may still be pending when the program frees its communicator. Its handle is asked for in calls
// that the program passes it to, and in none after them.
using CommunicatorRecord = std::shared_ptr<Communicator>;
// Asks the MPI library.
Communicator describe_communicator(MPI_Comm comm);
// -1: of another job, or no such rank.
inline int world_rank(const Communicator& comm, int rank) {
  return rank >= 0 && static_cast<size_t>(rank) < comm.world_ranks.size()
             ? comm.world_ranks[static_cast<size_t>(rank)]
             : -1;
}

// Not 0 where the ordinal is not.
inline uint64_t collective_number(const Communicator& comm, uint32_t ordinal) {
  return (comm.id & 0xffffffff) << 32 | ordinal;
}

// Of one process. A channel is a communicator and a tag between two ranks (channel_of). Not thread-safe: the
// shim serialises.
class Channels {
 public:
  void open(int ranks);
  // Not null. Throws where no memory is left. The reference is valid until the next call of a member.
  const CommunicatorRecord& communicator(MPI_Comm comm) {
    CommunicatorRecord& one = communicators_[comm];
    if (one == nullptr) one = std::make_shared<Communicator>(describe_communicator(comm));
    return one;
  }
  // The number of its next collective operation, the same in all its members; not 0.
  uint64_t begin_collective(MPI_Comm comm) {
    Communicator& one = *communicator(comm);
    return collective_number(one, ++one.collectives);
  }
  // A communicator that all its members made together.
  void made(MPI_Comm comm, Communicator communicator);
  void freed(MPI_Comm comm) { communicators_.erase(comm); }

  // The number of the next message to a rank of the world, from 1, and its ordinal in its channel, from 0.
  uint64_t next_number(int to) { return ++number_to_[static_cast<size_t>(to)]; }
  uint64_t next_sent(int to, uint64_t channel) { return sent_to_[static_cast<size_t>(to)][channel]++; }
  // The ordinal of the next message from a rank of the world; the caller that takes it adds one.
  uint64_t& next_received(int from, uint64_t channel) {
    return received_from_[static_cast<size_t>(from)][channel];
  }

 private:
  using Ordinals = RecentMap<std::unordered_map<uint64_t, uint64_t>>;
  RecentMap<std::unordered_map<MPI_Comm, CommunicatorRecord>> communicators_;
  std::unordered_map<uint64_t, uint32_t> made_of_group_;  // communicators, by their ranks
  std::vector<Ordinals> sent_to_;                         // by rank: channel -> messages so far
  std::vector<Ordinals> received_from_;
  std::vector<uint64_t> number_to_;  // messages to each rank so far
};

// These take the lock themselves.
// A communicator was made by all its members together. `like`: it, or one of the same ranks where it cannot be asked
// yet.
void communicator_made(MPI_Comm comm, MPI_Comm like);
// The program frees it. Its record remains where the MPI library reports the end of communicators (level 2): operations
// that are pending on it still send messages.
void communicator_given_up(MPI_Comm comm);
// Its handle may be given to another one now.
void communicator_freed(MPI_Comm comm);

}  // namespace substrata::mpi
