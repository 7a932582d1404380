// papi_native_avail: the native events of every component, with their qualifiers.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "arguments.hpp"
#include "listing.hpp"

using namespace substrata::utilities;

namespace {

constexpr std::size_t kWidth = 78;  // between the bars

// Text in the box, broken at spaces where it can be.
void print_boxed(std::size_t indent, const std::string& text) {
  const std::size_t room = kWidth - indent;
  std::size_t at = 0;
  do {
    std::size_t length = std::min(room, text.size() - at);
    if (at + length < text.size())
      if (const std::size_t space = text.rfind(' ', at + length); space != std::string::npos && space > at)
        length = space - at;
    std::printf("|%*s%-*s|\n", static_cast<int>(indent), "", static_cast<int>(room),
                text.substr(at, length).c_str());
    at += length;
    while (at < text.size() && text[at] == ' ') ++at;
  } while (at < text.size());
}

int print_event(const std::string& name) {
  PAPI_event_info_t info;
  if (!describe("papi_native_avail", name, &info)) return 1;
  std::printf("%-20s%s\n%-20s0x%x\n%-20s%s\n", "Event name:", info.symbol, "Event Code:", info.event_code,
              "Description:", info.long_descr);
  if (info.units[0] != '\0') std::printf("%-20s%s\n", "Units:", info.units);
  print_qualifiers(info, "\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // "-sde FILE" is spelled as PAPI's utility spells it.
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "-sde") == 0) {
      std::fprintf(
          stderr,
          "papi_native_avail: -sde is not offered: a program's software-defined events exist while it "
          "runs; count them there\n");
      return 2;
    }
  bool check = false, no_qualifiers = false, no_groups = false;
  std::string event, include, exclude;
  struct Class {
    const char* option;
    const char* text;
    int modifier;
    bool on;
  };
  Class classes[] = {
      {"--darr", "events with data address range restriction", PAPI_NTV_ENUM_DARR, false},
      {"--dear", "data event address register events", PAPI_NTV_ENUM_DEAR, false},
      {"--iarr", "events with instruction address range restriction", PAPI_NTV_ENUM_IARR, false},
      {"--iear", "instruction event address register events", PAPI_NTV_ENUM_IEAR, false},
      {"--opcm", "events with opcode matching", PAPI_NTV_ENUM_OPCM, false},
  };
  substrata::Arguments arguments("papi_native_avail", "Lists the native events of every component.");
  arguments.flag("-c,--check", check, "only events that can be added to an eventset");
  arguments.word("-e", event, "only this event, with details");
  arguments.word("-i", include, "only names with this text in them");
  arguments.word("-x", exclude, "no names with this text in them");
  arguments.flag("--noqual", no_qualifiers, "without qualifiers");
  arguments.flag("--nogroups", no_groups, "without groups (none are known)");
  for (Class& one : classes) arguments.flag(one.option, one.on, one.text);
  if (const auto status = arguments.parse(argc, argv)) return *status;

  start_library();
  print_machine("Available native events and hardware information.");
  if (!event.empty()) return print_event(event);

  unsigned total = 0;
  for (int component = 0; component < PAPI_num_components(); ++component) {
    const PAPI_component_info_t* about = PAPI_get_component_info(component);
    if (about == nullptr || about->disabled != 0) continue;
    print_rule(79, '=');
    std::printf(" Native Events in Component: %s\n", about->name);
    print_rule(79, '=');
    std::vector<int> codes = native_events(component);
    for (const Class& one : classes) {
      if (!one.on) continue;
      codes.clear();
      for (int code = PAPI_NATIVE_MASK; PAPI_enum_cmp_event(&code, one.modifier, component) == PAPI_OK;)
        codes.push_back(code);
    }
    for (const int code : codes) {
      PAPI_event_info_t info;
      if (PAPI_get_event_info(code, &info) != PAPI_OK) continue;
      const std::string name = info.symbol;
      if (!include.empty() && name.find(include) == std::string::npos) continue;
      if (!exclude.empty() && name.find(exclude) != std::string::npos) continue;
      if (check && !can_add(code)) continue;
      ++total;
      print_boxed(1, name);
      print_boxed(12, info.long_descr);
      if (!no_qualifiers && about->cntr_umasks != 0)
        for (const int qualifier : qualifiers(code, component))
          if (PAPI_get_event_info(qualifier, &info) == PAPI_OK) {
            const Qualifier own = own_part(info, name);
            print_boxed(5, own.name);
            print_boxed(12, own.text);
          }
      print_rule(80);
    }
  }
  std::printf("\nTotal events reported: %u\n", total);
  PAPI_shutdown();
  return 0;
}
