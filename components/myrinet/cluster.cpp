// The way of a packet through the cluster, event by event.
#include "myrinet/cluster.hpp"

#include <substrata/feed.hpp>

#include <algorithm>
#include <stdexcept>

#include "sources/workloads/random.hpp"

namespace substrata::myrinet {

Cluster::Cluster(const ClusterParameters& parameters, Delivery& delivery, bool publishing)
    : parameters_(parameters),
      delivery_(delivery),
      faults_(parameters.corrupt_ppm + parameters.drop_ppm + parameters.misroute_ppm != 0),
      clocks_(parameters),
      nodes_(parameters.nodes),
      table_(parameters.nodes),
      worst_(parameters.nodes) {
  for (Node& node : nodes_) {
    node.entries.resize(parameters.queue_entries);
    node.buffers = parameters.receive_buffers;
  }
  if (publishing) {
    constexpr std::uint32_t kSlots = 256;
    for (std::uint32_t i = 0; i < parameters.nodes; ++i) {
      for (const Place place : {Place::kSend, Place::kReceive, Place::kClock, Place::kOperation}) {
        std::uint32_t number = 0;
        client::feed::demand(add_node_probe(i, place, &number));
        client::feed::demand(
            publishers_.emplace_back().try_open(number, place < Place::kClock ? kSlots : 16));
      }
    }
    store_ = host_store();
    if (store_ == nullptr && parameters.histograms_in_host) {
      Shape shape;
      shape.nodes = parameters.nodes;
      store_ = std::make_shared<HostStore>(shape, HostLayout{});
      store_->record(true);
    }
  }
  if (parameters.clock == ClockMode::kPeriodic) {
    // A rate learnt over a second holds for a second or two only: the intervals grow to the period.
    interval_ = std::min(parameters.period, kSecond);
    events_.push(0, kRound, 0);
  }
}

// ---------------------------------------------------------------------------------------------- resources

template <typename T>
std::uint32_t Cluster::take_place(std::vector<T>& places, std::vector<std::uint32_t>& free) {
  if (free.empty()) {
    if (places.size() == EventQueue::kMostPackets)
      throw std::length_error("the Myrinet cluster cannot hold more packets under way");
    places.emplace_back();
    return static_cast<std::uint32_t>(places.size() - 1);
  }
  const std::uint32_t place = free.back();
  free.pop_back();
  return place;
}

// Clock packets look back at when each thing the processor did has ended.
void Cluster::note_end(Node& node, Time now) {
  constexpr std::size_t kMostPast = 64;
  while (node.first_end < node.ends.size() && node.ends[node.first_end] <= now) ++node.first_end;
  if (node.first_end == node.ends.size() || node.first_end > kMostPast) {
    node.ends.erase(node.ends.begin(), node.ends.begin() + static_cast<std::ptrdiff_t>(node.first_end));
    node.first_end = 0;
  }
  node.ends.push_back(node.processor_free);
}

// Of a clock packet: after what the processor is at, before all that waits, which then waits longer.
Time Cluster::occupy_first(Node& node, Time now, Time cost) {
  if (!parameters_.priority) return occupy(node, now, cost);
  while (node.first_end < node.ends.size() && node.ends[node.first_end] <= now) ++node.first_end;
  const Time present = node.first_end < node.ends.size() ? node.ends[node.first_end] : now;
  const Time begin = std::max(now + parameters_.poll, present);
  node.processor_free = std::max(node.processor_free, begin) + cost;
  return begin;
}

// The DMA engine moves bytes between host and interface; gives the end.
Time Cluster::transfer(Node& node, Time begin, Time setup, std::uint32_t bytes) {
  if (!parameters_.contention) return begin + setup + parameters_.dma_byte * bytes;
  Time at = std::max(begin, node.dma_free);
  Time left = setup + parameters_.dma_byte * bytes;
  while (!node.busy_memory.empty() && node.busy_memory.front().end <= now_) node.busy_memory.pop_front();
  for (std::size_t i = 0; i < node.busy_memory.size(); ++i) {
    const Window window = node.busy_memory[i];
    if (window.end <= at) continue;
    const Time free_until = std::max(window.begin, at);
    if (at + left <= free_until) break;
    left -= free_until - at;
    at = free_until;
    const auto slowed = static_cast<Time>(static_cast<double>(left) * parameters_.memory_slowdown);
    if (at + slowed <= window.end) {
      at += slowed;
      left = 0;
      break;
    }
    left -= static_cast<Time>(static_cast<double>(window.end - at) / parameters_.memory_slowdown);
    at = window.end;
  }
  node.dma_free = at + left;
  return node.dma_free;
}

Time Cluster::wire(std::uint32_t bytes) const noexcept {
  const bool stamped = parameters_.monitor.sending;
  return parameters_.link_byte * (bytes + parameters_.header_bytes + (stamped ? parameters_.stamp_bytes : 0));
}

// Onto the link when it is free. Worms are written where they stay, word by word: one that is copied as soon
// as it is written is copied out of the cache, not out of the store buffer, and waits for it.
void Cluster::insert(std::uint32_t from, Time ready, Time length, Kind kind, std::uint32_t packet,
                     std::uint32_t to) {
  if (!parameters_.contention) {
    pass_alone(from, std::max(ready, now_), length, kind, packet);
    return;
  }
  Node& node = nodes_[from];
  if (node.link_taken) {
    node.outgoing.add().set(ready, length, kind, packet, to);
  } else {
    launch(from, ready, length, kind, packet, to);
  }
}

// The link is the worm's from its begin on.
void Cluster::launch(std::uint32_t from, Time ready, Time length, Kind kind, std::uint32_t packet,
                     std::uint32_t to) {
  Node& node = nodes_[from];
  const Time begin = std::max({ready, node.link_free, now_});
  node.link_taken = true;
  node.worm.set(begin, length, kind, packet, to);
  stamp_exchange(from, begin, kind);
  // The port is asked for when the head is there, so that none waits for a worm that is yet to come.
  events_.push(begin + parameters_.switch_latency, kHead, from);
}

void Cluster::on_head(std::uint32_t from) {
  const Worm& worm = nodes_[from].worm;
  Node& to = nodes_[worm.to];
  if (worm.kind == kLost || (!to.port_taken && to.buffers != 0)) {
    grant(from);
  } else {
    to.waiting.push_back(from);
  }
}

// The worm's way is free: it goes on into the receiver, and its end on the sender's link is known.
void Cluster::grant(std::uint32_t from) {
  Node& node = nodes_[from];
  const Worm worm = node.worm;
  node.link_free = worm.begin + worm.length;
  if (worm.kind == kLost) {
    events_.push(node.link_free + parameters_.retry, kLost, worm.packet);
  } else {
    Node& to = nodes_[worm.to];
    to.port_taken = true;
    --to.buffers;
    const Time passed = std::max(now_, to.armed);
    const Time slack = parameters_.slack_bytes * parameters_.link_byte;
    if (worm.length > slack)
      node.link_free = std::max(node.link_free, passed - parameters_.switch_latency + worm.length - slack);
    events_.push(passed + worm.length + parameters_.reception, worm.kind, worm.packet);
  }
  if (worm.kind == kLost || worm.kind == kArrive) injected(from, worm.packet, node.link_free);
  node.link_taken = false;
  if (node.outgoing.empty()) return;
  const Worm& next = node.outgoing.front();
  node.outgoing.pop_front();  // it stays where it is
  launch(from, next.begin, next.length, next.kind, next.packet, next.to);
}

// Without contention: link, port and buffers are free whenever a packet wants them.
void Cluster::pass_alone(std::uint32_t from, Time begin, Time length, Kind kind, std::uint32_t packet) {
  stamp_exchange(from, begin, kind);
  const bool lost = kind == kLost;
  events_.push(
      begin + length + (lost ? parameters_.retry : parameters_.switch_latency + parameters_.reception), kind,
      packet);
  if (lost || kind == kArrive) injected(from, packet, begin + length);
}

// The packet is on its way.
void Cluster::injected(std::uint32_t from, std::uint32_t slot, Time end) {
  Packet& packet = packets_[slot];
  publish(from, Place::kSend, packet, SUBSTRATA_INJECTED, packet.fetched, end);
  keep(from, parameters_.monitor.sending, packet, packet.seen, packet.fetched);
}

// The stamp of a clock packet is the last thing before its insertion.
void Cluster::stamp_exchange(std::uint32_t from, Time begin, Kind kind) {
  if (kind == kQuerySeen) exchange_.sent = clocks_.local(0, begin);
  if (kind == kAnswered) exchange_.answered = clocks_.local(from, begin);
}

void Cluster::open_port(Node& node) {
  if (node.port_taken || node.buffers == 0 || node.waiting.empty()) return;
  const std::uint32_t from = node.waiting.front();
  node.waiting.pop_front();
  grant(from);
}

// The processor has seen what came; the receiving side takes the next packet from `at` on.
void Cluster::arm(Node& node, Time at) {
  node.armed = at;
  node.port_taken = false;
  open_port(node);
}

// A packet has left its buffer, as the processor sees at `at`.
void Cluster::release(Node& node, Time at) {
  if (node.buffers++ == 0) node.armed = std::max(node.armed, at);
  open_port(node);
}

void Cluster::memory_busy(std::uint32_t index, Time begin, Time end) {
  Ring<Window>& windows = nodes_[index].busy_memory;
  if (!windows.empty()) begin = std::max(begin, windows.back().end);
  if (begin < end) windows.push_back({begin, end});
}

Time Cluster::free_entry(std::uint32_t index, std::uint32_t bytes, Time now) {
  if (!parameters_.contention) return now;
  Node& node = nodes_[index];
  const Time at = std::max(now, node.entries[node.entry]);
  const std::uint32_t packets = bytes == 0 ? 1 : (bytes - 1) / parameters_.packet_bytes + 1;
  const Time processor = parameters_.on_request + parameters_.on_fetched + stamping() +
                         parameters_.on_injected +
                         (parameters_.monitor.sending ? parameters_.record_sending : 0);
  const Time dma = parameters_.source_setup + parameters_.dma_byte * (bytes / packets);
  node.emptied = std::max(node.emptied, at) + packets * std::max(processor, dma);
  node.entries[node.entry] = node.emptied;
  node.entry = (node.entry + 1) % node.entries.size();
  return at;
}

// ------------------------------------------------------------------------------------------------ packets

bool Cluster::looked_at() const noexcept {
  return watch_ != nullptr || (store_ != nullptr && store_->recording()) ||
         std::any_of(publishers_.begin(), publishers_.end(),
                     [](const auto& publisher) { return substrata_observed(publisher.get()) != 0; });
}

void Cluster::describe(const Message& message, substrata_transaction& shown) noexcept {
  shown.address = message.address;
  shown.site = message.operation;
  shown.detail = std::uint64_t{message.type} << kTypeShift;
  shown.initiator = message.from;
  shown.target = message.to;
  shown.kind = SUBSTRATA_PACKET;
  shown.program = message.program;
  shown.phase = message.phase;
  shown.flags = static_cast<std::uint16_t>(message.flags | SUBSTRATA_FLAG_MODELLED);
}

void Cluster::commit(std::uint32_t node, Place place, const substrata_transaction& shown) {
  substrata_publisher* const publisher =
      publishers_[std::size_t{node} * kPlaces + static_cast<std::uint32_t>(place)].get();
  substrata_transaction* const slot = substrata_reserve(publisher);
  if (slot == nullptr) return;
  *slot = shown;
  substrata_commit(publisher);
  ++published_;
}

Time Cluster::send(const Message& message, Time now) {
  const Time posted = free_entry(message.from, message.bytes, now) + kHostSend;
  post(message, posted);
  return posted;
}

void Cluster::post(const Message& message, Time now) {
  const std::uint32_t number = take_place(messages_, free_messages_);
  Posted& posted = messages_[number];
  posted.message = message;
  posted.posted = now;
  posted.rest = message.bytes;
  describe(message, posted.shown);
  ++under_way_;
  events_.push(now, kPost, number);
}

// With all that happens at an event in one function: the calls are a twentieth of a run.
[[gnu::flatten]] void Cluster::step() {
  const EventQueue::Event event = events_.pop();
  now_ = event.at;
  switch (static_cast<Kind>(event.kind)) {
    case kPost:
      on_post(event.packet);
      break;
    case kFetched:
      on_fetched(event.packet, false);
      break;
    case kResend:
      on_fetched(event.packet, true);
      break;
    case kHead:
      on_head(event.packet);
      break;
    case kArrive:
      on_arrive(event.packet);
      break;
    case kDelivered:
      on_delivered(event.packet);
      break;
    case kLost:
      on_lost(event.packet);
      break;
    case kRound:
      begin_round();
      break;
    case kAsk:
      query();
      break;
    case kQuerySeen:
      on_query_seen();
      break;
    case kAnswered:
      on_answered();
      break;
    case kTableSeen:
      on_table_seen(event.packet);
      break;
    case kWriteBack:
      on_write_back(event.packet);
      break;
  }
}

void Cluster::run_until(Time until) {
  while (events_.next() <= until) step();
  now_ = std::max(now_, until == kNever ? now_ : until);
}

void Cluster::run_before(const Time& until) {
  for (;;) {
    const Time at = events_.next();
    if (at > until || (under_way_ == 0 && until == kNever)) return;
    do step();
    while (events_.next() <= at);
  }
}

void Cluster::run_out() {
  while (under_way_ != 0 || in_round_) {
    const Time at = events_.next();  // all of that time
    do step();
    while (events_.next() <= at);
  }
}

// The next packet of a message has its request seen.
void Cluster::on_post(std::uint32_t number) {
  const std::uint32_t slot = take_place(packets_, free_packets_);
  Posted& posted = messages_[number];
  Packet& packet = packets_[slot];
  Node& node = nodes_[posted.shown.initiator];
  const std::uint32_t bytes = std::min(posted.rest, parameters_.packet_bytes);
  posted.rest -= bytes;
  packet.shown = posted.shown;
  packet.shown.detail |= node.packets++;
  packet.shown.size = bytes;
  packet.message = number;
  packet.at = packet.to();
  packet.last = posted.rest == 0;
  packet.seen = now_;
  if (faults_) packet.place = orders_[(std::uint64_t{packet.from()} << 32) | packet.to()].next_place++;
  const Time taken = occupy(node, now_, parameters_.on_request) + parameters_.on_request;
  if (!packet.last) {
    packet.shown.flags |= SUBSTRATA_FLAG_PARTIAL;
    events_.push(taken, kPost, number);
  }
  events_.push(transfer(node, taken, parameters_.source_setup, bytes), kFetched, slot);
}

void Cluster::fault_of(Packet& packet) {
  const std::uint64_t drawn = workloads::random_at(parameters_.seed ^ 0xFA17, drawn_++) % 1'000'000;
  packet.fault = Fault::kNone;
  packet.at = packet.to();
  if (drawn < parameters_.corrupt_ppm) {
    packet.fault = Fault::kCorrupt;
  } else if (drawn < std::uint64_t{parameters_.corrupt_ppm} + parameters_.drop_ppm) {
    packet.fault = Fault::kDropped;
  } else if (drawn <
             std::uint64_t{parameters_.corrupt_ppm} + parameters_.drop_ppm + parameters_.misroute_ppm) {
    packet.fault = Fault::kMisrouted;
    packet.at = (packet.at + 1) % parameters_.nodes;
    if (packet.at == packet.from()) packet.at = (packet.at + 1) % parameters_.nodes;
    // Between two nodes there is nowhere else to go.
    if (packet.at == packet.to()) packet.fault = Fault::kCorrupt;
  }
}

// The packet is in the interface's memory: into the network with it.
void Cluster::on_fetched(std::uint32_t slot, bool again) {
  Packet& packet = packets_[slot];
  Node& node = nodes_[packet.from()];
  const MonitorParts& monitor = parameters_.monitor;
  const Time after = parameters_.on_injected + (monitor.sending ? parameters_.record_sending : 0);
  const Time begin = occupy(node, now_, parameters_.on_fetched + stamping());
  const Time ready = begin + parameters_.on_fetched + stamping();
  // What the main loop notices late is measured late, unless long operations look at the clock themselves.
  packet.fetched = parameters_.stamps_inside ? std::min(begin, now_ + parameters_.stamp_grain) : begin;
  node.processor_free += after;  // in one go with the insertion
  if (!node.ends.empty()) node.ends.back() = node.processor_free;
  set_monitored(packet, monitor.sending);
  if (!again) {
    publish(packet.from(), Place::kSend, packet, SUBSTRATA_FETCHED, packet.seen, packet.fetched);
    keep(packet.from(), parameters_.monitor.sending, packet, 0, 0);
  }
  if (faults_) fault_of(packet);
  const bool dropped = packet.fault == Fault::kDropped;
  insert(packet.from(), ready, wire(packet.bytes()), dropped ? kLost : kArrive, slot, packet.at);
  ++counts_.sent;
  counts_.bytes_sent += packet.bytes();
}

// No answer came: the sender counts the packet as dropped and sends it again.
void Cluster::on_lost(std::uint32_t slot) {
  Packet& packet = packets_[slot];
  ++counts_.dropped;
  publish(packet.from(), Place::kSend, packet, SUBSTRATA_DROPPED, packet.fetched, now_);
  events_.push(now_, kResend, slot);
}

void Cluster::on_arrive(std::uint32_t slot) {
  Packet& packet = packets_[slot];
  Node& node = nodes_[packet.at];
  const MonitorParts& monitor = parameters_.monitor;
  const Time stripping =
      (monitor.receiving ? parameters_.strip_receiving : 0) + (monitor.clock ? parameters_.clock_upkeep : 0);
  const Time begin = occupy(node, now_, parameters_.on_arrived + stripping);
  const Time noticed = parameters_.stamps_inside ? std::min(begin, now_ + parameters_.stamp_grain) : begin;
  arm(node, begin + parameters_.on_arrived + stripping);
  set_monitored(packet, monitor.receiving);
  if (packet.fault != Fault::kNone) {
    const bool corrupt = packet.fault == Fault::kCorrupt;
    ++(corrupt ? counts_.corrupt : counts_.misrouted);
    publish(packet.at, Place::kReceive, packet, corrupt ? SUBSTRATA_CORRUPT : SUBSTRATA_MISROUTED,
            packet.fetched, noticed);
    events_.push(begin + parameters_.on_arrived + parameters_.refusal, kResend, slot);
    release(node, begin);
    return;
  }
  packet.last_word = noticed;
  const Time ready = begin + parameters_.on_arrived + stripping;
  events_.push(transfer(node, ready, parameters_.dest_setup, packet.bytes()), kDelivered, slot);
  if (watch_ == nullptr && publishers_.empty() && store_ == nullptr) return;
  publish(packet.at, Place::kReceive, packet, SUBSTRATA_ARRIVED, clocks_.stamp(packet.from(), packet.fetched),
          clocks_.stamp(packet.at, noticed));
  if (store_ == nullptr) return;
  packet.net_begin = packet.shown.start;
  packet.net_end = packet.shown.time;
  keep(packet.at, parameters_.monitor.receiving, packet, 0, 0);
}

void Cluster::on_delivered(std::uint32_t slot) {
  Packet& packet = packets_[slot];
  Node& node = nodes_[packet.at];
  const Time recording = parameters_.monitor.receiving ? parameters_.record_receiving : 0;
  const Time begin = occupy(node, now_, parameters_.on_delivered + recording);
  const Time noticed = parameters_.stamps_inside ? std::min(begin, now_ + parameters_.stamp_grain) : begin;
  publish(packet.at, Place::kReceive, packet, SUBSTRATA_DELIVERED, packet.last_word, noticed);
  release(node, begin);
  keep(packet.at, parameters_.monitor.receiving, packet, packet.net_begin, packet.net_end);
  ++counts_.received;
  counts_.bytes_received += packet.bytes();
  if (!faults_) {
    hand_over(slot);
    return;
  }
  Order& order = orders_[(std::uint64_t{packet.from()} << 32) | packet.to()];
  order.held.emplace(packet.place, slot);
  for (auto found = order.held.find(order.next_delivery); found != order.held.end();
       found = order.held.find(++order.next_delivery)) {
    const std::uint32_t next = found->second;
    order.held.erase(found);
    hand_over(next);
  }
}

void Cluster::hand_over(std::uint32_t slot) {
  free_packets_.push_back(slot);
  if (!packets_[slot].last) return;
  --under_way_;
  const std::uint32_t number = packets_[slot].message;
  free_messages_.push_back(number);
  // Both places may be taken again meanwhile.
  const Message message = messages_[number].message;
  delivery_.delivered(message, messages_[number].posted, now_);
}

}  // namespace substrata::myrinet
