// The substrate `pcp`: metrics that this machine's Performance Co-Pilot daemon, pmcd, gives out, under PAPI's names.
#include <substrata/substrate.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/environment.hpp"
#include "base/fork_lock.hpp"
#include "base/guard.hpp"
#include "pcp/library.hpp"
#include "sysfs/sampled_slots.hpp"

namespace {

using namespace substrata;
using pcp::Atom;
using pcp::Library;

constexpr const char* kHere = "local:";        // pmcd's socket on this machine
constexpr const char* kMetrics = "perfevent";  // what PAPI's component lists
constexpr const char* kConfiguration = "/etc/pcp.conf";

ForkLock one_at_a_time;  // libpcp's current context is one of the thread's, its connection one of all

// One value of a metric: the metric's own, or one instance of it.
struct Source {
  uint32_t metric;
  int type;
  bool has_instances;
  int instance;
};

// The metrics' names below the wanted ones, as they are found.
void keep_name(const char* name, void* names) {
  guarded([&]() -> Status {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
    return kSuccess;
  });
}

// A connection to pmcd, made anew in a forked child, which must not talk through its parent's.
class Connection {
 public:
  Connection() noexcept = default;
  ~Connection() {
    if (context_ >= 0 && owner_ == getpid()) library.destroy_context(context_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // 0, or libpcp's error.
  int use() noexcept {
    if (context_ < 0 || owner_ != getpid()) {
      context_ = library.new_context(pcp::kHostContext, kHere);
      owner_ = getpid();
    }
    if (context_ < 0) return context_;
    const int answer = library.use_context(context_);
    return answer < 0 ? answer : 0;
  }

  Library library;

 private:
  int context_ = -1;
  pid_t owner_ = 0;
};

Status refused(const Library& library, const char* what, int answer) noexcept {
  return guarded([&] {
    return refuse(Code::kSystem, EIO, "pcp: %s: %s (is pmcd running? systemctl start pmcd)", what,
                  library.text(answer).c_str());
  });
}

class Sampler {
 public:
  Sampler() noexcept = default;
  explicit Sampler(Connection* connection) noexcept : connection_(connection) {}

  void add(const Source* source, const char* name, bool counts) {
    Selected one{source, name, counts, 0};
    while (one.at < metrics_.size() && metrics_[one.at] != source->metric) ++one.at;
    if (one.at == metrics_.size()) metrics_.push_back(source->metric);
    selected_.push_back(one);
  }

  uint32_t size() const noexcept { return static_cast<uint32_t>(selected_.size()); }
  bool counts(uint32_t i) const noexcept { return selected_[i].counts; }

  // One request to pmcd for all of them, so that the values are of one moment.
  Status sample(int64_t* raw) noexcept {
    if (metrics_.empty()) return kSuccess;
    const std::lock_guard alone(one_at_a_time);
    const Library& library = connection_->library;
    if (const int answer = connection_->use(); answer < 0)
      return refused(library, "no connection to this machine's pmcd", answer);
    pcp::Fetched* result = nullptr;
    if (const int answer = library.fetch(static_cast<int>(metrics_.size()), metrics_.data(), &result);
        answer < 0)
      return refused(library, "pmcd gives no values", answer);
    Status status;
    for (uint32_t i = 0; i < size() && status.ok(); ++i) status = take(*result, selected_[i], &raw[i]);
    library.free_result(result);
    return status;
  }

  Status growth(uint32_t i, int64_t from, int64_t to, int64_t* out) const noexcept {
    const Selected& one = selected_[i];
    *out = to - from;
    if (*out >= 0) return kSuccess;
    const bool narrow = one.source->type == pcp::kU32 || one.source->type == pcp::kI32;
    if (narrow && from - to > int64_t{1} << 31) {
      *out += int64_t{1} << 32;
      return kSuccess;
    }
    return refuse(Code::kCountersLost, "pcp: %s fell: its agent was started anew; start the set again",
                  one.name);
  }

 private:
  struct Selected {
    const Source* source;
    const char* name;
    bool counts;
    uint32_t at;  // in metrics_
  };

  Status take(const pcp::Fetched& result, const Selected& one, int64_t* out) const noexcept {
    const pcp::Values& values = *result.of[one.at];
    if (values.count < 0) return refused(connection_->library, one.name, values.count);
    for (int i = 0; i < values.count; ++i) {
      if (one.source->has_instances && values.value[i].instance != one.source->instance) continue;
      const int type = one.source->type;
      const int wanted = type == pcp::kFloat ? pcp::kDouble : type;
      Atom atom{};
      if (const int answer =
              connection_->library.extract(values.format, &values.value[i], type, &atom, wanted);
          answer < 0)
        return refused(connection_->library, one.name, answer);
      switch (wanted) {
        case pcp::kI32:
          // A counter of 32 bits is one without a sign.
          *out = one.counts ? static_cast<int64_t>(static_cast<uint32_t>(atom.i32)) : atom.i32;
          break;
        case pcp::kU32:
          *out = atom.u32;
          break;
        case pcp::kDouble:
          *out = std::bit_cast<int64_t>(atom.f64);
          break;
        default:
          *out = atom.i64;
          break;
      }
      return kSuccess;
    }
    return refuse_system(ENODEV, "pcp: %s has no value now: its instance has gone", one.name);
  }

  Connection* connection_ = nullptr;
  std::vector<Selected> selected_;
  std::vector<uint32_t> metrics_;
};

class Metrics : public sysfs::SampledDevice {
 public:
  using SampledDevice::SampledDevice;

  Status scan() {
    const std::lock_guard alone(one_at_a_time);
    const Library& library = connection_->library;
    std::string why;
    if (!connection_->library.load(sysfs::setting(host_, "PAPI_PCP_ROOT"), &why))
      return refuse(Code::kNoSupport, 0, why);
    if (const int answer = connection_->use(); answer < 0)
      return refused(library, "no connection to this machine's pmcd", answer);
    const char* const asked = sysfs::setting(host_, "SUBSTRATA_PCP_METRICS");
    std::string_view rest = asked == nullptr || *asked == '\0' ? kMetrics : asked;
    std::vector<std::string> names;
    while (!rest.empty()) {
      const std::string prefix(rest.substr(0, rest.find(',')));
      rest.remove_prefix(std::min(prefix.size() + 1, rest.size()));
      library.traverse(prefix.c_str(), keep_name, &names);
    }
    for (const std::string& name : names) add_metric(name);
    if (catalogue_.size() > 0) return kSuccess;
    return refuse(
        Code::kNoSupport,
        "pmcd has no metric below %s: install its agent (/var/lib/pcp/pmdas/perfevent/Install), or name "
        "others in SUBSTRATA_PCP_METRICS",
        asked == nullptr || *asked == '\0' ? kMetrics : asked);
  }

  Status select(const uint32_t* events, uint32_t count, Sampler* out) const {
    Sampler sampler(connection_.get());
    for (uint32_t i = 0; i < count; ++i) {
      const sysfs::CatalogueEntry& entry = catalogue_.entry(events[i]);
      sampler.add(sources_[events[i]].get(), entry.name.c_str(), entry.kind == ValueKind::kCount);
    }
    *out = std::move(sampler);
    return kSuccess;
  }

 private:
  // An event for the metric, or for each of its instances; none where its values are no numbers.
  void add_metric(const std::string& name) {
    const Library& library = connection_->library;
    const char* const names[] = {name.c_str()};
    uint32_t metric = 0;
    pcp::Description about{};
    if (library.look_up(1, const_cast<const char**>(names), &metric) < 0 ||
        library.describe(metric, &about) < 0 || about.type < pcp::kI32 || about.type > pcp::kDouble)
      return;
    std::string text = name;
    if (char* help = nullptr; library.help(metric, pcp::kOneLine, &help) == 0 && help != nullptr) {
      if (*help != '\0') text = help;
      std::free(help);
    }
    if (about.instances == pcp::kNoInstances) return add_event(name, text, about, 0);
    int* numbers = nullptr;
    char** of = nullptr;
    const int count = library.instances(about.instances, &numbers, &of);
    for (int i = 0; i < count; ++i) add_event(name + ":" + of[i], text + ", " + of[i], about, numbers[i]);
    if (count > 0) {
      std::free(numbers);
      std::free(of);
    }
  }

  void add_event(std::string name, std::string text, const pcp::Description& about, int instance) {
    const bool real = about.type == pcp::kFloat || about.type == pcp::kDouble;
    sysfs::CatalogueEntry entry;
    entry.name = std::move(name);
    entry.text = std::move(text);
    char unit[64] = "";
    entry.unit = connection_->library.unit(&about.units, unit, sizeof unit);
    // What is no whole number does not add up in an event's 64 bits: its level.
    entry.kind = about.semantics == pcp::kCounter && !real ? ValueKind::kCount : ValueKind::kGauge;
    entry.type = real ? ValueType::kDouble : ValueType::kInt64;
    entry.flags = kEventScopeNode;
    catalogue_.add(std::move(entry));
    sources_.push_back(std::make_unique<Source>(
        Source{about.metric, about.type, about.instances != pcp::kNoInstances, instance}));
  }

  std::unique_ptr<Connection> connection_ = std::make_unique<Connection>();
  std::vector<std::unique_ptr<Source>> sources_;
};

using Slots = sysfs::SampledSlots<Metrics, Sampler>;

void close(Device* device) noexcept {
  const std::lock_guard alone(one_at_a_time);
  Slots::close(device);
}

Status detect(const Host* host) noexcept {
  return guarded([&]() -> Status {
    const char* const folder = sysfs::setting(*host, "PAPI_PCP_ROOT");
    const bool chosen = folder != nullptr && *folder != '\0';
    if (!chosen && *host->root != '\0')
      return {Code::kNoSupport, 0, "pmcd knows this machine, not a recorded one (SUBSTRATA_ROOT)"};
    if (environment_misleads("PCP_"))
      return {Code::kNoSupport, 0,
              "the program runs with raised rights, and libpcp would follow its PCP_... variables"};
    // libpcp ends a process that it finds no configuration for.
    const char* const named = sysfs::setting(*host, "PCP_CONF");
    if (const std::string file = named != nullptr ? named : sysfs::below_root(*host, kConfiguration);
        access(file.c_str(), R_OK) != 0)
      return refuse(Code::kNoSupport,
                    "Performance Co-Pilot is not installed: no %s (apt install pcp, or dnf install pcp)",
                    file.c_str());
    Library library;
    std::string why;
    if (!library.load(folder, &why)) return refuse(Code::kNoSupport, 0, why);
    return kSuccess;
  });
}

constexpr SubstrateTable kTable = Slots::table({
    .name = "pcp",
    .summary = "Metrics of Performance Co-Pilot's daemon on this machine",
    .version = "1.0",
    .traits = kReadBlocks,
    .read_bound_ns = 10'000'000'000,
    .detect = detect,
    .close = close,
    .event_names = "perfevent.*",
});

}  // namespace

SUBSTRATA_PUBLISH(pcp, kTable);
