// The shim's state in one process, and what its parts call: the wrapped calls, the hooked layer, the account.
#ifndef SUBSTRATA_MPI_SHIM_HPP
#define SUBSTRATA_MPI_SHIM_HPP

#include <mpi.h>
#include <substrata/feed.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster_log.hpp"
#include "host_clock.hpp"
#include "message_counts.hpp"
#include "recent_map.hpp"
#include "shared_status.hpp"
#include "timestamp_board.hpp"
#include "virtual_clock.hpp"

#ifdef OPEN_MPI
// The constants are addresses of the library's objects. Weak, so that preloading into a program without MPI
// does no harm.
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_comm_self
#pragma weak ompi_mpi_byte
#pragma weak ompi_mpi_char
#pragma weak ompi_mpi_int
#pragma weak ompi_mpi_unsigned_long
#pragma weak ompi_mpi_long
#pragma weak ompi_mpi_comm_null
#pragma weak ompi_message_no_proc
#pragma weak ompi_message_null
#pragma weak ompi_mpi_op_min
#pragma weak ompi_mpi_op_sum
#endif

namespace substrata::mpi {

// A communicator: the world's ranks of those it sends to (-1: of another job), and a number that all its
// members give it, 0 while it is not known.
struct Communicator {
  std::vector<int> world_ranks;
  uint64_t id = 0;
};

// A receive that was asked for and has not been told yet.
struct PostedReceive {
  MPI_Comm comm{};
  int source = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;
  bool numbered = false;  // the ordinal is decided
  uint64_t ordinal = 0;
  bool persistent = false;
  void* site = nullptr;
  uint64_t age = 0;  // a younger one has more
};

// A message inside a collective operation that this rank receives; looked for until its stamp is there.
struct AwaitedMessage {
  uint64_t channel;
  int source;  // rank of the world; -1: any
  uint64_t ordinal;
  uint16_t flags;
  void* site;
  int tries;
};

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

// State of this process between MPI_Init and MPI_Finalize.
struct Shim {
  AccountLock lock;
  bool counting = false;
  int level = 1;
  int rank = 0;
  int ranks = 1;
  MessageCounts counts{1};
  SectionBoard own_board{};
  SectionBoard* board = &own_board;
  // The phase of the last message.
  uint32_t place = 0;
  uint32_t place_section = UINT32_MAX;
  uint16_t place_region = 0;
  SharedStatus status;
  TimestampBoard stamps{nullptr, 1};
  bool has_stamps = false;
  RecentMap<std::unordered_map<MPI_Comm, Communicator>> communicators;
  std::unordered_map<uint64_t, uint32_t> communicators_of_group;  // how many were made of these ranks
  using Ordinals = RecentMap<std::unordered_map<uint64_t, uint64_t>>;
  std::vector<Ordinals> sent_to;  // by rank: channel -> messages so far
  std::vector<Ordinals> received_from;
  std::vector<uint64_t> number_to;  // messages to each rank so far
  // By request. Of two with one handle, the first is done, and not told yet while the MPI library has given
  // its handle to another thread.
  using Receives = std::unordered_multimap<MPI_Request, PostedReceive>;
  Receives receives;
  uint64_t remembered = 0;
  Receives::node_type spare_receive;          // of one that is done, for the next
  std::atomic<bool> watches_requests{false};  // receives has some; read without the lock
  bool may_test_quickly = false;              // one thread calls MPI, and no other tool stands behind
  bool requests_tell = false;                 // let_tell() works
  size_t telling = 0;                         // of the receives so many tell their end themselves
  size_t wildcards = 0;                       // posted receives whose sender or tag is open
  std::deque<AwaitedMessage> awaited;
  RealTime real_time;
  std::vector<int64_t> noticed;  // real stamps of messages that arrived in the present call
  NetworkModel network;
  VirtualClock clock;
  bool virtual_time = true;  // of the published stamps
  substrata_publisher* sends = nullptr;
  substrata_publisher* arrivals = nullptr;
  substrata_recorder* recorder = nullptr;
  ClusterChoice cluster;  // the same in every rank
  ClusterLog log;
  substrata_following* following = nullptr;  // the cluster, in this process alone, for who reads counters
};

// Never destroyed: the program may call MPI from its own exit handlers.
inline Shim& shim() {
  static Shim* const one = new Shim;
  return *one;
}

// What the shim keeps of the calling thread.
struct ThisThread {
  uint32_t depth = 0;        // of calls within calls
  uint32_t quiet = 0;        // so many further polls the last timed one stands for
  uint32_t polls = 0;        // of the first few after a call that is no poll, which are all timed
  int64_t polled = 0;        // ticks of the time-stamp counter that they took
  int64_t entered_at = 0;    // the same counter when the last call began
  int64_t left_at = -1;      // processor time when it ended
  bool has_noticed = false;  // a message has arrived in the present call
  ThreadTime time;
};
inline constinit thread_local ThisThread this_thread;

// One MPI call of the program, for its duration: its time is no computing of the program, and when it ends
// the messages that it received are told. Calls within calls (a binding, another tool) are not looked at.
class Call {
 public:
  Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();
  static bool inside() { return this_thread.depth != 0; }
};
// Tests that go straight on to the MPI library, with no end here. While they find nothing the kernel runs
// other processes, and then each function on the stack takes as long to return to as the library's own.
// Allowed while every receive that is not done tells its end itself, and one thread calls at a time. One
// cache line.
struct alignas(64) QuickTests {
  static constexpr int kMost = 4;  // requests in one
  uint32_t left = 0;               // so many may come
  int count = 0;                   // of the requests that the last one asked for
  std::array<MPI_Request, kMost> asked{};
  int (*test)(MPI_Request*, int*, MPI_Status*) = nullptr;  // the MPI library's
  int (*test_any)(int, MPI_Request*, int*, int*, MPI_Status*) = nullptr;

  // One of those that are left asks for these; at most kMost.
  void ask(const MPI_Request* requests, int number) {
    --left;
    count = number;
    std::copy(requests, requests + number, asked.begin());
  }
  bool asks_for(MPI_Request request) const {
    return std::find(asked.begin(), asked.begin() + count, request) != asked.begin() + count;
  }
};
inline constinit QuickTests quick_tests;
// None comes; so many polls remain untimed.
inline void stop_quick_tests() {
  QuickTests& quick = quick_tests;
  if (quick.left == 0 && quick.count == 0) return;
  this_thread.quiet += quick.left;
  quick.left = 0;
  quick.count = 0;
}

// The same for a call that only looks whether something has happened: a program does that a hundred times a
// message. Of many in a row one in so many is timed, for all of them.
class Poll {
 public:
  Poll() {
    ThisThread& mine = this_thread;
    ++mine.depth;
    stop_quick_tests();
    if (mine.quiet != 0) {
      --mine.quiet;
    } else if (mine.polls < kAllTimed) {
      ++mine.polls;
      begin(1);
    } else {
      mine.quiet = kTimed - 1;
      begin(kTimed);
    }
  }
  Poll(const Poll&) = delete;
  Poll& operator=(const Poll&) = delete;
  ~Poll() {
    --this_thread.depth;
    if (stands_for_ != 0 || this_thread.has_noticed) end();
  }

 private:
  static constexpr uint32_t kAllTimed = 4;
  static constexpr uint32_t kTimed = 32;
  void begin(uint32_t stands_for) {
    stands_for_ = stands_for;
    began_ = real_cycles();
  }
  void end();
  int64_t began_ = 0;
  uint32_t stands_for_ = 0;  // so many polls; 0: this one is not timed
};

uint64_t bytes_of(size_t count, MPI_Datatype type);
const Communicator& communicator(Shim& self, MPI_Comm comm);
// A communicator was made or freed by all its members together.
void communicator_made(MPI_Comm comm);
void communicator_freed(MPI_Comm comm);

// One message to a rank of the communicator. The caller holds the lock, here and below.
void account(Shim& self, MPI_Comm comm, int to, uint64_t bytes, int tag, uint16_t flags, void* site);
// One message from a rank of the communicator, inside a collective; MPI_ANY_SOURCE is allowed.
void await(Shim& self, MPI_Comm comm, int from, int tag, uint16_t flags, void* site);
// Tells the awaited messages whose stamps are there.
void settle(Shim& self);

// These take the lock themselves. Point-to-point calls and collective ones, seen at level 1.
void called(MPI_Comm comm, int to, size_t count, MPI_Datatype type, int tag, void* site);
void called_collective(Collective operation, MPI_Comm comm, int root, uint64_t bytes, void* site);
void called_collective(MPI_Comm comm, const std::vector<ModelledMessage>& messages,
                       const std::vector<int>& sources, void* site);
bool level_one();
// Receives of the program itself, at both levels: asked for, and done.
PostedReceive posted(MPI_Comm comm, int from, int tag, void* site);
void received(const PostedReceive& receive, const MPI_Status& status);
void remember(MPI_Request request, PostedReceive receive);
// A request that was waited for or tested is done; nothing happens when it is no known receive.
void completed(MPI_Request request, const MPI_Status& status);
void forget(MPI_Request request);
// A receive that tells its end itself is done.
void ended_by_itself(MPI_Request request, const MPI_Status& status);
inline bool watches_requests() {
  const Shim& self = shim();
  return self.counting && self.watches_requests.load(std::memory_order_relaxed);
}

// Level 2: true when this process runs the series of Open MPI whose table is known, and the table is now
// ours.
bool hook_layer();
void unhook_layer();
// True when an open receive can be made to tell its end: the MPI library's requests are laid out as the shim
// knows them, found out with a message from this rank to itself. This and the next two are for one thread.
bool requests_can_tell();
// From now on the receive tells its end, in whatever call of the MPI library it ends. False when it has
// ended.
bool let_tell(MPI_Request request);
// Takes that back; false when it would not have told.
bool let_not_tell(MPI_Request request);

// Every rank's text at rank 0, in the order of the ranks; elsewhere none. Collective.
std::vector<std::string> gather_texts(const Shim& self, const std::string& mine);

// The modelled cluster. Beginning and end are collective.
void begin_cluster(Shim& self);
void end_cluster(Shim& self);

// Finds the functions that quick tests go to. False when another tool stands before them, which would call
// this one again.
bool find_quick_tests();

// After MPI_Init, and before MPI_Finalize.
void begin();
void end();
// The program prints this: a section mark names the phase.
void look_for_mark(const char* text, size_t size);

}  // namespace substrata::mpi

#endif
