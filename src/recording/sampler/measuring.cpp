// Measurement and the questions about events, over the public interface.
#include "recording/sampler/measuring.hpp"

#include <substrata/result.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "base/environment.hpp"
#include "base/glob.hpp"

namespace substrata::sampler {
namespace {

// A double travels as its bits in a 64-bit value.
std::string value_text(const Counted& counted) {
  char text[48];
  if (counted.about.type == 2) {
    double number = 0;
    std::memcpy(&number, &counted.value.value, sizeof number);
    std::snprintf(text, sizeof text, "%.6g", number);
  } else if (counted.about.type == 1) {
    std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(counted.value.value));
  } else {
    std::snprintf(text, sizeof text, "%lld", static_cast<long long>(counted.value.value));
  }
  return text;
}

}  // namespace

void start_library() {
  const int version = PAPI_library_init(PAPI_VER_CURRENT);
  if (version != PAPI_VER_CURRENT)
    throw std::runtime_error("the library does not start: " + refusal(version));
}

std::string refusal(int code) {
  const char* message = substrata_last_error();
  if (message[0] != '\0') return message;
  const char* text = PAPI_strerror(code);
  return text != nullptr ? text : "error " + std::to_string(code);
}

std::string named(const std::string& event, const std::string& why) {
  return why.starts_with(event) ? why : event + ": " + why;
}

std::string refusal(const std::string& event, int code) { return named(event, refusal(code)); }

std::vector<int> native_events(int component) {
  std::vector<int> codes;
  int code = PAPI_NATIVE_MASK;
  if (PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, component) != PAPI_OK) return codes;
  do codes.push_back(code);
  while (PAPI_enum_cmp_event(&code, PAPI_ENUM_EVENTS, component) == PAPI_OK);
  return codes;
}

std::vector<int> unavailable_events(int component) {
  std::vector<int> codes;
  for (unsigned i = 0; const char* const found = substrata_unavailable_event(component, i); ++i) {
    int code = 0;
    if (PAPI_event_name_to_code(std::string(found).c_str(), &code) == PAPI_OK) codes.push_back(code);
  }
  return codes;
}

std::vector<int> presets() {
  std::vector<int> codes;
  int code = PAPI_PRESET_MASK;
  if (PAPI_enum_event(&code, PAPI_ENUM_FIRST) != PAPI_OK) return codes;
  do codes.push_back(code);
  while (PAPI_enum_event(&code, PAPI_ENUM_EVENTS) == PAPI_OK);
  return codes;
}

std::string event_name(int code) {
  PAPI_event_info_t info;
  return PAPI_get_event_info(code, &info) == PAPI_OK ? info.symbol : std::string();
}

substrata_event describe(int code) {
  auto event = client::sized<substrata_event>();
  const int status = substrata_event_info(code, &event);
  if (status != PAPI_OK) {
    event.available = 0;
    std::snprintf(event.why, sizeof event.why, "%s", refusal(status).c_str());
  }
  return event;
}

const char* kind_name(std::uint32_t kind) { return kind == 0 ? "count" : kind == 1 ? "gauge" : "bin"; }

bool is_recorded(std::string_view component) {
  constexpr std::string_view kOfTheProcess[] = {"appio", "bridge", "perf_event", "process", "sde"};
  return *machine_root() != '\0' &&
         std::find(std::begin(kOfTheProcess), std::end(kOfTheProcess), component) == std::end(kOfTheProcess);
}

const char* origin_name(const substrata_event& event) {
  if (event.modelled != 0) return "modelled";
  return event.component >= 0 && is_recorded(component_name(event.component)) ? "recorded machine"
                                                                              : "measured";
}

const char* component_name(int component) {
  const PAPI_component_info_t* info = PAPI_get_component_info(component);
  return info != nullptr ? info->name : "?";
}

std::vector<std::string> expand(const std::vector<std::string>& items) {
  std::vector<std::string> names;
  for (const std::string& item : items) {
    for (std::size_t begin = 0; begin <= item.size();) {
      const std::size_t end = std::min(item.find(',', begin), item.size());
      const std::string name = item.substr(begin, end - begin);
      begin = end + 1;
      if (name.empty()) continue;
      if (name.find_first_of("*?") == std::string::npos) {
        names.push_back(name);
        continue;
      }
      const std::size_t before = names.size();
      for (int component = 0; component < PAPI_num_components(); ++component)
        for (const int code : native_events(component))
          if (const std::string known = event_name(code); glob(name, known)) names.push_back(known);
      if (names.size() == before)
        throw std::runtime_error("no event matches '" + name + "'; `substrata events` lists them");
    }
  }
  return names;
}

Measurement::~Measurement() {
  for (Set& set : sets_) {
    if (running_) PAPI_stop(set.handle, nullptr);
    PAPI_cleanup_eventset(set.handle);
    PAPI_destroy_eventset(&set.handle);
  }
}

std::string Measurement::try_add(const std::string& name) {
  int code = 0;
  if (const int status = PAPI_event_name_to_code(name.c_str(), &code); status != PAPI_OK)
    return refusal(name, status);
  const int component = PAPI_get_event_component(code);
  if (component < 0) return refusal(name, component);
  auto set = std::find_if(sets_.begin(), sets_.end(), [&](const Set& s) { return s.component == component; });
  if (set != sets_.end()) {
    if (const int status = PAPI_add_event(set->handle, code); status != PAPI_OK) return refusal(name, status);
    set->events.push_back(code);
    return {};
  }
  Set fresh{component, PAPI_NULL, {code}};
  if (const int status = PAPI_create_eventset(&fresh.handle); status != PAPI_OK) return refusal(name, status);
  if (const int status = PAPI_add_event(fresh.handle, code); status != PAPI_OK) {
    const std::string why = refusal(name, status);
    PAPI_destroy_eventset(&fresh.handle);
    return why;
  }
  sets_.push_back(std::move(fresh));
  return {};
}

void Measurement::add(const std::string& name) {
  if (const std::string why = try_add(name); !why.empty()) throw std::runtime_error(why);
}

void Measurement::start() {
  if (sets_.empty()) return;
  std::vector<int> handles;
  for (const Set& set : sets_) handles.push_back(set.handle);
  substrata_stamp stamp{};
  const int status = substrata_start_group(handles.data(), static_cast<unsigned>(handles.size()), &stamp);
  if (status != PAPI_OK) throw std::runtime_error("the events do not start: " + refusal(status));
  running_ = true;
}

std::vector<Counted> Measurement::stop() {
  std::vector<Counted> counted;
  if (sets_.empty()) return counted;
  std::vector<int> handles;
  for (const Set& set : sets_) handles.push_back(set.handle);
  substrata_stamp stamp{};
  const int status =
      substrata_stop_group(handles.data(), static_cast<unsigned>(handles.size()), nullptr, 0, &stamp);
  if (status != PAPI_OK) throw std::runtime_error("the events do not stop: " + refusal(status));
  running_ = false;
  for (const Set& set : sets_) {
    std::vector<substrata_value> values(set.events.size());
    const int read = substrata_read_values(set.handle, values.data(), static_cast<unsigned>(values.size()));
    if (read != PAPI_OK) throw std::runtime_error("the values cannot be read: " + refusal(read));
    for (std::size_t i = 0; i < values.size(); ++i)
      counted.push_back(
          {event_name(set.events[i]), component_name(set.component), describe(set.events[i]), values[i]});
  }
  return counted;
}

void print_values(const std::vector<Counted>& values) {
  std::size_t width = 5;
  for (const Counted& counted : values) width = std::max(width, counted.name.size());
  for (const Counted& counted : values)
    std::printf("%-*s %20s %-12s %s%s%s%s\n", static_cast<int>(width), counted.name.c_str(),
                value_text(counted).c_str(), counted.about.unit, origin_name(counted.about),
                (counted.value.flags & SUBSTRATA_VALUE_SCALED) != 0 ? ", scaled" : "",
                (counted.value.flags & SUBSTRATA_VALUE_STALE) != 0 ? ", stale" : "",
                (counted.value.flags & SUBSTRATA_VALUE_INCOMPLETE) != 0 ? ", incomplete" : "");
}

nlohmann::json values_as_json(const std::vector<Counted>& values) {
  nlohmann::json list = nlohmann::json::array();
  for (const Counted& counted : values) {
    nlohmann::json entry = {{"name", counted.name},
                            {"component", counted.component},
                            {"unit", counted.about.unit},
                            {"kind", kind_name(counted.about.kind)},
                            {"modelled", counted.about.modelled != 0}};
    if (counted.about.type == 2) {
      double number = 0;
      std::memcpy(&number, &counted.value.value, sizeof number);
      entry["value"] = number;
    } else if (counted.about.type == 1) {
      entry["value"] = static_cast<std::uint64_t>(counted.value.value);
    } else {
      entry["value"] = counted.value.value;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace substrata::sampler
