// What one queue of the machine cost those who waited in it, by the metrics of queueing theory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace substrata::numachine {

// The bits of PhaseID that travel with a transaction (thesis, table 4.1).
inline constexpr std::uint16_t kTravellingPhase = 0xf;

// Source: Lemieux's thesis, section 3.3.3: the metrics hold for memories and for the network alike, where a processor
// that waits for a bus grant is in a queue too. Cycles are bus cycles. Thread-compatible.
class QueueMonitor {
 public:
  struct Times {
    std::uint64_t total = 0;
    std::uint64_t maximum = 0;
    std::uint64_t count = 0;
    void add(std::uint64_t cycles) noexcept {
      total += cycles;
      maximum = std::max(maximum, cycles);
      ++count;
    }
  };

  explicit QueueMonitor(std::uint64_t cycle = 0) noexcept : begun_(cycle) {}

  // A transaction of that phase waited so long, and was served so long.
  void served(std::uint64_t waited, std::uint64_t service, std::uint16_t phase) noexcept {
    waits_[phase & kTravellingPhase].add(waited);
    services_[phase & kTravellingPhase].add(service);
  }
  // One waited from `asked` until it was begun with. Nobody comes before `now` any more.
  void waited(std::uint64_t now, std::uint64_t asked, std::uint64_t begun) {
    std::erase_if(waiting_, [now](const auto& one) { return one.second <= now; });
    waiting_.emplace_back(asked, begun);
    // The queue is longest where another comes.
    for (const auto& [at, unused] : waiting_) {
      if (at < asked || at >= begun) continue;
      const auto length = std::count_if(waiting_.begin(), waiting_.end(), [at = at](const auto& one) {
        return one.first <= at && at < one.second;
      });
      longest_ = std::max(longest_, static_cast<std::uint64_t>(length));
    }
  }

  const Times& waits(std::uint16_t phase) const noexcept { return waits_[phase & kTravellingPhase]; }
  const Times& services(std::uint16_t phase) const noexcept { return services_[phase & kTravellingPhase]; }
  Times waits() const noexcept { return sum(waits_); }
  Times services() const noexcept { return sum(services_); }
  // The most that waited in one cycle, the one being served not among them.
  std::uint64_t longest() const noexcept { return longest_; }
  // Waiting cycles by these are the time-average length.
  std::uint64_t cycles(std::uint64_t now) const noexcept { return now > begun_ ? now - begun_ : 0; }

 private:
  using ByPhase = std::array<Times, kTravellingPhase + 1>;

  static Times sum(const ByPhase& all) noexcept {
    Times together;
    for (const Times& one : all) {
      together.total += one.total;
      together.maximum = std::max(together.maximum, one.maximum);
      together.count += one.count;
    }
    return together;
  }

  std::uint64_t begun_;
  ByPhase waits_{}, services_{};
  std::uint64_t longest_ = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> waiting_;  // from, to; some are over
};

// Those of a station beside its memory's.
struct StationQueues {
  QueueMonitor network_cache, bus, link;  // link: the station's outgoing one on its ring
};

}  // namespace substrata::numachine
