// The account of single messages: each one sent gets its stamps, and each one received is matched with them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sources/mpi/collective_model.hpp"
#include "sources/mpi/mpi_library.hpp"
#include "sources/mpi/timestamp_board.hpp"

namespace substrata::mpi {

struct Shim;
struct Communicator;

// A message inside a collective operation that this rank receives; looked for until its stamp is there.
struct AwaitedMessage {
  uint64_t channel;
  int source;  // rank of the world; -1: any
  uint64_t ordinal;
  uint16_t flags;
  void* site;
  int tries;
};

// What one process knows of messages on their way to it.
struct Arrivals {
  TimestampBoard stamps{nullptr, 1};
  bool has_stamps = false;           // an inbox
  std::atomic<bool> in_order{true};  // the ordinals; stamps are given and looked for while they are
  bool are_in_order() const { return in_order.load(std::memory_order_relaxed); }
  std::vector<AwaitedMessage> awaited;
  std::vector<int64_t> noticed;  // real stamps of messages that arrived in the present call
};

uint64_t bytes_of(size_t count, MPI_Datatype type);

// The caller holds the lock of the next six.

// One message to a rank of the communicator.
void account(Shim& self, const Communicator& among, int to, uint64_t bytes, int tag, uint16_t flags,
             void* site);
// One message from a rank of the communicator, inside a collective; MPI_ANY_SOURCE is allowed.
void await(Shim& self, const Communicator& among, int from, int tag, uint16_t flags, void* site);
// Accounts the awaited messages whose stamps are there.
void settle(Shim& self);
// Accounts those that are still awaited as messages without a stamp.
void give_up_awaited(Shim& self);
// A message from a rank of the world has arrived: its stamp is looked up, accounted and published. False: it
// is not there.
bool arrived(Shim& self, int source, uint64_t channel, uint64_t ordinal, uint16_t flags, void* site);
// The same for a message whose stamp is not known.
void arrived_unknown(Shim& self, int source, uint64_t bytes, uint16_t flags, void* site);
// The program learns now, at this reading of the time-stamp counter, of the messages that have arrived.
void account_noticed(Shim& self, int64_t ticks);

// These take the lock themselves.
void account_noticed();
// Calls of the program, seen at level 1: point-to-point, and collective in their textbook form.
bool level_one();
// A collective operation begins; where a cluster is modelled it gets a number.
void begin_collective(MPI_Comm comm, bool blocking);
void called(MPI_Comm comm, int to, size_t count, MPI_Datatype type, int tag, void* site);
// What a call is to send, where someone observes contents.
void show_contents(const void* data, MPI_Comm comm, int to, size_t count, MPI_Datatype type, void* site);
void called_collective(Collective operation, MPI_Comm comm, int root, uint64_t bytes, void* site);
void called_collective(MPI_Comm comm, const std::vector<ModelledMessage>& messages,
                       const std::vector<int>& sources, void* site);

}  // namespace substrata::mpi
