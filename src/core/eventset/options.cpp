// The defaults behind PAPI_set_opt and PAPI_get_opt.
#include "core/eventset/options.hpp"

#include <signal.h>
#include <sys/time.h>

#include <atomic>
#include <map>
#include <mutex>

#include "base/immortal.hpp"
#include "base/log.hpp"
#include "core/eventset/library.hpp"

namespace substrata {
namespace {

constexpr uint64_t kDefaultMultiplexNs = 10'000'000;
constexpr int64_t kDefaultTimerNs = 10'000'000;
constexpr uint32_t kAllGranularities = kGranularityThread | kGranularityProcess | kGranularityProcessGroup |
                                       kGranularitySystem | kGranularitySystemCpu;

struct Options {
  ForkLock lock;
  std::map<int, uint32_t> domain;  // by component, where set
  std::map<int, uint32_t> granularity;
  uint64_t multiplex_ns = kDefaultMultiplexNs;
  TimerOption timer{ITIMER_PROF, SIGPROF, kDefaultTimerNs, 0};
  std::string user_events_file;
  std::atomic<int> debug_level{0};
  std::atomic<DebugHandler> debug_handler{nullptr};
};

Options& options() {
  static Immortal<Options> all;
  return *all;
}

Result<Component*> component_at(int index) {
  if (const Status status = Library::instance().require_initialised(); !status.ok()) return status;
  Component* component = Library::instance().registry().at(index);
  if (component == nullptr) return refuse(Code::kNoComponent, "there is no component number %d", index);
  return component;
}

// What was set for a component, or what its own table says.
Result<uint32_t> chosen_or_own(const std::map<int, uint32_t>& chosen, uint32_t SubstrateTable::*own,
                               int index) {
  const Result<Component*> component = component_at(index);
  if (!component) return component.error();
  const std::lock_guard guard(options().lock);
  const auto found = chosen.find(index);
  return found != chosen.end() ? found->second : (*component)->table().*own;
}

}  // namespace

void reset_options() {
  Options& all = options();
  const std::lock_guard guard(all.lock);
  all.domain.clear();
  all.granularity.clear();
  all.multiplex_ns = kDefaultMultiplexNs;
  all.timer = {ITIMER_PROF, SIGPROF, kDefaultTimerNs, 0};
  all.user_events_file.clear();
}

Status set_default_domain(uint32_t domain, int index) {
  const Result<Component*> component = component_at(index);
  if (!component) return component.error();
  const SubstrateTable& table = (*component)->table();
  const uint32_t known = known_domain(table, domain);
  if (known == 0)
    return refuse(is_domain(domain) ? Code::kNoSupport : Code::kInvalid,
                  "%s has domains 0x%x; 0x%x was asked for", table.name, table.domains, domain);
  const std::lock_guard guard(options().lock);
  options().domain[index] = known;
  return kSuccess;
}

Status set_default_granularity(uint32_t granularity, int index) {
  const Result<Component*> component = component_at(index);
  if (!component) return component.error();
  const SubstrateTable& table = (*component)->table();
  const bool single = granularity != 0 && (granularity & (granularity - 1)) == 0;
  if (!single || (granularity & kAllGranularities & table.granularities) == 0)
    return refuse(Code::kInvalid, "%s has granularities 0x%x; 0x%x was asked for", table.name,
                  table.granularities, granularity);
  const std::lock_guard guard(options().lock);
  options().granularity[index] = granularity;
  return kSuccess;
}

Result<uint32_t> default_domain(int index) {
  return chosen_or_own(options().domain, &SubstrateTable::default_domain, index);
}

Result<uint32_t> default_granularity(int index) {
  return chosen_or_own(options().granularity, &SubstrateTable::default_granularity, index);
}

uint64_t default_multiplex_ns() noexcept {
  const std::lock_guard guard(options().lock);
  return options().multiplex_ns;
}

Status set_default_multiplex_ns(uint64_t ns) {
  if (const Status status = Library::instance().require_initialised(); !status.ok()) return status;
  if (ns == 0) return refuse(Code::kInvalid, "the multiplex period must be positive");
  const std::lock_guard guard(options().lock);
  options().multiplex_ns = ns;
  return kSuccess;
}

TimerOption default_timer() noexcept {
  const std::lock_guard guard(options().lock);
  return options().timer;
}

Status set_default_timer(const TimerOption& option) {
  if (const Status status = Library::instance().require_initialised(); !status.ok()) return status;
  const bool known = (option.timer == ITIMER_REAL && option.signal == SIGALRM) ||
                     (option.timer == ITIMER_VIRTUAL && option.signal == SIGVTALRM) ||
                     (option.timer == ITIMER_PROF && option.signal == SIGPROF);
  if (!known)
    return refuse(Code::kInvalid,
                  "timer %d does not give signal %d; ITIMER_REAL gives SIGALRM, ITIMER_VIRTUAL SIGVTALRM, "
                  "ITIMER_PROF SIGPROF",
                  option.timer, option.signal);
  if (option.ns <= 0)
    return refuse(Code::kInvalid, "the timer period must be positive, not %ld ns",
                  static_cast<long>(option.ns));
  const std::lock_guard guard(options().lock);
  options().timer = option;
  return kSuccess;
}

Status set_default_timer_ns(int64_t ns) {
  TimerOption option = default_timer();
  option.ns = ns;
  return set_default_timer(option);
}

namespace {

Result<int> counters(int index, uint32_t SubstrateTable::*limit) {
  Component* component = Library::instance().registry().at(index);
  if (component == nullptr) return refuse(Code::kComponent, "there is no component number %d", index);
  if (const Status status = Library::instance().require_initialised(); !status.ok()) return status;
  if (component->disabled() != 0) return 0;
  const uint32_t most = component->table().*limit;
  const uint32_t events = Library::instance().catalogue().native_count(index);
  return static_cast<int>(events == 0 ? 0 : most);
}

}  // namespace

Result<int> counters_of_component(int index) {
  const Result<int> most = counters(index, &SubstrateTable::max_events);
  if (!most || *most == 0) return most;
  Component& component = *Library::instance().registry().at(index);
  HardwareCountersSlot* const counted = component.table().hardware_counters;
  return counted != nullptr ? static_cast<int>(counted(component.device())) : *most;
}

bool reads_fast(int index) {
  Component* component = Library::instance().registry().at(index);
  if (component == nullptr || !component->has(kFastRead)) return false;
  if (!Library::instance().initialised() || component->disabled() != 0) return false;
  return component->table().fast_reads(component->device());
}
uint32_t countable_domains(int index) {
  Component* component = Library::instance().registry().at(index);
  if (component == nullptr) return 0;
  const SubstrateTable& table = component->table();
  const bool opened = Library::instance().initialised() && component->disabled() == 0;
  return opened && table.countable_domains != nullptr
             ? table.countable_domains(component->device()) & table.domains
             : table.domains;
}
Result<int> multiplex_counters_of_component(int component) {
  return counters(component, &SubstrateTable::max_multiplexed);
}

Status set_debug_level(int level) {
  if (level < 0 || level > 2) return refuse(Code::kInvalid, "debug levels are 0 to 2, not %d", level);
  options().debug_level.store(level, std::memory_order_relaxed);
  return kSuccess;
}
int debug_level() noexcept { return options().debug_level.load(std::memory_order_relaxed); }
void set_debug_handler(DebugHandler handler) noexcept {
  options().debug_handler.store(handler, std::memory_order_release);
}
DebugHandler debug_handler() noexcept { return options().debug_handler.load(std::memory_order_acquire); }

Status set_user_events_file(const std::string& path) {
  if (const Status status =
          Library::instance().catalogue().load_user_events(path, Catalogue::BadLines::kRefuseFile);
      !status.ok())
    return status;
  const std::lock_guard guard(options().lock);
  options().user_events_file = path;
  return kSuccess;
}

void take_user_events_file(const std::string& path) {
  const Status status =
      Library::instance().catalogue().load_user_events(path, Catalogue::BadLines::kLeaveOut);
  if (!status.ok()) log_line(kLogApi, "%s", status.note);
  const std::lock_guard guard(options().lock);
  options().user_events_file = path;
}

std::string user_events_file() {
  const std::lock_guard guard(options().lock);
  return options().user_events_file;
}

}  // namespace substrata
