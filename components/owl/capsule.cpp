// The life of capsules and what happens with a batch.
#include "owl/capsule.hpp"

#include <substrata/result.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/glob.hpp"
#include "base/parse.hpp"
#include "owl/assignments.hpp"

namespace substrata::owl {
namespace {

constexpr uint64_t kDefaultRingBytes = 1 << 20;

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

}  // namespace

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
    header.values[0][i] = registers_[i];
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
  observer_.destroy();
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
  if (!observer_ &&
      observer_.try_create<&Capsule::observe>(*this, apart_ ? SUBSTRATA_OBSERVER_CONCURRENT : 0) != 0) {
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
    int refused = observer_.try_subscribe(pattern.c_str());
    if (refused == static_cast<int>(Code::kNoEvent) && !pattern.empty()) {
      // A plain name that does not exist yet: waited for with the nearest pattern, and compared in accepts().
      {
        const std::lock_guard lock(mutex_);
        exact_ = false;
      }
      pattern.back() = '?';
      refused = observer_.try_subscribe(pattern.c_str());
    }
    if (refused != 0) {
      fail(refused, "the capsule '%s' does not start: %s", name_.c_str(), substrata_feed_error());
      observer_.try_unsubscribe();
      return refused;
    }
  }
  return 0;
}

void Capsule::end() noexcept {
  observer_.try_unsubscribe();
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
  const Module& module = *entry_.module;
  const uint64_t changes = header.register_changes.load(std::memory_order_acquire);
  uint64_t values[SUBSTRATA_OWL_MOST_REGISTERS];
  for (uint32_t i = 0; i < module.register_count; ++i)
    values[i] = header.values[changes & 1][i].load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  // Written over meanwhile: the next batch takes them.
  if (header.register_changes.load(std::memory_order_relaxed) != changes) return;
  register_changes_ = changes;
  if (module.configure == nullptr) return;
  bool changed = false;
  for (uint32_t i = 0; i < module.register_count; ++i) {
    if (!is_live(module, i)) continue;
    const uint64_t value = values[i];
    if (value == registers_[i] || value < module.registers[i].least || value > module.registers[i].most)
      continue;
    registers_[i] = value;
    changed = true;
  }
  if (!changed) return;
  module.configure(instance_, registers_);
  ring_.commit();
}

void Capsule::signal(const Transaction* cause, uint32_t reason) noexcept {
  ++counts_[kSignals];
  ring_.commit();  // who is signalled finds what was emitted before
  if (signal_ != nullptr) signal_(signal_owner_, cause, reason);
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
    *value = ring_.memory().register_value(i);
    return 0;
  }
  return fail(Code::kNoEvent, "the module '%s' has no register '%.80s'", module.name, name);
}

int Capsule::check_register(const char* name, uint64_t value, RegisterValue* out) const {
  const Module& module = *entry_.module;
  for (uint32_t i = 0; i < module.register_count; ++i) {
    const Register& r = module.registers[i];
    if (std::strcmp(r.name, name) != 0) continue;
    if (value < r.least || value > r.most) {
      return fail(Code::kInvalid, "register '%s' takes %llu to %llu", name,
                  static_cast<unsigned long long>(r.least), static_cast<unsigned long long>(r.most));
    }
    if (!is_live(module, i)) {
      return fail(Code::kConflict, "register '%s' of the module '%s' is fixed when its capsule is attached",
                  name, module.name);
    }
    *out = {i, value};
    return 0;
  }
  return fail(Code::kNoEvent, "the module '%s' has no register '%.80s'", module.name, name);
}

int Capsule::write_register(const char* name, uint64_t value) {
  RegisterValue made{};
  const int refused = check_register(name, value, &made);
  return refused != 0 ? refused : ring_.memory().write_registers(&made, 1);
}

int Capsule::write_registers(const char* assignments) {
  std::vector<RegisterValue> made;
  const int refused = for_each_assignment(assignments, [&](const char* name, uint64_t value) {
    return check_register(name, value, &made.emplace_back());
  });
  return refused != 0 ? refused : ring_.memory().write_registers(made.data(), made.size());
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
