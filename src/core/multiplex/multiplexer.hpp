// Software multiplexing: divides one eventset's events into groups that count one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "core/registry/component.hpp"

namespace substrata {

// Stands in for a set of the substrate: `table()` has the substrate's data and catalogue with slots of its
// own for a set, and `set()` is the set to pass to them. Events are divided, first fit, into groups that the substrate
// counts together; each group has its own set of the substrate, programmed beforehand. One group counts at a
// time.
//
// The next group follows at the first read or tick after the period (Configuration::multiplex_period_ns, by
// the layer's clock). Reads at intervals switch groups; for substrates with kSwitchesInSignal the layer's
// timer does too.
//
// A count is extrapolated from the time its group counted to the whole time since start or reset. Details
// report both times, and kValueScaled where they differ. A level (kGauge) is the last one seen, with its age.
// A read that finds a group which has not counted yet lets it count at once, for as long as lies between the
// two clock readings around it: a poor estimate, but a measured one. If the clock did not advance in between,
// the answer is kCountersLost.
//
// Thread-compatible: calls on one set never overlap. Signal-safe, where the substrate's own are: start, stop,
// read, read_details, reset.
class Multiplexer {
 public:
  Multiplexer(Component& component, Thread* thread);
  ~Multiplexer();
  Multiplexer(const Multiplexer&) = delete;
  Multiplexer& operator=(const Multiplexer&) = delete;

  const SubstrateTable& table() const noexcept { return table_; }
  Set* set() noexcept { return reinterpret_cast<Set*>(this); }
  // All or nothing; the multiplex fields are for the multiplexer, all others for the substrate's sets.
  Status configure(const Configuration& wanted);
  // All or nothing. kConflict and its like only for an event that does not even count alone.
  Status program(const uint32_t* events, uint32_t count);
  size_t group_count() const noexcept { return groups_.size(); }

  Status start() noexcept;
  Status stop() noexcept;
  Status read(int64_t* values) noexcept;
  Status read_details(ValueDetail* details) noexcept;
  Status reset() noexcept;
  // Switches to the next group when the period of the current one is over.
  void tick() noexcept;
  Set* current_set() noexcept { return groups_.empty() ? nullptr : groups_[current_].set; }

 private:
  struct Group {
    Set* set = nullptr;
    std::vector<uint32_t> events;
    std::vector<uint32_t> places;  // of its events in the whole list
    int64_t active_ns = 0;         // how long it counted before it last stopped
  };
  struct Tally {
    ValueKind kind = ValueKind::kCount;
    ValueType type = ValueType::kInt64;
    uint32_t group = 0;
    int64_t value = 0;     // counted before the group last stopped, or the last level
    int64_t taken_ns = 0;  // when the level was seen
  };

  void destroy(std::vector<Group>& groups) noexcept;
  Result<Group> make_group(const Configuration& configuration);
  Status divide(const std::vector<uint32_t>& events, const Configuration& configuration,
                std::vector<Group>* groups);
  Status replace(std::vector<uint32_t> events, const Configuration& configuration);
  Status begin_group(size_t first) noexcept;
  Status end_group() noexcept;
  Status next_group() noexcept;
  Status count_the_uncounted() noexcept;
  Status look() noexcept;
  void clear() noexcept;
  ValueDetail detail_of(size_t place) const noexcept;

  Component& component_;
  const SubstrateTable& inner_;
  Thread* thread_;
  SubstrateTable table_;
  Configuration configuration_;  // as the substrate's sets have it
  int64_t period_ns_ = 0;
  std::vector<uint32_t> events_;
  std::vector<Group> groups_;
  std::vector<Tally> tallies_;      // by place
  std::vector<int64_t> scratch_;    // values of one group
  std::vector<int64_t> now_value_;  // by place, what the current group adds
  size_t current_ = 0;
  bool running_ = false;
  bool counting_ = false;  // the current group's set was started
  int64_t began_ns_ = 0, group_began_ns_ = 0, looked_ns_ = 0;
};

}  // namespace substrata
