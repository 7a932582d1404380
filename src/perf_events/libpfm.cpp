// Asks libpfm4 for the events of this processor and their encodings.
#include <perfmon/pfmlib.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "base/environment.hpp"
#include "base/fork_lock.hpp"
#include "base/immortal.hpp"
#include "perf_events/encoder.hpp"

namespace substrata::perf {
namespace {

// libpfm4's argument of pfm_get_os_event_encoding(PFM_OS_PERF_EVENT_EXT), written down here because its own
// header brings a second, older definition of perf_event_attr. The size is part of libpfm4's interface.
struct PerfArgument {
  perf_event_attr* attr;
  char** text;
  size_t size;
  int index;
  int cpu;
  int flags;
  int padding;
};
static_assert(sizeof(void*) != 8 || sizeof(PerfArgument) == 40);

// More than any libpfm4 has. PFM_PMU_MAX is that of the library we were built with, and one that is newer knows
// processors beyond it.
constexpr int kMostPmus = 1024;

ForkLock& library_lock() {
  static Immortal<ForkLock> lock;
  return *lock;
}

bool initialise() {
  static const bool done = !environment_misleads("LIBPFM_") && pfm_initialize() == PFM_SUCCESS;
  return done;
}

class LibpfmEncoder final : public Encoder {
 public:
  explicit LibpfmEncoder(PmuKind kind) : kind_(kind) {}

  std::vector<std::string> pmus() override {
    const std::lock_guard guard(library_lock());
    std::vector<std::string> names;
    for (const pfm_pmu_info_t& pmu : present()) names.emplace_back(pmu.name);
    return names;
  }

  std::vector<Named> events() override {
    const std::lock_guard guard(library_lock());
    std::vector<Named> all;
    bool first = true;
    for (const pfm_pmu_info_t& pmu : present()) {
      for (int index = pmu.first_event; index != -1; index = pfm_get_event_next(index)) {
        pfm_event_info_t info{};
        info.size = sizeof info;
        if (pfm_get_event_info(index, PFM_OS_PERF_EVENT_EXT, &info) != PFM_SUCCESS) continue;
        std::string name =
            first && kind_ == PmuKind::kCore ? info.name : std::string(pmu.name) + "::" + info.name;
        all.push_back({std::move(name), info.desc == nullptr ? "" : info.desc});
      }
      first = false;
    }
    return all;
  }

  std::vector<Qualifier> qualifiers(const std::string& name) override {
    const std::lock_guard guard(library_lock());
    std::vector<Qualifier> all;
    if (!initialise()) return all;
    const int index = pfm_find_event(name.c_str());
    pfm_event_info_t info{};
    info.size = sizeof info;
    if (index < 0 || pfm_get_event_info(index, PFM_OS_PERF_EVENT_EXT, &info) != PFM_SUCCESS) return all;
    for (int i = 0; i < info.nattrs; ++i) {
      pfm_event_attr_info_t attribute{};
      attribute.size = sizeof attribute;
      if (pfm_get_event_attr_info(index, i, PFM_OS_PERF_EVENT_EXT, &attribute) != PFM_SUCCESS) continue;
      const bool mask = attribute.type == PFM_ATTR_UMASK;
      all.push_back({mask ? attribute.name : std::string(attribute.name) + "=0",
                     attribute.desc == nullptr ? "" : attribute.desc, mask});
    }
    return all;
  }

  Code encode(const std::string& name, Encoding* out, std::string* error) override {
    const std::lock_guard guard(library_lock());
    if (!initialise()) {
      *error = "libpfm4 did not initialise";
      return Code::kNoEvent;
    }
    Leg leg;
    char* text = nullptr;
    PerfArgument argument{&leg.attr, &text, sizeof(PerfArgument), 0, -1, 0, 0};
    leg.attr.size = sizeof leg.attr;
    const int code = pfm_get_os_event_encoding(name.c_str(), PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &argument);
    std::free(text);
    if (code != PFM_SUCCESS) {
      *error = std::string("libpfm4: ") + pfm_strerror(code);
      return code == PFM_ERR_NOTFOUND || code == PFM_ERR_NOTSUPP || code == PFM_ERR_INVAL ? Code::kNoEvent
                                                                                          : Code::kAttribute;
    }
    pfm_event_info_t info{};
    info.size = sizeof info;
    pfm_pmu_info_t pmu{};
    pmu.size = sizeof pmu;
    if (pfm_get_event_info(argument.index, PFM_OS_PERF_EVENT_EXT, &info) != PFM_SUCCESS ||
        pfm_get_pmu_info(info.pmu, &pmu) != PFM_SUCCESS || !mine(pmu)) {
      *error = "another substrate counts it";
      return Code::kNoEvent;
    }
    leg.attr.size = sizeof leg.attr;
    leg.cpu = argument.cpu;
    leg.pmu_class = leg.attr.type <= PERF_TYPE_RAW ? kCoreClass : kPmuClassBase + leg.attr.type;
    out->legs.assign(1, leg);
    const std::string_view all = name;
    for (size_t at = all.find(':'); at != std::string_view::npos; at = all.find(':', at + 1)) {
      const std::string_view rest = all.substr(at + 1, 2);
      for (const char* level : {"u", "k", "h", "U", "K", "H"})
        if (rest == level || (rest.size() == 2 && rest[0] == *level && (rest[1] == '=' || rest[1] == ':')))
          out->explicit_domain = true;
    }
    return Code::kOk;
  }

 private:
  bool mine(const pfm_pmu_info_t& pmu) const {
    return pmu.type == (kind_ == PmuKind::kCore ? PFM_PMU_TYPE_CORE : PFM_PMU_TYPE_UNCORE);
  }

  std::vector<pfm_pmu_info_t> present() {
    std::vector<pfm_pmu_info_t> found;
    if (!initialise()) return found;
    for (int id = 0; id < kMostPmus; ++id) {
      pfm_pmu_info_t pmu{};
      pmu.size = sizeof pmu;
      if (pfm_get_pmu_info(static_cast<pfm_pmu_t>(id), &pmu) != PFM_SUCCESS || !pmu.is_present || !mine(pmu))
        continue;
      found.push_back(pmu);
    }
    // The default PMU is the model's own, not the one of the architecture, which lists a few of the same
    // events.
    const auto rank = [](const pfm_pmu_info_t& pmu) {
      return std::strcmp(pmu.name, "ix86arch") == 0 ? 0 : pmu.nevents;
    };
    std::stable_sort(found.begin(), found.end(),
                     [&rank](const pfm_pmu_info_t& a, const pfm_pmu_info_t& b) { return rank(a) > rank(b); });
    return found;
  }

  PmuKind kind_;
};

// Of a machine whose processor libpfm4, which asks the one it runs on, does not know.
class NoEncoder final : public Encoder {
 public:
  std::vector<std::string> pmus() override { return {}; }
  std::vector<Named> events() override { return {}; }
  std::vector<Qualifier> qualifiers(const std::string&) override { return {}; }
  Code encode(const std::string&, Encoding*, std::string* error) override {
    *error = "libpfm4 knows this machine's processor, not that of a recorded one (SUBSTRATA_ROOT)";
    return Code::kNoEvent;
  }
};

}  // namespace

std::unique_ptr<Encoder> libpfm_encoder(const char* root, PmuKind kind) {
  if (root != nullptr && *root != '\0') return std::make_unique<NoEncoder>();
  return std::make_unique<LibpfmEncoder>(kind);
}

}  // namespace substrata::perf
