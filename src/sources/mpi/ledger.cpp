// The account of messages, its JSON form, section marks, and the textbook algorithms of collective
// operations.
#include "ledger.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/json.hpp"

namespace substrata::mpi_shim {

uint32_t Ledger::place_of(const std::string& phase) {
  const auto [at, is_new] = places_.try_emplace(phase, static_cast<uint32_t>(order_.size()));
  if (is_new) {
    order_.push_back(phase);
    totals_.emplace_back();
  }
  return at->second;
}

namespace {
std::string latencies_as_json(const Latencies& of) {
  if (of.messages == 0) return "{\"messages\":0}";
  return "{\"messages\":" + std::to_string(of.messages) +
         ",\"mean_ns\":" + std::to_string(of.total / static_cast<int64_t>(of.messages)) +
         ",\"least_ns\":" + std::to_string(of.least) + ",\"most_ns\":" + std::to_string(of.most) + "}";
}
}  // namespace

std::string quoted(std::string_view text) {
  std::string plain(text);
  for (char& c : plain)
    if (static_cast<unsigned char>(c) >= 0x7f) c = '?';
  return json_quoted(plain);
}

std::string rank_as_json(const Ledger& ledger, int rank, uint64_t messages_received, uint64_t bytes_received,
                         int level) {
  std::string out =
      "{\"rank\":" + std::to_string(rank) + ",\"messages_sent\":" + std::to_string(ledger.messages()) +
      ",\"messages_received\":" + std::to_string(messages_received) +
      ",\"bytes_sent\":" + std::to_string(ledger.bytes()) +
      ",\"bytes_received\":" + std::to_string(bytes_received) + ",\"level\":" + std::to_string(level) +
      ",\"latencies\":{\"real\":" + latencies_as_json(ledger.real_latencies()) +
      ",\"virtual\":" + latencies_as_json(ledger.virtual_latencies()) +
      ",\"unknown\":" + std::to_string(ledger.received_without_stamps()) + "},\"phases\":[";
  const char* separator = "";
  for (uint32_t place = 0; place < ledger.phases().size(); ++place) {
    const PhaseTotals& phase = ledger.phase(place);
    out += separator;
    out += "{\"name\":" + quoted(ledger.phases()[place]) +
           ",\"messages_sent\":" + std::to_string(phase.messages) +
           ",\"bytes_sent\":" + std::to_string(phase.bytes) +
           ",\"own_messages_sent\":" + std::to_string(phase.own_messages) +
           ",\"own_bytes_sent\":" + std::to_string(phase.own_bytes) + ",\"sizes_sent\":{";
    const char* comma = "";
    for (const auto& [size, count] : phase.sizes.all()) {
      out += comma;
      out += "\"" + std::to_string(size) + "\":" + std::to_string(count);
      comma = ",";
    }
    out += "}}";
    separator = ",";
  }
  return out + "]}";
}

bool find_section_mark(std::string_view line, std::string& name) {
  const size_t end = line.find(" section");
  if (end == std::string_view::npos) return false;
  for (const std::string_view word : {std::string_view("Begin of "), std::string_view("End of ")}) {
    const size_t begin = line.rfind(word, end);
    if (begin == std::string_view::npos) continue;
    const std::string_view found = line.substr(begin + word.size(), end - begin - word.size());
    if (found.empty() || found.size() >= SectionBoard::kLength || found.find('\n') != std::string_view::npos)
      continue;
    name = word[0] == 'B' ? std::string(found) : std::string();
    return true;
  }
  return false;
}

void SectionBoard::enter(std::string_view name) {
  if (name.empty()) {
    current.store(0, std::memory_order_release);
    return;
  }
  const uint32_t known = count.load(std::memory_order_relaxed);
  for (uint32_t i = 1; i <= known; ++i) {
    if (name == names[i]) {
      current.store(i, std::memory_order_release);
      return;
    }
  }
  if (known + 1 >= kMost || name.size() >= kLength) {
    current.store(0, std::memory_order_release);
    return;
  }
  std::memcpy(names[known + 1], name.data(), name.size());
  names[known + 1][name.size()] = '\0';
  count.store(known + 1, std::memory_order_relaxed);
  current.store(known + 1, std::memory_order_release);
}

std::string SectionBoard::name() const {
  const uint32_t at = current.load(std::memory_order_acquire);
  if (at == 0 || at >= kMost) return {};
  return std::string(names[at], strnlen(names[at], kLength));
}

namespace {

// Children of a rank in the binomial tree over ranks relative to the root, nearest power last.
void add_children(std::vector<ModelledMessage>& out, int me, int size, int root, uint64_t bytes,
                  bool whole_subtree) {
  const int relative = (me - root + size) % size;
  for (int step = 1; step < size; step *= 2) {
    if (relative & step) break;
    const int child = relative + step;
    if (child >= size) continue;
    const int subtree = std::min(step, size - child);
    out.push_back({(child + root) % size, whole_subtree ? bytes * static_cast<uint64_t>(subtree) : bytes});
  }
}

// The message to the parent in the same tree; the root has none.
void add_parent(std::vector<ModelledMessage>& out, int me, int size, int root, uint64_t bytes,
                bool whole_subtree) {
  const int relative = (me - root + size) % size;
  if (relative == 0) return;
  const int step = relative & -relative;
  const int subtree = std::min(step, size - relative);
  out.push_back(
      {(relative - step + root) % size, whole_subtree ? bytes * static_cast<uint64_t>(subtree) : bytes});
}

}  // namespace

std::vector<ModelledMessage> expand(Collective operation, int me, int size, int root, uint64_t bytes) {
  std::vector<ModelledMessage> out;
  if (size < 2) return out;
  switch (operation) {
    case Collective::kBarrier:
      for (int step = 1; step < size; step *= 2) out.push_back({(me + step) % size, 0});
      break;
    case Collective::kBroadcast:
      add_children(out, me, size, root, bytes, false);
      break;
    case Collective::kReduce:
      add_parent(out, me, size, root, bytes, false);
      break;
    case Collective::kScatter:
      add_children(out, me, size, root, bytes, true);
      break;
    case Collective::kGather:
      add_parent(out, me, size, root, bytes, true);
      break;
    case Collective::kAllreduce: {
      int power = 1;
      while (power * 2 <= size) power *= 2;
      const int extra =
          size - power;  // ranks power.. hand their block to rank - power and get the result back
      if (me >= power) {
        out.push_back({me - power, bytes});
        break;
      }
      for (int step = 1; step < power; step *= 2) out.push_back({me ^ step, bytes});
      if (me < extra) out.push_back({me + power, bytes});
      break;
    }
    case Collective::kAllgather:
      for (int step = 1; step < size; ++step) out.push_back({(me + 1) % size, bytes});
      break;
    case Collective::kAlltoall:
      for (int step = 1; step < size; ++step) out.push_back({(me + step) % size, bytes});
      break;
    case Collective::kScan:
      if (me + 1 < size) out.push_back({me + 1, bytes});
      break;
  }
  return out;
}

std::vector<int> sources_in(Collective operation, int me, int size, int root) {
  std::vector<int> out;
  if (size < 2) return out;
  const int relative = (me - root + size) % size;
  switch (operation) {
    case Collective::kBarrier:
      for (int step = 1; step < size; step *= 2) out.push_back((me - step + size) % size);
      break;
    case Collective::kBroadcast:
    case Collective::kScatter:
      if (relative != 0) out.push_back((relative - (relative & -relative) + root) % size);
      break;
    case Collective::kReduce:
    case Collective::kGather:
      for (int step = 1; step < size && (relative & step) == 0; step *= 2)
        if (relative + step < size) out.push_back((relative + step + root) % size);
      break;
    case Collective::kAllreduce: {
      int power = 1;
      while (power * 2 <= size) power *= 2;
      if (me >= power) {
        out.push_back(me - power);
        break;
      }
      if (me < size - power) out.push_back(me + power);
      for (int step = 1; step < power; step *= 2) out.push_back(me ^ step);
      break;
    }
    case Collective::kAllgather:
      out.assign(static_cast<size_t>(size - 1), (me - 1 + size) % size);
      break;
    case Collective::kAlltoall:
      for (int step = 1; step < size; ++step) out.push_back((me - step + size) % size);
      break;
    case Collective::kScan:
      if (me > 0) out.push_back(me - 1);
      break;
  }
  return out;
}

std::vector<ModelledMessage> expand_pairwise(int me, const std::vector<uint64_t>& blocks) {
  std::vector<ModelledMessage> out;
  const int size = static_cast<int>(blocks.size());
  for (int step = 1; step < size; ++step) {
    const int to = (me + step) % size;
    if (const uint64_t bytes = blocks[static_cast<size_t>(to)]; bytes != 0) out.push_back({to, bytes});
  }
  return out;
}

std::vector<ModelledMessage> expand_ring(int me, const std::vector<uint64_t>& blocks) {
  std::vector<ModelledMessage> out;
  const int size = static_cast<int>(blocks.size());
  for (int step = 0; step < size - 1; ++step) {
    const uint64_t bytes = blocks[static_cast<size_t>((me - step + size) % size)];
    if (bytes != 0) out.push_back({(me + 1) % size, bytes});
  }
  return out;
}

std::vector<int> sources_pairwise(int me, const std::vector<uint64_t>& blocks) {
  std::vector<int> out;
  for (const ModelledMessage& message : expand_pairwise(me, blocks)) out.push_back(message.to);
  return out;
}

std::vector<int> sources_ring(int me, const std::vector<uint64_t>& blocks) {
  std::vector<int> out;
  const int size = static_cast<int>(blocks.size());
  const int before = (me - 1 + size) % size;
  for (const ModelledMessage& message : expand_ring(before, blocks)) {
    static_cast<void>(message);
    out.push_back(before);
  }
  return out;
}

}  // namespace substrata::mpi_shim
