// What one rank has sent, by phase: counts, bytes and sizes; and how long what it received was on its way.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sources/mpi/recent_map.hpp"

namespace substrata::mpi {

// Messages of one phase of one rank.
struct PhaseTotals {
  uint64_t messages = 0;
  uint64_t bytes = 0;
  uint64_t own_messages = 0;  // of them outside of collective operations
  uint64_t own_bytes = 0;
  RecentMap<std::map<uint64_t, uint64_t>> sizes;  // bytes of a message -> messages
};

// How long received messages were on their way, in nanoseconds of one time base.
struct Latencies {
  uint64_t messages = 0;
  int64_t total = 0;
  int64_t least = 0;
  int64_t most = 0;
  void add(int64_t nanoseconds) {
    if (messages == 0 || nanoseconds < least) least = nanoseconds;
    if (messages == 0 || nanoseconds > most) most = nanoseconds;
    ++messages;
    total += nanoseconds;
  }
};

// One rank's account of what it sent, and of the way of what it received. Not thread-safe: the shim
// serialises.
class MessageCounts {
 public:
  explicit MessageCounts(int ranks)
      : messages_to_(static_cast<size_t>(ranks)), bytes_to_(static_cast<size_t>(ranks)) {}
  // The phase's place among the phases, which are in the order of their first message: about to come, for a
  // new one.
  uint32_t place_of(const std::string& phase);
  // `to` is a rank of the world, or outside of it (another job): then only the totals count.
  void sent(uint32_t place, int to, uint64_t bytes, bool collective = false) {
    ++messages_;
    bytes_ += bytes;
    if (to >= 0 && static_cast<size_t>(to) < messages_to_.size()) {
      ++messages_to_[static_cast<size_t>(to)];
      bytes_to_[static_cast<size_t>(to)] += bytes;
    }
    PhaseTotals& phase = totals_[place];
    ++phase.messages;
    phase.bytes += bytes;
    if (!collective) {
      ++phase.own_messages;
      phase.own_bytes += bytes;
    }
    ++phase.sizes[bytes];
  }
  // A message whose sender's stamp is known was on its way for so long, in real and in virtual time.
  void on_its_way(int64_t real_ns) { real_.add(real_ns); }
  void on_its_virtual_way(int64_t modelled_ns) { modelled_.add(modelled_ns); }
  void received_without_stamp() { ++unknown_; }

  uint64_t messages() const { return messages_; }
  uint64_t bytes() const { return bytes_; }
  const std::vector<uint64_t>& messages_to() const { return messages_to_; }
  const std::vector<uint64_t>& bytes_to() const { return bytes_to_; }
  // In the order of their first message.
  const std::vector<std::string>& phases() const { return order_; }
  const PhaseTotals& phase(uint32_t place) const { return totals_.at(place); }
  const Latencies& real_latencies() const { return real_; }
  const Latencies& virtual_latencies() const { return modelled_; }
  uint64_t received_without_stamps() const { return unknown_; }

 private:
  uint64_t messages_ = 0;
  uint64_t bytes_ = 0;
  std::vector<uint64_t> messages_to_;
  std::vector<uint64_t> bytes_to_;
  std::vector<std::string> order_;
  std::map<std::string, uint32_t> places_;
  std::vector<PhaseTotals> totals_;
  Latencies real_;
  Latencies modelled_;
  uint64_t unknown_ = 0;
};

// One rank's entry of the summary file, as JSON text.
std::string rank_as_json(const MessageCounts& counts, int rank, uint64_t messages_received,
                         uint64_t bytes_received, int level);
// `text` within quotation marks, with JSON's escapes; bytes that are not valid text become '?'.
std::string plain_quoted(std::string_view text);

}  // namespace substrata::mpi
