// Components: what there is, what each can do, and disabling one.
#include <signal.h>
#include <sys/utsname.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/eventset/options.hpp"
#include "core/registry/other_components.hpp"
#include "papi/boundary.hpp"
#include "papi/component_info.hpp"

namespace substrata::capi {
namespace {

// One structure a component, at the same place for the life of the process, filled anew when the library was
// brought up or down since. Thread-safe; a client that reads a structure while another thread brings the
// library down and up may see it change.
class ComponentInfos {
 public:
  static ComponentInfos& instance() {
    static ComponentInfos* const kInfos = new ComponentInfos;  // lives on for clients that ask at exit
    return *kInfos;
  }

  const PAPI_component_info_t* at(int index) {
    Component* const component = library().registry().at(index);
    if (component == nullptr) return nullptr;
    const std::lock_guard guard(lock_);
    const size_t place = static_cast<size_t>(index);
    if (entries_.size() <= place) entries_.resize(place + 1);
    if (!entries_[place]) entries_[place] = std::make_unique<Entry>();
    Entry& entry = *entries_[place];
    const uint64_t epoch = library().epoch();
    const bool up = library().initialised();
    if (entry.filled && entry.epoch == epoch && entry.up == up) return &entry.info;
    fill(*component, up, &entry);
    entry.filled = true;
    entry.epoch = epoch;
    entry.up = up;
    return &entry.info;
  }

 private:
  struct Entry {
    PAPI_component_info_t info{};
    std::vector<std::string> pmu_names;
    uint64_t epoch = 0;
    bool up = false;
    bool filled = false;
  };

  static void fill(Component& component, bool up, Entry* entry) {
    PAPI_component_info_t info{};
    const SubstrateTable& table = component.table();
    copy_text(info.name, component.name());
    copy_text(info.short_name, component.short_name());
    copy_text(info.description, component.summary());
    copy_text(info.version, component.version());
    utsname system{};
    if (uname(&system) == 0) copy_text(info.kernel_version, system.release);
    info.CmpIdx = component.index();
    info.default_domain = static_cast<int>(table.default_domain);
    info.available_domains = static_cast<int>(table.domains);
    info.default_granularity = static_cast<int>(table.default_granularity);
    info.available_granularities = static_cast<int>(table.granularities);
    info.hardware_intr = component.has(kHardwareInterrupt);
    info.kernel_multiplex = component.has(kKernelMultiplex);
    info.fast_real_timer = 1;
    info.kernel_profile = component.has(kProcessor) && component.has(kHardwareInterrupt);
    info.attach = component.has(kCanAttach);
    // The kernel lets a process measure another one that it could trace. Programs that attach stop their child
    // first if this says so, and wait for it to stop.
    info.attach_must_ptrace = info.attach;
    if (component.has(kProcessor) && component.has(kHardwareInterrupt)) info.hardware_intr_sig = SIGRTMIN + 3;
    copy_text(info.support_version, "n/a");
    info.cpu = component.has(kCanBindCpu);
    info.inherit = component.has(kCanInherit);
    info.cntr_umasks = component.has(kCounterUmasks);
    if (up) {
      info.disabled = component.disabled();
      copy_text(info.disabled_reason, component.disabled_reason());
      info.initialized = info.disabled == 0;
      info.available_domains = static_cast<int>(countable_domains(component.index()));
      info.fast_counter_read = reads_fast(component.index());
      info.num_cntrs = counters_of_component(component.index()).value_or(0);
      info.num_mpx_cntrs = multiplex_counters_of_component(component.index()).value_or(0);
      if (info.disabled == 0) {
        info.num_native_events = static_cast<int>(library().catalogue().native_count(component.index()));
        info.num_preset_events = static_cast<int>(library().catalogue().preset_count(component.index()));
      }
    }
    // PMUs are recognised by the prefixes of their events: "perf::" is the PMU perf.
    entry->pmu_names.clear();
    for (std::string prefix : component.prefixes()) {
      while (!prefix.empty() && prefix.back() == ':') prefix.pop_back();
      entry->pmu_names.push_back(std::move(prefix));
    }
    if (up && info.disabled == 0)
      for (std::string& unit : component.units()) entry->pmu_names.push_back(std::move(unit));
    for (size_t i = 0; i < entry->pmu_names.size() && i < PAPI_PMU_MAX; ++i)
      info.pmu_names[i] = entry->pmu_names[i].data();
    entry->info = info;
  }

  ForkLock lock_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace

const PAPI_component_info_t* component_info(int index) { return ComponentInfos::instance().at(index); }

}  // namespace substrata::capi

using namespace substrata;
using namespace substrata::capi;

CAPI int PAPI_num_components(void) {
  return answered([] { return library().registry().count(); });
}

CAPI const PAPI_component_info_t* PAPI_get_component_info(int cidx) {
  return guarded([&] { return component_info(cidx); });
}

CAPI int PAPI_get_component_index(const char* name) {
  return answered([&] {
    if (name == nullptr) return answer(refuse(Code::kInvalid, "no component name given"));
    Registry& registry = library().registry();
    if (const int index = registry.index_of(name); index >= 0) return index;
    // A component of another PAPI is found where its events are.
    if (const Component* server = server_of(registry, name)) return server->index();
    return answer(refuse(Code::kNoComponent, "there is no component '%s'", name));
  });
}

CAPI int PAPI_disable_component(int cidx) {
  return answered([&] {
    if (library().initialised())
      return answer(refuse(Code::kNotInitialised, "components are disabled before PAPI_library_init"));
    return answer(library().registry().disable(cidx));
  });
}

CAPI int PAPI_disable_component_by_name(const char* name) {
  return answered([&] {
    if (name == nullptr) return answer(refuse(Code::kInvalid, "no component name given"));
    if (library().initialised())
      return answer(refuse(Code::kNotInitialised, "components are disabled before PAPI_library_init"));
    return answer(library().registry().disable(name));
  });
}

CAPI int PAPI_num_cmp_hwctrs(int cidx) {
  return answered([&] {
    if (!library().initialised()) return 0;
    return answer(counters_of_component(cidx));
  });
}

CAPI int PAPI_num_hwctrs(void) { return PAPI_num_cmp_hwctrs(0); }
