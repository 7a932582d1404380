// The protocol: faults, intervals, twins, diffs, updates, notices, homes, locks and barriers.
#include "svm_machine.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace substrata::svm {

using workloads::kPageInvalid;
using workloads::kPageReadable;
using workloads::kPageWritable;
using workloads::LayerKind;
using workloads::OperationKind;

namespace {

constexpr std::size_t kWord = 4;       // grain of a diff
constexpr std::size_t kRunHeader = 4;  // offset and length of a run of changed words, in words, 16 bits each
constexpr std::uint32_t kVersionBytes = 8;
constexpr std::uint32_t kClockBytes = 4;  // an entry of a vector time
constexpr std::uint32_t kNoticeBytes = 4;

void merge(std::vector<std::uint32_t>& into, const std::vector<std::uint32_t>& from) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

void raise(std::vector<Version>& versions, Version version) {
  for (Version& known : versions) {
    if (known.writer == version.writer) {
      known.interval = std::max(known.interval, version.interval);
      return;
    }
  }
  versions.push_back(version);
}

}  // namespace

std::string_view name_of(PacketKind kind) noexcept {
  constexpr std::string_view kNames[kPacketKinds] = {
      "lock-request",    "lock-grant",   "lock-release", "barrier-arrive",
      "barrier-release", "home-request", "home-reply",   "page-request",
      "page-reply",      "page-move",    "diff",         "update",
      "update-mark",     "user"};
  return kNames[static_cast<std::size_t>(kind)];
}

SvmMachine::SvmMachine(std::string name, const SvmParameters& parameters, std::unique_ptr<Network> network)
    : name_(std::move(name)), parameters_(parameters), network_(std::move(network)) {}

void SvmMachine::begin(Engine& engine) {
  const std::uint32_t bytes = parameters_.page_bytes;
  if (bytes < 64 || bytes > 65536 || (bytes & (bytes - 1)) != 0) {
    throw std::runtime_error("a page of " + std::to_string(bytes) +
                             " bytes is asked for; powers of two from 64 to 65536 are possible");
  }
  engine_ = &engine;
  page_shift_ = static_cast<unsigned>(std::countr_zero(bytes));
  page_count_ = (engine.memory().bytes() + bytes - 1) >> page_shift_;
  const ProcessId count = engine.processes();
  homes_.assign(page_count_, kNoHome);
  intervals_.resize(count);
  nodes_.resize(count);
  for (ProcessId p = 0; p < count; ++p) {
    Node& node = nodes_[p];
    node.memory = workloads::Mapping(page_count_ << page_shift_);
    node.pages.assign(page_count_, kPageInvalid);
    node.clock.assign(count, 0);
    node.knows_home.assign(page_count_, parameters_.homes != HomePolicy::kFirstTouch);
  }
  if (parameters_.homes != HomePolicy::kFirstTouch) {
    for (std::uint64_t page = 0; page < page_count_; ++page) {
      homes_[page] = static_cast<ProcessId>(
          parameters_.homes == HomePolicy::kBlock ? page * count / page_count_ : page % count);
      nodes_[homes_[page]].pages[page] = kPageReadable;
    }
  }
  operations_.begin(count, *network_);
  network_->begin(engine, *this);
}

workloads::ProcessView SvmMachine::view(ProcessId process) {
  Node& node = nodes_[process];
  return {.memory = node.memory.data(),
          .pages = node.pages.data(),
          .page_shift = page_shift_,
          .stored_values = parameters_.mode == UpdateMode::kAutomatic ? &node.stored : nullptr,
          .oracle = parameters_.verify ? engine_->memory().data() : nullptr};
}

std::string SvmMachine::end() {
  std::byte* result = engine_->memory().data();
  const std::uint64_t total = engine_->memory().bytes();
  for (std::uint64_t page = 0; page < page_count_; ++page) {
    if (homes_[page] == kNoHome) continue;
    const std::uint64_t address = page << page_shift_;
    if (address >= total) break;
    const std::size_t bytes = std::min<std::uint64_t>(parameters_.page_bytes, total - address);
    const std::byte* data = page_data(homes_[page], page);
    if (parameters_.verify && std::memcmp(result + address, data, bytes) != 0) {
      return "page " + std::to_string(page) + " at its home, process " + std::to_string(homes_[page]) +
             ", differs at the end from what the processes wrote";
    }
    std::memcpy(result + address, data, bytes);
  }
  for (const auto& entry : home_state_) {
    if (!entry.second.waiting.empty())
      return "a fetch of page " + std::to_string(entry.first) + " was never served";
  }
  return {};
}

// ------------------------------------------------------------------------------------------------ packets

Packet SvmMachine::packet(PacketKind kind, ProcessId from, ProcessId to, std::uint32_t payload) const {
  Packet made;
  made.kind = kind;
  made.from = from;
  made.to = to;
  made.bytes = parameters_.header_bytes + payload;
  return made;
}

Time SvmMachine::send(Packet&& packet, Time now) {
  if (packet.from == packet.to) {
    const std::uint64_t number = next_local_++;
    local_.emplace(number, std::move(packet));
    engine_->schedule(now + parameters_.costs.local, *this, number);
    return now;
  }
  ++counts_.packets[static_cast<std::size_t>(packet.kind)];
  counts_.packet_bytes[static_cast<std::size_t>(packet.kind)] += packet.bytes;
  packet.operation = operations_.of(packet);
  return network_->send(std::move(packet), now);
}

void SvmMachine::on_event(Time now, std::uint64_t argument) {
  const auto found = local_.find(argument);
  Packet packet = std::move(found->second);
  local_.erase(found);
  arrive(std::move(packet), now);
}

// A node handles packets one after the other.
Time SvmMachine::handle(const Packet& packet, Time now) {
  const bool awaited = packet.kind == PacketKind::kPageReply || packet.kind == PacketKind::kLockGrant ||
                       packet.kind == PacketKind::kBarrierRelease || packet.kind == PacketKind::kHomeReply;
  Time& busy = nodes_[packet.to].busy;
  busy = std::max(busy, now) + (awaited ? parameters_.costs.awaited : parameters_.costs.handler);
  return busy;
}

ProcessId SvmMachine::manager(std::uint64_t number) const noexcept {
  return parameters_.managers == Managers::kNodeZero ? 0 : static_cast<ProcessId>(number % nodes_.size());
}

void SvmMachine::arrive(Packet&& packet, Time now) {
  const std::uint64_t page = page_of(packet.address);
  switch (packet.kind) {
    case PacketKind::kUser:
      operations_.delivered(packet.number, now);
      engine_->deliver(packet.number, now);
      return;
    case PacketKind::kUpdate:  // done by the receiving interface, without the processor
      ++counts_.packets[static_cast<std::size_t>(packet.kind)];
      counts_.packet_bytes[static_cast<std::size_t>(packet.kind)] += packet.bytes;
      std::memcpy(nodes_[packet.to].memory.data() + packet.address, packet.data.data(), packet.data.size());
      return;
    case PacketKind::kUpdateMark:
      for (const std::uint64_t marked : packet.pages) {
        applied(marked, {packet.from, static_cast<std::uint32_t>(packet.number)}, now);
      }
      return;
    default:
      break;
  }
  now = handle(packet, now);
  switch (packet.kind) {
    case PacketKind::kLockRequest: {
      Lock& lock = locks_[packet.number];
      if (lock.clock.empty()) lock.clock.assign(nodes_.size(), 0);
      if (lock.held) {
        lock.queue.push_back(std::move(packet));
      } else {
        grant(lock, packet.number, packet, now);
      }
      return;
    }
    case PacketKind::kLockRelease: {
      Lock& lock = locks_[packet.number];
      lock.held = false;
      merge(lock.clock, packet.clock);
      if (!lock.queue.empty()) {
        const Packet request = std::move(lock.queue.front());
        lock.queue.pop_front();
        grant(lock, packet.number, request, now);
      }
      return;
    }
    case PacketKind::kLockGrant:
    case PacketKind::kBarrierRelease:
      now = acquire(packet.to, packet.clock, now);
      operations_.close(packet.to, now);
      engine_->resume(packet.to, now);
      return;
    case PacketKind::kBarrierArrive: {
      Barrier& barrier = barriers_[packet.number];
      if (barrier.clock.empty()) {
        barrier.clock.assign(nodes_.size(), 0);
        barrier.clocks.resize(nodes_.size());
      }
      merge(barrier.clock, packet.clock);
      barrier.clocks[packet.from] = std::move(packet.clock);
      if (++barrier.arrived < nodes_.size()) return;
      open_barrier_ = packet.number;
      start_moves(now);
      return;
    }
    case PacketKind::kHomeRequest: {
      if (homes_[page] == kNoHome) homes_[page] = packet.from;
      Packet reply = this->packet(PacketKind::kHomeReply, packet.to, packet.from, 4);
      reply.address = packet.address;
      send(std::move(reply), now);
      return;
    }
    case PacketKind::kHomeReply: {
      Node& node = nodes_[packet.to];
      node.knows_home[page] = true;
      operations_.close(packet.to, now);
      node.fault_began = now;
      // A page is never written before it has a home: its new home begins with zeros and the right to read
      // them.
      if (homes_[page] == packet.to && node.pages[page] == kPageInvalid && !node.wanted.contains(page)) {
        node.pages[page] = kPageReadable;
      }
      serve_fault(packet.to, now);
      return;
    }
    case PacketKind::kPageRequest:
      if (contains(page, packet.versions)) {
        reply_page(page, packet.from, now);
      } else {
        ++counts_.home_waits;
        home_state_[page].waiting.push_back({packet.from, std::move(packet.versions)});
      }
      return;
    case PacketKind::kPageReply: {
      Node& node = nodes_[packet.to];
      std::memcpy(page_data(packet.to, page), packet.data.data(), packet.data.size());
      node.pages[page] = kPageReadable;
      node.wanted.erase(page);
      finish_fault(packet.to, now + parameters_.costs.page_place);
      return;
    }
    case PacketKind::kPageMove: {
      Node& node = nodes_[packet.to];
      std::memcpy(page_data(packet.to, page), packet.data.data(), packet.data.size());
      // The old home keeps its copy as anybody's; what it contained the new one now contains.
      homes_[page] = packet.to;
      node.pages[page] = kPageReadable;
      node.wanted.erase(page);
      if (--moves_under_way_ == 0) release_barrier(now + parameters_.costs.page_place);
      return;
    }
    case PacketKind::kDiff: {
      apply_diff(page_data(packet.to, page), packet.data);
      const Time done = now + parameters_.costs.diff_byte * packet.data.size();
      nodes_[packet.to].busy = done;
      network_->memory_busy(packet.to, now, done);
      applied(page, {packet.from, static_cast<std::uint32_t>(packet.number)}, done);
      return;
    }
    case PacketKind::kUpdate:
    case PacketKind::kUpdateMark:
    case PacketKind::kUser:
      break;
  }
}

// ---------------------------------------------------------------------------------------------- intervals

// Ends the open interval of a process: its changes go to the homes and the pages are protected again.
Time SvmMachine::close_interval(ProcessId process, Time now) {
  Node& node = nodes_[process];
  network_->flush(process, now);
  if (node.dirty.empty()) return now;
  const std::uint32_t interval = node.clock[process] + 1;
  std::vector<std::uint64_t> written;
  std::vector<std::vector<std::uint64_t>> marks(parameters_.mode == UpdateMode::kAutomatic ? nodes_.size()
                                                                                           : std::size_t{0});
  for (const std::uint64_t page : node.dirty) {
    node.pages[page] = kPageReadable;
    now += parameters_.costs.notice;
    const ProcessId home_node = homes_[page];
    if (home_node == process) {
      written.push_back(page);
      continue;
    }
    if (parameters_.mode == UpdateMode::kAutomatic) {
      written.push_back(page);
      marks[home_node].push_back(page);
      continue;
    }
    const auto twin = node.twins.find(page);
    std::vector<std::byte> diff = make_diff(twin->second.data(), page_data(process, page));
    node.twins.erase(twin);
    const Time compared = now;
    now += parameters_.costs.diff_page + parameters_.costs.diff_byte * diff.size();
    network_->memory_busy(process, compared, now);
    if (diff.empty()) continue;  // written with what was there: no notice is needed
    written.push_back(page);
    ++counts_.diffs;
    counts_.diff_bytes += diff.size();
    Packet made = packet(PacketKind::kDiff, process, home_node, static_cast<std::uint32_t>(diff.size()));
    made.address = page << page_shift_;
    made.number = interval;
    made.data = std::move(diff);
    now = send(std::move(made), now);
  }
  node.dirty.clear();
  if (written.empty()) return now;
  for (ProcessId home_node = 0; home_node < marks.size(); ++home_node) {
    if (marks[home_node].empty()) continue;
    Packet made = packet(PacketKind::kUpdateMark, process, home_node,
                         static_cast<std::uint32_t>(marks[home_node].size()) * kNoticeBytes);
    made.number = interval;
    made.pages = std::move(marks[home_node]);
    now = send(std::move(made), now);
  }
  ++counts_.intervals;
  node.clock[process] = interval;
  for (const std::uint64_t page : written) {
    if (homes_[page] == process) applied(page, {process, interval}, now);
  }
  intervals_[process].push_back(std::move(written));
  return now;
}

// Runs of changed words: offset and length in words, then the words.
std::vector<std::byte> SvmMachine::make_diff(const std::byte* twin, const std::byte* page) const {
  std::vector<std::byte> diff;
  const std::size_t words = parameters_.page_bytes / kWord;
  const auto same = [&](std::size_t w) {
    return std::memcmp(twin + w * kWord, page + w * kWord, kWord) == 0;
  };
  for (std::size_t w = 0; w < words;) {
    if (same(w)) {
      ++w;
      continue;
    }
    std::size_t end = w + 1;
    while (end < words && !same(end)) ++end;
    const std::uint16_t header[2] = {static_cast<std::uint16_t>(w), static_cast<std::uint16_t>(end - w)};
    static_assert(sizeof(header) == kRunHeader);
    const auto* bytes = reinterpret_cast<const std::byte*>(header);
    diff.insert(diff.end(), bytes, bytes + kRunHeader);
    diff.insert(diff.end(), page + w * kWord, page + end * kWord);
    w = end;
  }
  return diff;
}

void SvmMachine::apply_diff(std::byte* page, const std::vector<std::byte>& diff) const {
  for (std::size_t at = 0; at < diff.size();) {
    std::uint16_t header[2];
    std::memcpy(header, diff.data() + at, kRunHeader);
    at += kRunHeader;
    std::memcpy(page + header[0] * kWord, diff.data() + at, header[1] * kWord);
    at += header[1] * kWord;
  }
}

std::uint64_t SvmMachine::notices_between(const std::vector<std::uint32_t>& older,
                                          const std::vector<std::uint32_t>& newer,
                                          std::uint64_t& intervals) const {
  std::uint64_t notices = 0;
  intervals = 0;
  for (std::size_t q = 0; q < newer.size(); ++q) {
    for (std::uint32_t i = older[q]; i < newer[q]; ++i) {
      ++intervals;
      notices += intervals_[q][i].size();
    }
  }
  return notices;
}

std::uint32_t SvmMachine::notice_bytes(const std::vector<std::uint32_t>& older,
                                       const std::vector<std::uint32_t>& newer) const {
  std::uint64_t intervals = 0;
  const std::uint64_t notices = notices_between(older, newer, intervals);
  return static_cast<std::uint32_t>(newer.size() * kClockBytes + intervals * kVersionBytes +
                                    notices * kNoticeBytes);
}

// Takes in what others wrote: pages named by new notices are no longer valid here. No interval is open.
Time SvmMachine::acquire(ProcessId process, const std::vector<std::uint32_t>& clock, Time now) {
  Node& node = nodes_[process];
  for (ProcessId writer = 0; writer < clock.size(); ++writer) {
    if (writer == process) continue;
    for (std::uint32_t i = node.clock[writer]; i < clock[writer]; ++i) {
      for (const std::uint64_t page : intervals_[writer][i]) {
        ++counts_.notices;
        now += parameters_.costs.notice;
        if (parameters_.notices_name_homes) node.knows_home[page] = true;
        std::vector<Version>& wanted = node.wanted[page];
        raise(wanted, {writer, i + 1});
        if (homes_[page] == process && contains(page, wanted)) {
          node.wanted.erase(page);
          continue;
        }
        counts_.invalidations += node.pages[page] != kPageInvalid ? 1 : 0;
        node.pages[page] = kPageInvalid;
      }
    }
    node.clock[writer] = std::max(node.clock[writer], clock[writer]);
  }
  return now;
}

// -------------------------------------------------------------------------------------------------- pages

void SvmMachine::on_fault(ProcessId process, std::uint64_t page, bool write, Time now) {
  Node& node = nodes_[process];
  ++(write ? counts_.write_faults : counts_.read_faults);
  node.fault_page = page;
  node.fault_write = write;
  node.fault_began = now;
  now += parameters_.costs.trap;
  if (node.knows_home[page]) {
    serve_fault(process, now);
    return;
  }
  operations_.open(process, LayerKind::kPageHome, page << page_shift_, node.fault_began);
  Packet request = packet(PacketKind::kHomeRequest, process, 0, 0);
  request.address = page << page_shift_;
  send(std::move(request), now);
}

// The home is known: gets the data if they are not here.
void SvmMachine::serve_fault(ProcessId process, Time now) {
  Node& node = nodes_[process];
  const std::uint64_t page = node.fault_page;
  if (node.pages[page] != kPageInvalid) {
    finish_fault(process, now);
    return;
  }
  const auto found = node.wanted.find(page);
  std::vector<Version> wanted = found == node.wanted.end() ? std::vector<Version>{} : found->second;
  if (homes_[page] != process) {
    ++counts_.page_fetches;
    operations_.open(process, LayerKind::kPageFetch, page << page_shift_, node.fault_began);
    Packet request = packet(PacketKind::kPageRequest, process, homes_[page],
                            static_cast<std::uint32_t>(wanted.size()) * kVersionBytes);
    request.address = page << page_shift_;
    request.versions = std::move(wanted);
    send(std::move(request), now);
    return;
  }
  if (!contains(page, wanted)) {
    ++counts_.home_waits;
    home_state_[page].waiting.push_back({process, std::move(wanted)});
    return;
  }
  node.pages[page] = kPageReadable;
  node.wanted.erase(page);
  finish_fault(process, now);
}

// The data are here: opens the page for writing if that was wanted, and lets the process go on.
void SvmMachine::finish_fault(ProcessId process, Time now) {
  Node& node = nodes_[process];
  const std::uint64_t page = node.fault_page;
  if (node.fault_write) {
    node.pages[page] = kPageWritable;
    node.dirty.push_back(page);
    if (parameters_.mode == UpdateMode::kDiffs && homes_[page] != process) {
      const std::byte* data = page_data(process, page);
      node.twins[page].assign(data, data + parameters_.page_bytes);
      ++counts_.twins;
      network_->memory_busy(process, now, now + parameters_.costs.page_copy);
      now += parameters_.costs.page_copy;
    }
  }
  operations_.close(process, now);
  engine_->resume(process, now);
}

bool SvmMachine::contains(std::uint64_t page, const std::vector<Version>& versions) const {
  if (versions.empty()) return true;
  const auto found = home_state_.find(page);
  if (found == home_state_.end()) return false;
  const std::vector<Version>& have = found->second.applied;
  return std::all_of(versions.begin(), versions.end(), [&](const Version& wanted) {
    return std::any_of(have.begin(), have.end(), [&](const Version& version) {
      return version.writer == wanted.writer && version.interval >= wanted.interval;
    });
  });
}

void SvmMachine::reply_page(std::uint64_t page, ProcessId to, Time now) {
  Packet reply = packet(PacketKind::kPageReply, homes_[page], to, parameters_.page_bytes);
  reply.address = page << page_shift_;
  const std::byte* data = page_data(homes_[page], page);
  reply.data.assign(data, data + parameters_.page_bytes);
  send(std::move(reply), now);
}

// The home's copy now contains a version: serves those that waited for it.
void SvmMachine::applied(std::uint64_t page, Version version, Time now) {
  Home& state = home_state_[page];
  raise(state.applied, version);
  if (state.waiting.empty()) return;
  std::vector<Waiting> waiting;
  waiting.swap(state.waiting);
  for (Waiting& one : waiting) {
    if (!contains(page, one.versions)) {
      home_state_[page].waiting.push_back(std::move(one));
    } else if (one.process == homes_[page]) {
      nodes_[one.process].pages[page] = kPageReadable;
      nodes_[one.process].wanted.erase(page);
      finish_fault(one.process, now);
    } else {
      reply_page(page, one.process, now);
    }
  }
}

// ---------------------------------------------------------------------------------------- synchronisation

void SvmMachine::on_lock(ProcessId process, std::uint32_t lock, Time now) {
  operations_.open(process, LayerKind::kLockAcquire, lock, now);
  now = close_interval(process, now);
  Packet request = packet(PacketKind::kLockRequest, process, manager(lock),
                          static_cast<std::uint32_t>(nodes_.size()) * kClockBytes);
  request.number = lock;
  request.clock = nodes_[process].clock;
  send(std::move(request), now);
}

void SvmMachine::grant(Lock& lock, std::uint64_t number, const Packet& request, Time now) {
  lock.held = true;
  Packet made =
      packet(PacketKind::kLockGrant, manager(number), request.from, notice_bytes(request.clock, lock.clock));
  made.number = number;
  made.clock = lock.clock;
  send(std::move(made), now);
}

void SvmMachine::on_unlock(ProcessId process, std::uint32_t lock, Time now) {
  operations_.open(process, LayerKind::kLockRelease, lock, now);
  now = close_interval(process, now);
  std::vector<std::uint32_t>& known = manager_clocks_[manager(lock)];
  known.resize(nodes_.size());
  const std::vector<std::uint32_t>& clock = nodes_[process].clock;
  Packet made = packet(PacketKind::kLockRelease, process, manager(lock), notice_bytes(known, clock));
  merge(known, clock);
  made.number = lock;
  made.clock = clock;
  now = send(std::move(made), now);
  operations_.close(process, now);
  engine_->resume(process, now);
}

void SvmMachine::on_barrier(ProcessId process, std::uint32_t barrier, Time now) {
  operations_.open(process, LayerKind::kBarrier, barrier, now);
  now = close_interval(process, now);
  std::vector<std::uint32_t>& known = manager_clocks_[manager(barrier)];
  known.resize(nodes_.size());
  const std::vector<std::uint32_t>& clock = nodes_[process].clock;
  Packet made = packet(PacketKind::kBarrierArrive, process, manager(barrier), notice_bytes(known, clock));
  merge(known, clock);
  made.number = barrier;
  made.clock = clock;
  send(std::move(made), now);
}

void SvmMachine::release_barrier(Time now) {
  const std::uint64_t number = open_barrier_;
  Barrier barrier = std::move(barriers_[number]);
  barriers_.erase(number);
  for (ProcessId process = 0; process < nodes_.size(); ++process) {
    Packet made = packet(PacketKind::kBarrierRelease, manager(number), process,
                         notice_bytes(barrier.clocks[process], barrier.clock));
    made.number = number;
    made.clock = barrier.clock;
    now = send(std::move(made), now);
  }
}

// -------------------------------------------------------------------------------------- moving of homes

void SvmMachine::move_home(std::uint64_t page, ProcessId to) {
  if (page >= page_count_ || to >= nodes_.size() || homes_[page] == kNoHome) return;
  for (auto& move : wanted_moves_) {
    if (move.first == page) {
      move.second = to;
      return;
    }
  }
  wanted_moves_.emplace_back(page, to);
}

// All processes stand at a barrier, so every interval is closed; but changes may still be on their way to a
// page's home. A page moves only when none are, else the request waits for the next barrier.
void SvmMachine::start_moves(Time now) {
  std::vector<std::pair<std::uint64_t, ProcessId>> later;
  std::vector<Packet> moves;
  for (const auto& move : wanted_moves_) {
    const std::uint64_t page = move.first;
    if (homes_[page] == move.second) continue;
    std::vector<Version> all;
    for (ProcessId writer = 0; writer < nodes_.size(); ++writer) {
      const auto& log = intervals_[writer];
      for (std::size_t i = log.size(); i-- > 0;) {
        if (std::find(log[i].begin(), log[i].end(), page) == log[i].end()) continue;
        all.push_back({writer, static_cast<std::uint32_t>(i + 1)});
        break;
      }
    }
    if (!contains(page, all)) {
      later.push_back(move);
      continue;
    }
    Packet made = packet(PacketKind::kPageMove, homes_[page], move.second, parameters_.page_bytes);
    made.address = page << page_shift_;
    const std::byte* data = page_data(homes_[page], page);
    made.data.assign(data, data + parameters_.page_bytes);
    moves.push_back(std::move(made));
  }
  wanted_moves_ = std::move(later);
  moves_under_way_ = moves.size();
  counts_.moves += moves.size();
  for (Packet& made : moves) {
    // The old home's own copy stays as valid as it is; it counts as fetched now.
    now = std::max(now, send(std::move(made), now));
  }
  if (moves_under_way_ == 0) release_barrier(now);
}

// ------------------------------------------------------------------------------------ messages, accesses

void SvmMachine::on_send(ProcessId process, workloads::MessageNumber number, Time now) {
  const workloads::Message& message = engine_->message(number);
  operations_.sent(process, message.to, number, now);
  Packet made =
      packet(PacketKind::kUser, process, message.to, static_cast<std::uint32_t>(message.payload.size()));
  made.number = number;
  engine_->resume(process, send(std::move(made), now));
}

Time SvmMachine::on_receive(ProcessId, const workloads::Message&, Time now) {
  return now + parameters_.costs.local;
}

std::size_t SvmMachine::advance(ProcessId process, std::span<const Operation> operations, Time& now,
                                Time horizon) {
  Node& node = nodes_[process];
  const bool automatic = parameters_.mode == UpdateMode::kAutomatic;
  std::size_t done = 0;
  do {
    const Operation operation = operations[done++];
    switch (operation.kind()) {
      case OperationKind::kRead:
        now += parameters_.costs.access;
        break;
      case OperationKind::kWrite: {
        now += parameters_.costs.access;
        if (!automatic) break;
        const std::span<const std::byte> value(node.stored.data() + node.stored_read, operation.size());
        node.stored_read += (operation.size() + 7) & ~std::size_t{7};
        const ProcessId home_node = homes_[page_of(operation.address())];
        if (home_node == process) break;
        ++counts_.updates;
        counts_.update_bytes += operation.size();
        now = network_->update(process, home_node, operation.address(), value, now);
        break;
      }
      case OperationKind::kCompute:
        now += parameters_.costs.cycle * operation.argument();
        break;
      case OperationKind::kEnter:
      case OperationKind::kLeave:
        now = mark(process, operation, now);
        break;
      case OperationKind::kPhase:
        now += network_->mark(process, operation, now);
        break;
    }
  } while (done < operations.size() && now < horizon);
  if (node.stored_read == node.stored.size()) {
    node.stored.clear();
    node.stored_read = 0;
  }
  return done;
}

// Of a procedure, an operation of the communication layer, or both.
Time SvmMachine::mark(ProcessId process, Operation operation, Time now) {
  const LayerKind kind = operation.layer_kind();
  if (kind != LayerKind::kNone) {
    if (operation.kind() == OperationKind::kEnter) {
      operations_.enter(process, kind, now);
    } else {
      operations_.leave(process, now);
    }
    if (operation.argument() == 0) return now;
  }
  return now + network_->mark(process, operation, now);
}

std::vector<Statistic> SvmMachine::statistics() const {
  std::vector<Statistic> all = {{"read-faults", counts_.read_faults},
                                {"write-faults", counts_.write_faults},
                                {"page-fetches", counts_.page_fetches},
                                {"home-waits", counts_.home_waits},
                                {"twins", counts_.twins},
                                {"diffs", counts_.diffs},
                                {"diff-bytes", counts_.diff_bytes},
                                {"updates", counts_.updates},
                                {"update-bytes", counts_.update_bytes},
                                {"intervals", counts_.intervals},
                                {"notices", counts_.notices},
                                {"invalidations", counts_.invalidations},
                                {"moves", counts_.moves}};
  for (std::size_t kind = 0; kind < kPacketKinds; ++kind) {
    const std::string name(name_of(static_cast<PacketKind>(kind)));
    all.push_back({"packets." + name, counts_.packets[kind]});
    all.push_back({"bytes." + name, counts_.packet_bytes[kind]});
  }
  for (Statistic& one : network_->statistics()) all.push_back(std::move(one));
  return all;
}

}  // namespace substrata::svm
