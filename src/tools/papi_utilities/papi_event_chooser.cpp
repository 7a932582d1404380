// papi_event_chooser: the events that can still be added beside given ones.
#include <cstdio>
#include <cstring>

#include "tools/papi_utilities/listing.hpp"

using namespace substrata::utilities;

int main(int argc, char** argv) {
  const bool native = argc > 1 && std::strcmp(argv[1], "NATIVE") == 0;
  const bool preset = argc > 1 && std::strcmp(argv[1], "PRESET") == 0;
  if (argc < 3 || (!native && !preset)) {
    const bool asked = argc > 1 && (std::strcmp(argv[1], "-h") == 0 || std::strcmp(argv[1], "--help") == 0);
    std::fprintf(asked ? stdout : stderr, "Usage: papi_event_chooser NATIVE|PRESET evt1 evt2 ... \n");
    return asked ? 0 : 1;
  }
  start_library();
  print_machine("Event Chooser: Available events which can be added with given events.");

  int set = PAPI_NULL;
  int status = PAPI_create_eventset(&set);
  for (int i = 2; i < argc && status == PAPI_OK; ++i) {
    status = PAPI_add_named_event(set, argv[i]);
    if (status != PAPI_OK)
      std::fprintf(stderr, "Event %s can't be counted with others %d: %s\n", argv[i], status,
                   message(status).c_str());
  }
  if (status != PAPI_OK) return 1;

  unsigned total = 0;
  const auto fits = [&](int code) {
    if (PAPI_add_event(set, code) != PAPI_OK) return false;
    PAPI_remove_event(set, code);
    return true;
  };
  if (preset) {
    print_preset_header(false);
    for (const int code : presets()) {
      PAPI_event_info_t info;
      if (PAPI_get_event_info(code, &info) != PAPI_OK || info.count == 0 || !fits(code)) continue;
      print_preset(info, false);
      ++total;
    }
  } else {
    const int component = PAPI_get_eventset_component(set);
    for (const int code : native_events(component)) {
      PAPI_event_info_t info;
      if (PAPI_get_event_info(code, &info) != PAPI_OK || !fits(code)) continue;
      std::printf("%s\t0x%x\n |%s|\n", info.symbol, info.event_code, info.long_descr);
      const std::string event = info.symbol;
      for (const int qualifier : qualifiers(code, component))
        if (PAPI_get_event_info(qualifier, &info) == PAPI_OK) {
          const Qualifier own = own_part(info, event);
          std::printf("    0x%x:%s  |%s|\n", info.event_code, own.name.c_str(), own.text.c_str());
        }
      print_rule(73);
      ++total;
    }
  }
  print_rule(73);
  std::printf("Total events reported: %u\n", total);
  PAPI_cleanup_eventset(set);
  PAPI_destroy_eventset(&set);
  PAPI_shutdown();
  return 0;
}
