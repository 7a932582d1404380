// The PAPI side of the examples: finds events of each domain, opens one eventset per substrate, reads them
// all.
#include "instruments.hpp"

#include <papi.h>
#include <sde_lib.h>

#include <cstring>
#include <sstream>
#include <string_view>
#include <utility>

namespace measured {
namespace {

constexpr const char* kProcessor = "processor";
constexpr const char* kProgram = "program";
constexpr const char* kTemperature = "temperature";
constexpr const char* kNetwork = "network";
constexpr std::size_t kMaxSensors = 4;  // a record stays readable; the first sensors are those of the package

// Presets that stand for floating-point operations, the best first.
constexpr const char* kOperationPresets[] = {"PAPI_FP_OPS", "PAPI_DP_OPS", "PAPI_FP_INS"};

std::string papi_reason(const std::string& what, int error) {
  const char* text = PAPI_strerror(error);
  return what + ": " + (text != nullptr ? text : "error " + std::to_string(error));
}

bool is_available(const char* event) {
  int code = PAPI_NULL;
  return PAPI_event_name_to_code(event, &code) == PAPI_OK && PAPI_query_event(code) == PAPI_OK;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The sensors list limits, fans and voltages beside temperatures; only live temperatures are wanted. The unit
// identifies a temperature; a limit has its kind at the end of its name (coretemp "...:crit", lmsensors
// "..._crit").
bool is_temperature(int code, const std::string& name) {
  PAPI_event_info_t info;
  std::memset(&info, 0, sizeof info);
  if (PAPI_get_event_info(code, &info) != PAPI_OK) return false;
  const std::string unit = info.units;
  if (!unit.empty() && unit != "mdegC" && unit != "degrees Celsius") return false;
  const std::string event = name.substr(name.find(":::") == std::string::npos ? 0 : name.find(":::") + 3);
  if (unit.empty() && !contains(event, "temp")) return false;
  for (const char* kind :
       {"max", "min", "crit", "lcrit", "emergency", "critical", "hot", "passive", "active", "alarm", "hyst",
        "type", "offset", "label", "beep", "fault", "lowest", "highest", "enable"}) {
    const std::string limit = kind;
    const size_t at = event.size() > limit.size() ? event.size() - limit.size() - 1 : std::string::npos;
    if (at != std::string::npos && (event[at] == ':' || event[at] == '_') && event.substr(at + 1) == limit)
      return false;
  }
  return true;
}

// Temperatures of real sensors, or of the thermal model where there is none and the model was asked for.
std::vector<std::string> find_temperatures() {
  std::vector<std::string> found;
  for (const char* component : {"coretemp", "lmsensors", "thermal_model"}) {
    const int index = PAPI_get_component_index(component);
    if (index < 0) continue;
    int code = PAPI_NATIVE_MASK;
    int more = PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, index);
    for (; more == PAPI_OK; more = PAPI_enum_cmp_event(&code, PAPI_ENUM_EVENTS, index)) {
      char name[PAPI_MAX_STR_LEN] = "";
      if (PAPI_event_code_to_name(code, name) != PAPI_OK || !is_temperature(code, name)) continue;
      found.emplace_back(name);
      if (found.size() == kMaxSensors) return found;
    }
    if (!found.empty()) return found;
  }
  return found;
}

std::string fallback_unit(const std::string& event) {
  if (contains(event, "TASK-CLOCK")) return "ns";
  if (contains(event, "PAGE-FAULTS")) return "faults";
  if (contains(event, "bytes") || contains(event, "BYTES")) return "bytes";
  if (contains(event, "packets")) return "packets";
  if (contains(event, "MESSAGES")) return "messages";
  if (contains(event, "FP_INS")) return "instructions";
  if (contains(event, "FLOP") || contains(event, "_OPS")) return "operations";
  return "1";
}

const char* component_name(int code) {
  const int index = PAPI_get_event_component(code);
  const PAPI_component_info_t* info = index < 0 ? nullptr : PAPI_get_component_info(index);
  return info != nullptr ? info->name : "";
}

// Unit and origin as PAPI reports them. PAPI has no field for "modelled"; components that model say so in their
// name.
void describe(int code, Column& column) {
  PAPI_event_info_t info;
  std::memset(&info, 0, sizeof info);
  column.unit.clear();
  if (PAPI_get_event_info(code, &info) == PAPI_OK) column.unit = info.units;
  if (column.unit.empty()) column.unit = fallback_unit(column.event);
  column.scope = column.domain == kTemperature || column.domain == kNetwork ? Scope::kNode : Scope::kProcess;
  column.gauge = column.domain == kTemperature;
  if (column.domain == kProgram) {
    column.origin = Origin::kSoftwareDefined;
  } else {
    column.origin = contains(component_name(code), "model") ? Origin::kModelled : Origin::kMeasured;
  }
}

}  // namespace

// One eventset and the columns it fills.
struct Instruments::EventSet {
  std::string domain;
  int handle = PAPI_NULL;
  bool running = false;
  std::vector<std::size_t> columns;
  std::vector<long long> now;
  std::vector<long long> before;
  bool before_valid = false;
};

Instruments::Instruments(const std::string& program, const std::string& interface, const Published& published)
    : program_(program), interface_(interface) {
  // Published before PAPI starts, so that its component finds the events whenever it looks. The library takes
  // plain pointers to non-const and only reads a counter registered read-only.
  published_handle_ = papi_sde_init(program.c_str());
  if (published_handle_ != nullptr) {
    const auto publish = [&](const char* name, const long long& counter, const char* text) {
      papi_sde_register_counter(published_handle_, name, PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long,
                                const_cast<long long*>(&counter));
      papi_sde_describe_counter(published_handle_, name, text);
    };
    publish("FLOP", published.operations, "floating-point operations, counted by the program");
    publish("MESSAGES", published.messages, "messages sent to other ranks, counted by the program");
    publish("BYTES", published.bytes, "payload of the messages sent, counted by the program");
  }
  const int version = PAPI_library_init(PAPI_VER_CURRENT);
  if (version != PAPI_VER_CURRENT) {
    library_error_ = version < 0 ? papi_reason("PAPI_library_init", version)
                                 : "PAPI_library_init: papi.h and the library are of different versions";
  }
}

Instruments::~Instruments() {
  for (EventSet& set : sets_) {
    if (set.handle == PAPI_NULL) continue;
    if (set.running) PAPI_stop(set.handle, set.now.data());
    PAPI_cleanup_eventset(set.handle);
    PAPI_destroy_eventset(&set.handle);
  }
  if (library_error_.empty()) PAPI_shutdown();
  if (published_handle_ != nullptr) papi_sde_shutdown(published_handle_);
}

std::string Instruments::plan() const {
  std::ostringstream out;
  const auto line = [&](const char* domain, const std::string& event) {
    out << domain << '\t' << event << '\n';
  };
  const char* operations = kOperationPresets[0];
  if (library_error_.empty()) {
    for (const char* preset : kOperationPresets) {
      if (is_available(preset)) {
        operations = preset;
        break;
      }
    }
  }
  line(kProcessor, operations);
  line(kProcessor, "perf::TASK-CLOCK");
  line(kProcessor, "perf::PAGE-FAULTS");
  for (const char* event : {"FLOP", "MESSAGES", "BYTES"}) line(kProgram, "sde:::" + program_ + "::" + event);
  const std::vector<std::string> sensors =
      library_error_.empty() ? find_temperatures() : std::vector<std::string>();
  for (const std::string& sensor : sensors) line(kTemperature, sensor);
  if (sensors.empty()) line(kTemperature, "temperature");
  for (const char* event : {"rx:packets", "tx:packets", "rx:bytes", "tx:bytes"}) {
    line(kNetwork, "net:::" + interface_ + ":" + event);
  }
  return out.str();
}

void Instruments::start(const std::string& plan) {
  std::istringstream lines(plan);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) continue;
    Column column;
    column.domain = line.substr(0, tab);
    column.event = line.substr(tab + 1);
    column.unit = fallback_unit(column.event);
    if (sets_.empty() || sets_.back().domain != column.domain) {
      sets_.emplace_back();
      sets_.back().domain = column.domain;
    }
    sets_.back().columns.push_back(columns_.size());
    columns_.push_back(std::move(column));
  }
  for (EventSet& set : sets_) {
    if (library_error_.empty()) {
      open(set);
    } else {
      give_up(set, library_error_);
    }
  }
}

void Instruments::give_up(EventSet& set, const std::string& reason) {
  for (const std::size_t index : set.columns) {
    columns_[index].origin = Origin::kAbsent;
    if (columns_[index].reason.empty()) columns_[index].reason = reason;
  }
  set.columns.clear();
}

// Adds what can be added; when the set does not start, drops its first event (the preset, which needs a
// hardware counter) and tries again.
void Instruments::open(EventSet& set) {
  const std::vector<std::size_t> wanted = set.columns;
  for (std::size_t first = 0; first < wanted.size(); ++first) {
    set.columns.clear();
    set.handle = PAPI_NULL;
    if (const int error = PAPI_create_eventset(&set.handle); error != PAPI_OK) {
      set.columns = wanted;
      return give_up(set, papi_reason("PAPI_create_eventset", error));
    }
    for (std::size_t i = first; i < wanted.size(); ++i) {
      Column& column = columns_[wanted[i]];
      if (set.domain == kTemperature && column.event == "temperature") {
        column.reason =
            "no temperature sensor here (components coretemp, lmsensors); SUBSTRATA_THERMAL_MODEL=1 asks for "
            "a model";
        continue;
      }
      const int error = PAPI_add_named_event(set.handle, column.event.c_str());
      if (error != PAPI_OK) {
        column.origin = Origin::kAbsent;
        column.reason = papi_reason("PAPI_add_named_event", error);
        continue;
      }
      int code = PAPI_NULL;
      PAPI_event_name_to_code(column.event.c_str(), &code);
      describe(code, column);
      set.columns.push_back(wanted[i]);
    }
    set.now.assign(set.columns.size(), 0);
    set.before.assign(set.columns.size(), 0);
    const int error = set.columns.empty() ? PAPI_OK : PAPI_start(set.handle);
    if (error == PAPI_OK && !set.columns.empty()) {
      set.running = true;
      return;
    }
    PAPI_cleanup_eventset(set.handle);
    PAPI_destroy_eventset(&set.handle);
    set.handle = PAPI_NULL;
    if (error == PAPI_OK) return;
    columns_[wanted[first]].origin = Origin::kAbsent;
    columns_[wanted[first]].reason = papi_reason("PAPI_start", error);
  }
  set.columns.clear();
}

void Instruments::read(std::int64_t* values, bool* present) noexcept {
  for (std::size_t i = 0; i < columns_.size(); ++i) present[i] = false;
  for (EventSet& set : sets_) {
    if (!set.running) continue;
    const bool valid = PAPI_read(set.handle, set.now.data()) == PAPI_OK;
    for (std::size_t i = 0; valid && i < set.columns.size(); ++i) {
      const std::size_t column = set.columns[i];
      const bool gauge = columns_[column].gauge;
      // The first read of a counter only says where it stood.
      present[column] = gauge || set.before_valid;
      values[column] = gauge ? set.now[i] : set.now[i] - set.before[i];
    }
    set.before_valid = valid;
    std::swap(set.now, set.before);
  }
}

}  // namespace measured
