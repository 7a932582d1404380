// The preloaded MPI shim: counts an unmodified program's messages and publishes them. Compiled once for each
// MPI library's binary interface.
//
// Level 1, any MPI: the calls themselves; a collective operation is expanded by its textbook algorithm and
// marked modelled. Level 2, Open MPI of the series it was built for: the messages of the point-to-point
// layer, also those of collectives. Each call goes on to the next definition in the process, so that other
// tools keep working. Polls are not recorded.
#include "shim.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "system/timers.hpp"

namespace substrata::mpi {
namespace {

#ifdef OPEN_MPI
constexpr const char* kLibrary = "libmpi.so.40";
#else
constexpr const char* kLibrary = "libmpich.so.12";
#endif
// How often a message of a collective is looked for before its stamp counts as lost.
constexpr int kMostTries = 256;
constexpr int kModelledTag = -1;

bool right_library_loaded() {
  static const bool loaded = [] {
    bool found = false;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* out) -> int {
          if (info->dlpi_name != nullptr && std::strstr(info->dlpi_name, kLibrary) != nullptr)
            *static_cast<bool*>(out) = true;
          return 0;
        },
        &found);
    return found;
  }();
  return loaded;
}

uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

// The world's ranks of a group, -1 for ranks of another job.
std::vector<int> world_ranks_of(MPI_Group group) {
  MPI_Group world;
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  int size = 0;
  PMPI_Group_size(group, &size);
  std::vector<int> theirs(static_cast<size_t>(size));
  std::vector<int> mine(theirs.size());
  for (int i = 0; i < size; ++i) mine[static_cast<size_t>(i)] = i;
  if (size > 0) PMPI_Group_translate_ranks(group, size, mine.data(), world, theirs.data());
  for (int& rank : theirs)
    if (rank == MPI_UNDEFINED) rank = -1;
  PMPI_Group_free(&world);
  return theirs;
}

Communicator describe_communicator(MPI_Comm comm) {
  Communicator out;
  int inter = 0;
  MPI_Group group;
  PMPI_Comm_test_inter(comm, &inter);
  PMPI_Comm_group(comm, &group);
  std::vector<int> members = world_ranks_of(group);
  PMPI_Group_free(&group);
  if (inter) {
    PMPI_Comm_remote_group(comm, &group);
    out.world_ranks = world_ranks_of(group);
    PMPI_Group_free(&group);
    // Both sides must come to the same number.
    members.insert(members.end(), out.world_ranks.begin(), out.world_ranks.end());
    std::sort(members.begin(), members.end());
  }
  out.id = inter ? 2 : 1;
  for (const int rank : members) out.id = mixed(out.id, static_cast<uint64_t>(rank) + 1);
  if (!inter) out.world_ranks = std::move(members);
  return out;
}

int world_rank(const Communicator& comm, int rank) {
  return rank >= 0 && static_cast<size_t>(rank) < comm.world_ranks.size()
             ? comm.world_ranks[static_cast<size_t>(rank)]
             : -1;
}

// The place of the program's present phase in the counts.
uint32_t present_place(Shim& self) {
  const uint16_t region = substrata_phase();
  const uint32_t section = self.board->current.load(std::memory_order_relaxed);
  if (region == self.place_region && section == self.place_section) return self.place;
  const char* const name = region != 0 ? substrata_region_name(region) : nullptr;
  std::string phase = name != nullptr ? name : self.board->name();
  if (phase.empty()) phase = "(outside)";
  self.place = self.counts.place_of(phase);
  self.place_region = region;
  self.place_section = section;
  return self.place;
}

uint32_t size_field(uint64_t bytes) { return static_cast<uint32_t>(bytes > UINT32_MAX ? UINT32_MAX : bytes); }

// A message has arrived: its stamp is looked up, accounted and published. False: it is not there.
bool arrived(Shim& self, int source, uint64_t channel, uint64_t ordinal, uint16_t flags, void* site) {
  Stamp stamp;
  if (!self.stamps.take(source, self.rank, channel, ordinal, &stamp)) return false;
  const int64_t modelled = self.clock.receive(stamp.modelled, stamp.bytes);
  self.counts.on_its_virtual_way(modelled - stamp.modelled);
  self.noticed.push_back(stamp.real);
  this_thread.has_noticed = true;
  if (self.log.is_open()) self.log.received(source, stamp.number);
  if (self.arrivals == nullptr) return true;
  substrata_transaction* slot = substrata_reserve(self.arrivals);
  if (slot == nullptr) return true;
  *slot = {};
  slot->time = static_cast<uint64_t>(self.virtual_time ? modelled : self.real_time.at(real_cycles()));
  slot->start = static_cast<uint64_t>(self.virtual_time ? stamp.modelled : stamp.real);
  slot->site = reinterpret_cast<uint64_t>(site);
  slot->detail = stamp.number;
  slot->initiator = static_cast<uint32_t>(source);
  slot->target = static_cast<uint32_t>(self.rank);
  slot->size = size_field(stamp.bytes);
  slot->kind = SUBSTRATA_RECEIVE;
  slot->phase = substrata_phase();
  slot->flags = flags;
  substrata_commit(self.arrivals);
  return true;
}

// The same for a message whose stamp is not known.
void arrived_unknown(Shim& self, int source, uint64_t bytes, uint16_t flags, void* site) {
  self.counts.received_without_stamp();
  if (self.arrivals == nullptr) return;
  substrata_transaction* slot = substrata_reserve(self.arrivals);
  if (slot == nullptr) return;
  *slot = {};
  slot->time = static_cast<uint64_t>(self.virtual_time ? self.clock.now() : self.real_time.at(real_cycles()));
  slot->site = reinterpret_cast<uint64_t>(site);
  slot->initiator = static_cast<uint32_t>(source);
  slot->target = static_cast<uint32_t>(self.rank);
  slot->size = size_field(bytes);
  slot->kind = SUBSTRATA_RECEIVE;
  slot->phase = substrata_phase();
  slot->flags = flags;
  substrata_commit(self.arrivals);
}

// The program learns now of the messages that have arrived.
void tell_noticed(Shim& self, int64_t ticks) {
  const int64_t now = self.real_time.at(ticks);
  for (const int64_t sent : self.noticed) self.counts.on_its_way(now - sent);
  self.noticed.clear();
  this_thread.has_noticed = false;
}

void tell_noticed() {
  Shim& self = shim();
  const std::lock_guard guard(self.lock);
  tell_noticed(self, real_cycles());
}

uint64_t next_ordinal(Shim& self, int source, uint64_t channel) {
  return self.received_from[static_cast<size_t>(source)][channel]++;
}

}  // namespace

Call::Call() {
  ThisThread& mine = this_thread;
  ++mine.depth;
  Shim& self = shim();
  if (!self.counting) return;
  mine.entered_at = real_cycles();
  const int64_t now = mine.time.at(mine.entered_at);
  const std::lock_guard guard(self.lock);
  if (mine.left_at >= 0) {
    const int64_t computed = now - mine.left_at - nanoseconds_of_ticks(mine.polled);
    self.clock.compute(computed);
    if (self.log.is_open()) self.log.computed(self.network.factor * static_cast<double>(computed));
  }
  mine.polled = 0;
  mine.polls = 0;
  stop_quick_tests();
  mine.quiet = 0;
}
// What the program computes begins with the last reading: after it only what needs it.
Call::~Call() {
  ThisThread& mine = this_thread;
  Shim& self = shim();
  if (!self.counting) {
    --mine.depth;
    return;
  }
  const std::lock_guard guard(self.lock);
  settle(self);
  --mine.depth;
  const int64_t ticks = real_cycles();
  mine.left_at = mine.time.at(ticks);
  if (mine.has_noticed) tell_noticed(self, ticks);
}
void Poll::end() {
  if (this_thread.has_noticed) tell_noticed();
  if (stands_for_ == 0) return;
  const int64_t took = real_cycles() - began_;
  this_thread.polled += may_be_interrupted(took) ? took : took * stands_for_;
  const Shim& self = shim();
  if (!self.may_test_quickly || self.telling != self.receives.size()) return;
  quick_tests.left = this_thread.quiet;
  this_thread.quiet = 0;
}

uint64_t bytes_of(size_t count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return count * static_cast<uint64_t>(size);
}

const Communicator& communicator(Shim& self, MPI_Comm comm) {
  Communicator& one = self.communicators[comm];
  if (one.id == 0) one = describe_communicator(comm);
  return one;
}
void communicator_made(MPI_Comm comm) {
  Shim& self = shim();
  if (comm == MPI_COMM_NULL || !self.counting) return;
  Communicator made = describe_communicator(comm);
  const std::lock_guard guard(self.lock);
  // Of communicators with the same ranks, each is another one; all members make them in the same order.
  made.id = mixed(made.id, ++self.communicators_of_group[made.id]);
  self.communicators[comm] = std::move(made);
}
void communicator_freed(MPI_Comm comm) {
  Shim& self = shim();
  const std::lock_guard guard(self.lock);
  self.communicators.erase(comm);
}

void account(Shim& self, MPI_Comm comm, int to, uint64_t bytes, int tag, uint16_t flags, void* site) {
  if (to == MPI_PROC_NULL) return;
  const Communicator& among = communicator(self, comm);
  const int target = world_rank(among, to);
  const bool collective = (flags & SUBSTRATA_FLAG_COLLECTIVE) != 0;
  const uint32_t phase = present_place(self);
  self.counts.sent(phase, target, bytes, collective);
  self.status.sent(bytes);
  // A message of the program goes out when the call begins.
  const int64_t ticks = collective || !Call::inside() ? real_cycles() : this_thread.entered_at;
  Stamp stamp{.real = self.real_time.at(ticks), .modelled = self.clock.send(), .number = 0, .bytes = bytes};
  if (target >= 0) {
    const auto place = static_cast<size_t>(target);
    stamp.number = ++self.number_to[place];
    const uint64_t channel = channel_of(among.id, tag);
    // What the reader looks at is in order before the message itself goes out.
    self.stamps.put(self.rank, target, channel, self.sent_to[place][channel]++, stamp);
  }
  if (self.log.is_open()) self.log.sent(target, bytes, phase, collective);
  if (self.sends == nullptr) return;
  substrata_transaction* slot = substrata_reserve(self.sends);
  if (slot == nullptr) return;
  *slot = {};
  slot->time = static_cast<uint64_t>(self.virtual_time ? stamp.modelled : stamp.real);
  slot->site = reinterpret_cast<uint64_t>(site);
  slot->detail = stamp.number;
  slot->initiator = static_cast<uint32_t>(self.rank);
  slot->target = static_cast<uint32_t>(target);
  slot->size = size_field(bytes);
  slot->kind = SUBSTRATA_SEND;
  slot->phase = substrata_phase();
  slot->flags = flags;
  substrata_commit(self.sends);
}

void await(Shim& self, MPI_Comm comm, int from, int tag, uint16_t flags, void* site) {
  if (from == MPI_PROC_NULL) return;
  const Communicator& among = communicator(self, comm);
  const uint64_t channel = channel_of(among.id, tag);
  const int source = from == MPI_ANY_SOURCE ? -1 : world_rank(among, from);
  if (from != MPI_ANY_SOURCE && source < 0) return;
  self.awaited.push_back(
      {channel, source, source < 0 ? 0 : next_ordinal(self, source, channel), flags, site, 0});
}

void settle(Shim& self) {
  if (self.awaited.empty()) return;
  const auto told = [&](AwaitedMessage& one) {
    if (one.source >= 0) {
      if (arrived(self, one.source, one.channel, one.ordinal, one.flags, one.site)) return true;
    } else {
      for (int source = 0; source < self.ranks; ++source) {
        uint64_t& ordinal = self.received_from[static_cast<size_t>(source)][one.channel];
        if (!arrived(self, source, one.channel, ordinal, one.flags, one.site)) continue;
        ++ordinal;
        return true;
      }
    }
    if (++one.tries < kMostTries && self.has_stamps) return false;
    arrived_unknown(self, one.source, 0, one.flags, one.site);
    return true;
  };
  self.awaited.erase(std::remove_if(self.awaited.begin(), self.awaited.end(), told), self.awaited.end());
  // In a call that the shim does not stand before, as those of files, no end is seen.
  if (!Call::inside() && this_thread.has_noticed) tell_noticed(self, real_cycles());
}

bool level_one() { return shim().counting && shim().level == 1; }

void called(MPI_Comm comm, int to, size_t count, MPI_Datatype type, int tag, void* site) {
  if (!level_one()) return;
  Shim& self = shim();
  const std::lock_guard guard(self.lock);
  account(self, comm, to, bytes_of(count, type), tag, 0, site);
}

void called_collective(MPI_Comm comm, const std::vector<ModelledMessage>& messages,
                       const std::vector<int>& sources, void* site) {
  constexpr uint16_t kFlags = SUBSTRATA_FLAG_MODELLED | SUBSTRATA_FLAG_COLLECTIVE;
  Shim& self = shim();
  const std::lock_guard guard(self.lock);
  for (const ModelledMessage& message : messages)
    account(self, comm, message.to, message.bytes, kModelledTag, kFlags, site);
  for (const int source : sources) await(self, comm, source, kModelledTag, kFlags, site);
}

void called_collective(Collective operation, MPI_Comm comm, int root, uint64_t bytes, void* site) {
  if (!level_one()) return;
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  if (inter) return;  // two groups: no textbook form
  int me = 0;
  int size = 1;
  PMPI_Comm_rank(comm, &me);
  PMPI_Comm_size(comm, &size);
  called_collective(comm, expand(operation, me, size, root, bytes), sources_in(operation, me, size, root),
                    site);
}

PostedReceive posted(MPI_Comm comm, int from, int tag, void* site) {
  PostedReceive out{.comm = comm, .source = from, .tag = tag, .site = site};
  Shim& self = shim();
  if (!self.counting || from == MPI_PROC_NULL) return out;
  const std::lock_guard guard(self.lock);
  if (from == MPI_ANY_SOURCE || tag == MPI_ANY_TAG) {
    ++self.wildcards;
    return out;
  }
  // With receives open to any message it is not known yet which of them gets the next one.
  if (self.wildcards != 0) return out;
  const Communicator& among = communicator(self, comm);
  const int source = world_rank(among, from);
  if (source < 0) return out;
  out.numbered = true;
  out.ordinal = next_ordinal(self, source, channel_of(among.id, tag));
  return out;
}

namespace {
void tell_received(Shim& self, const PostedReceive& receive, const MPI_Status& status) {
  const Communicator& among = communicator(self, receive.comm);
  const int source = world_rank(among, status.MPI_SOURCE);
  if (source >= 0) {
    const uint64_t channel = channel_of(among.id, status.MPI_TAG);
    const uint64_t ordinal = receive.numbered ? receive.ordinal : next_ordinal(self, source, channel);
    if (arrived(self, source, channel, ordinal, 0, receive.site)) return;
  }
  int bytes = 0;
  if (PMPI_Get_count(&status, MPI_BYTE, &bytes) != MPI_SUCCESS || bytes < 0) bytes = 0;
  arrived_unknown(self, source, static_cast<uint64_t>(bytes), 0, receive.site);
}
bool fits(const PostedReceive& receive, const MPI_Status& status) {
  return (receive.source == MPI_ANY_SOURCE || receive.source == status.MPI_SOURCE) &&
         (receive.tag == MPI_ANY_TAG || receive.tag == status.MPI_TAG);
}
// A posted receive is over.
void close_wildcard(Shim& self, const PostedReceive& receive) {
  if (!receive.persistent && (receive.source == MPI_ANY_SOURCE || receive.tag == MPI_ANY_TAG) &&
      self.wildcards != 0)
    --self.wildcards;
}
}  // namespace

void received(const PostedReceive& receive, const MPI_Status& status) {
  Shim& self = shim();
  if (!self.counting || receive.source == MPI_PROC_NULL || status.MPI_SOURCE == MPI_PROC_NULL) return;
  const std::lock_guard guard(self.lock);
  close_wildcard(self, receive);
  tell_received(self, receive, status);
}

void remember(MPI_Request request, PostedReceive receive) {
  Shim& self = shim();
  if (!self.counting) return;
  const std::lock_guard guard(self.lock);
  receive.age = ++self.remembered;
  const auto known = self.receives.find(request);
  if (known != self.receives.end() && (known->second.persistent || !self.lock.is_needed())) {
    known->second = receive;
  } else if (self.spare_receive.empty()) {
    self.receives.emplace(request, receive);
  } else {
    self.spare_receive.key() = request;
    self.spare_receive.mapped() = receive;
    self.receives.insert(std::move(self.spare_receive));
  }
  self.watches_requests.store(true, std::memory_order_relaxed);
  if (self.requests_tell && !receive.persistent && let_tell(request)) ++self.telling;
}
void ended_by_itself(MPI_Request request, const MPI_Status& status) {
  Shim& self = shim();
  --self.telling;
  if (!self.counting) return;
  if (status.MPI_ERROR != MPI_SUCCESS || !quick_tests.asks_for(request)) {
    // The program does not know yet: the test or wait that tells it is looked at.
    stop_quick_tests();
    return;
  }
  completed(request, status);
  if (this_thread.has_noticed) tell_noticed();
}
void completed(MPI_Request request, const MPI_Status& status) {
  Shim& self = shim();
  const std::lock_guard guard(self.lock);
  const auto [first, last] = self.receives.equal_range(request);
  if (first == last) return;
  // Of several the oldest that the message fits.
  auto found = first;
  for (auto other = std::next(first); other != last; ++other)
    if (fits(other->second, status) &&
        (!fits(found->second, status) || other->second.age < found->second.age))
      found = other;
  const PostedReceive receive = found->second;
  if (!receive.persistent) {
    self.spare_receive = self.receives.extract(found);
    if (self.receives.empty()) self.watches_requests.store(false, std::memory_order_relaxed);
  }
  if (!self.counting || receive.source == MPI_PROC_NULL || status.MPI_SOURCE == MPI_PROC_NULL) return;
  close_wildcard(self, receive);
  int cancelled = 0;
  PMPI_Test_cancelled(&status, &cancelled);
  if (!cancelled) tell_received(self, receive, status);
}
void forget(MPI_Request request) {
  Shim& self = shim();
  const std::lock_guard guard(self.lock);
  if (self.requests_tell && let_not_tell(request)) --self.telling;
  self.receives.erase(request);
  self.watches_requests.store(!self.receives.empty(), std::memory_order_relaxed);
}
namespace {

// A board that the ranks of one node share: rank 0 makes the file, those that can open it map it. Collective.
void share_board(Shim& self) {
  char name[64] = "";
  if (self.rank == 0) {
    std::strcpy(name, "/dev/shm/substrata-mpi-XXXXXX");
    const int file = mkstemp(name);
    if (file < 0 || ftruncate(file, sizeof(SectionBoard)) != 0) name[0] = '\0';
    if (file >= 0) close(file);
  }
  PMPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (name[0] != '\0') {
    const int file = open(name, O_RDWR | O_CLOEXEC);
    if (file >= 0) {
      void* memory = mmap(nullptr, sizeof(SectionBoard), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (memory != MAP_FAILED) self.board = static_cast<SectionBoard*>(memory);
      close(file);
    }
  }
  PMPI_Barrier(MPI_COMM_WORLD);
  if (self.rank == 0 && name[0] != '\0') unlink(name);
}

// A table of stamps that the ranks of one node share. Collective.
void share_stamps(Shim& self) {
  char name[64] = "";
  const size_t bytes = TimestampBoard::bytes(self.ranks);
  if (self.rank == 0) {
    std::strcpy(name, "/dev/shm/substrata-mpi-XXXXXX");
    const int file = mkstemp(name);
    // Reserved now: a page that cannot be had later would end the program.
    if (file < 0 || posix_fallocate(file, 0, static_cast<off_t>(bytes)) != 0) {
      if (file >= 0) unlink(name);
      name[0] = '\0';
    }
    if (file >= 0) close(file);
  }
  PMPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  void* memory = nullptr;
  if (name[0] != '\0') {
    if (const int file = open(name, O_RDWR | O_CLOEXEC); file >= 0) {
      memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (memory == MAP_FAILED) memory = nullptr;
      close(file);
    }
  }
  PMPI_Barrier(MPI_COMM_WORLD);
  if (self.rank == 0 && name[0] != '\0') unlink(name);
  self.stamps = TimestampBoard(memory, self.ranks);
  self.has_stamps = memory != nullptr;
}

substrata_publisher* open_publisher(const std::string& name, const char* text) {
  substrata_probe_info probe{};
  probe.struct_size = sizeof probe;
  probe.name = name.c_str();
  probe.text = text;
  probe.source = "mpi";
  uint32_t number = 0;
  substrata_publisher* publisher = nullptr;
  if (substrata_probe_add(&probe, &number) != 0) return nullptr;
  return substrata_publisher_open(number, 1024, &publisher) == 0 ? publisher : nullptr;
}

void open_feed(Shim& self) {
  const std::string virtual_summary =
      "Messages of an MPI program, seen by a preloaded shim; times are the ranks' virtual clocks (" +
      describe(self.network) + ", modelled)";
  substrata_source_info source{};
  source.struct_size = sizeof source;
  source.kind = SUBSTRATA_SOURCE_LIVE;
  source.name = "mpi";
  source.summary = self.virtual_time ? virtual_summary.c_str()
                                     : "Messages of an MPI program, seen by a preloaded shim; times are real";
  source.time_base = self.virtual_time ? SUBSTRATA_TIME_VIRTUAL : SUBSTRATA_TIME_REAL;
  source.ticks_per_second = 1'000'000'000;
  if (substrata_source_add(&source) != 0) return;
  const std::string prefix = "mpi.rank" + std::to_string(self.rank);
  self.sends =
      open_publisher(prefix + ".send",
                     "Messages this rank sends; initiator and target are ranks of the world, detail is "
                     "the message's number between them");
  self.arrivals =
      open_publisher(prefix + ".receive",
                     "Messages this rank has received; initiator the sender, start its time stamp, "
                     "detail the message's number between the two");
  if (const char* trace = std::getenv("SUBSTRATA_MPI_TRACE"); trace != nullptr && trace[0] != '\0') {
    std::string file = trace;
    if (const size_t at = file.find("%r"); at != std::string::npos)
      file.replace(at, 2, std::to_string(self.rank));
    else
      file += "." + std::to_string(self.rank);
    if (substrata_record_start(file.c_str(), "mpi.*", nullptr, &self.recorder) != 0) {
      std::fprintf(stderr, "substrata MPI shim: no trace: %s\n", substrata_feed_error());
      self.recorder = nullptr;
    }
  }
}

// The settings of time; what cannot be obeyed is told by rank 0.
void read_settings(Shim& self) {
  std::string wrong;
  if (const char* base = std::getenv("SUBSTRATA_MPI_TIME"); base != nullptr && base[0] != '\0') {
    if (std::strcmp(base, "real") == 0)
      self.virtual_time = false;
    else if (std::strcmp(base, "virtual") != 0)
      wrong = "SUBSTRATA_MPI_TIME is 'real' or 'virtual', not '" + std::string(base) + "'";
  }
  if (const char* network = std::getenv("SUBSTRATA_MPI_NETWORK"))
    if (const std::string error = parse_network_model(network, &self.network); !error.empty())
      wrong = "SUBSTRATA_MPI_NETWORK: " + error;
  if (!wrong.empty() && self.rank == 0)
    std::fprintf(stderr, "substrata MPI shim: %s; the default is used\n", wrong.c_str());
  self.clock = VirtualClock(self.network);
}

// Gathers every rank's account at rank 0 and writes the file. What a rank received is what the others counted
// for it.
void write_summary(Shim& self, const char* path) {
  std::vector<unsigned long> messages(self.counts.messages_to().begin(), self.counts.messages_to().end());
  std::vector<unsigned long> bytes(self.counts.bytes_to().begin(), self.counts.bytes_to().end());
  std::vector<unsigned long> messages_from(messages.size());
  std::vector<unsigned long> bytes_from(bytes.size());
  PMPI_Alltoall(messages.data(), 1, MPI_UNSIGNED_LONG, messages_from.data(), 1, MPI_UNSIGNED_LONG,
                MPI_COMM_WORLD);
  PMPI_Alltoall(bytes.data(), 1, MPI_UNSIGNED_LONG, bytes_from.data(), 1, MPI_UNSIGNED_LONG, MPI_COMM_WORLD);
  uint64_t received = 0;
  uint64_t received_bytes = 0;
  for (const unsigned long count : messages_from) received += count;
  for (const unsigned long count : bytes_from) received_bytes += count;
  const std::string text = rank_as_json(self.counts, self.rank, received, received_bytes, self.level);

  const std::vector<std::string> texts = gather_texts(self, text);
  if (self.rank != 0) return;
  const std::string temporary = std::string(path) + ".part";
  FILE* file = std::fopen(temporary.c_str(), "w");
  bool written = file != nullptr;
  if (written) {
    std::fputs("{\"ranks\":[\n", file);
    for (size_t i = 0; i < texts.size(); ++i)
      std::fprintf(file, "%s%s", i == 0 ? "" : ",\n", texts[i].c_str());
    std::fprintf(file, "\n],\n\"time\":{\"default\":\"%s\",\"virtual\":%s}}\n",
                 self.virtual_time ? "virtual" : "real", quoted(describe(self.network)).c_str());
    written = std::fclose(file) == 0 && std::rename(temporary.c_str(), path) == 0;
  }
  if (!written)
    std::fprintf(stderr, "substrata MPI shim: the summary cannot be written to %s: %s\n", path,
                 std::strerror(errno));
}

// Where ranks are recorded on nodes with clocks of their own: the first rank of each such node sends messages
// to and fro with rank 0 and tells its recorder the offset. Collective; some 30 messages a node, in turns. No
// message of it is counted.
void measure_clocks(Shim& self) {
  constexpr int kExchanges = 30;
  constexpr int kTag = 1;
  // As many bytes in every rank.
  char reference[sizeof(substrata_live_clock::reference)] = "";
  const std::string own = mpi_exchange::clock_name();
  unsigned long mine[2] = {std::hash<std::string>{}(own), self.status.is_open() && !own.empty() ? 1UL : 0UL};
  std::vector<unsigned long> all(2 * static_cast<size_t>(self.ranks));
  PMPI_Allgather(mine, 2, MPI_UNSIGNED_LONG, all.data(), 2, MPI_UNSIGNED_LONG, MPI_COMM_WORLD);
  std::vector<uint64_t> clocks;
  bool wanted = false;
  for (size_t i = 0; i < all.size(); i += 2) {
    clocks.push_back(all[i]);
    wanted = wanted || all[i + 1] != 0;
  }
  const std::vector<int> leaders = mpi_exchange::clock_leaders(clocks);
  if (!wanted || leaders.empty()) return;
  std::snprintf(reference, sizeof reference, "%s", own.c_str());
  PMPI_Bcast(reference, static_cast<int>(sizeof reference), MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Comm apart{};
  PMPI_Comm_dup(MPI_COMM_WORLD, &apart);
  for (const int leader : leaders) {
    if (self.rank != 0 && self.rank != leader) continue;
    std::vector<mpi_exchange::ClockExchange> exchanges;
    for (int i = 0; i < kExchanges; ++i) {
      long there = 0;
      if (self.rank == 0) {
        PMPI_Recv(&there, 1, MPI_LONG, leader, kTag, apart, MPI_STATUS_IGNORE);
        there = real_ns();
        PMPI_Send(&there, 1, MPI_LONG, leader, kTag, apart);
        continue;
      }
      mpi_exchange::ClockExchange one;
      one.sent = real_ns();
      PMPI_Send(&there, 1, MPI_LONG, 0, kTag, apart);
      PMPI_Recv(&there, 1, MPI_LONG, 0, kTag, apart, MPI_STATUS_IGNORE);
      one.received = real_ns();
      one.remote = there;
      exchanges.push_back(one);
    }
    if (self.rank == leader) self.status.clock(mpi_exchange::best_offset(exchanges), reference);
  }
  PMPI_Comm_free(&apart);
}

}  // namespace

std::vector<std::string> gather_texts(const Shim& self, const std::string& mine) {
  int length = static_cast<int>(mine.size());
  std::vector<int> lengths(static_cast<size_t>(self.ranks));
  PMPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::vector<int> places(lengths.size());
  int total = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    places[i] = total;
    total += lengths[i];
  }
  std::string all(static_cast<size_t>(total), ' ');
  PMPI_Gatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), places.data(), MPI_CHAR, 0,
               MPI_COMM_WORLD);
  std::vector<std::string> out;
  if (self.rank != 0) return out;
  for (size_t i = 0; i < lengths.size(); ++i)
    out.push_back(all.substr(static_cast<size_t>(places[i]), static_cast<size_t>(lengths[i])));
  return out;
}

void begin() {
  if (!right_library_loaded()) return;
  Shim& self = shim();
  PMPI_Comm_rank(MPI_COMM_WORLD, &self.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &self.ranks);
  const auto ranks = static_cast<size_t>(self.ranks);
  self.counts = MessageCounts(self.ranks);
  self.sent_to.resize(ranks);
  self.received_from.resize(ranks);
  self.number_to.resize(ranks);
  read_settings(self);
  share_board(self);
  share_stamps(self);
  open_feed(self);
  self.status.find();
  measure_clocks(self);
  begin_cluster(self);
  self.level = hook_layer() ? 2 : 1;
  int threads = MPI_THREAD_MULTIPLE;
  PMPI_Query_thread(&threads);
  self.lock.need(threads == MPI_THREAD_MULTIPLE);
  self.may_test_quickly = !self.lock.is_needed() && find_quick_tests();
  self.requests_tell = self.may_test_quickly && self.level == 2 && requests_can_tell();
  const std::lock_guard guard(self.lock);
  self.status.open(self.rank, self.level == 1);
  may_be_interrupted(nanoseconds_of_ticks(0));  // the first calls take the counter's rate
  self.counting = true;
}

void end() {
  Shim& self = shim();
  {
    const std::lock_guard guard(self.lock);
    if (!self.counting) return;
    settle(self);
    for (const AwaitedMessage& one : self.awaited) arrived_unknown(self, one.source, 0, one.flags, one.site);
    self.awaited.clear();
    if (!self.noticed.empty()) tell_noticed(self, real_cycles());
    self.counting = false;
    self.may_test_quickly = false;
  }
  if (self.level == 2) unhook_layer();
  measure_clocks(self);
  // Every rank or none takes part: the setting is the same for all, or rank 0's decides.
  const char* path = std::getenv("SUBSTRATA_MPI_SUMMARY");
  int wanted = path != nullptr && path[0] != '\0' ? 1 : 0;
  PMPI_Bcast(&wanted, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (wanted) write_summary(self, path != nullptr ? path : "");
  if (self.recorder != nullptr) substrata_record_stop(self.recorder, nullptr);
  self.recorder = nullptr;
  substrata_publisher_close(self.sends);
  substrata_publisher_close(self.arrivals);
  self.sends = self.arrivals = nullptr;
  end_cluster(self);
}

void look_for_mark(const char* text, size_t size) {
  Shim& self = shim();
  if (!self.counting || size > 512) return;
  std::string name;
  if (!find_section_mark({text, size}, name)) return;
  self.board->enter(name);
  self.status.enter(name, real_ns());
}

}  // namespace substrata::mpi
