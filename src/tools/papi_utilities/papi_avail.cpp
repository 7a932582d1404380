// papi_avail: the preset and user-defined events, and whether they can be counted here.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "tools/arguments/arguments.hpp"
#include "tools/papi_utilities/listing.hpp"

using namespace substrata::utilities;

namespace {

void print_details(const PAPI_event_info_t& info) {
  const bool native = IS_NATIVE(static_cast<int>(info.event_code));
  std::printf("%-30s%s\n%-30s0x%08x\n", "Event name:", info.symbol, "Event Code:", info.event_code);
  if (!native) std::printf("%-30s%u\n", "Number of Native Events:", info.count);
  std::printf("%-29s|%s|\n%-29s|%s|\n", "Short Description:", info.short_descr,
              "Long Description:", info.long_descr);
  if (native) return;
  std::printf("%-29s|%s|\n%-29s|%s|\n%-29s|%s|\n", "Developer's Notes:", info.note,
              "Derived Type:", info.derived, "Postfix Processing String:", info.postfix);
  for (unsigned i = 0; i < info.count && i < PAPI_MAX_INFO_TERMS; ++i)
    std::printf(" Native Code[%u]: 0x%x |%s|\n", i, info.code[i], info.name[i]);
}

int print_event(const std::string& name) {
  PAPI_event_info_t info;
  if (!describe("papi_avail", name, &info)) return 1;
  const int code = static_cast<int>(info.event_code);
  print_details(info);
  if (IS_PRESET(code) && info.count == 0)
    std::printf("\nPRESET event %s is NOT available on this architecture!\n", info.symbol);
  if (IS_NATIVE(code)) print_qualifiers(info, "");
  std::printf("\n");
  print_rule(80);
  return 0;
}

// Ends of notes, from behind a colon, that stand in several rows: each is printed once below them.
class Reasons {
 public:
  explicit Reasons(const std::vector<PAPI_event_info_t>& rows) {
    for (const PAPI_event_info_t& row : rows)
      for (const std::size_t begin : begins(row)) ++rows_of_[row.note + begin];
  }
  void shorten(PAPI_event_info_t* row) {
    const std::string note = row->note;
    std::string reason;
    int most = 1;
    for (const std::size_t begin : begins(*row))
      if (const int rows = rows_of_[note.substr(begin)]; rows > most) {
        most = rows;
        reason = note.substr(begin);
      }
    if (reason.empty()) return;
    auto known = std::find(texts_.begin(), texts_.end(), reason);
    if (known == texts_.end()) known = texts_.insert(texts_.end(), reason);
    std::snprintf(row->note, sizeof row->note, "%s[%zu]", note.substr(0, note.size() - reason.size()).c_str(),
                  static_cast<std::size_t>(known - texts_.begin()) + 1);
  }
  void print() const {
    for (std::size_t i = 0; i < texts_.size(); ++i) std::printf("[%zu] %s\n", i + 1, texts_[i].c_str());
  }

 private:
  static std::vector<std::size_t> begins(const PAPI_event_info_t& row) {
    std::vector<std::size_t> out;
    const std::string note = row.count == 0 ? row.note : "";
    for (std::size_t at = note.find(": "); at != std::string::npos; at = note.find(": ", at + 2))
      out.push_back(at + 2);
    return out;
  }
  std::map<std::string, int> rows_of_;
  std::vector<std::string> texts_;
};

}  // namespace

int main(int argc, char** argv) {
  bool available = false, check = false, detail = false;
  std::string event;
  ClassOption filters[] = {
      {"--br", "branch related presets", PAPI_PRESET_BIT_BR},
      {"--cache", "cache related presets", PAPI_PRESET_BIT_CACH},
      {"--cnd", "conditional presets", PAPI_PRESET_BIT_CND},
      {"--fp", "floating point presets", PAPI_PRESET_BIT_FP},
      {"--ins", "instruction presets", PAPI_PRESET_BIT_INS},
      {"--idl", "stalled or idle presets", PAPI_PRESET_BIT_IDL},
      {"--l1", "level 1 cache presets", PAPI_PRESET_BIT_L1},
      {"--l2", "level 2 cache presets", PAPI_PRESET_BIT_L2},
      {"--l3", "level 3 cache presets", PAPI_PRESET_BIT_L3},
      {"--mem", "memory presets", PAPI_PRESET_BIT_MEM},
      {"--msc", "miscellaneous presets", PAPI_PRESET_BIT_MSC},
      {"--tlb", "translation lookaside buffer presets", PAPI_PRESET_BIT_TLB},
  };
  substrata::Arguments arguments("papi_avail", "Lists preset and user-defined events.");
  arguments.flag("-a,--avail", available, "only those that can be counted here");
  arguments.flag("-c,--check", check, "the same, each one added to an eventset to make sure");
  arguments.flag("-d,--detail", detail, "with details");
  arguments.word("-e", event, "only this event, with details");
  take_flags(&arguments, filters);
  if (const auto status = arguments.parse(argc, argv)) return *status;
  unsigned wanted = 0;
  for (const ClassOption& filter : filters) wanted |= filter.on ? static_cast<unsigned>(filter.value) : 0;

  start_library();
  print_machine("Available PAPI preset and user defined events plus hardware information.");
  if (!event.empty()) return print_event(event);
  if (check) available = true;

  const auto described = [&](const std::vector<int>& codes) {
    std::vector<PAPI_event_info_t> out;
    PAPI_event_info_t info;
    for (const int code : codes)
      if (PAPI_get_event_info(code, &info) == PAPI_OK && (wanted == 0 || (info.event_type & wanted) != 0))
        out.push_back(info);
    return out;
  };
  const std::vector<PAPI_event_info_t> of_papi = described(presets()), own = described(user_events());
  Reasons reasons(of_papi);
  unsigned possible = 0, usable = 0, derived = 0;
  const auto list = [&](const std::vector<PAPI_event_info_t>& rows, const char* title) {
    print_rule(80, '=');
    std::printf("  %s\n", title);
    print_rule(80, '=');
    if (!detail) print_preset_header(!available);
    for (PAPI_event_info_t info : rows) {
      ++possible;
      const bool here = info.count != 0 && (!check || can_add(static_cast<int>(info.event_code)));
      if (available && !here) continue;
      usable += here ? 1 : 0;
      derived += here && is_derived(info) ? 1 : 0;
      if (detail) {
        print_details(info);
        std::printf("\n");
      } else {
        reasons.shorten(&info);
        print_preset(info, !available);
      }
    }
  };
  list(of_papi, "PAPI Preset Events");
  if (!own.empty()) {
    std::printf("\n");
    list(own, "User Defined Events");
  }
  print_rule(80);
  reasons.print();
  if (available)
    std::printf("Of %u available events, %u are derived.\n\n", usable, derived);
  else
    std::printf("Of %u possible events, %u are available, of which %u are derived.\n\n", possible, usable,
                derived);
  if (usable == 0) std::printf("No events detected!  Check papi_component_avail to find out why.\n\n");
  PAPI_shutdown();
  return 0;
}
