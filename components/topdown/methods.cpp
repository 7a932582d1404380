// Recognises Intel's performance metrics, Arm's and AMD's counters of slots, and computes the shares from them.
#include "topdown/methods.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/parse.hpp"
#include "perf_events/device_files.hpp"
#include "perf_events/encoding.hpp"

namespace substrata::topdown {
namespace {

using perf::Pmu;

bool part(double slots, double all, double* out) noexcept {
  *out = all > 0 ? 100 * slots / all : 0;
  return all > 0;
}

// Intel: slots and the performance metrics, each in slots as the kernel gives them (Linux, tools/perf/Documentation/
// topdown.txt); level 2 since Sapphire Rapids and on performance cores.
enum IntelCounter : uint32_t {
  kSlots,
  kRetiring,
  kBadSpec,
  kFront,
  kBack,
  kHeavy,
  kMispredict,
  kLatency,
  kMemory
};
constexpr const char* kIntelEvents[] = {"slots",
                                        "topdown-retiring",
                                        "topdown-bad-spec",
                                        "topdown-fe-bound",
                                        "topdown-be-bound",
                                        "topdown-heavy-ops",
                                        "topdown-br-mispredict",
                                        "topdown-fetch-lat",
                                        "topdown-mem-bound"};
constexpr uint32_t kIntelFirstLevel = kBack + 1;

constexpr uint32_t bit(uint32_t counter) { return 1u << counter; }

template <uint32_t counter>
bool intel(const double* grown, double, double* out) noexcept {
  return part(grown[counter], grown[kSlots], out);
}
template <uint32_t whole, uint32_t counter>
bool intel_rest(const double* grown, double, double* out) noexcept {
  return part(grown[whole] - grown[counter], grown[kSlots], out);
}

constexpr Share kIntelShares[] = {
    {"TOPDOWN_RETIRING_PERC", "slots whose operations retired", bit(kRetiring), intel<kRetiring>},
    {"TOPDOWN_BAD_SPEC_PERC", "slots lost to wrong speculation", bit(kBadSpec), intel<kBadSpec>},
    {"TOPDOWN_FE_BOUND_PERC", "slots that the front end left empty", bit(kFront), intel<kFront>},
    {"TOPDOWN_BE_BOUND_PERC", "slots that waited for execution or memory", bit(kBack), intel<kBack>},
    {"TOPDOWN_HEAVY_OPS_PERC", "slots of instructions of several operations", bit(kHeavy), intel<kHeavy>},
    {"TOPDOWN_BR_MISPREDICT_PERC", "slots lost to mispredicted branches", bit(kMispredict),
     intel<kMispredict>},
    {"TOPDOWN_FETCH_LAT_PERC", "slots left empty by late fetches", bit(kLatency), intel<kLatency>},
    {"TOPDOWN_MEM_BOUND_PERC", "slots that waited for memory", bit(kMemory), intel<kMemory>},
    {"TOPDOWN_LIGHT_OPS_PERC", "slots of instructions of one operation", bit(kRetiring) | bit(kHeavy),
     intel_rest<kRetiring, kHeavy>},
    {"TOPDOWN_MACHINE_CLEARS_PERC", "slots lost to machine clears", bit(kBadSpec) | bit(kMispredict),
     intel_rest<kBadSpec, kMispredict>},
    {"TOPDOWN_FETCH_BAND_PERC", "slots left empty by a narrow front end", bit(kFront) | bit(kLatency),
     intel_rest<kFront, kLatency>},
    {"TOPDOWN_CORE_BOUND_PERC", "slots that waited for execution units", bit(kBack) | bit(kMemory),
     intel_rest<kBack, kMemory>},
};
constexpr uint32_t kIntelFirstShares = 4;

// Arm: Linux, tools/perf/pmu-events/arch/arm64/sbsa.json, after Arm's base system architecture.
enum ArmCounter : uint32_t { kArmCycles, kStall, kStallFront, kStallBack, kArmRetired, kSpeculated };
constexpr uint64_t kArmEvents[] = {0x11, 0x3f, 0x3e, 0x3d, 0x3a, 0x3b};
constexpr const char* kArmStall = "stall_slot";

bool arm_used(const double* grown, double width, double* out) noexcept {
  const double slots = width * grown[kArmCycles];
  if (slots <= 0) return false;
  *out = 1 - grown[kStall] / slots;
  return true;
}
bool arm_retiring(const double* grown, double width, double* out) noexcept {
  double used = 0;
  if (!arm_used(grown, width, &used)) return false;
  return part(grown[kArmRetired] * used, std::max(grown[kSpeculated], 1.0), out);
}
bool arm_bad(const double* grown, double width, double* out) noexcept {
  double used = 0;
  if (!arm_used(grown, width, &used)) return false;
  const double speculated = std::max(grown[kSpeculated], 1.0);
  return part((speculated - grown[kArmRetired]) * used, speculated, out);
}
template <uint32_t counter>
bool arm_stall(const double* grown, double width, double* out) noexcept {
  return part(grown[counter], width * grown[kArmCycles], out);
}

constexpr uint32_t kArmOperations = bit(kStall) | bit(kArmRetired) | bit(kSpeculated);
constexpr Share kArmShares[] = {
    {"TOPDOWN_RETIRING_PERC", "slots whose operations retired", kArmOperations, arm_retiring},
    {"TOPDOWN_BAD_SPEC_PERC", "slots lost to wrong speculation", kArmOperations, arm_bad},
    {"TOPDOWN_FE_BOUND_PERC", "slots that the front end left empty", bit(kStallFront),
     arm_stall<kStallFront>},
    {"TOPDOWN_BE_BOUND_PERC", "slots that waited for execution or memory", bit(kStallBack),
     arm_stall<kStallBack>},
};

// AMD, Zen 4 and 5: Linux, tools/perf/pmu-events/arch/x86/amdzen4/pipeline.json, after AMD's processor programming
// reference. Codes as in config: event bits 0-7 and 32-35, unit mask 8-15.
enum ZenCounter : uint32_t { kZenCycles, kNoFront, kNoBack, kDispatched, kZenRetired };
constexpr uint64_t kZenEvents[] = {0x76, 0x1000001a0, 0x100001ea0, 0x7aa, 0xc1};

bool zen_bad(const double* grown, double width, double* out) noexcept {
  return part(grown[kDispatched] - grown[kZenRetired], width * grown[kZenCycles], out);
}
template <uint32_t counter>
bool zen(const double* grown, double width, double* out) noexcept {
  return part(grown[counter], width * grown[kZenCycles], out);
}

constexpr Share kZenShares[] = {
    {"TOPDOWN_RETIRING_PERC", "slots whose operations retired", bit(kZenRetired), zen<kZenRetired>},
    {"TOPDOWN_BAD_SPEC_PERC", "slots lost to wrong speculation", bit(kDispatched) | bit(kZenRetired),
     zen_bad},
    {"TOPDOWN_FE_BOUND_PERC", "slots that the front end left empty", bit(kNoFront), zen<kNoFront>},
    {"TOPDOWN_BE_BOUND_PERC", "slots that waited for execution or memory", bit(kNoBack), zen<kNoBack>},
};

perf_event_attr counter_of(const Pmu& pmu, uint64_t config) {
  perf_event_attr attr = perf::blank_attr();
  attr.type = pmu.type;
  attr.config = config;
  return attr;
}

std::optional<Method> intel_method(const Pmu& pmu) {
  if (pmu.events.count("slots") == 0 || pmu.events.count("topdown-retiring") == 0) return std::nullopt;
  Method method;
  method.source = "Intel's performance metrics";
  for (const char* const name : kIntelEvents) {
    std::string error;
    const auto words = perf::encode_terms(pmu, name, &error);
    if (!words) break;
    method.counters.push_back(counter_of(pmu, words->word[0]));
  }
  if (method.counters.size() < kIntelFirstLevel) return std::nullopt;
  const bool both = method.counters.size() == std::size(kIntelEvents);
  if (!both) method.counters.resize(kIntelFirstLevel);
  method.shares.assign(kIntelShares, both ? std::end(kIntelShares) : kIntelShares + kIntelFirstShares);
  method.width = 1;
  return method;
}

std::optional<Method> arm_method(const Pmu& pmu, const std::string& root) {
  if (pmu.events.count(kArmStall) == 0) return std::nullopt;
  const std::string slots =
      perf::read_line(root + "/sys/bus/event_source/devices/" + pmu.name + "/caps/slots").value_or("");
  unsigned long width = 0;
  if (!parse_number(trimmed(slots), &width) || width == 0) return std::nullopt;
  Method method;
  method.source = "Arm's base system architecture";
  for (const uint64_t event : kArmEvents) method.counters.push_back(counter_of(pmu, event));
  method.shares.assign(std::begin(kArmShares), std::end(kArmShares));
  method.width = static_cast<double>(width);
  return method;
}

std::optional<Method> zen_method(const Pmu& pmu, const std::string& root) {
  const auto processor = perf::x86_model(root);
  if (!processor || processor->vendor != "AuthenticAMD") return std::nullopt;
  const long model = processor->model;
  // Linux, arch/x86/kernel/cpu/amd.c.
  const bool zen4 =
      processor->family == 25 && ((model >= 0x10 && model <= 0x1f) || (model >= 0x60 && model <= 0xaf));
  const bool zen5 = processor->family == 26;
  if (!zen4 && !zen5) return std::nullopt;
  Method method;
  method.source = "AMD's processor programming reference";
  for (const uint64_t event : kZenEvents) method.counters.push_back(counter_of(pmu, event));
  method.shares.assign(std::begin(kZenShares), std::end(kZenShares));
  method.width = zen4 ? 6 : 8;
  return method;
}

}  // namespace

Method find_method(const std::string& root, std::string* why) {
  bool has_pmu = false;
  for (const Pmu& pmu : perf::read_pmus(root)) {
    if (!pmu.core) continue;
    has_pmu = true;
    if (auto method = intel_method(pmu)) return *method;
    if (auto method = arm_method(pmu, root)) return *method;
    if (auto method = zen_method(pmu, root)) return *method;
  }
  *why = has_pmu
             ? "this processor does not count slots as top-down analysis needs: Intel's do since Ice Lake, "
               "Arm's "
               "where the kernel lists stall_slot (Linux 5.13 and later for its width), AMD's since Zen 4"
             : "the kernel shows no counter unit of the processor: a virtual machine without one; enable the "
               "virtual PMU in the hypervisor";
  return {};
}

}  // namespace substrata::topdown
