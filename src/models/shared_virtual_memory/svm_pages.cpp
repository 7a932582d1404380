// Page faults: homes, fetches, and what a home's copy contains.
#include "models/shared_virtual_memory/svm_machine.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "models/shared_virtual_memory/diff.hpp"

namespace substrata::svm {

using workloads::kPageInvalid;
using workloads::kPageReadable;
using workloads::kPageWritable;
using workloads::LayerKind;

namespace {

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

void SvmMachine::home_requested(const Packet& packet, Time now) {
  const std::uint64_t page = page_of(packet.address);
  if (homes_[page] == kNoHome) homes_[page] = packet.from;
  Packet reply = this->packet(PacketKind::kHomeReply, packet.to, packet.from, 4);
  reply.address = packet.address;
  send(std::move(reply), now);
}

void SvmMachine::home_known(const Packet& packet, Time now) {
  const std::uint64_t page = page_of(packet.address);
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

void SvmMachine::page_requested(Packet&& packet, Time now) {
  const std::uint64_t page = page_of(packet.address);
  if (contains(page, packet.versions)) {
    reply_page(page, packet.from, now);
  } else {
    ++counts_.home_waits;
    home_state_[page].waiting.push_back({packet.from, std::move(packet.versions)});
  }
}

// With the data of the home's copy.
Packet SvmMachine::page_packet(PacketKind kind, std::uint64_t page, ProcessId to) const {
  Packet made = packet(kind, homes_[page], to, parameters_.page_bytes);
  made.address = page << page_shift_;
  const std::byte* data = page_data(homes_[page], page);
  made.data.assign(data, data + parameters_.page_bytes);
  return made;
}

void SvmMachine::reply_page(std::uint64_t page, ProcessId to, Time now) {
  send(page_packet(PacketKind::kPageReply, page, to), now);
}

// The data of a page into its place: a copy that may be read.
void SvmMachine::place_page(const Packet& packet) {
  const std::uint64_t page = page_of(packet.address);
  Node& node = nodes_[packet.to];
  std::memcpy(page_data(packet.to, page), packet.data.data(), packet.data.size());
  node.pages[page] = kPageReadable;
  node.wanted.erase(page);
}

void SvmMachine::page_arrived(const Packet& packet, Time now) {
  place_page(packet);
  finish_fault(packet.to, now + parameters_.costs.page_place);
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

void SvmMachine::diff_arrived(const Packet& packet, Time now) {
  const std::uint64_t page = page_of(packet.address);
  apply_diff(page_data(packet.to, page), packet.data);
  const Time done = now + parameters_.costs.diff_byte * packet.data.size();
  nodes_[packet.to].busy = done;
  network_->memory_busy(packet.to, now, done);
  applied(page, {packet.from, static_cast<std::uint32_t>(packet.number)}, done);
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

}  // namespace substrata::svm
