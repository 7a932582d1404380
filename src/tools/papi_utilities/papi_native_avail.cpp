// papi_native_avail: the native events of every component, with their qualifiers.
#include <dlfcn.h>
#include <sde_lib.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tools/arguments/arguments.hpp"
#include "tools/papi_utilities/listing.hpp"

using namespace substrata::utilities;

namespace {

// Takes "-sde FILE", spelled as PAPI's utility spells it, out of the command line. False when FILE is
// missing.
bool take_sde(int* argc, char** argv, std::string* file) {
  for (int i = 1; i < *argc; ++i) {
    if (std::strcmp(argv[i], "-sde") != 0) continue;
    if (i + 1 == *argc) return false;
    *file = argv[i + 1];
    for (int k = i; k + 2 <= *argc; ++k) argv[k] = argv[k + 2];
    *argc -= 2;
    return true;
  }
  return true;
}

// Lets a library publish what it would publish in a program. False with the reason on stderr.
bool load_publisher(const std::string& file) {
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    std::fprintf(stderr,
                 "papi_native_avail: %s\nOnly shared objects can be asked; a program's events exist while it "
                 "runs.\n",
                 dlerror());
    return false;
  }
  using Hook = papi_handle_t(papi_sde_fptr_struct_t*);
  const auto hook = reinterpret_cast<Hook*>(dlsym(library, "papi_sde_hook_list_events"));
  papi_sde_fptr_struct_t calls;
  POPULATE_SDE_FPTR_STRUCT(calls);
  if (hook != nullptr)
    hook(&calls);
  else
    std::fprintf(stderr,
                 "papi_native_avail: %s has no papi_sde_hook_list_events; only what it publishes when it is "
                 "loaded is listed\n",
                 file.c_str());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::string sde;
  if (!take_sde(&argc, argv, &sde)) {
    std::fprintf(stderr, "papi_native_avail: -sde wants a file\n");
    return 2;
  }
  bool no_qualifiers = false, no_groups = false;
  std::string event;
  NativeChoice choice;
  ClassOption classes[] = {
      {"--darr", "events with data address range restriction", PAPI_NTV_ENUM_DARR},
      {"--dear", "data event address register events", PAPI_NTV_ENUM_DEAR},
      {"--iarr", "events with instruction address range restriction", PAPI_NTV_ENUM_IARR},
      {"--iear", "instruction event address register events", PAPI_NTV_ENUM_IEAR},
      {"--opcm", "events with opcode matching", PAPI_NTV_ENUM_OPCM},
  };
  substrata::Arguments arguments(
      "papi_native_avail",
      "Lists the native events of every component; -sde FILE: those a shared object publishes, too.");
  arguments.flag("-c,--check", choice.check, "only events that can be added to an eventset");
  arguments.word("-e", event, "only this event, with details");
  arguments.word("-i", choice.include, "only names with this text in them");
  arguments.word("-x", choice.exclude, "no names with this text in them");
  arguments.flag("--noqual", no_qualifiers, "without qualifiers");
  arguments.flag("--nogroups", no_groups, "without groups (none are known)");
  take_flags(&arguments, classes);
  if (const auto status = arguments.parse(argc, argv)) return *status;

  choice.qualifiers = !no_qualifiers;

  if (!sde.empty() && !load_publisher(sde)) return 1;
  start_library();
  print_machine("Available native events and hardware information.");
  if (!event.empty()) {
    PAPI_event_info_t info;
    if (!describe("papi_native_avail", event, &info)) return 1;
    print_native_details(info);
    return 0;
  }

  unsigned total = 0;
  for (int component = 0; component < PAPI_num_components(); ++component) {
    const PAPI_component_info_t* about = PAPI_get_component_info(component);
    if (about == nullptr || about->disabled != 0) continue;
    print_rule(79, '=');
    std::printf(" Native Events in Component: %s\n", about->name);
    print_rule(79, '=');
    std::vector<int> codes = native_events(component);
    for (const ClassOption& one : classes) {
      if (!one.on) continue;
      codes.clear();
      for (int code = PAPI_NATIVE_MASK; PAPI_enum_cmp_event(&code, one.value, component) == PAPI_OK;)
        codes.push_back(code);
    }
    total += print_native_events(codes, choice);
  }
  std::printf("\nTotal events reported: %u\n", total);
  PAPI_shutdown();
  return 0;
}
