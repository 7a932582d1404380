// The state of the preloaded MPI shim in one process between MPI_Init and MPI_Finalize.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

#include "base/guard.hpp"
#include "base/immortal.hpp"
#include "sources/mpi/blas_calls.hpp"
#include "sources/mpi/cluster.hpp"
#include "sources/mpi/communicators.hpp"
#include "sources/mpi/host_clock.hpp"
#include "sources/mpi/message_counts.hpp"
#include "sources/mpi/messages.hpp"
#include "sources/mpi/phases.hpp"
#include "sources/mpi/presence.hpp"
#include "sources/mpi/publishing.hpp"
#include "sources/mpi/requests.hpp"
#include "sources/mpi/shared_status.hpp"
#include "sources/mpi/virtual_clock.hpp"

namespace substrata::mpi {

// Serialises the account where several threads may be in MPI calls at once (MPI_THREAD_MULTIPLE).
class AccountLock {
 public:
  // Before the first message.
  void need(bool threads) { needed_ = threads; }
  bool is_needed() const { return needed_; }
  void lock() {
    if (needed_) mutex_.lock();
  }
  void unlock() {
    if (needed_) mutex_.unlock();
  }

 private:
  std::mutex mutex_;
  bool needed_ = true;
};

// Of a clock that runs evenly; its zero has no meaning.
inline int64_t wall_ns() {
  using std::chrono::nanoseconds;
  return std::chrono::duration_cast<nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Shim {
  AccountLock lock;
  bool counting = false;
  bool together =
      false;      // every rank of the job has the shim: only then is anything done that all take part in
  int level = 1;  // 1: the calls are seen, 2: also the messages inside of collective operations
  int rank = 0;
  int ranks = 1;
  long spawned_as = 0;  // 0: by no other program; a name among those that were
  RealTime real_time;
  NetworkModel network;
  VirtualClock clock;
  int64_t counting_since_ns = 0;  // wall_ns
  int64_t computed_ns = 0;        // processor time between MPI calls since then
  bool virtual_time = true;       // of the published stamps
  Channels channels;
  Requests requests;
  Arrivals arrivals;
  MessageCounts counts{0};
  BlasCounts blas;
  Phases phases;
  SharedStatus status;
  Publishing publishing;
  Cluster cluster;
  Presence presence;
};

// Never destroyed: the program may call MPI from its own exit handlers. Making it needs no memory.
[[gnu::always_inline]] inline Shim& shim() {
  static Immortal<Shim> one;
  return *one;
}

// Keeps the account from here on without stamps: after a part of it failed, ordinals are no longer right.
void lose_stamps() noexcept;

// Does a part of the account for an MPI function, which goes on whatever happens: what is thrown (no memory is
// left) ends here, and the message is lost to the account only. `otherwise`: the answer then.
template <typename Body, typename Answer>
auto unharmed(Body&& body, Answer otherwise) noexcept -> decltype(body()) {
  return guarded(body, [&](const Status&) -> decltype(body()) {
    lose_stamps();
    return otherwise;
  });
}
template <typename Body>
void unharmed(Body&& body) noexcept {
  guarded(body, [](const Status&) { lose_stamps(); });
}

// May a wait or a test complete a known receive?
inline bool watches_requests() {
  const Shim& self = shim();
  return self.counting && self.requests.any.load(std::memory_order_relaxed);
}

}  // namespace substrata::mpi
