// The events of this machine: their names, their encodings and whether they open here.
#pragma once

#include <substrata/substrate.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/fork_lock.hpp"
#include "perf_events/device_files.hpp"
#include "perf_events/encoder.hpp"
#include "perf_events/kernel.hpp"

namespace substrata::perf {

// Names are found without loading any table that they do not need: the kernel's generic events are compiled
// in, sysfs is read at the first hardware event, libpfm4 at the first name that is neither or at the first
// listing. Tracepoints are looked up by name only; no folder of tracefs is ever listed. Thread-safe. Entries
// never move and never change their index.
class Catalogue {
 public:
  Catalogue(const Host& host, const Kernel& kernel, std::unique_ptr<Encoder> encoder, PmuKind kind);

  // How many events are listed now; the first call loads every table. Qualified forms ("CYCLES:u=0") follow
  // the plain events.
  uint32_t count();
  // Describes an event; its first description opens it once, to know whether it is available here.
  Status at(uint32_t index, Event* out);
  // Names are taken as PAPI, libpfm4 and perf write them, without regard to case: "perf::TASK-CLOCK:u=1",
  // "INST_RETIRED:ANY_P", "skx::INST_RETIRED", "r01c2", "cpu/event=0x3c/", "sched:sched_switch", "tsc".
  Status find(std::string_view name, uint32_t* index);
  // What to open for an event. The result lives as long as the catalogue.
  Status encoding(uint32_t index, const Encoding** out);

  // libpfm4's PMUs, then the kernel's core PMUs.
  std::vector<std::string> pmu_names();
  // Names a preset table may call this machine: those, then what the kernel calls its processor, then, of an x86,
  // vendor, family and model ("AuthenticAMD-1A-02").
  std::vector<std::string> preset_sections();
  // Has the kernel a PMU for programs here?
  bool has_core_pmu();
  // The message for a refused perf_event_open.
  std::string explain(int os_error);

 private:
  enum class State { kUnresolved, kResolved, kRefused };
  struct Entry {
    std::string name, text, unit, why;
    uint32_t flags = 0;
    State state = State::kUnresolved;
    Code code = Code::kOk;  // with kRefused
    bool probed = false;
    bool available = false;
    uint32_t base = kNoBase;  // of a listed qualified form: the event it qualifies
    bool modifier = false;  // such a form changes how the base counts, not what: it opens where the base does
    Encoding encoding;
  };
  static constexpr uint32_t kNoBase = UINT32_MAX;

  Entry& append(std::string name, std::string text, std::string unit, State state);
  void load();
  void load_tables();
  void list_qualified_forms();
  std::vector<Qualifier> qualifiers_of(const std::string& name);
  const std::vector<Pmu>& pmus();
  uint32_t class_of(const Pmu& pmu);
  bool belongs_here(const Pmu& pmu) const;
  void resolve(Entry& entry);
  bool probe_encoding(const Encoding& encoding, int* os_error);
  bool opened_with_another_mask(uint32_t base, const Encoding& encoding) const;
  bool probe_form(uint32_t base, const Encoding& encoding, int* os_error);
  void probe(uint32_t index);
  void spread_over_sockets(Encoding* encoding);
  void add_user_access(Encoding* encoding);

  Code encode_name(std::string_view name, Encoding* out, std::string* canonical, std::string* unit,
                   std::string* error);
  void encode_generic(const GenericEvent& event, Encoding* out);
  Code encode_tracepoint(std::string_view name, Encoding* out, std::string* error);
  Code encode_sysfs(std::string_view name, Encoding* out, std::string* unit, std::string* error);

  const Host host_;
  const std::string root_;
  const Kernel& kernel_;
  const std::unique_ptr<Encoder> encoder_;
  const PmuKind kind_;
  ForkLock lock_;
  std::deque<Entry> entries_;
  std::unordered_map<std::string, uint32_t> by_name_;     // lower case
  std::unordered_map<uint32_t, perf_event_attr> opened_;  // how an event, or the first form of it, opened
  std::optional<std::vector<Pmu>> pmus_;
  bool loaded_ = false;
};

}  // namespace substrata::perf
