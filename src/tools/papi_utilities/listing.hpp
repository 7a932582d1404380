// What several utilities print alike: the machine, presets, and the walk over components and events.
#pragma once

#include <papi.h>

#include <cstddef>
#include <string>
#include <vector>

#include "tools/arguments/arguments.hpp"

namespace substrata::utilities {

// Starts the library; on failure prints why to stderr and exits with status 1.
void start_library();

// Title, library version, processor, counters; a rule before and after.
void print_machine(const char* title);
void print_rule(int width, char of = '-');

std::string message(int code);

// The event of that name; false, and why on stderr, when there is none.
bool describe(const char* utility, const std::string& name, PAPI_event_info_t* info);

// A class of events that a flag of the command asks for; `value` as PAPI numbers it.
struct ClassOption {
  const char* flag;
  const char* text;
  int value;
  bool on = false;
};
template <std::size_t kCount>
void take_flags(Arguments* arguments, ClassOption (&classes)[kCount]) {
  for (ClassOption& one : classes) arguments->flag(one.flag, one.on, one.text);
}

// Codes in the library's order. A modifier as PAPI_enum_cmp_event takes it.
std::vector<int> native_events(int component);
std::vector<int> qualifiers(int native, int component);
// A qualifier's own part of its event's name (":u=0") and of the description.
struct Qualifier {
  std::string name;
  std::string text;
};
Qualifier own_part(const PAPI_event_info_t& info, const std::string& event);
// The qualifiers of a native event with their descriptions, behind `before` and a title; nothing where it has
// none.
void print_qualifiers(const PAPI_event_info_t& event, const char* before);
// Native events in PAPI's boxes.
struct NativeChoice {
  std::string include, exclude;  // text that names must, or must not, have in them; "" for any
  bool check = false;            // only events that can be added
  bool qualifiers = true;        // with their qualifiers
};
// Prints those of `codes` that are chosen; how many.
unsigned print_native_events(const std::vector<int>& codes, const NativeChoice& choice);
// Name, code, description and qualifiers of one native event.
void print_native_details(const PAPI_event_info_t& info);
std::vector<int> presets();
std::vector<int> user_events();

// One line of a table of presets; `with_availability`: the column Avail as well.
void print_preset_header(bool with_availability);
void print_preset(const PAPI_event_info_t& info, bool with_availability);
bool is_derived(const PAPI_event_info_t& info);

// Whether the event can be added to a set of its own.
bool can_add(int code);

// The named events, which count together in one set per component. Every function prints nothing.
class Sets {
 public:
  Sets() = default;
  ~Sets();
  Sets(const Sets&) = delete;
  Sets& operator=(const Sets&) = delete;
  // PAPI_OK, or why the event was not added.
  int add(const std::string& name);
  // PAPI_OK, or what refused; all started or none.
  int start();
  // Values in the order in which the events were added.
  int stop(std::vector<long long>& values);
  const std::vector<std::string>& names() const { return names_; }

 private:
  struct Set {
    int component;
    int handle;
    std::vector<std::size_t> positions;
  };
  std::vector<Set> sets_;
  std::vector<std::string> names_;
};

// Up to `wanted` events that count together here, hardware before the kernel's own, all of one component; for
// measuring what a call costs. Empty when nothing counts.
std::vector<std::string> countable_events(unsigned wanted);

}  // namespace substrata::utilities
