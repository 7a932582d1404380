// Software multiplexing: one eventset's events take turns on the substrate, as many at once as it counts.
#ifndef SUBSTRATA_CORE_ROTATION_HPP
#define SUBSTRATA_CORE_ROTATION_HPP

#include <cstdint>
#include <vector>

#include "registry/component.hpp"

namespace substrata {

// Looks like a set of the substrate: `table()` has the substrate's slots with those of a set replaced, and
// `set()` is what to give them. Events are divided into turns of events that count together, first fit; each
// turn has a set of the substrate's own, programmed beforehand, and one of them counts at a time.
//
// A turn ends with the first read or tick after its period (Configuration::multiplex_period_ns, by the
// layer's clock). Whoever reads at intervals lets the turns pass; for substrates with kSwitchesInSignal the
// layer's timer does.
//
// A count is extrapolated from the time its turn had to the whole time since start or reset. Details tell
// both times, and kValueScaled where they differ. A level (kGauge) is the last one seen, with its age. A read
// that finds a turn which was never had gives it one at once, as short as the two clock readings around it
// are apart: a poor estimate, but not a number out of nothing. Where even that clock stood still the answer
// is kCountersLost.
//
// Thread-compatible: calls on one set never overlap. Signal-safe, where the substrate's own are: start, stop,
// read, read_details, reset.
class Rotation {
 public:
  Rotation(Component& component, Thread* thread);
  ~Rotation();
  Rotation(const Rotation&) = delete;
  Rotation& operator=(const Rotation&) = delete;

  const SubstrateTable& table() const noexcept { return table_; }
  Set* set() noexcept { return reinterpret_cast<Set*>(this); }
  // All or nothing; the multiplex fields are for the rotation, all others for the substrate's sets.
  Status configure(const Configuration& wanted);
  // All or nothing. kConflict and its like only for an event that does not even count alone.
  Status program(const uint32_t* events, uint32_t count);
  size_t turns() const noexcept { return turns_.size(); }

  Status start() noexcept;
  Status stop() noexcept;
  Status read(int64_t* values) noexcept;
  Status read_details(ValueDetail* details) noexcept;
  Status reset() noexcept;
  // Passes on to the next turn when the present one's time is over.
  void tick() noexcept;
  Set* current_set() noexcept { return turns_.empty() ? nullptr : turns_[current_].set; }

 private:
  struct Turn {
    Set* set = nullptr;
    std::vector<uint32_t> events;
    std::vector<uint32_t> places;  // of its events in the whole list
    int64_t active_ns = 0;         // how long it counted in turns that are over
  };
  struct Tally {
    ValueKind kind = ValueKind::kCount;
    ValueType type = ValueType::kInt64;
    uint32_t turn = 0;
    int64_t value = 0;     // counted in turns that are over, or the last level
    int64_t taken_ns = 0;  // when the level was seen
  };

  void destroy(std::vector<Turn>& turns) noexcept;
  Result<Turn> make_turn(const Configuration& configuration);
  Status divide(const std::vector<uint32_t>& events, const Configuration& configuration,
                std::vector<Turn>* turns);
  Status replace(std::vector<uint32_t> events, const Configuration& configuration);
  Status begin_turn(size_t first) noexcept;
  Status end_turn() noexcept;
  Status pass_on() noexcept;
  Status serve_the_unserved() noexcept;
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
  std::vector<Turn> turns_;
  std::vector<Tally> tallies_;      // by place
  std::vector<int64_t> scratch_;    // values of one turn
  std::vector<int64_t> now_value_;  // by place, what the present turn adds
  size_t current_ = 0;
  bool running_ = false;
  bool counting_ = false;  // the present turn's set was started
  int64_t began_ns_ = 0, turn_began_ns_ = 0, looked_ns_ = 0;
};

}  // namespace substrata

#endif
