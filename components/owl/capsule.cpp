// The life of capsules and what happens with a batch.
#include "capsule.hpp"

#include <algorithm>
#include <cstring>
#include <deque>

#include "failure.hpp"
#include "names.hpp"
#include "objects.hpp"

namespace substrata::owl {
namespace {

constexpr uint64_t kDefaultRingBytes = 1 << 20;
constexpr uint64_t kLeastRingBytes = 4096;
constexpr uint64_t kMostRingBytes = uint64_t{1} << 34;
constexpr size_t kLongestName = 60;

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

void CapsuleRecord::tell_watchers() noexcept {
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
    return fail(kInvalid, "a capsule needs probe points and a module");
  }
  const LibraryEntry* const entry = find_module(options.module);
  if (entry == nullptr) {
    return fail(kNoName, "there is no module '%.80s'; `substrata module list` shows what there is",
                options.module);
  }
  const std::string name =
      options.name != nullptr ? options.name : std::string(trim(split(options.probes, ',').front()));
  if (!is_capsule_name(name)) {
    return fail(kInvalid, "'%.80s' is no name for a capsule: letters, digits and _.-*? up to %zu",
                name.c_str(), kLongestName);
  }
  if (options.policy > SUBSTRATA_OWL_OVERWRITE_OLD || options.near_full_percent > 100 ||
      (options.ring_bytes != 0 &&
       (options.ring_bytes < kLeastRingBytes || options.ring_bytes > kMostRingBytes))) {
    return fail(kInvalid,
                "the capsule '%s' asks for a ring that cannot be: 4096 to 2^34 bytes, a mark of 1 to 100 "
                "percent, a known policy",
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
    record->values = std::vector<monitor::Counter>(kStatistics + entry->module->metric_count);
    all.all.push_back(record);
  }
  const std::lock_guard life(record->life);
  if (record->capsule != nullptr) {
    return fail(kConflict, "there is a capsule '%s' with the module '%s' already", name.c_str(),
                entry->module->name);
  }
  for (const monitor::Counter& value : record->values) capsule->base_.push_back(value.value());
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
        kConflict,
        "the module '%s' is too large for the capsule '%s': it needs %llu counters, %llu table bits and %llu "
        "comparators, the capsule has %llu, %llu and %llu",
        module.name, name_.c_str(), u(cost_.counters), u(cost_.table_bits), u(cost_.comparators),
        u(budget_.counters), u(budget_.table_bits), u(budget_.comparators));
  }
  if (const int refused =
          ring_.create(options.ring_path, options.ring_bytes != 0 ? options.ring_bytes : kDefaultRingBytes,
                       options.policy, options.near_full_percent != 0 ? options.near_full_percent : 75)) {
    return refused;
  }
  RingHeader& header = ring_.mapping().header();
  header.register_count = module.register_count;
  for (uint32_t i = 0; i < module.register_count; ++i) {
    RingHeader::Register& each = header.registers[i];
    std::strncpy(each.name, module.registers[i].name, sizeof each.name - 1);
    each.live = module.configure != nullptr && module.registers[i].live != 0 ? 1 : 0;
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
      [](void* capsule, const Transaction* cause, uint32_t reason) {
        Capsule& self = Capsule::of(capsule);
        ++self.counts_[kSignals];
        self.ring_.commit();  // who is signalled finds what was emitted before
        if (self.signal_ != nullptr) self.signal_(self.signal_owner_, cause, reason);
      },
  };
  if (const char* why = module.create(&module, registers_, &services, &instance_)) {
    return fail(kInvalid, "the module '%s' does not start in the capsule '%s': %s", module.name,
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
  if (instance_ != nullptr) {
    if (record_ != nullptr) {
      const std::lock_guard lock(mutex_);
      publish_numbers();
    }
    entry_.module->destroy(instance_);
  }
}

int Capsule::begin() {
  if (observer_ == nullptr && substrata_observer_create(batch, this, 0, &observer_) != 0) {
    return fail(kNoMemory, "the capsule '%s' does not start: %s", name_.c_str(), substrata_feed_error());
  }
  {
    const std::lock_guard lock(mutex_);
    exact_ = true;
    take_registers();
  }
  for (const std::string& piece : split(probes_, ',')) {
    std::string pattern(trim(piece));
    int refused = substrata_subscribe(observer_, pattern.c_str());
    if (refused == kNoName && !pattern.empty()) {
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

void Capsule::end() noexcept { substrata_unsubscribe(observer_, nullptr); }

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

bool Capsule::accepts(uint16_t probe) {
  if (accepted_.size() <= probe) accepted_.resize(probe + 64u);
  if (accepted_[probe] == 0) {
    substrata_probe_info info{};
    info.struct_size = sizeof info;
    accepted_[probe] = substrata_probe_at(probe, &info) == 0 && matches(probes_, info.name) ? 2 : 1;
  }
  return accepted_[probe] == 2;
}

void Capsule::take_registers() noexcept {
  RingHeader& header = ring_.mapping().header();
  register_changes_ = header.register_changes.load(std::memory_order_acquire);
  const Module& module = *entry_.module;
  if (module.configure == nullptr) return;
  bool changed = false;
  for (uint32_t i = 0; i < module.register_count; ++i) {
    if (module.registers[i].live == 0) continue;
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

void Capsule::observe(const Transaction* batch, size_t count) noexcept {
  {
    const std::lock_guard lock(mutex_);
    try {
      if (!exact_ && !accepts(batch[0].probe)) return;
    } catch (...) {
      return;  // no memory to know whether it is for this capsule
    }
    if (ring_.mapping().header().register_changes.load(std::memory_order_acquire) != register_changes_) {
      take_registers();
    }
    entry_.module->observe(instance_, batch, count);
    counts_[kEventsSeen] += count;
    publish_numbers();
  }
  record_->tell_watchers();
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
  std::vector<monitor::Counter>& values = record_->values;
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
  {
    const std::lock_guard lock(mutex_);
    if (entry_.module->write_back != nullptr) entry_.module->write_back(instance_);
    publish_numbers();
  }
  record_->tell_watchers();
  return 0;
}

int Capsule::read_register(const char* name, uint64_t* value) {
  const Module& module = *entry_.module;
  for (uint32_t i = 0; i < module.register_count; ++i) {
    if (std::strcmp(module.registers[i].name, name) != 0) continue;
    *value = ring_.mapping().header().registers[i].value.load(std::memory_order_relaxed);
    return 0;
  }
  return fail(kNoName, "the module '%s' has no register '%.80s'", module.name, name);
}

int Capsule::write_register(const char* name, uint64_t value) {
  const Module& module = *entry_.module;
  for (uint32_t i = 0; i < module.register_count; ++i) {
    const Register& r = module.registers[i];
    if (std::strcmp(r.name, name) != 0) continue;
    if (value < r.least || value > r.most) {
      return fail(kInvalid, "register '%s' takes %llu to %llu", name,
                  static_cast<unsigned long long>(r.least), static_cast<unsigned long long>(r.most));
    }
    RingHeader& header = ring_.mapping().header();
    if (header.registers[i].live.load() == 0) {
      return fail(kConflict, "register '%s' of the module '%s' is fixed when its capsule is attached", name,
                  module.name);
    }
    header.registers[i].value.store(value);
    header.register_changes.fetch_add(1, std::memory_order_release);
    return 0;
  }
  return fail(kNoName, "the module '%s' has no register '%.80s'", module.name, name);
}

int Capsule::metric(const char* name, uint64_t* value) {
  const Module& module = *entry_.module;
  for (uint32_t i = 0; i < module.metric_count; ++i) {
    if (std::strcmp(module.metrics[i].name, name) != 0) continue;
    substrata_flush();
    const std::lock_guard lock(mutex_);
    module.read(instance_, metrics_);
    *value = metrics_[i];
    return 0;
  }
  return fail(kNoName, "the module '%s' has no metric '%.80s'", module.name, name);
}

void Capsule::statistics(substrata_owl_statistics* out) noexcept {
  substrata_flush();
  const std::lock_guard control(control_);
  const std::lock_guard lock(mutex_);
  out->running = users_ != 0 ? 1 : 0;
  out->events_seen = counts_[kEventsSeen];
  out->packets_injected = counts_[kPacketsInjected];
  out->bytes_injected = counts_[kBytesInjected];
  out->dropped = counts_[kDropped] + ring_.lost();
  out->near_full = counts_[kNearFull];
  out->signals = counts_[kSignals];
  out->cost = cost_;
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
