// Accounts messages one by one: counts, stamps, the modelled cluster's log, and the transactions of the feed.
#include "sources/mpi/messages.hpp"

#include <substrata/values.h>

#include <algorithm>
#include <climits>
#include <mutex>

#include "base/own_memory.hpp"
#include "sources/mpi/call_time.hpp"
#include "sources/mpi/shim.hpp"

namespace substrata::mpi {
namespace {

// How often a message of a collective is looked for before its stamp counts as lost.
constexpr int kMostTries = 256;
constexpr int kModelledTag = -1;

// Which collective operation a message belongs to: that of the present call, or a non-blocking one, which Open MPI
// gives a tag of its own; the tags from -26 on belong to a kind of operation each, and those below the last to
// neighbourhoods (ompi/mca/coll/base/coll_tags.h). 0: not known, as where a communicator is made.
uint64_t collective_of(const Shim& self, const Communicator& among, int tag) {
  if (!self.cluster.choice.wanted || this_thread.is_setting_up) return 0;
  if (this_thread.collective != 0) return this_thread.collective;
  constexpr int kLastOfKinds = -26;
  constexpr int kLastOfOperations = -INT_MAX / 2 + 1;
  constexpr uint32_t kOfTag = 1u << 31;
  if (tag >= kLastOfKinds || tag < kLastOfOperations) return 0;
  return collective_number(among, kOfTag | static_cast<uint32_t>(-tag));
}

uint32_t size_field(uint64_t bytes) { return static_cast<uint32_t>(bytes > UINT32_MAX ? UINT32_MAX : bytes); }
// One transaction of the present phase, otherwise as `fill` makes it; nothing where there is no observer.
template <typename Fill>
void publish(Shim& self, const client::feed::Publisher& publisher, Fill&& fill) {
  if (!publisher) return;
  substrata_transaction* const slot = publisher.reserve();
  if (slot == nullptr) return;
  *slot = {};
  slot->phase = self.phases.of_feed(self.counts);
  fill(*slot);
  publisher.commit();
}

}  // namespace

uint64_t bytes_of(size_t count, MPI_Datatype type) {
  int size = 0;
  pmpi().Type_size(type, &size);
  return count * static_cast<uint64_t>(size);
}

void account(Shim& self, const Communicator& among, int to, uint64_t bytes, int tag, uint16_t flags,
             void* site) {
  if (to == MPI_PROC_NULL) return;
  const int target = world_rank(among, to);
  const bool collective = (flags & SUBSTRATA_FLAG_COLLECTIVE) != 0;
  const uint32_t phase = self.phases.present(self.counts);
  self.counts.sent(phase, target, bytes, collective);
  self.status.sent(bytes);
  // A message of the program goes out when the call begins.
  const int64_t ticks = collective || !Call::inside() ? real_cycles() : this_thread.entered_at;
  Stamp stamp{.real = self.real_time.at(ticks), .modelled = self.clock.send(), .number = 0, .bytes = bytes};
  if (target >= 0) {
    stamp.number = self.channels.next_number(target);
    const uint64_t channel = channel_of(among.id, tag);
    // What the reader looks at is in order before the message itself goes out.
    const uint64_t ordinal = self.channels.next_sent(target, channel);
    if (self.arrivals.are_in_order()) self.arrivals.stamps.put(self.rank, target, channel, ordinal, stamp);
  }
  const uint64_t operation = collective ? collective_of(self, among, tag) : 0;
  if (self.cluster.log.is_open()) self.cluster.log.sent(target, bytes, phase, collective, operation);
  publish(self, self.publishing.sends, [&](substrata_transaction& slot) {
    slot.time = static_cast<uint64_t>(self.virtual_time ? stamp.modelled : stamp.real);
    slot.address = operation;
    slot.site = reinterpret_cast<uint64_t>(site);
    slot.detail = stamp.number;
    slot.initiator = static_cast<uint32_t>(self.rank);
    slot.target = static_cast<uint32_t>(target);
    slot.size = size_field(bytes);
    slot.kind = SUBSTRATA_SEND;
    slot.flags = flags;
  });
}

bool arrived(Shim& self, int source, uint64_t channel, uint64_t ordinal, uint16_t flags, void* site) {
  Stamp stamp;
  if (!self.arrivals.has_stamps || !self.arrivals.are_in_order() ||
      !self.arrivals.stamps.take(source, self.rank, channel, ordinal, &stamp))
    return false;
  const int64_t modelled = self.clock.receive(stamp.modelled, stamp.bytes);
  self.counts.on_its_virtual_way(modelled - stamp.modelled);
  self.arrivals.noticed.push_back(stamp.real);
  this_thread.has_noticed = true;
  if (self.cluster.log.is_open()) self.cluster.log.received(source, stamp.number);
  publish(self, self.publishing.arrivals, [&](substrata_transaction& slot) {
    slot.time = static_cast<uint64_t>(self.virtual_time ? modelled : self.real_time.at(real_cycles()));
    slot.start = static_cast<uint64_t>(self.virtual_time ? stamp.modelled : stamp.real);
    slot.site = reinterpret_cast<uint64_t>(site);
    slot.detail = stamp.number;
    slot.initiator = static_cast<uint32_t>(source);
    slot.target = static_cast<uint32_t>(self.rank);
    slot.size = size_field(stamp.bytes);
    slot.kind = SUBSTRATA_RECEIVE;
    slot.flags = flags;
  });
  return true;
}

void arrived_unknown(Shim& self, int source, uint64_t bytes, uint16_t flags, void* site) {
  self.counts.received_without_stamp();
  publish(self, self.publishing.arrivals, [&](substrata_transaction& slot) {
    slot.time =
        static_cast<uint64_t>(self.virtual_time ? self.clock.now() : self.real_time.at(real_cycles()));
    slot.site = reinterpret_cast<uint64_t>(site);
    slot.initiator = static_cast<uint32_t>(source);
    slot.target = static_cast<uint32_t>(self.rank);
    slot.size = size_field(bytes);
    slot.kind = SUBSTRATA_RECEIVE;
    slot.flags = flags;
  });
}

void account_noticed(Shim& self, int64_t ticks) {
  const int64_t now = self.real_time.at(ticks);
  for (const int64_t sent : self.arrivals.noticed) self.counts.on_its_way(now - sent);
  self.arrivals.noticed.clear();
  this_thread.has_noticed = false;
}

void lose_stamps() noexcept { shim().arrivals.in_order.store(false, std::memory_order_relaxed); }

void account_noticed() {
  Shim& self = shim();
  const std::lock_guard guard(self.lock);
  account_noticed(self, real_cycles());
}

void await(Shim& self, const Communicator& among, int from, int tag, uint16_t flags, void* site) {
  if (from == MPI_PROC_NULL) return;
  const uint64_t channel = channel_of(among.id, tag);
  const int source = from == MPI_ANY_SOURCE ? -1 : world_rank(among, from);
  if (from != MPI_ANY_SOURCE && source < 0) return;
  const uint64_t ordinal = source < 0 ? 0 : self.channels.next_received(source, channel)++;
  self.arrivals.awaited.push_back({channel, source, ordinal, flags, site, 0});
}

void settle(Shim& self) {
  std::vector<AwaitedMessage>& awaited = self.arrivals.awaited;
  if (awaited.empty()) return;
  const auto accounted = [&](AwaitedMessage& one) {
    if (one.source >= 0) {
      if (arrived(self, one.source, one.channel, one.ordinal, one.flags, one.site)) return true;
    } else {
      for (int source = 0; source < self.ranks; ++source) {
        uint64_t& ordinal = self.channels.next_received(source, one.channel);
        if (!arrived(self, source, one.channel, ordinal, one.flags, one.site)) continue;
        ++ordinal;
        return true;
      }
    }
    if (++one.tries < kMostTries && self.arrivals.has_stamps && self.arrivals.are_in_order()) return false;
    arrived_unknown(self, one.source, 0, one.flags, one.site);
    return true;
  };
  awaited.erase(std::remove_if(awaited.begin(), awaited.end(), accounted), awaited.end());
  // In a call that the shim does not stand before, as those of files, no end is seen.
  if (!Call::inside() && this_thread.has_noticed) account_noticed(self, real_cycles());
}

void give_up_awaited(Shim& self) {
  for (const AwaitedMessage& one : self.arrivals.awaited)
    arrived_unknown(self, one.source, 0, one.flags, one.site);
  self.arrivals.awaited.clear();
}

bool level_one() { return shim().counting && shim().level == 1; }

void begin_collective(MPI_Comm comm, bool blocking) {
  Shim& self = shim();
  if (!self.counting || !self.cluster.choice.wanted) return;
  const std::lock_guard guard(self.lock);
  // The library's own messages of a non-blocking one are known by their tags.
  if (blocking || self.level == 1) this_thread.collective = self.channels.begin_collective(comm);
}

void called(MPI_Comm comm, int to, size_t count, MPI_Datatype type, int tag, void* site) {
  if (!level_one()) return;
  unharmed([&] {
    Shim& self = shim();
    const std::lock_guard guard(self.lock);
    account(self, *self.channels.communicator(comm), to, bytes_of(count, type), tag, 0, site);
  });
}

// Not those of a type that the program made: where its first bytes lie is not asked. A buffer may be a GPU's.
void show_contents(const void* data, MPI_Comm comm, int to, size_t count, MPI_Datatype type, void* site) {
  Shim& self = shim();
  const client::feed::Publisher& publisher = self.publishing.contents;
  if (!self.counting || to == MPI_PROC_NULL || !publisher || !publisher.observed()) return;
  unharmed([&] {
    const std::lock_guard guard(self.lock);
    int integers = 0, addresses = 0, types = 0, combiner = 0;
    pmpi().Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    const uint64_t bytes = bytes_of(count, type);
    publish(self, publisher, [&](substrata_transaction& slot) {
      slot.time =
          static_cast<uint64_t>(self.virtual_time ? self.clock.now() : self.real_time.at(real_cycles()));
      slot.address = reinterpret_cast<uint64_t>(data);
      slot.site = reinterpret_cast<uint64_t>(site);
      slot.initiator = static_cast<uint32_t>(self.rank);
      slot.target = static_cast<uint32_t>(world_rank(*self.channels.communicator(comm), to));
      slot.size = size_field(bytes);
      slot.kind = SUBSTRATA_SEND;
      if (combiner == MPI_COMBINER_NAMED && bytes != 0 &&
          copy_own_memory(&slot.detail, data, std::min<uint64_t>(bytes, sizeof slot.detail)))
        slot.flags = SUBSTRATA_FLAG_VALUE;
    });
  });
}

void called_collective(MPI_Comm comm, const std::vector<ModelledMessage>& messages,
                       const std::vector<int>& sources, void* site) {
  constexpr uint16_t kFlags = SUBSTRATA_FLAG_MODELLED | SUBSTRATA_FLAG_COLLECTIVE;
  Shim& self = shim();
  const std::lock_guard guard(self.lock);
  const CommunicatorRecord among = self.channels.communicator(comm);
  for (const ModelledMessage& message : messages)
    account(self, *among, message.to, message.bytes, kModelledTag, kFlags, site);
  for (const int source : sources) await(self, *among, source, kModelledTag, kFlags, site);
}

void called_collective(Collective operation, MPI_Comm comm, int root, uint64_t bytes, void* site) {
  if (!level_one()) return;
  int inter = 0;
  pmpi().Comm_test_inter(comm, &inter);
  if (inter) return;  // two groups: no textbook form
  int me = 0;
  int size = 1;
  pmpi().Comm_rank(comm, &me);
  pmpi().Comm_size(comm, &size);
  called_collective(comm, expand(operation, me, size, root, bytes), sources_in(operation, me, size, root),
                    site);
}

}  // namespace substrata::mpi
