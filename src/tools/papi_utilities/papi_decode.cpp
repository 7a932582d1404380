// papi_decode: the presets as comma-separated text.
#include <cstdio>
#include <cstring>

#include "tools/arguments/arguments.hpp"
#include "tools/papi_utilities/listing.hpp"

using namespace substrata::utilities;

int main(int argc, char** argv) {
  bool available = false;
  substrata::Arguments arguments("papi_decode", "Prints the presets as comma-separated text.");
  arguments.flag("-a", available, "only those that can be counted here");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  start_library();
  std::printf("name,derived,postfix,short_descr,long_descr,note,[native,...]\n\n");
  for (const int code : presets()) {
    PAPI_event_info_t info;
    if (PAPI_get_event_info(code, &info) != PAPI_OK || (available && info.count == 0)) continue;
    std::printf("%s,%s,%s,", info.symbol, info.derived[0] != '\0' ? info.derived : "NOT_DERIVED",
                info.postfix);
    std::printf("\"%s\",\"%s\",", info.short_descr, info.long_descr);
    if (info.note[0] != '\0') std::printf("\"%s\"", info.note);
    for (unsigned i = 0; i < info.count && i < PAPI_MAX_INFO_TERMS; ++i) std::printf(",%s", info.name[i]);
    std::printf("\n");
  }
  PAPI_shutdown();
  return 0;
}
