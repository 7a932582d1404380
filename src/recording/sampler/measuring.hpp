// Events by name as the commands use them: listed, described, and counted in one eventset a substrate.
#pragma once

#include <papi.h>
#include <substrata/extensions.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace substrata::sampler {

// Starts the library once; throws std::runtime_error with the reason.
void start_library();

// The message of the last refusal, or the text of PAPI's error number.
std::string refusal(int code);
// The same after the event's name, which it may begin with; `named` with a reason that is known.
std::string named(const std::string& event, const std::string& why);
std::string refusal(const std::string& event, int code);

// The native events of a component in their order; empty when it has none.
std::vector<int> native_events(int component);
// Those that are known and do not open here, which native_events leaves out.
std::vector<int> unavailable_events(int component);
// The presets of the table, available or not.
std::vector<int> presets();
std::string event_name(int code);
substrata_event describe(int code);
// "count", "gauge", "bin".
const char* kind_name(std::uint32_t kind);
// Whether a component's values stand in the files of a recorded machine: all but those that look at the running
// process.
bool is_recorded(std::string_view component);
// "measured", "modelled" or "recorded machine".
const char* origin_name(const substrata_event& event);
const char* component_name(int component);

// Names as the user writes them: items separated by commas, each one an event, or a pattern with '*' or '?'
// that stands for every native event it matches.
std::vector<std::string> expand(const std::vector<std::string>& items);

// One counted event and its value.
struct Counted {
  std::string name;
  std::string component;
  substrata_event about;
  substrata_value value;
};

// Events of any substrates, counted together: one eventset for each substrate. Thread-compatible.
class Measurement {
 public:
  Measurement() = default;
  ~Measurement();
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;

  // Adds an event; throws std::runtime_error with the reason when it cannot be counted.
  void add(const std::string& name);
  // The same, without throwing: the reason, empty on success.
  std::string try_add(const std::string& name);
  bool empty() const { return sets_.empty(); }
  std::size_t sets() const { return sets_.size(); }

  // Starts and stops all of them under one time stamp; throws std::runtime_error.
  void start();
  std::vector<Counted> stop();

 private:
  struct Set {
    int component;
    int handle;
    std::vector<int> events;
  };
  std::vector<Set> sets_;
  bool running_ = false;
};

// A table of values, or the same as JSON: [{"name","component","value","unit","kind","modelled"}].
void print_values(const std::vector<Counted>& values);
nlohmann::json values_as_json(const std::vector<Counted>& values);

}  // namespace substrata::sampler
