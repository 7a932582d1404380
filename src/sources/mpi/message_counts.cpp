// Sums by phase, and a rank's entry of the summary as JSON.
#include "sources/mpi/message_counts.hpp"

#include <string>
#include <utility>

#include "base/json.hpp"

namespace substrata::mpi {

uint32_t MessageCounts::place_of(const std::string& phase) {
  if (const auto known = places_.find(phase); known != places_.end()) return known->second;
  // Each step may be without memory: until the last two nothing of the phase is seen.
  const auto place = static_cast<uint32_t>(order_.size());
  totals_.resize(place + 1);
  order_.reserve(place + 1);
  std::string name = phase;
  places_.emplace(phase, place);
  order_.push_back(std::move(name));
  return place;
}

namespace {
std::string latencies_as_json(const Latencies& of) {
  if (of.messages == 0) return "{\"messages\":0}";
  return "{\"messages\":" + std::to_string(of.messages) +
         ",\"mean_ns\":" + std::to_string(of.total / static_cast<int64_t>(of.messages)) +
         ",\"least_ns\":" + std::to_string(of.least) + ",\"most_ns\":" + std::to_string(of.most) + "}";
}
}  // namespace

std::string plain_quoted(std::string_view text) {
  std::string plain(text);
  for (char& c : plain)
    if (static_cast<unsigned char>(c) >= 0x7f) c = '?';
  return json_quoted(plain);
}

std::string rank_as_json(const MessageCounts& counts, int rank, uint64_t messages_received,
                         uint64_t bytes_received, int level) {
  std::string out =
      "{\"rank\":" + std::to_string(rank) + ",\"messages_sent\":" + std::to_string(counts.messages()) +
      ",\"messages_received\":" + std::to_string(messages_received) +
      ",\"bytes_sent\":" + std::to_string(counts.bytes()) +
      ",\"bytes_received\":" + std::to_string(bytes_received) + ",\"level\":" + std::to_string(level) +
      ",\"latencies\":{\"real\":" + latencies_as_json(counts.real_latencies()) +
      ",\"virtual\":" + latencies_as_json(counts.virtual_latencies()) +
      ",\"unknown\":" + std::to_string(counts.received_without_stamps()) + "},\"phases\":[";
  const char* separator = "";
  for (uint32_t place = 0; place < counts.phases().size(); ++place) {
    const PhaseTotals& phase = counts.phase(place);
    out += separator;
    out += "{\"name\":" + plain_quoted(counts.phases()[place]) +
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

}  // namespace substrata::mpi
