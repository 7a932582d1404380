// The life of capsules and what happens with a batch.
#include "capsule.hpp"

#include <substrata/result.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <utility>

#include "base/error.hpp"
#include "base/glob.hpp"
#include "base/parse.hpp"
#include "objects.hpp"

namespace substrata::owl {
namespace {

constexpr uint64_t kDefaultRingBytes = 1 << 20;
constexpr uint64_t kLeastRingBytes = 4096;
constexpr uint64_t kMostRingBytes = uint64_t{1} << 34;
constexpr size_t kLongestName = 60;
// Of a seat: two packets of the longest kind, each behind its length and stage.
constexpr size_t kPacketHead = 2 * sizeof(uint32_t);
constexpr size_t kSeatBytes = 2 * (SUBSTRATA_OWL_MOST_PACKET + kPacketHead);

struct Records {
  std::mutex mutex;
  std::deque<std::shared_ptr<CapsuleRecord>> all;
};
// Kept to the end of the process: static destructors of programs may still read.
Records& all_records() noexcept {
  static auto* const made = new Records;
  return *made;
}

void emit_packet(void* capsule, const void* packet, uint32_t bytes) {
  Capsule::of(capsule).emit(packet, bytes, 0);
}

void emit_packet_from(void* capsule, const void* packet, uint32_t bytes, uint32_t stage) {
  Capsule::of(capsule).emit(packet, bytes, stage);
}

void emit_transactions(void* capsule, const Transaction* transactions, size_t count) {
  for (size_t i = 0; i < count; ++i) Capsule::of(capsule).emit(&transactions[i], sizeof(Transaction), 0);
}

bool is_live(const Module& module, uint32_t at) noexcept {
  return module.configure != nullptr && module.registers[at].live != 0;
}

bool is_capsule_name(const std::string& name) noexcept {
  return !name.empty() && name.size() <= kLongestName && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::strchr("_.-*?,", c) != nullptr;
  });
}

}  // namespace

void CapsuleRecord::watch(const std::shared_ptr<Watcher>& watcher) {
  const std::lock_guard lock(watchers_mutex);
  watcher->next = values[watcher->value].value() + watcher->period;
  watchers.push_back(watcher);
  watcher_count.store(static_cast<uint32_t>(watchers.size()), std::memory_order_release);
}

void CapsuleRecord::unwatch(const std::shared_ptr<Watcher>& watcher) noexcept {
  const std::lock_guard lock(watchers_mutex);
  watcher->ended = true;
  std::erase(watchers, watcher);
  watcher_count.store(static_cast<uint32_t>(watchers.size()), std::memory_order_release);
}

void CapsuleRecord::notify_watchers() noexcept {
  if (watcher_count.load(std::memory_order_acquire) == 0) return;
  const std::lock_guard lock(watchers_mutex);
  // By index: a watcher may end itself or another, or begin one.
  for (size_t i = 0; i < watchers.size(); ++i) {
    const std::shared_ptr<Watcher> each = watchers[i];
    const uint64_t now = values[each->value].value();
    while (!each->ended && now >= each->next) {
      each->next += each->period;
      each->call(each->owner, now);
    }
  }
}

std::vector<std::shared_ptr<CapsuleRecord>> records() {
  Records& all = all_records();
  const std::lock_guard lock(all.mutex);
  return {all.all.begin(), all.all.end()};
}

uint64_t record_count() noexcept {
  Records& all = all_records();
  const std::lock_guard lock(all.mutex);
  return all.all.size();
}

std::shared_ptr<CapsuleRecord> find_record(const std::string& capsule, const std::string& module) {
  Records& all = all_records();
  const std::lock_guard lock(all.mutex);
  for (const std::shared_ptr<CapsuleRecord>& each : all.all) {
    if (each->name == capsule && module == each->entry->module->name) return each;
  }
  return nullptr;
}

int attach_capsule(const substrata_owl_capsule_options& options, Capsule** out) {
  if (options.module == nullptr || options.probes == nullptr || *options.probes == '\0') {
    return fail(Code::kInvalid, "a capsule needs probe points and a module");
  }
  const LibraryEntry* const entry = find_module(options.module);
  if (entry == nullptr) {
    return fail(Code::kNoEvent, "there is no module '%.80s'; `substrata module list` shows what there is",
                options.module);
  }
  const std::string name =
      options.name != nullptr ? options.name : std::string(trimmed(split(options.probes, ',').front()));
  if (!is_capsule_name(name)) {
    return fail(Code::kInvalid, "'%.80s' is no name for a capsule: letters, digits and _.-*? up to %zu",
                name.c_str(), kLongestName);
  }
  if (options.policy > SUBSTRATA_OWL_OVERWRITE_OLD || options.near_full_percent > 100 ||
      (options.flags & ~static_cast<uint32_t>(SUBSTRATA_OWL_PER_THREAD)) != 0 ||
      (options.ring_bytes != 0 &&
       (options.ring_bytes < kLeastRingBytes || options.ring_bytes > kMostRingBytes))) {
    return fail(Code::kInvalid,
                "the capsule '%s' asks for a ring that cannot be: 4096 to 2^34 bytes, a mark of 1 to 100 "
                "percent, a known policy, known flags",
                name.c_str());
  }
  auto capsule = std::make_unique<substrata_owl_capsule>(*entry, name, options.probes);
  if (const int refused = parse_registers(*entry->module, options.registers, capsule->registers_))
    return refused;
  if (const int refused = capsule->build(options)) return refused;
  follow_announced_objects();

  Records& all = all_records();
  const std::lock_guard lock(all.mutex);
  std::shared_ptr<CapsuleRecord> record;
  for (const std::shared_ptr<CapsuleRecord>& each : all.all) {
    if (each->name == name && each->entry == entry) record = each;
  }
  if (record == nullptr) {
    record = std::make_shared<CapsuleRecord>();
    record->name = name;
    record->entry = entry;
    record->values = std::vector<counting::Counter>(kStatistics + entry->module->metric_count);
    all.all.push_back(record);
  }
  const std::lock_guard life(record->life);
  if (record->capsule != nullptr) {
    return fail(Code::kConflict, "there is a capsule '%s' with the module '%s' already", name.c_str(),
                entry->module->name);
  }
  for (const counting::Counter& value : record->values) capsule->base_.push_back(value.value());
  record->capsule = capsule.get();
  ++record->generation;
  capsule->record_ = record;
  *out = capsule.release();
  return 0;
}

Capsule::Capsule(const LibraryEntry& entry, std::string name, std::string probes)
    : entry_(entry), name_(std::move(name)), probes_(std::move(probes)) {}

int Capsule::build(const substrata_owl_capsule_options& options) {
  const Module& module = *entry_.module;
  budget_ = options.budget;
  if (budget_.counters == 0) budget_.counters = 65536;
  if (budget_.table_bits == 0) budget_.table_bits = uint64_t{1} << 26;
  if (budget_.comparators == 0) budget_.comparators = 65536;
  module.cost(&module, registers_, &cost_);
  if (cost_.counters > budget_.counters || cost_.table_bits > budget_.table_bits ||
      cost_.comparators > budget_.comparators) {
    const auto u = [](uint64_t value) { return static_cast<unsigned long long>(value); };
    return fail(
        Code::kConflict,
        "the module '%s' is too large for the capsule '%s': it needs %llu counters, %llu table bits and %llu "
        "comparators, the capsule has %llu, %llu and %llu",
        module.name, name_.c_str(), u(cost_.counters), u(cost_.table_bits), u(cost_.comparators),
        u(budget_.counters), u(budget_.table_bits), u(budget_.comparators));
  }
  const uint64_t ring_bytes = options.ring_bytes != 0 ? options.ring_bytes : kDefaultRingBytes;
  // One packet is read while the next is written.
  const uint64_t needed = 2 * 8 * record_words(longest_packet_of(module, registers_));
  if (std::bit_ceil(ring_bytes) < needed) {
    return fail(
        Code::kInvalid,
        "the ring of the capsule '%s' is too small: the packets of the module '%s' have up to %u bytes, for "
        "which %llu bytes would do",
        name_.c_str(), module.name, longest_packet_of(module, registers_),
        static_cast<unsigned long long>(std::bit_ceil(needed)));
  }
  if (const int refused = ring_.create(options.ring_path, ring_bytes, options.policy,
                                       options.near_full_percent != 0 ? options.near_full_percent : 75)) {
    return refused;
  }
  RingHeader& header = ring_.memory().header();
  header.register_count = module.register_count;
  for (uint32_t i = 0; i < module.register_count; ++i) {
    RingHeader::Register& each = header.registers[i];
    std::strncpy(each.name, module.registers[i].name, sizeof each.name - 1);
    each.live = is_live(module, i) ? 1 : 0;
    each.value = registers_[i];
    each.least = module.registers[i].least;
    each.most = module.registers[i].most;
  }
  ring_.publish();
  const substrata_owl_services services{
      sizeof services,
      SUBSTRATA_OWL_MODULE_ABI,
      this,
      emit_packet,
      emit_packet_from,
      emit_transactions,
      [](void* capsule, const Transaction* cause, uint32_t reason) { of(capsule).signal(cause, reason); },
  };
  apart_ = (options.flags & SUBSTRATA_OWL_PER_THREAD) != 0 && merge_of(module) != nullptr;
  if (const char* why = module.create(&module, registers_, &services, &instance_)) {
    return fail(Code::kInvalid, "the module '%s' does not start in the capsule '%s': %s", module.name,
                name_.c_str(), why);
  }
  return 0;
}

Capsule::~Capsule() {
  if (record_ != nullptr) {
    const std::lock_guard life(record_->life);
    record_->capsule = nullptr;
  }
  substrata_observer_destroy(observer_);
  if (instance_ == nullptr) return;
  if (record_ != nullptr) {
    merge_seats();
    const std::lock_guard lock(mutex_);
    publish_numbers();
  }
  for (Seat* each = seats_.load(); each != nullptr;) {
    entry_.module->destroy(each->instance);
    delete std::exchange(each, each->next);
  }
  entry_.module->destroy(instance_);
}

int Capsule::begin() {
  if (observer_ == nullptr &&
      substrata_observer_create(batch, this, apart_ ? SUBSTRATA_OBSERVER_CONCURRENT : 0, &observer_) != 0) {
    return fail(Code::kNoMemory, "the capsule '%s' does not start: %s", name_.c_str(),
                substrata_feed_error());
  }
  {
    const std::lock_guard lock(mutex_);
    exact_ = true;
    take_registers();
  }
  for (const std::string& piece : split(probes_, ',')) {
    std::string pattern(trimmed(piece));
    int refused = substrata_subscribe(observer_, pattern.c_str());
    if (refused == static_cast<int>(Code::kNoEvent) && !pattern.empty()) {
      // A plain name that does not exist yet: waited for with the nearest pattern, and compared in accepts().
      {
        const std::lock_guard lock(mutex_);
        exact_ = false;
      }
      pattern.back() = '?';
      refused = substrata_subscribe(observer_, pattern.c_str());
    }
    if (refused != 0) {
      fail(refused, "the capsule '%s' does not start: %s", name_.c_str(), substrata_feed_error());
      substrata_unsubscribe(observer_, nullptr);
      return refused;
    }
  }
  return 0;
}

void Capsule::end() noexcept {
  substrata_unsubscribe(observer_, nullptr);
  merge_seats();
}

int Capsule::start() {
  const std::lock_guard lock(control_);
  if (users_ == 0) {
    if (const int refused = begin()) return refused;
  }
  ++users_;
  return 0;
}

void Capsule::stop() noexcept {
  const std::lock_guard lock(control_);
  if (users_ != 0 && --users_ == 0) end();
}

void Capsule::batch(void* owner, const Transaction* batch, size_t count) {
  static_cast<Capsule*>(owner)->observe(batch, count);
}

bool Capsule::accepts(std::vector<uint8_t>& known, uint16_t probe) const {
  if (known.size() <= probe) known.resize(probe + 64u);
  if (known[probe] == 0) {
    auto info = client::sized<substrata_probe_info>();
    known[probe] = substrata_probe_at(probe, &info) == 0 && any_glob(probes_, info.name) ? 2 : 1;
  }
  return known[probe] == 2;
}

void Capsule::take_registers() noexcept {
  RingHeader& header = ring_.memory().header();
  register_changes_ = header.register_changes.load(std::memory_order_acquire);
  const Module& module = *entry_.module;
  if (module.configure == nullptr) return;
  bool changed = false;
  for (uint32_t i = 0; i < module.register_count; ++i) {
    if (!is_live(module, i)) continue;
    const uint64_t value = header.registers[i].value.load(std::memory_order_relaxed);
    if (value == registers_[i] || value < module.registers[i].least || value > module.registers[i].most)
      continue;
    registers_[i] = value;
    changed = true;
  }
  if (!changed) return;
  module.configure(instance_, registers_);
  ring_.commit();
}

Seat* Capsule::seat() noexcept {
  const std::thread::id self = std::this_thread::get_id();
  for (Seat* each = seats_.load(std::memory_order_acquire); each != nullptr; each = each->next) {
    if (each->thread == self) return each;
  }
  // All instances together stay in the budget: the shared one, those there are, and this one.
  const uint64_t instances = seat_count_.fetch_add(1, std::memory_order_relaxed) + 2;
  const auto within = [&](uint64_t cost, uint64_t budget) { return cost == 0 || instances <= budget / cost; };
  std::unique_ptr<Seat> made;
  if (within(cost_.counters, budget_.counters) && within(cost_.table_bits, budget_.table_bits) &&
      within(cost_.comparators, budget_.comparators)) {
    try {
      made = std::make_unique<Seat>(*this);
      made->sent = std::make_unique<uint8_t[]>(kSeatBytes);
    } catch (...) {
      made = nullptr;  // no memory: the shared instance has to do
    }
  }
  if (made != nullptr) {
    {
      const std::lock_guard lock(mutex_);
      std::copy_n(registers_, SUBSTRATA_OWL_MOST_REGISTERS, made->registers);
      made->register_changes = register_changes_;
    }
    const substrata_owl_services services{
        sizeof services,
        SUBSTRATA_OWL_MODULE_ABI,
        made.get(),
        [](void* owner, const void* packet, uint32_t bytes) { emit_from_seat(owner, packet, bytes, 0); },
        emit_from_seat,
        [](void* owner, const Transaction* transactions, size_t many) {
          for (size_t i = 0; i < many; ++i) emit_from_seat(owner, &transactions[i], sizeof(Transaction), 0);
        },
        signal_from_seat,
    };
    const Module& module = *entry_.module;
    if (module.create(&module, made->registers, &services, &made->instance) != nullptr) made = nullptr;
  }
  if (made == nullptr) {
    seat_count_.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  made->next = seats_.load(std::memory_order_relaxed);
  while (!seats_.compare_exchange_weak(made->next, made.get(), std::memory_order_release,
                                       std::memory_order_relaxed)) {
  }
  return made.release();
}

void Capsule::observe_apart(Seat& seat, const Transaction* batch, size_t count) noexcept {
  const std::lock_guard mine(seat.mutex);
  try {
    if (!exact_.load(std::memory_order_relaxed) && !accepts(seat.accepted, batch[0].probe)) return;
  } catch (...) {
    return;  // no memory to know whether it is for this capsule
  }
  const Module& module = *entry_.module;
  const uint64_t changes = ring_.memory().header().register_changes.load(std::memory_order_acquire);
  if (changes != seat.register_changes) {
    {
      const std::lock_guard lock(mutex_);
      if (changes != register_changes_) take_registers();
      std::copy_n(registers_, SUBSTRATA_OWL_MOST_REGISTERS, seat.registers);
    }
    seat.register_changes = changes;
    if (module.configure != nullptr) module.configure(seat.instance, seat.registers);
  }
  module.observe(seat.instance, batch, count);
  seat.events += count;
  record_->values[kEventsSeen].add_shared(count);
  uint64_t metrics[SUBSTRATA_OWL_MOST_METRICS];
  module.read(seat.instance, metrics);
  publish(seat, metrics);
  if (seat.sent_bytes == 0) return;
  const std::lock_guard lock(mutex_);
  send(seat);
  publish_numbers();
}

void Capsule::publish(Seat& seat, const uint64_t* metrics) noexcept {
  const Module& module = *entry_.module;
  for (uint32_t i = 0; i < module.metric_count; ++i) {
    if (module.metrics[i].gauge != 0) continue;
    const uint64_t more = metrics[i] - seat.metrics[i];
    if (more == 0) continue;
    record_->values[kStatistics + i].add_shared(more);
    seat.metrics[i] = metrics[i];
  }
}

void Capsule::send(Seat& seat) noexcept {
  for (size_t at = 0; at < seat.sent_bytes;) {
    uint32_t head[2];
    std::memcpy(head, seat.sent.get() + at, sizeof head);
    emit(seat.sent.get() + at + kPacketHead, head[0], head[1]);
    at += kPacketHead + head[0];
  }
  seat.sent_bytes = 0;
}

void Capsule::emit_from_seat(void* owner, const void* packet, uint32_t bytes, uint32_t stage) noexcept {
  Seat& seat = *static_cast<Seat*>(owner);
  if (seat.merging) return seat.capsule.emit(packet, bytes, stage);
  if (bytes > SUBSTRATA_OWL_MOST_PACKET || seat.sent_bytes + kPacketHead + bytes > kSeatBytes) {
    const std::lock_guard lock(seat.capsule.mutex_);
    seat.capsule.send(seat);
    if (bytes > SUBSTRATA_OWL_MOST_PACKET) return seat.capsule.emit(packet, bytes, stage);  // refused
  }
  const uint32_t head[2] = {bytes, stage};
  std::memcpy(seat.sent.get() + seat.sent_bytes, head, sizeof head);
  std::memcpy(seat.sent.get() + seat.sent_bytes + kPacketHead, packet, bytes);
  seat.sent_bytes += kPacketHead + bytes;
}

void Capsule::signal_from_seat(void* owner, const Transaction* cause, uint32_t reason) noexcept {
  Seat& seat = *static_cast<Seat*>(owner);
  Capsule& self = seat.capsule;
  std::unique_lock<std::mutex> lock(self.mutex_, std::defer_lock);
  if (!seat.merging) lock.lock();
  self.send(seat);
  self.signal(cause, reason);
}

void Capsule::signal(const Transaction* cause, uint32_t reason) noexcept {
  ++counts_[kSignals];
  ring_.commit();  // who is signalled finds what was emitted before
  if (signal_ != nullptr) signal_(signal_owner_, cause, reason);
}

void Capsule::merge_seats() noexcept {
  if (!apart_) return;
  const Module& module = *entry_.module;
  const auto merge = merge_of(module);
  for (Seat* each = seats_.load(std::memory_order_acquire); each != nullptr; each = each->next) {
    const std::lock_guard seat(each->mutex);
    const std::lock_guard lock(mutex_);
    each->merging = true;
    merge(instance_, each->instance);
    each->merging = false;
    // What moved is not new: the record's values count it already.
    uint64_t left[SUBSTRATA_OWL_MOST_METRICS];
    module.read(each->instance, left);
    for (uint32_t i = 0; i < module.metric_count; ++i) {
      published_[kStatistics + i] += each->metrics[i] - left[i];
      each->metrics[i] = left[i];
    }
    publish_numbers();
  }
}

void Capsule::observe(const Transaction* batch, size_t count) noexcept {
  if (Seat* const own = apart_ ? seat() : nullptr) {
    observe_apart(*own, batch, count);
    record_->notify_watchers();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    try {
      if (!exact_ && !accepts(accepted_, batch[0].probe)) return;
    } catch (...) {
      return;  // no memory to know whether it is for this capsule
    }
    if (ring_.memory().header().register_changes.load(std::memory_order_acquire) != register_changes_) {
      take_registers();
    }
    entry_.module->observe(instance_, batch, count);
    counts_[kEventsSeen] += count;
    publish_numbers();
  }
  record_->notify_watchers();
}

void Capsule::emit(const void* packet, uint32_t bytes, uint32_t stage) noexcept {
  bool near_full = false;
  if (bytes == 0 || bytes > SUBSTRATA_OWL_MOST_PACKET || !ring_.put(packet, bytes, stage, &near_full)) {
    ++counts_[kDropped];
    return;
  }
  ++counts_[kPacketsInjected];
  counts_[kBytesInjected] += bytes;
  if (near_full) {
    ++counts_[kNearFull];
    if (near_full_ != nullptr) near_full_(near_full_owner_, static_cast<substrata_owl_capsule*>(this));
  }
}

void Capsule::publish_numbers() noexcept {
  const Module& module = *entry_.module;
  ring_.commit();
  module.read(instance_, metrics_);
  std::vector<counting::Counter>& values = record_->values;
  if (apart_) {
    const auto publish_growth = [&](uint32_t i, uint64_t now) {
      values[i].add_shared(now - std::exchange(published_[i], now));
    };
    for (uint32_t i = 0; i < kStatistics; ++i)
      publish_growth(i, counts_[i] + (i == kDropped ? ring_.lost() : 0));
    for (uint32_t i = 0; i < module.metric_count; ++i) {
      if (module.metrics[i].gauge != 0) {
        values[kStatistics + i].set(metrics_[i]);
      } else {
        publish_growth(kStatistics + i, metrics_[i]);
      }
    }
    return;
  }
  for (uint32_t i = 0; i < kStatistics; ++i) {
    values[i].set(base_[i] + counts_[i] + (i == kDropped ? ring_.lost() : 0));
  }
  for (uint32_t i = 0; i < module.metric_count; ++i) {
    values[kStatistics + i].set(module.metrics[i].gauge != 0 ? metrics_[i]
                                                             : base_[kStatistics + i] + metrics_[i]);
  }
}

int Capsule::write_back() {
  substrata_flush();
  merge_seats();
  {
    const std::lock_guard lock(mutex_);
    if (entry_.module->write_back != nullptr) entry_.module->write_back(instance_);
    publish_numbers();
  }
  record_->notify_watchers();
  return 0;
}

int Capsule::read_register(const char* name, uint64_t* value) {
  const Module& module = *entry_.module;
  for (uint32_t i = 0; i < module.register_count; ++i) {
    if (std::strcmp(module.registers[i].name, name) != 0) continue;
    *value = ring_.memory().header().registers[i].value.load(std::memory_order_relaxed);
    return 0;
  }
  return fail(Code::kNoEvent, "the module '%s' has no register '%.80s'", module.name, name);
}

int Capsule::write_register(const char* name, uint64_t value) {
  const Module& module = *entry_.module;
  for (uint32_t i = 0; i < module.register_count; ++i) {
    const Register& r = module.registers[i];
    if (std::strcmp(r.name, name) != 0) continue;
    if (value < r.least || value > r.most) {
      return fail(Code::kInvalid, "register '%s' takes %llu to %llu", name,
                  static_cast<unsigned long long>(r.least), static_cast<unsigned long long>(r.most));
    }
    RingHeader& header = ring_.memory().header();
    if (!is_live(module, i)) {
      return fail(Code::kConflict, "register '%s' of the module '%s' is fixed when its capsule is attached",
                  name, module.name);
    }
    header.registers[i].value.store(value);
    header.register_changes.fetch_add(1, std::memory_order_release);
    return 0;
  }
  return fail(Code::kNoEvent, "the module '%s' has no register '%.80s'", module.name, name);
}

int Capsule::metric(const char* name, uint64_t* value) {
  const Module& module = *entry_.module;
  for (uint32_t i = 0; i < module.metric_count; ++i) {
    if (std::strcmp(module.metrics[i].name, name) != 0) continue;
    substrata_flush();
    merge_seats();
    const std::lock_guard lock(mutex_);
    module.read(instance_, metrics_);
    *value = metrics_[i];
    return 0;
  }
  return fail(Code::kNoEvent, "the module '%s' has no metric '%.80s'", module.name, name);
}

void Capsule::statistics(substrata_owl_statistics* out) noexcept {
  substrata_flush();
  const std::lock_guard control(control_);
  uint64_t apart = 0;
  for (Seat* each = seats_.load(std::memory_order_acquire); each != nullptr; each = each->next) {
    const std::lock_guard seat(each->mutex);
    apart += each->events;
  }
  const std::lock_guard lock(mutex_);
  out->running = users_ != 0 ? 1 : 0;
  out->events_seen = counts_[kEventsSeen] + apart;
  out->packets_injected = counts_[kPacketsInjected];
  out->bytes_injected = counts_[kBytesInjected];
  out->dropped = counts_[kDropped] + ring_.lost();
  out->near_full = counts_[kNearFull];
  out->signals = counts_[kSignals];
  const uint64_t instances = 1 + seat_count_.load(std::memory_order_relaxed);
  out->cost = {cost_.counters * instances, cost_.table_bits * instances, cost_.comparators * instances};
  out->budget = budget_;
}

void Capsule::on_near_full(void (*call)(void*, substrata_owl_capsule*), void* owner) {
  const std::lock_guard lock(mutex_);
  near_full_ = call;
  near_full_owner_ = owner;
}

void Capsule::on_signal(void (*call)(void*, const Transaction*, uint32_t), void* owner) {
  const std::lock_guard lock(mutex_);
  signal_ = call;
  signal_owner_ = owner;
}

}  // namespace substrata::owl
