// The cluster: hosts, interfaces with their polling processors, and one switch, as a model driven by events.
#pragma once

#include <substrata/feed.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "myrinet/clocks.hpp"
#include "myrinet/cluster_parameters.hpp"
#include "myrinet/event_queue.hpp"
#include "myrinet/host_store.hpp"
#include "myrinet/probes.hpp"
#include "myrinet/ring.hpp"

namespace substrata::myrinet {

// One message for the cluster to carry; longer ones than a packet are cut by the interface.
struct Message {
  std::uint32_t from = 0;
  std::uint32_t to = 0;  // another node
  std::uint32_t bytes = 0;
  std::uint8_t type = 0;  // enum substrata_myrinet_type
  std::uint16_t program = 0;
  std::uint16_t phase = 0;
  std::uint16_t flags = 0;  // enum substrata_transaction_flags
  std::uint64_t address = 0;
  std::uint64_t operation = 0;  // of the layer above (operations.hpp), 0: none
  std::uint64_t cookie = 0;     // the sender's own
};

// Is called when a message is whole in its receiver's memory; messages of a pair of nodes in their order.
class Delivery {
 public:
  virtual void delivered(const Message& message, Time posted, Time now) = 0;

 protected:
  ~Delivery() = default;
};

// Is shown each stage of each packet when it is known: the transaction that the node's probe point publishes,
// but for the probe point's number.
class StageWatch {
 public:
  virtual void stage(std::uint32_t node, const substrata_transaction& stage) noexcept = 0;
  // The same of an operation of the layer above that has ended.
  virtual void ended(std::uint32_t, const substrata_transaction&) noexcept {}

 protected:
  ~StageWatch() = default;
};

// What happened, all nodes together. At rest, sent = received + corrupt + dropped + misrouted.
struct ClusterCounts {
  std::uint64_t sent = 0;  // packets, each attempt
  std::uint64_t received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t corrupt = 0;
  std::uint64_t dropped = 0;
  std::uint64_t misrouted = 0;
  std::uint64_t rounds = 0;         // of the clocks
  std::uint64_t clock_packets = 0;  // not among the packets above
  double clock_error = 0;           // largest against node 0, picoseconds, once every rate is known
  double pair_error = 0;            // largest between two nodes
};

// The model. A packet's way: the request appears in the queue; the interface's processor takes it and begins
// the DMA from host memory; when that has ended it begins the insertion; the switch hands the packet to the
// receiver's port, one at a time; the receiving processor begins the DMA into host memory. A node's processor
// does one thing after the other, its DMA engine serves both directions in the order of asking, and a DMA
// takes longer while the host's processor keeps the memory busy. The receiving side takes a packet only when
// the node's processor has seen the one before and a buffer is free; meanwhile the packet's head waits in the
// switch and the rest stops on the sender's link, with whatever is to follow on it (wormhole routing, Boden
// et al., IEEE Micro 1995). Transactions are published when they are known, so that an INJECTED may lie some
// microseconds ahead.
// Thread-bound.
class Cluster {
 public:
  // Opens the probe points if `publishing`; throws std::runtime_error with the feed's message.
  Cluster(const ClusterParameters& parameters, Delivery& delivery, bool publishing);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // From now on; null: none. Besides the probe points.
  void watch(StageWatch* watch) noexcept { watch_ = watch; }
  // Does anything look at the packets' stages: the watch, or an observer of a probe point?
  bool looked_at() const noexcept;
  // Sends a message as a host's software that may begin at `now`: it waits for a free entry in the queue of
  // its interface and puts the message there. Gives the time at which it goes on.
  Time send(const Message& message, Time now);
  // Puts a message into the queue of its sender's interface at `now`, which is not before the present.
  void post(const Message& message, Time now);
  // The time at which a host that wants to post at `now` finds a free entry in the queue (an estimate by the
  // rate at which the interface empties it). Counts as posted.
  Time free_entry(std::uint32_t node, std::uint32_t bytes, Time now);
  // The host's processor keeps its memory busy; windows of a node come in the order of time.
  void memory_busy(std::uint32_t node, Time begin, Time end);

  Time next() const noexcept { return events_.next(); }
  Time now() const noexcept { return now_; }
  // Handles every event up to and including `until`.
  void run_until(Time until);
  // The same where `until` may come nearer meanwhile, though not before the present; kNever: until at rest.
  // Always all events of one time.
  void run_before(const Time& until);
  // The same until nothing but the clocks' periods is left to happen.
  void run_out();

  const ClusterCounts& counts() const noexcept { return counts_; }
  const ClusterParameters& parameters() const noexcept { return parameters_; }
  const Clocks& clocks() const noexcept { return clocks_; }
  std::uint64_t published() const noexcept { return published_; }
  // Histograms are kept in that store from now on; null: not. A publishing cluster begins with the one in
  // use.
  void keep_in(std::shared_ptr<HostStore> store) noexcept { store_ = std::move(store); }
  // An operation of the layer above has ended at `node`: published there as it is.
  void completed(std::uint32_t node, substrata_transaction operation) {
    if (!parameters_.monitor.sending && !parameters_.monitor.receiving) operation.flags |= kNotMonitored;
    if (watch_ != nullptr) watch_->ended(node, operation);
    if (!publishers_.empty()) commit(node, Place::kOperation, operation);
  }
  // Begins a global synchronisation now, besides those of the period.
  void synchronise();
  // Looks at the clocks' errors now; done at every correction as well.
  void measure_clocks();

  // What the message's packets and its end have in common; the rest stays as it is.
  static void describe(const Message& message, substrata_transaction& shown) noexcept;

 private:
  enum Kind : std::uint32_t {
    kPost,
    kFetched,
    kResend,
    kHead,
    kArrive,
    kDelivered,
    kLost,
    kRound,
    kAsk,
    kQuerySeen,
    kAnswered,
    kTableSeen,
    kWriteBack
  };
  enum class Fault : std::uint8_t { kNone, kCorrupt, kDropped, kMisrouted };
  // A message until it is delivered.
  struct Posted {
    Message message;
    Time posted = 0;
    std::uint32_t rest = 0;         // of its bytes: not in packets yet
    substrata_transaction shown{};  // what its packets' have in common
  };
  // Hundreds of them are under way where a message is long: two cache lines each.
  struct alignas(64) Packet {
    substrata_transaction shown{};  // of its stages: all but times and state
    std::uint32_t message = 0;      // in messages_
    std::uint32_t place = 0;        // in the order of its pair of nodes
    std::uint32_t at = 0;           // the node it comes out at
    Fault fault = Fault::kNone;
    bool last = false;   // of the message
    Time seen = 0;       // the request
    Time fetched = 0;    // by the sender's stamp, before correction
    Time last_word = 0;  // by the receiver's
    Time net_begin = 0;  // of the net latency, by the sender's clock,
    Time net_end = 0;    // and by the receiver's; while histograms are in host memory
    std::uint32_t from() const noexcept { return shown.initiator; }
    std::uint32_t to() const noexcept { return shown.target; }
    std::uint32_t bytes() const noexcept { return shown.size; }
  };
  struct Window {
    Time begin;
    Time end;
  };
  // A packet for the network.
  struct Worm {
    Time begin = 0;   // of the insertion, at the earliest until the link is the worm's
    Time length = 0;  // of the insertion, when nothing stops it
    Kind kind{};      // the event of its arrival
    std::uint32_t packet = 0;
    std::uint32_t to = 0;
    // Word by word: see Cluster::insert.
    void set(Time its_begin, Time its_length, Kind its_kind, std::uint32_t its_packet,
             std::uint32_t its_to) noexcept {
      begin = its_begin;
      length = its_length;
      kind = its_kind;
      packet = its_packet;
      to = its_to;
    }
  };
  struct Node {
    Time processor_free = 0;
    Time dma_free = 0;
    // Sending: one worm at a time, until its end in the switch is known.
    bool link_taken = false;
    Worm worm;            // on the link
    Ring<Worm> outgoing;  // behind it
    Time link_free = 0;
    // Receiving.
    Time armed = 0;           // the receiving side knows from the processor where the next packet goes
    bool port_taken = false;  // a packet is on its way through the node's port
    std::uint32_t buffers = 0;
    Ring<std::uint32_t> waiting;  // nodes whose worms wait in the switch for the port
    std::uint64_t packets = 0;
    Ring<Window> busy_memory;
    std::vector<Time> entries;  // when each entry of the queue is free again
    std::size_t entry = 0;
    Time emptied = 0;
    std::vector<Time> ends;  // of what the processor does, while clocks are kept
    std::size_t first_end = 0;
    bool writing_back = false;  // an event for it is due
  };
  struct Order {  // of one pair of nodes, while there are faults
    std::uint32_t next_place = 0;
    std::uint32_t next_delivery = 0;
    std::unordered_map<std::uint32_t, std::uint32_t> held;  // place -> packet
  };

  // A place that is free, by its number; what is in it is of the one before.
  template <typename T>
  static std::uint32_t take_place(std::vector<T>& places, std::vector<std::uint32_t>& free);
  void step();
  // The processor is busy for `cost` from when it is free; gives the begin.
  Time occupy(Node& node, Time now, Time cost) {
    const Time seen = now + parameters_.poll;
    const Time begin = parameters_.contention ? std::max(seen, node.processor_free) : seen;
    node.processor_free = begin + cost;
    if (parameters_.clock == ClockMode::kPeriodic) note_end(node, now);
    return begin;
  }
  void note_end(Node& node, Time now);
  Time occupy_first(Node& node, Time now, Time cost);
  Time transfer(Node& node, Time begin, Time setup, std::uint32_t bytes);
  Time wire(std::uint32_t bytes) const noexcept;
  // Before the insertion: the stamp, and the correction of the node's clock, which goes on without stamps too.
  Time stamping() const noexcept {
    return (parameters_.monitor.sending ? parameters_.stamp_sending : 0) +
           (parameters_.monitor.clock ? parameters_.clock_upkeep : 0);
  }
  void insert(std::uint32_t from, Time ready, Time length, Kind kind, std::uint32_t packet, std::uint32_t to);
  void launch(std::uint32_t from, Time ready, Time length, Kind kind, std::uint32_t packet, std::uint32_t to);
  void on_head(std::uint32_t from);
  void grant(std::uint32_t from);
  void pass_alone(std::uint32_t from, Time begin, Time length, Kind kind, std::uint32_t packet);
  void stamp_exchange(std::uint32_t from, Time begin, Kind kind);
  void injected(std::uint32_t from, std::uint32_t packet, Time end);
  void open_port(Node& node);
  void arm(Node& node, Time at);
  void release(Node& node, Time at);

  void on_post(std::uint32_t number);
  void on_fetched(std::uint32_t slot, bool again);
  void on_arrive(std::uint32_t slot);
  void on_delivered(std::uint32_t slot);
  void on_lost(std::uint32_t slot);
  void hand_over(std::uint32_t slot);
  void fault_of(Packet& packet);

  // The packet's stage as it was published last; the latency before it on the same side, by begin and end.
  void keep(std::uint32_t node, bool monitored, const Packet& packet, Time begin, Time end) {
    if (store_ != nullptr && monitored) keep_in_store(node, packet, begin, end);
  }
  [[gnu::noinline]] void keep_in_store(std::uint32_t node, const Packet& packet, Time begin, Time end);
  void force(Node& node, std::uint32_t bytes);
  void on_write_back(std::uint32_t node);

  void begin_round();
  void query();
  void on_query_seen();
  void on_answered();
  void on_table_seen(std::uint32_t node);

  // Before the first stage at a side: is its monitor on?
  static void set_monitored(Packet& packet, bool monitored) noexcept {
    const auto rest = static_cast<std::uint16_t>(packet.shown.flags & ~kNotMonitored);
    packet.shown.flags = monitored ? rest : static_cast<std::uint16_t>(rest | kNotMonitored);
  }
  void publish(std::uint32_t node, Place place, Packet& packet, std::uint16_t state, Time start, Time time) {
    packet.shown.time = time;
    packet.shown.start = start;
    packet.shown.state = state;
    if (watch_ != nullptr) watch_->stage(node, packet.shown);
    if (!publishers_.empty()) commit(node, place, packet.shown);
  }
  void commit(std::uint32_t node, Place place, const substrata_transaction& shown);

  const ClusterParameters parameters_;
  Delivery& delivery_;
  const bool faults_;
  Clocks clocks_;
  EventQueue events_;
  Time now_ = 0;
  std::uint64_t under_way_ = 0;  // messages posted and not delivered
  std::vector<Node> nodes_;
  std::vector<Posted> messages_;
  std::vector<std::uint32_t> free_messages_;
  std::vector<Packet> packets_;
  std::vector<std::uint32_t> free_packets_;
  std::unordered_map<std::uint64_t, Order> orders_;
  std::uint64_t drawn_ = 0;  // faults
  ClusterCounts counts_;
  std::uint64_t published_ = 0;
  StageWatch* watch_ = nullptr;
  std::shared_ptr<HostStore> store_;
  std::vector<client::feed::Publisher> publishers_;  // three a node

  // The round under way.
  bool in_round_ = false;
  Time round_began_ = 0;
  Time interval_ = 0;  // to the next round: doubled until it is the period
  std::uint32_t asked_ = 0;
  std::uint32_t attempt_ = 0;
  double quickest_ = 0;  // round trip so far
  Clocks::Exchange exchange_{};
  std::vector<Clocks::Exchange> table_;
  std::vector<double> worst_;  // of each node since its last correction
};

}  // namespace substrata::myrinet
