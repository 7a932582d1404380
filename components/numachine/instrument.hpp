// Counts what the NUMAchine model publishes: one set of counters for each selection of transactions.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "models/counting/counting.hpp"
#include "numachine/rack.hpp"

namespace substrata::numachine {

// What is counted; the order of the substrate's events.
enum Count : std::uint32_t {
  kReads,
  kReadExclusives,
  kUpgrades,
  kUpdates,
  kOwnershipMisses,
  kOwnershipMissesCancelled,
  kInvalidationMisses,
  kOtherMisses,
  kMissCycles,
  kOwnershipMissCycles,
  kInvalidationMissCycles,
  kInvalidations,
  kInvalidationHits,
  kNacks,
  kNackedRequests,
  kNackCyclesTotal,
  kBusBusy,
  kBusWaitCycles,
  kWriteBacks,
  kLocal,
  kRemote,
  kNetworkCacheHits,
  kInstructions,
  kLoads,
  kStores,
  kStallCycles,
  kApparentMissCycles,
  kMemoryRequests,
  kMemoryQueueCycles,
  kRingQueueCycles,
  kQueueCycles,
  kHitLocalValid,
  kHitLocalInvalid,
  kHitGlobalValid,
  kHitGlobalInvalid,
  kTlbMisses,
  kTlbCycles,
  kBranches,
  kBranchesMispredicted,
  kUncachedReads,
  kUncachedWrites,
  kUncachedCycles,
  kCounts
};

// Which transactions: each absent condition holds for all.
struct Selection {
  std::int64_t cpu = -1;
  std::int64_t station = -1;  // of the processor; of memory events the memory's
  std::int64_t phase = -1;
  std::uint64_t low = 0;
  std::uint64_t high = ~std::uint64_t{0};
  bool operator==(const Selection&) const = default;
};

// Calls a sink at every multiple of a threshold that a counter passes: the hardware's way is a counter
// preloaded with the negative threshold and its overflow interrupt (section 4.3.3).
struct Alarm {
  const counting::Counter* counter = nullptr;
  std::uint64_t threshold = 0;
  std::uint64_t next = 0;
  std::uint64_t mask = 0;
  SampleSink sink;
  const void* owner = nullptr;  // the set
  bool running = false;
};

// Observes every processor and memory of the machine. Counters may be looked at from any thread.
class Instrument final : public counting::ObservingInstrument {
 public:
  Instrument() : ObservingInstrument("numachine.st*") {}
  ~Instrument() override { end_observation(); }

  // The counters of a selection; the same one gives the same. May throw std::bad_alloc.
  const std::array<counting::Counter, kCounts>& counters(const Selection& selection);

  void add_alarm(const Alarm& alarm);
  void remove_alarms(const void* owner, std::uint64_t mask) noexcept;
  // A set starts (its alarms restart here) or stops.
  void run_alarms(const void* owner, bool running) noexcept;

 protected:
  void observe(const substrata_transaction* batch, size_t count) noexcept override;

 private:
  struct Selected {
    Selection selection;
    std::array<counting::Counter, kCounts> counters;
  };
  struct Place {
    bool known = false;
    bool counted = false;  // else a probe point that is only traced
    bool memory = false;
    std::uint32_t cpu = 0;
    std::uint32_t station = 0;
  };
  const Place& place_of(std::uint16_t probe);
  void count(const substrata_transaction& t, const Place& place, Selected& selected) noexcept;
  void check_alarms() noexcept;

  std::mutex mutex_;  // around the list; elements stay
  std::deque<Selected> selected_;
  std::vector<Place> places_;          // the observer's own
  std::recursive_mutex alarms_mutex_;  // a sink may stop its own set
  std::vector<Alarm> alarms_;
  std::atomic<std::uint32_t> alarms_running_{0};
};

}  // namespace substrata::numachine
