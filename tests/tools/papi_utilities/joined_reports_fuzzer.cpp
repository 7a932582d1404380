// Any text as a report of the high-level interface, alone and beside itself: refused with a reason, or joined, and what
// comes out is JSON again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <string>

#include "tools/papi_utilities/joined_reports.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace substrata::utilities;
  std::istringstream text(std::string(reinterpret_cast<const char*>(data), size));
  std::vector<RankReport> ranks;
  try {
    ranks.push_back({0, read_report(text)});
  } catch (const std::exception& error) {
    if (*error.what() == '\0') std::abort();
    return 0;
  }
  ranks.push_back({7, ranks[0].report});
  for (const Joining how : {Joining::kDetail, Joining::kSummary})
    for (const bool derived : {false, true}) {
      std::string joined;
      try {
        joined = join_reports(ranks, how, derived);
      } catch (const std::exception& error) {
        if (*error.what() == '\0') std::abort();
        continue;
      }
      if (!nlohmann::json::accept(joined)) std::abort();
    }
  return 0;
}
