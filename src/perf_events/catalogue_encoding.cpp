// Turns the names of events into what perf_event_open needs: generic, raw, of tracefs, of sysfs, of libpfm4.
#include <algorithm>
#include <string>
#include <utility>

#include "base/parse.hpp"
#include "perf_events/catalogue.hpp"

namespace substrata::perf {
namespace {

bool starts_with_name(std::string_view text, std::string_view start) {
  return text.size() >= start.size() && same_name(text.substr(0, start.size()), start);
}

// What the core PMUs' own tables call a generic event (x86 hybrids first, then ARMv8's PMUv3).
const char* const* sysfs_names(uint64_t config) {
  static const char* const kCycles[] = {"cpu-cycles", "cpu_cycles", nullptr};
  static const char* const kInstructions[] = {"instructions", "inst_retired", nullptr};
  static const char* const kReferences[] = {"cache-references", "l1d_cache", nullptr};
  static const char* const kMisses[] = {"cache-misses", "l1d_cache_refill", nullptr};
  static const char* const kBranches[] = {"branch-instructions", "br_retired", "pc_write_retired", nullptr};
  static const char* const kBranchMisses[] = {"branch-misses", "br_mis_pred", nullptr};
  static const char* const kBusCycles[] = {"bus-cycles", "bus_cycles", nullptr};
  static const char* const kNone[] = {nullptr};
  switch (config) {
    case PERF_COUNT_HW_CPU_CYCLES:
      return kCycles;
    case PERF_COUNT_HW_INSTRUCTIONS:
      return kInstructions;
    case PERF_COUNT_HW_CACHE_REFERENCES:
      return kReferences;
    case PERF_COUNT_HW_CACHE_MISSES:
      return kMisses;
    case PERF_COUNT_HW_BRANCH_INSTRUCTIONS:
      return kBranches;
    case PERF_COUNT_HW_BRANCH_MISSES:
      return kBranchMisses;
    case PERF_COUNT_HW_BUS_CYCLES:
      return kBusCycles;
    default:
      return kNone;
  }
}

bool parse_raw(std::string_view text, uint64_t* config) {
  if (text.size() < 2 || (text[0] != 'r' && text[0] != 'R') || text.size() > 17) return false;
  text.remove_prefix(1);
  return leading_number(text, config, 16) == text.size();
}

bool safe_path_part(std::string_view text) {
  return !text.empty() && text.front() != '.' && text.find('/') == std::string_view::npos;
}

}  // namespace

void Catalogue::encode_generic(const GenericEvent& event, Encoding* out) {
  Leg leg;
  leg.attr = blank_attr();
  leg.attr.type = event.type;
  leg.attr.config = event.config;
  if (event.type == PERF_TYPE_SOFTWARE) {
    out->kernel_side = event.kernel_side;
    out->legs.assign(1, leg);
    return;
  }
  leg.pmu_class = kCoreClass;
  std::vector<const Pmu*> cores;
  for (const Pmu& pmu : pmus())
    if (pmu.core) cores.push_back(&pmu);
  if (cores.size() < 2) {
    out->legs.assign(1, leg);
    return;
  }
  for (const Pmu* pmu : cores) {  // a hybrid processor: one descriptor a core type
    Leg one = leg;
    one.pmu_class = class_of(*pmu);
    one.attr.config |= static_cast<uint64_t>(pmu->type) << 32;  // the extended type, Linux 5.13
    if (event.type == PERF_TYPE_HARDWARE) {
      for (const char* const* name = sysfs_names(event.config); *name != nullptr; ++name) {
        if (pmu->events.find(*name) == pmu->events.end()) continue;
        std::string error;
        if (const auto words = encode_terms(*pmu, *name, &error)) {
          one.attr.type = pmu->type;
          one.attr.config = words->word[0];
          one.attr.config1 = words->word[1];
          one.attr.config2 = words->word[2];
          break;
        }
      }
    }
    out->legs.push_back(one);
  }
}

Code Catalogue::encode_tracepoint(std::string_view name, Encoding* out, std::string* error) {
  const size_t colon = name.find(':');
  std::string_view system = name.substr(0, colon), event = name.substr(colon + 1);
  std::string_view qualifiers;
  if (const size_t second = event.find(':'); second != std::string_view::npos) {
    qualifiers = event.substr(second + 1);
    event = event.substr(0, second);
  }
  if (!safe_path_part(system) || !safe_path_part(event)) return Code::kNoEvent;
  for (const char* mount : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    const std::string path =
        root_ + mount + "/events/" + std::string(system) + "/" + std::string(event) + "/id";
    const std::optional<std::string> id = read_line(path);
    if (!id) continue;
    Leg leg;
    leg.attr = blank_attr();
    leg.attr.type = PERF_TYPE_TRACEPOINT;
    uint64_t number = 0;
    if (!parse_number(std::string_view(*id), &number)) continue;
    leg.attr.config = number;
    out->legs.assign(1, leg);
    out->kernel_side = true;
    return apply_qualifiers(qualifiers, false, out, error) ? Code::kOk : Code::kAttribute;
  }
  *error =
      "no event or readable tracepoint of this name; tracepoints need tracefs "
      "(mount -t tracefs tracefs /sys/kernel/tracing) and the right to read it";
  return Code::kNoEvent;
}

// "pmu/terms/", "pmu/terms/uk", "pmu/terms/:k=1"; the PMU "core" stands for every core PMU.
Code Catalogue::encode_sysfs(std::string_view name, Encoding* out, std::string* unit, std::string* error) {
  const size_t slash = name.find('/');
  const std::string_view pmu_name = name.substr(0, slash);
  std::string_view terms = name.substr(slash + 1), modifiers;
  if (const size_t end = terms.find('/'); end != std::string_view::npos) {
    modifiers = terms.substr(end + 1);
    terms = terms.substr(0, end);
  }
  bool known = false;
  for (const Pmu& pmu : pmus()) {
    const bool wanted = pmu.name == pmu_name || (pmu_name == "core" && pmu.core) ||
                        (pmu_name == "cpu" && pmu.core && pmu.name.starts_with("cpu_"));
    if (!wanted) continue;
    known = true;
    if (!belongs_here(pmu)) {
      *error = "PMU " + pmu.name + " is counted by the substrate " +
               (kind_ == PmuKind::kCore ? "perf_event_uncore" : "perf_event");
      continue;
    }
    Leg leg;
    leg.attr = blank_attr();
    leg.attr.type = pmu.type;
    leg.pmu_class = class_of(pmu);
    std::optional<ConfigWords> words = encode_terms(pmu, terms, error);
    if (!words && pmu.core) {  // perf's spelling of a generic event on one core type: cpu_atom/cycles/
      if (const GenericEvent* generic = find_generic(terms);
          generic != nullptr && generic->type != PERF_TYPE_SOFTWARE) {
        leg.attr.type = generic->type;
        words = ConfigWords{{generic->config | static_cast<uint64_t>(pmu.type) << 32, 0, 0}};
      }
    }
    if (!words) continue;
    leg.attr.config = words->word[0];
    leg.attr.config1 = words->word[1];
    leg.attr.config2 = words->word[2];
    if (kind_ == PmuKind::kUncore) {  // driver-wide counters know no modes; one descriptor a socket
      leg.attr.exclude_kernel = leg.attr.exclude_hv = 0;
      out->explicit_domain = true;
      for (const int cpu : pmu.cpumask) {
        leg.cpu = cpu;
        out->legs.push_back(leg);
      }
    } else {
      if (leg.pmu_class == kSoftwareClass) {  // the msr driver refuses any exclusion
        leg.attr.exclude_kernel = leg.attr.exclude_hv = 0;
        out->explicit_domain = true;
      }
      out->legs.push_back(leg);
    }
    if (const auto found = pmu.units.find(std::string(terms)); found != pmu.units.end())
      *unit = found->second;
  }
  if (out->legs.empty()) {
    if (!known)
      *error = "the kernel has no PMU '" + std::string(pmu_name) + "'; see /sys/bus/event_source/devices";
    return Code::kNoEvent;
  }
  if (modifiers.starts_with(':')) modifiers.remove_prefix(1);
  std::string spelled(modifiers);
  if (!modifiers.empty() && modifiers.find_first_not_of("ukh") == std::string_view::npos) {  // perf's "uk"
    spelled.clear();
    for (const char c : modifiers) spelled += std::string(spelled.empty() ? "" : ":") + c;
  }
  if (!apply_qualifiers(spelled, false, out, error)) return Code::kAttribute;
  if (kind_ == PmuKind::kUncore && out->fixed_cpu) {  // one socket of those it was spread over
    std::vector<Leg> once;
    for (const Leg& leg : out->legs)
      if (std::none_of(once.begin(), once.end(),
                       [&leg](const Leg& other) { return same_counter(other, leg); }))
        once.push_back(leg);
    out->legs = std::move(once);
  }
  return Code::kOk;
}

// Uncore counters know no modes, and each socket has its own: one descriptor a processor of the PMU's mask.
void Catalogue::spread_over_sockets(Encoding* encoding) {
  std::vector<Leg> spread;
  for (Leg leg : encoding->legs) {
    if (leg.cpu >= 0) encoding->fixed_cpu = true;
    leg.attr.exclude_user = leg.attr.exclude_kernel = leg.attr.exclude_hv = 0;
    std::vector<int> cpus{leg.cpu < 0 ? 0 : leg.cpu};
    for (const Pmu& pmu : pmus())
      if (leg.cpu < 0 && pmu.type == leg.attr.type && !pmu.cpumask.empty()) cpus = pmu.cpumask;
    for (const int cpu : cpus) {
      leg.cpu = cpu;
      spread.push_back(leg);
    }
  }
  encoding->legs = std::move(spread);
  encoding->explicit_domain = true;
}

void Catalogue::add_user_access(Encoding* encoding) {
  for (Leg& leg : encoding->legs) {
    if (leg.pmu_class == kSoftwareClass) continue;
    for (const Pmu& pmu : pmus()) {
      if (!pmu.core || (leg.pmu_class != kCoreClass && leg.pmu_class != class_of(pmu))) continue;
      const auto field = pmu.format.find("rdpmc");
      if (field != pmu.format.end() && field->second.word == 1)
        leg.user_access = uint64_t{1} << field->second.ranges.front().low;
    }
  }
}

// Code::kOk and *out filled; *canonical is the name the event is listed under.
Code Catalogue::encode_name(std::string_view name, Encoding* out, std::string* canonical, std::string* unit,
                            std::string* error) {
  *canonical = std::string(name);
  if (name.empty()) {
    *error = "an empty event name";
    return Code::kNoEvent;
  }
  if (name.back() == ':') {
    *error = "'" + std::string(name) + "' ends in a colon with nothing behind it";
    return Code::kAttribute;
  }
  if (kind_ == PmuKind::kCore) {
    if (same_name(name, kTicksName) && kernel_.ticks != nullptr) {
      out->ticks = true;
      *canonical = kTicksName;
      return Code::kOk;
    }
    const bool prefixed = starts_with_name(name, kPerfPrefix);
    const std::string_view rest = prefixed ? name.substr(kPerfPrefix.size()) : name;
    const size_t colon = rest.find(':');
    const std::string_view base = rest.substr(0, colon);
    if (const GenericEvent* event = find_generic(base)) {
      encode_generic(*event, out);
      *unit = event->unit;
      *canonical = std::string(kPerfPrefix) + event->name;
      if (colon == std::string_view::npos) return Code::kOk;
      *canonical += rest.substr(colon);
      return apply_qualifiers(rest.substr(colon + 1), event->cache_umasks, out, error) ? Code::kOk
                                                                                       : Code::kAttribute;
    }
    if (prefixed) {
      if (colon == std::string_view::npos) {
        *error = "the kernel has no generic event '" + std::string(base) + "'";
        return Code::kNoEvent;
      }
      return encode_tracepoint(rest, out, error);
    }
    const bool raw_prefixed = starts_with_name(name, kRawPrefix);
    const std::string_view raw = raw_prefixed ? name.substr(kRawPrefix.size()) : name;
    const size_t raw_colon = raw.find(':');
    uint64_t config = 0;
    if (parse_raw(raw.substr(0, raw_colon), &config)) {
      Leg leg;
      leg.attr = blank_attr();
      leg.attr.type = PERF_TYPE_RAW;
      leg.attr.config = config;
      leg.pmu_class = kCoreClass;
      out->legs.assign(1, leg);
      *canonical = std::string(kRawPrefix) + std::string(raw);
      if (raw_colon == std::string_view::npos) return Code::kOk;
      return apply_qualifiers(raw.substr(raw_colon + 1), false, out, error) ? Code::kOk : Code::kAttribute;
    }
    if (raw_prefixed) {
      *error = "a raw code is written r and at most 16 hexadecimal digits, as in perf_raw::r01c2";
      return Code::kNoEvent;
    }
  }
  if (name.find('/') != std::string_view::npos) return encode_sysfs(name, out, unit, error);

  std::string from_table;
  const Code code = encoder_->encode(std::string(name), out, &from_table);
  if (code == Code::kOk) {
    if (kind_ == PmuKind::kUncore) spread_over_sockets(out);
    if (kind_ == PmuKind::kCore) {  // the default PMU's events are listed without its name
      const std::vector<std::string> names = encoder_->pmus();
      if (!names.empty() && starts_with_name(name, names.front() + "::"))
        *canonical = std::string(name.substr(names.front().size() + 2));
    }
    return Code::kOk;
  }
  *error = from_table;
  if (code == Code::kAttribute) return code;

  // A name that only the kernel's tables know: "inst_retired" of a core PMU, "msr::tsc".
  out->legs.clear();
  if (const size_t two = name.find("::"); two != std::string_view::npos) {
    const std::string spelled =
        std::string(name.substr(0, two)) + "/" + std::string(name.substr(two + 2)) + "/";
    std::string ignored;
    if (encode_sysfs(spelled, out, unit, &ignored) == Code::kOk) {
      *canonical = spelled;
      return Code::kOk;
    }
  } else if (kind_ == PmuKind::kCore) {
    const size_t colon = name.find(':');
    const std::string event(name.substr(0, colon));
    for (const Pmu& pmu : pmus()) {
      if (!pmu.core || pmu.events.find(event) == pmu.events.end()) continue;
      const std::string qualifiers(colon == std::string_view::npos ? "" : name.substr(colon));
      const std::string spelled = "core/" + event + "/" + qualifiers;
      const Code from_sysfs = encode_sysfs(spelled, out, unit, error);
      if (from_sysfs == Code::kOk) *canonical = spelled;
      return from_sysfs;
    }
    if (colon != std::string_view::npos && name.find('=') == std::string_view::npos) {
      std::string from_tracefs;
      if (encode_tracepoint(name, out, &from_tracefs) == Code::kOk) {
        *canonical = std::string(kPerfPrefix) + std::string(name);
        return Code::kOk;
      }
      if (name.find("::") == std::string_view::npos && !from_tracefs.empty()) *error += "; " + from_tracefs;
    }
  }
  out->legs.clear();
  return Code::kNoEvent;
}

}  // namespace substrata::perf
