// Divides events into groups, counts one group after the other and extrapolates each count.
#include "core/multiplex/multiplexer.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/clock.hpp"
#include "base/guard.hpp"

namespace substrata {
namespace {

Multiplexer& of(Set* set) noexcept { return *reinterpret_cast<Multiplexer*>(set); }

// The refusals of events that a substrate counts alone but not together.
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
  return {Code::kNoSupport, 0, "multiplexed events cannot be written while they count"};
}
Status refuse_arm(Set*, uint32_t, int64_t, uint32_t, const SampleSink*) noexcept {
  return {Code::kComponent, 0, "multiplexed events do not report overflows; use the timer"};
}
Status refuse_disarm(Set*, uint32_t) noexcept {
  return {Code::kInvalid, 0, "multiplexed events are never armed"};
}

// The substrate's data and catalogue; of the slots of a set those that this one has, whatever else the substrate has.
SubstrateTable table_over(const SubstrateTable& inner) noexcept {
  return {.name = inner.name,
          .short_name = inner.short_name,
          .summary = inner.summary,
          .version = inner.version,
          .traits = inner.traits,
          .max_events = inner.max_multiplexed,
          .max_multiplexed = inner.max_multiplexed,
          .default_domain = inner.default_domain,
          .domains = inner.domains,
          .default_granularity = inner.default_granularity,
          .granularities = inner.granularities,
          .read_bound_ns = inner.read_bound_ns,
          .event_count = inner.event_count,
          .event_at = inner.event_at,
          .destroy_set = destroy_set,
          .program = program_set,
          .configure = configure_set,
          .start = start_set_of,
          .stop = stop_set_of,
          .read = read_set_of,
          .read_details = read_details_of,
          .reset = reset_set_of,
          .write = refuse_write,
          .arm = refuse_arm,
          .disarm = refuse_disarm};
}

}  // namespace

Multiplexer::Multiplexer(Component& component, Thread* thread)
    : component_(component),
      inner_(component.table()),
      thread_(thread),
      table_(table_over(inner_)),
      configuration_(component.default_configuration()) {}

Multiplexer::~Multiplexer() { destroy(groups_); }

void Multiplexer::destroy(std::vector<Group>& groups) noexcept {
  for (Group& group : groups) inner_.destroy_set(group.set);
  groups.clear();
}

Result<Multiplexer::Group> Multiplexer::make_group(const Configuration& configuration) {
  Group group;
  if (const Status status = keep_note(inner_.create_set(component_.device(), thread_, &group.set));
      !status.ok())
    return status;
  const Configuration usual = component_.default_configuration();
  const bool differs = configuration.domain != usual.domain ||
                       configuration.granularity != usual.granularity ||
                       configuration.target != usual.target || configuration.inherit != usual.inherit;
  if (!differs) return group;
  if (const Status status = component_.configure(group.set, configuration); !status.ok()) {
    inner_.destroy_set(group.set);
    return status;
  }
  return group;
}

Status Multiplexer::divide(const std::vector<uint32_t>& events, const Configuration& configuration,
                           std::vector<Group>* groups) {
  for (uint32_t place = 0; place < events.size(); ++place) {
    Status status{Code::kConflict, 0, nullptr};
    for (Group& group : *groups) {
      if (group.events.size() >= inner_.max_events) continue;
      group.places.push_back(place);
      group.events.push_back(events[place]);
      status = inner_.program(group.set, group.events.data(), static_cast<uint32_t>(group.events.size()));
      if (status.ok()) break;
      group.events.pop_back();
      group.places.pop_back();
      if (!too_many(status.code)) return keep_note(status);
    }
    if (status.ok()) continue;
    groups->reserve(groups->size() + 1);
    Result<Group> fresh = make_group(configuration);
    if (!fresh) return fresh.error();
    groups->push_back(std::move(*fresh));
    Group& group = groups->back();
    group.places.push_back(place);
    group.events.push_back(events[place]);
    status = keep_note(inner_.program(group.set, group.events.data(), 1));
    if (!status.ok()) return status;
  }
  return kSuccess;
}

Status Multiplexer::replace(std::vector<uint32_t> events, const Configuration& configuration) {
  if (running_) return {Code::kRunning, 0, "the set is counting; stop it before changing it"};
  struct Owned {
    Multiplexer& owner;
    std::vector<Group> groups;
    ~Owned() { owner.destroy(groups); }
  } fresh{*this, {}};
  // An empty set is configured too, so that an impossible configuration is refused at once.
  if (events.empty()) {
    Result<Group> trial = make_group(configuration);
    if (!trial) return trial.error();
    inner_.destroy_set(trial->set);
  }
  if (const Status status = divide(events, configuration, &fresh.groups); !status.ok()) return status;
  std::vector<Tally> tallies(events.size());
  size_t longest = 0;
  for (uint32_t number = 0; number < fresh.groups.size(); ++number) {
    longest = std::max(longest, fresh.groups[number].events.size());
    for (const uint32_t place : fresh.groups[number].places) tallies[place].group = number;
  }
  for (size_t place = 0; place < events.size() && fresh.groups.size() > 1; ++place) {
    Event event;
    if (const Status status = component_.event_at(events[place], &event); !status.ok()) return status;
    tallies[place].kind = event.kind;
    tallies[place].type = event.type;
  }
  std::vector<int64_t> scratch(longest), now_value(events.size());
  groups_.swap(fresh.groups);  // the old ones go with `fresh`
  tallies_.swap(tallies);
  scratch_.swap(scratch);
  now_value_.swap(now_value);
  events_.swap(events);
  configuration_ = configuration;
  current_ = 0;
  return kSuccess;
}

Status Multiplexer::configure(const Configuration& wanted) {
  Configuration inner = wanted;
  inner.multiplex = 0;
  inner.multiplex_period_ns = 0;
  if (const Status status = replace(events_, inner); !status.ok()) return status;
  period_ns_ = static_cast<int64_t>(
      std::min<uint64_t>(wanted.multiplex_period_ns, std::numeric_limits<int64_t>::max()));
  return kSuccess;
}

Status Multiplexer::program(const uint32_t* events, uint32_t count) {
  return replace(std::vector<uint32_t>(events, events + count), configuration_);
}

void Multiplexer::clear() noexcept {
  for (Group& group : groups_) group.active_ns = 0;
  for (Tally& tally : tallies_) {
    if (tally.kind != ValueKind::kGauge) tally.value = 0;
  }
  std::fill(now_value_.begin(), now_value_.end(), 0);
}

// Starts the first group, from `first` on, that the substrate accepts.
Status Multiplexer::begin_group(size_t first) noexcept {
  Status status = kSuccess;
  for (size_t tried = 0; tried < groups_.size(); ++tried) {
    current_ = (first + tried) % groups_.size();
    group_began_ns_ = clock_now_ns();
    status = inner_.start(groups_[current_].set);
    counting_ = status.ok();
    if (counting_) return kSuccess;
  }
  return status;
}

Status Multiplexer::end_group() noexcept {
  if (!counting_) return kSuccess;
  Group& group = groups_[current_];
  Status status = inner_.stop(group.set);
  const int64_t now = clock_now_ns();
  counting_ = false;  // a substrate that lost the counters does not count either
  if (status.ok()) status = inner_.read(group.set, scratch_.data());
  if (!status.ok()) return status;
  group.active_ns += now - group_began_ns_;
  for (size_t i = 0; i < group.places.size(); ++i) {
    Tally& tally = tallies_[group.places[i]];
    tally.value = tally.kind == ValueKind::kGauge ? scratch_[i] : sum(tally.type, tally.value, scratch_[i]);
    tally.taken_ns = now;
    now_value_[group.places[i]] = 0;
  }
  return kSuccess;
}

Status Multiplexer::next_group() noexcept {
  if (const Status status = end_group(); !status.ok()) return status;
  return begin_group((current_ + 1) % groups_.size());
}

// Counts every group once that has not counted yet.
Status Multiplexer::count_the_uncounted() noexcept {
  for (size_t number = 0; number < groups_.size(); ++number) {
    if (number == current_ || groups_[number].active_ns > 0) continue;
    if (const Status status = end_group(); !status.ok()) return status;
    if (const Status status = begin_group(number); !status.ok()) return status;
    if (current_ != number)
      return {Code::kCountersLost, 0,
              "some events of the set found no free counter; another user holds them"};
  }
  return kSuccess;
}

Status Multiplexer::start() noexcept {
  if (groups_.empty()) return {Code::kInvalid, 0, "the set has no events"};
  clear();
  began_ns_ = clock_now_ns();
  if (const Status status = begin_group(0); !status.ok()) return status;
  running_ = true;
  return kSuccess;
}

Status Multiplexer::stop() noexcept {
  if (!running_) return {Code::kNotRunning, 0, "the set is not counting"};
  if (groups_.size() > 1) count_the_uncounted();  // a read reports what found no counter
  const Status status = groups_.size() > 1 ? end_group() : inner_.stop(current_set());
  counting_ = false;
  running_ = false;
  looked_ns_ = clock_now_ns();
  return status;
}

// The values as they are now: tallies_ and now_value_.
Status Multiplexer::look() noexcept {
  if (!running_) return kSuccess;
  if (!counting_) {
    if (const Status status = begin_group(current_); !status.ok()) return status;
  }
  if (const Status status = count_the_uncounted(); !status.ok()) return status;
  const Group& group = groups_[current_];
  if (const Status status = inner_.read(group.set, scratch_.data()); !status.ok()) return status;
  looked_ns_ = clock_now_ns();
  for (size_t i = 0; i < group.places.size(); ++i) now_value_[group.places[i]] = scratch_[i];
  return kSuccess;
}

void Multiplexer::tick() noexcept {
  if (!running_ || groups_.size() < 2) return;
  // After a refusal the next read tries again and reports it.
  if (!counting_ || clock_now_ns() - group_began_ns_ >= period_ns_) next_group();
}

ValueDetail Multiplexer::detail_of(size_t place) const noexcept {
  const Tally& tally = tallies_[place];
  const bool present = counting_ && tally.group == current_;
  ValueDetail detail;
  detail.time_ns = looked_ns_;
  detail.enabled_ns = looked_ns_ - began_ns_;
  detail.running_ns = groups_[tally.group].active_ns + (present ? looked_ns_ - group_began_ns_ : int64_t{0});
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

Status Multiplexer::read(int64_t* values) noexcept {
  if (groups_.size() == 1) return inner_.read(groups_[0].set, values);
  if (const Status status = look(); !status.ok()) return status;
  for (const Group& group : groups_) {
    const bool present = counting_ && &group == &groups_[current_];
    if (group.active_ns == 0 && (!present || looked_ns_ == group_began_ns_) && looked_ns_ != began_ns_)
      return {Code::kCountersLost, 0,
              "some events of the set have not counted yet by the layer's clock; let the set run longer"};
  }
  for (size_t place = 0; place < events_.size(); ++place) values[place] = detail_of(place).value;
  tick();
  return kSuccess;
}

Status Multiplexer::read_details(ValueDetail* details) noexcept {
  if (groups_.size() == 1) {
    if (inner_.read_details != nullptr) return inner_.read_details(groups_[0].set, details);
    for (size_t place = 0; place < events_.size(); ++place) details[place] = ValueDetail{};
    if (const Status status = inner_.read(groups_[0].set, scratch_.data()); !status.ok()) return status;
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

Status Multiplexer::reset() noexcept {
  if (groups_.empty()) return kSuccess;
  if (!running_ || groups_.size() == 1) {
    clear();
    began_ns_ = looked_ns_ = clock_now_ns();
    return inner_.reset(current_set());
  }
  if (!counting_) {
    if (const Status status = begin_group(current_); !status.ok()) return status;
  }
  if (const Status status = inner_.reset(current_set()); !status.ok()) return status;
  clear();
  began_ns_ = group_began_ns_ = clock_now_ns();
  return kSuccess;
}

}  // namespace substrata
