// The numbers of capsules by name, which outlive them, and how a capsule comes to its name.
#include <substrata/result.hpp>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/glob.hpp"
#include "base/immortal.hpp"
#include "base/parse.hpp"
#include "owl/capsule.hpp"
#include "owl/objects.hpp"

namespace substrata::owl {
namespace {

constexpr uint64_t kLeastRingBytes = 4096;
constexpr uint64_t kMostRingBytes = uint64_t{1} << 34;
constexpr size_t kLongestName = 60;

struct Records {
  std::mutex mutex;
  std::vector<std::shared_ptr<CapsuleRecord>> all;
};
// Kept to the end of the process: static destructors of programs may still read. Making them needs no memory.
Records& all_records() noexcept {
  static Immortal<Records> made;
  return *made;
}

// Those of machine models, recorded traces and tests are not measured here.
std::set<std::string, std::less<>> measured_sources() {
  std::set<std::string, std::less<>> found;
  auto info = client::sized<substrata_source_info>();
  for (uint32_t i = 0; substrata_source_at(i, &info) == 0; ++i) {
    const bool real = info.time_base == SUBSTRATA_TIME_NONE || info.time_base == SUBSTRATA_TIME_REAL;
    if (info.kind == SUBSTRATA_SOURCE_LIVE && real) found.emplace(info.name);
  }
  return found;
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

bool CapsuleRecord::measured() {
  const std::lock_guard lock(life);
  const auto sources = measured_sources();
  auto info = client::sized<substrata_probe_info>();
  for (const std::string& piece : split(probes, ',')) {
    const std::string pattern(trimmed(piece));
    bool found = false;
    for (uint32_t i = 0; i < substrata_probe_count(); ++i) {
      if (substrata_probe_at(i, &info) != 0 || !glob(pattern, info.name)) continue;
      if (!sources.contains(std::string_view(info.source))) return false;
      found = true;
    }
    // Whose probe points will match is not known.
    const std::string_view place = std::string_view(pattern).substr(0, pattern.find('.'));
    if (!found || place.find_first_of("*?") != std::string_view::npos) return false;
  }
  return true;
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
  // The last one: a module may have been replaced.
  for (auto each = all.all.rbegin(); each != all.all.rend(); ++each) {
    if ((*each)->name == capsule && module == (*each)->entry->module->name) return *each;
  }
  return nullptr;
}

int attach_capsule(const substrata_owl_capsule_options& options, Capsule** out, bool kept) {
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
    return fail(Code::kInvalid, "'%.80s' is not a name for a capsule: letters, digits and _.-*? up to %zu",
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
  observe_objects();

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
    if (kept) record->kept_ring = capsule->ring_path();
    all.all.push_back(record);
  }
  const std::lock_guard life(record->life);
  if (record->capsule != nullptr) {
    return fail(Code::kConflict, "there is a capsule '%s' with the module '%s' already", name.c_str(),
                entry->module->name);
  }
  for (const counting::Counter& value : record->values) capsule->base_.push_back(value.value());
  record->probes = options.probes;
  record->capsule = capsule.get();
  ++record->generation;
  capsule->record_ = record;
  *out = capsule.release();
  return 0;
}

}  // namespace substrata::owl
