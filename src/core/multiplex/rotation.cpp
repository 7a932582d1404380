// Divides events into turns, lets one turn follow the other and extrapolates what each counted.
#include "multiplex/rotation.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/clock.hpp"
#include "base/guard.hpp"

namespace substrata {
namespace {

Rotation& of(Set* set) noexcept { return *reinterpret_cast<Rotation*>(set); }

// What a substrate says of events that it cannot count at once, though each alone.
bool too_many(Code code) noexcept {
  return code == Code::kConflict || code == Code::kTooMany || code == Code::kNoCounter ||
         code == Code::kCombination;
}

int64_t as_bits(double value) noexcept {
  int64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
double as_double(int64_t bits) noexcept {
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

int64_t sum(ValueType type, int64_t a, int64_t b) noexcept {
  if (type == ValueType::kDouble) return as_bits(as_double(a) + as_double(b));
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

int64_t extrapolated(ValueType type, int64_t value, int64_t enabled_ns, int64_t running_ns) noexcept {
  if (running_ns >= enabled_ns) return value;
  if (type == ValueType::kDouble)
    return as_bits(as_double(value) * static_cast<double>(enabled_ns) / static_cast<double>(running_ns));
  __extension__ using Wide = __int128;
  __extension__ using WideUnsigned = unsigned __int128;
  if (type == ValueType::kUint64)
    return static_cast<int64_t>(static_cast<uint64_t>(
        std::min<WideUnsigned>(static_cast<WideUnsigned>(static_cast<uint64_t>(value)) *
                                   static_cast<uint64_t>(enabled_ns) / static_cast<uint64_t>(running_ns),
                               std::numeric_limits<uint64_t>::max())));
  const Wide whole = static_cast<Wide>(value) * enabled_ns / running_ns;
  return static_cast<int64_t>(
      std::clamp<Wide>(whole, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()));
}

void destroy_set(Set* set) noexcept { delete &of(set); }
Status program_set(Set* set, const uint32_t* events, uint32_t count) noexcept {
  return guarded([&] { return of(set).program(events, count); });
}
Status configure_set(Set* set, const Configuration* wanted) noexcept {
  return guarded([&] { return of(set).configure(*wanted); });
}
Status start_set_of(Set* set) noexcept { return of(set).start(); }
Status stop_set_of(Set* set) noexcept { return of(set).stop(); }
Status read_set_of(Set* set, int64_t* values) noexcept { return of(set).read(values); }
Status read_details_of(Set* set, ValueDetail* details) noexcept { return of(set).read_details(details); }
Status reset_set_of(Set* set) noexcept { return of(set).reset(); }
Status refuse_write(Set*, const int64_t*) noexcept {
  return {Code::kNoSupport, 0, "events that take turns cannot be written while they count"};
}
Status refuse_arm(Set*, uint32_t, int64_t, uint32_t, const SampleSink*) noexcept {
  return {Code::kComponent, 0, "events that take turns tell no overflow; a timer has to look at them"};
}
Status refuse_disarm(Set*, uint32_t) noexcept {
  return {Code::kInvalid, 0, "events that take turns are never armed"};
}

}  // namespace

Rotation::Rotation(Component& component, Thread* thread)
    : component_(component),
      inner_(component.table()),
      thread_(thread),
      table_(component.table()),
      configuration_(component.default_configuration()) {
  table_.max_events = table_.max_multiplexed;
  table_.create_set = nullptr;
  table_.destroy_set = destroy_set;
  table_.program = program_set;
  table_.configure = configure_set;
  table_.start = start_set_of;
  table_.stop = stop_set_of;
  table_.read = read_set_of;
  table_.read_details = read_details_of;
  table_.reset = reset_set_of;
  table_.write = refuse_write;
  table_.arm = refuse_arm;
  table_.disarm = refuse_disarm;
}

Rotation::~Rotation() { destroy(turns_); }

void Rotation::destroy(std::vector<Turn>& turns) noexcept {
  for (Turn& turn : turns) inner_.destroy_set(turn.set);
  turns.clear();
}

Result<Rotation::Turn> Rotation::make_turn(const Configuration& configuration) {
  Turn turn;
  if (const Status status = keep_note(inner_.create_set(component_.device(), thread_, &turn.set));
      !status.ok())
    return status;
  const Configuration usual = component_.default_configuration();
  const bool differs = configuration.domain != usual.domain ||
                       configuration.granularity != usual.granularity ||
                       configuration.target != usual.target || configuration.inherit != usual.inherit;
  if (!differs) return turn;
  if (const Status status = component_.configure(turn.set, configuration); !status.ok()) {
    inner_.destroy_set(turn.set);
    return status;
  }
  return turn;
}

Status Rotation::divide(const std::vector<uint32_t>& events, const Configuration& configuration,
                        std::vector<Turn>* turns) {
  for (uint32_t place = 0; place < events.size(); ++place) {
    Status status{Code::kConflict, 0, nullptr};
    for (Turn& turn : *turns) {
      if (turn.events.size() >= inner_.max_events) continue;
      turn.places.push_back(place);
      turn.events.push_back(events[place]);
      status = inner_.program(turn.set, turn.events.data(), static_cast<uint32_t>(turn.events.size()));
      if (status.ok()) break;
      turn.events.pop_back();
      turn.places.pop_back();
      if (!too_many(status.code)) return keep_note(status);
    }
    if (status.ok()) continue;
    turns->reserve(turns->size() + 1);
    Result<Turn> fresh = make_turn(configuration);
    if (!fresh) return fresh.error();
    turns->push_back(std::move(*fresh));
    Turn& turn = turns->back();
    turn.places.push_back(place);
    turn.events.push_back(events[place]);
    status = keep_note(inner_.program(turn.set, turn.events.data(), 1));
    if (!status.ok()) return status;
  }
  return kSuccess;
}

Status Rotation::replace(std::vector<uint32_t> events, const Configuration& configuration) {
  if (running_) return {Code::kRunning, 0, "the set is counting; stop it before changing it"};
  struct Owned {
    Rotation& rotation;
    std::vector<Turn> turns;
    ~Owned() { rotation.destroy(turns); }
  } fresh{*this, {}};
  // An empty set is configured too, so that what the substrate cannot do is refused at once.
  if (events.empty()) {
    Result<Turn> trial = make_turn(configuration);
    if (!trial) return trial.error();
    inner_.destroy_set(trial->set);
  }
  if (const Status status = divide(events, configuration, &fresh.turns); !status.ok()) return status;
  std::vector<Tally> tallies(events.size());
  size_t longest = 0;
  for (uint32_t number = 0; number < fresh.turns.size(); ++number) {
    longest = std::max(longest, fresh.turns[number].events.size());
    for (const uint32_t place : fresh.turns[number].places) tallies[place].turn = number;
  }
  for (size_t place = 0; place < events.size() && fresh.turns.size() > 1; ++place) {
    Event event;
    if (const Status status = component_.event_at(events[place], &event); !status.ok()) return status;
    tallies[place].kind = event.kind;
    tallies[place].type = event.type;
  }
  std::vector<int64_t> scratch(longest), now_value(events.size());
  turns_.swap(fresh.turns);  // the old ones go with `fresh`
  tallies_.swap(tallies);
  scratch_.swap(scratch);
  now_value_.swap(now_value);
  events_.swap(events);
  configuration_ = configuration;
  current_ = 0;
  return kSuccess;
}

Status Rotation::configure(const Configuration& wanted) {
  Configuration inner = wanted;
  inner.multiplex = 0;
  inner.multiplex_period_ns = 0;
  if (const Status status = replace(events_, inner); !status.ok()) return status;
  period_ns_ = static_cast<int64_t>(
      std::min<uint64_t>(wanted.multiplex_period_ns, std::numeric_limits<int64_t>::max()));
  return kSuccess;
}

Status Rotation::program(const uint32_t* events, uint32_t count) {
  return replace(std::vector<uint32_t>(events, events + count), configuration_);
}

void Rotation::clear() noexcept {
  for (Turn& turn : turns_) turn.active_ns = 0;
  for (Tally& tally : tallies_) {
    if (tally.kind != ValueKind::kGauge) tally.value = 0;
  }
  std::fill(now_value_.begin(), now_value_.end(), 0);
}

// Starts the first turn from `first` on that the substrate lets start.
Status Rotation::begin_turn(size_t first) noexcept {
  Status status = kSuccess;
  for (size_t tried = 0; tried < turns_.size(); ++tried) {
    current_ = (first + tried) % turns_.size();
    turn_began_ns_ = clock_now_ns();
    status = inner_.start(turns_[current_].set);
    counting_ = status.ok();
    if (counting_) return kSuccess;
  }
  return status;
}

Status Rotation::end_turn() noexcept {
  if (!counting_) return kSuccess;
  Turn& turn = turns_[current_];
  Status status = inner_.stop(turn.set);
  const int64_t now = clock_now_ns();
  counting_ = false;  // a substrate that lost the counters does not count either
  if (status.ok()) status = inner_.read(turn.set, scratch_.data());
  if (!status.ok()) return status;
  turn.active_ns += now - turn_began_ns_;
  for (size_t i = 0; i < turn.places.size(); ++i) {
    Tally& tally = tallies_[turn.places[i]];
    tally.value = tally.kind == ValueKind::kGauge ? scratch_[i] : sum(tally.type, tally.value, scratch_[i]);
    tally.taken_ns = now;
    now_value_[turn.places[i]] = 0;
  }
  return kSuccess;
}

Status Rotation::pass_on() noexcept {
  if (const Status status = end_turn(); !status.ok()) return status;
  return begin_turn((current_ + 1) % turns_.size());
}

// Every turn that was never had is had now.
Status Rotation::serve_the_unserved() noexcept {
  for (size_t number = 0; number < turns_.size(); ++number) {
    if (number == current_ || turns_[number].active_ns > 0) continue;
    if (const Status status = end_turn(); !status.ok()) return status;
    if (const Status status = begin_turn(number); !status.ok()) return status;
    if (current_ != number)
      return {Code::kCountersLost, 0,
              "some events of the set found no free counter for their turn; another user holds them"};
  }
  return kSuccess;
}

Status Rotation::start() noexcept {
  if (turns_.empty()) return {Code::kInvalid, 0, "the set has no events"};
  clear();
  began_ns_ = clock_now_ns();
  if (const Status status = begin_turn(0); !status.ok()) return status;
  running_ = true;
  return kSuccess;
}

Status Rotation::stop() noexcept {
  if (!running_) return {Code::kNotRunning, 0, "the set is not counting"};
  if (turns_.size() > 1) serve_the_unserved();  // what it could not serve, a read tells
  const Status status = turns_.size() > 1 ? end_turn() : inner_.stop(current_set());
  if (!status.ok()) return status;
  counting_ = false;
  running_ = false;
  looked_ns_ = clock_now_ns();
  return kSuccess;
}

// The values as they are now: tallies_ and now_value_.
Status Rotation::look() noexcept {
  if (!running_) return kSuccess;
  if (!counting_) {
    if (const Status status = begin_turn(current_); !status.ok()) return status;
  }
  if (const Status status = serve_the_unserved(); !status.ok()) return status;
  const Turn& turn = turns_[current_];
  if (const Status status = inner_.read(turn.set, scratch_.data()); !status.ok()) return status;
  looked_ns_ = clock_now_ns();
  for (size_t i = 0; i < turn.places.size(); ++i) now_value_[turn.places[i]] = scratch_[i];
  return kSuccess;
}

void Rotation::tick() noexcept {
  if (!running_ || turns_.size() < 2) return;
  // What refuses is tried again, and told, by the next read.
  if (!counting_ || clock_now_ns() - turn_began_ns_ >= period_ns_) pass_on();
}

ValueDetail Rotation::detail_of(size_t place) const noexcept {
  const Tally& tally = tallies_[place];
  const bool present = counting_ && tally.turn == current_;
  ValueDetail detail;
  detail.time_ns = looked_ns_;
  detail.enabled_ns = looked_ns_ - began_ns_;
  detail.running_ns = turns_[tally.turn].active_ns + (present ? looked_ns_ - turn_began_ns_ : int64_t{0});
  if (tally.kind == ValueKind::kGauge) {
    detail.value = present ? now_value_[place] : tally.value;
    detail.age_ns = present ? 0 : looked_ns_ - tally.taken_ns;
    if (detail.age_ns > 0) detail.flags = kValueStale;
    return detail;
  }
  detail.value = present ? sum(tally.type, tally.value, now_value_[place]) : tally.value;
  if (detail.running_ns < detail.enabled_ns) detail.flags = kValueScaled;
  if (detail.running_ns > 0)
    detail.value = extrapolated(tally.type, detail.value, detail.enabled_ns, detail.running_ns);
  return detail;
}

Status Rotation::read(int64_t* values) noexcept {
  if (turns_.size() == 1) return inner_.read(turns_[0].set, values);
  if (const Status status = look(); !status.ok()) return status;
  for (const Turn& turn : turns_) {
    const bool present = counting_ && &turn == &turns_[current_];
    if (turn.active_ns == 0 && (!present || looked_ns_ == turn_began_ns_) && looked_ns_ != began_ns_)
      return {Code::kCountersLost, 0,
              "some events of the set had no turn by the layer's clock yet; let the set run longer"};
  }
  for (size_t place = 0; place < events_.size(); ++place) values[place] = detail_of(place).value;
  tick();
  return kSuccess;
}

Status Rotation::read_details(ValueDetail* details) noexcept {
  if (turns_.size() == 1) {
    if (inner_.read_details != nullptr) return inner_.read_details(turns_[0].set, details);
    for (size_t place = 0; place < events_.size(); ++place) details[place] = ValueDetail{};
    if (const Status status = inner_.read(turns_[0].set, scratch_.data()); !status.ok()) return status;
    const int64_t now = running_ ? clock_now_ns() : looked_ns_;
    for (size_t place = 0; place < events_.size(); ++place) {
      details[place].value = scratch_[place];
      details[place].time_ns = now;
      details[place].enabled_ns = details[place].running_ns = now - began_ns_;
    }
    return kSuccess;
  }
  if (const Status status = look(); !status.ok()) return status;
  for (size_t place = 0; place < events_.size(); ++place) details[place] = detail_of(place);
  tick();
  return kSuccess;
}

Status Rotation::reset() noexcept {
  if (turns_.empty()) return kSuccess;
  if (!running_ || turns_.size() == 1) {
    clear();
    began_ns_ = looked_ns_ = clock_now_ns();
    return inner_.reset(current_set());
  }
  if (!counting_) {
    if (const Status status = begin_turn(current_); !status.ok()) return status;
  }
  if (const Status status = inner_.reset(current_set()); !status.ok()) return status;
  clear();
  began_ns_ = turn_began_ns_ = clock_now_ns();
  return kSuccess;
}

}  // namespace substrata
