// The program's receives, from when they are asked for to when the program learns that they are done.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "sources/mpi/communicators.hpp"
#include "sources/mpi/mpi_library.hpp"

namespace substrata::mpi {

// A receive that was asked for and is not accounted yet. The program may free its communicator meanwhile.
struct PostedReceive {
  CommunicatorRecord among;  // null: not known, and then not accounted
  int source = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;
  bool numbered = false;  // the ordinal is decided
  uint64_t ordinal = 0;
  bool persistent = false;
  void* site = nullptr;
  uint64_t age = 0;  // a younger one has more
  bool is_open_to_any() const { return source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG; }
};

// Those of one process.
struct Requests {
  // By request. Of two with one handle, the first is done but not reported yet, while the MPI library has
  // given its handle to another thread.
  using Receives = std::unordered_multimap<MPI_Request, PostedReceive>;
  Receives receives;
  uint64_t remembered = 0;
  Receives::node_type spare;      // of one that is done, for the next
  std::atomic<bool> any{false};   // receives has some; read without the lock
  bool may_test_quickly = false;  // one thread calls MPI, and no other tool stands behind
  bool have_callbacks = false;    // completion callbacks work
  size_t with_callback = 0;       // of the receives
  size_t wildcards = 0;           // posted or started receives whose sender or tag is open
  bool all_have_callbacks() const { return with_callback == receives.size(); }
};

// Receives of the program itself, at both levels: asked for, and done. These take the lock themselves.
PostedReceive posted(MPI_Comm comm, int from, int tag, void* site);
void received(const PostedReceive& receive, const MPI_Status& status);
void remember(MPI_Request request, PostedReceive receive);
// A request that was waited for or tested is done; nothing happens when it is not a known receive.
void completed(MPI_Request request, const MPI_Status& status);
// The same, seen by its completion callback.
void completed_by_callback(MPI_Request request, const MPI_Status& status);
// The program has asked to cancel it. Its ordinal goes to the next receive as soon as it is cancelled.
void cancelled(MPI_Request request);
// The program gives it up.
void forget(MPI_Request request);

// Persistent requests, at both levels: what is made here is accounted each time it is started.
void persistent_send(MPI_Request request, MPI_Comm comm, int to, int tag, int count, MPI_Datatype type);
void persistent_receive(MPI_Request request, MPI_Comm comm, int from, int tag);
void started(MPI_Request request, void* site);
void persistent_freed(MPI_Request request);

// Messages that a matched probe has found, until they are received.
void probed(MPI_Message message, MPI_Comm comm, const MPI_Status& status);
PostedReceive matched(const MPI_Message* message, void* site);

}  // namespace substrata::mpi
