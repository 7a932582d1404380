// Our preset tables against libpfm4's: every event they name must be one that libpfm4 can encode.
#include <gtest/gtest.h>
#include <perfmon/pfmlib.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "perf_events/presets.hpp"

namespace substrata::test {
namespace {

bool libpfm_knows_pmu(const std::string& name) {
  for (int id = 0; id < PFM_PMU_MAX; ++id) {
    pfm_pmu_info_t info{};
    info.size = sizeof info;
    if (pfm_get_pmu_info(static_cast<pfm_pmu_t>(id), &info) == PFM_SUCCESS && name == info.name) return true;
  }
  return false;
}

// The processor's presets by our own tables, the events of their formulas, and how many different ones the largest has.
struct OfProcessor {
  std::set<std::string> presets, events;
  size_t most_events = 0;
};

std::map<std::string, OfProcessor> by_processor() {
  std::map<std::string, OfProcessor> all;
  for (const perf::BuiltInPresets* table = perf::built_in_presets(); table->name != nullptr; ++table) {
    std::istringstream text(table->text);
    std::set<std::string> cpus;
    for (std::string line; std::getline(text, line);)
      if (line.starts_with("CPU,")) cpus.insert(line.substr(4));
    for (const std::string& cpu : cpus) {
      perf::PresetTable presets;
      perf::parse_presets(table->text, {cpu == "*" ? "" : cpu}, table->name, &presets);
      OfProcessor& its = all[cpu];
      for (const auto& [name, lines] : presets) {
        its.presets.insert(name);
        for (const perf::PresetLine& line : lines) {
          const std::set<std::string> events(line.events.begin(), line.events.end());
          its.most_events = std::max(its.most_events, events.size());
          its.events.insert(events.begin(), events.end());
        }
      }
    }
  }
  return all;
}

TEST(OwnPresetTables, AreTheOnesThatTheReferenceLists) {
  std::map<std::string, OfProcessor> tables = by_processor();
  for (const char* of_the_kernel : {"*", "armv8*", "cpu_core"}) EXPECT_EQ(tables.erase(of_the_kernel), 1u);
  std::ifstream page(REFERENCE_PAGE);
  ASSERT_TRUE(page.is_open()) << REFERENCE_PAGE;
  for (std::string line; std::getline(page, line);) {
    std::istringstream cells(line);
    std::string empty, processor, names, presets, counters;
    std::getline(cells, empty, '|') && std::getline(cells, processor, '|') &&
        std::getline(cells, names, '|') && std::getline(cells, presets, '|') &&
        std::getline(cells, counters, '|');
    if (names.find('`') == std::string::npos) continue;
    std::istringstream words(names);
    for (std::string name; words >> name;) {
      name = name.substr(1, name.size() - 2);
      const auto found = tables.find(name);
      ASSERT_NE(found, tables.end()) << "no table has " << name;
      EXPECT_EQ(std::to_string(found->second.presets.size()), std::to_string(std::stoi(presets))) << name;
      EXPECT_EQ(std::to_string(found->second.most_events), std::to_string(std::stoi(counters))) << name;
      tables.erase(found);
    }
  }
  for (const auto& [name, its] : tables) ADD_FAILURE() << REFERENCE_PAGE " lacks " << name;
}

TEST(OwnPresetTables, AreListedBesideThoseOfTheInstalledPapi) {
  std::ifstream file("/usr/share/papi/7.0/papi_events.csv");
  if (!file.is_open()) GTEST_SKIP() << "the table of PAPI 7.0 (package libpapi7.0) is not installed";
  // A section begins with one or more lines CPU,name.
  std::map<std::string, std::set<std::string>> theirs;
  std::vector<std::string> cpus;
  bool in_head = false;
  for (std::string line; std::getline(file, line);) {
    std::istringstream cells(line.substr(0, line.find('#')));
    std::string word, name;
    std::getline(cells, word, ',') && std::getline(cells, name, ',');
    while (!name.empty() && std::isspace(static_cast<unsigned char>(name.back()))) name.pop_back();
    if (word == "CPU") {
      if (!in_head) cpus.clear();
      cpus.push_back(name);
    }
    if (word == "PRESET")
      for (const std::string& cpu : cpus) theirs[cpu].insert(name);
    if (!word.empty()) in_head = word == "CPU";
  }
  std::ifstream page(REFERENCE_PAGE);
  int rows = 0;
  for (std::string line; std::getline(page, line);) {
    std::istringstream cells(line);
    std::string cell[7];
    for (std::string& one : cell) std::getline(cells, one, '|');
    if (cell[2].find('`') == std::string::npos) continue;
    ++rows;
    std::istringstream words(cell[2]), numbers(cell[5]);
    int number = -1;
    for (std::string name; words >> name;) {
      if (std::string text; std::getline(numbers, text, ',')) number = std::stoi(text);
      EXPECT_EQ(number, static_cast<int>(theirs[name.substr(1, name.size() - 2)].size())) << name;
    }
  }
  EXPECT_GT(rows, 20);
}

TEST(OwnPresetTables, NeedNoMoreCountersThanTheProcessorHas) {
  if (std::getenv("LIBPFM_ENCODE_INACTIVE") == nullptr) GTEST_SKIP() << "needs LIBPFM_ENCODE_INACTIVE=1";
  ASSERT_EQ(pfm_initialize(), PFM_SUCCESS);
  const std::map<std::string, OfProcessor> tables = by_processor();
  for (int id = 0; id < PFM_PMU_MAX; ++id) {
    pfm_pmu_info_t info{};
    info.size = sizeof info;
    if (pfm_get_pmu_info(static_cast<pfm_pmu_t>(id), &info) != PFM_SUCCESS) continue;
    const auto found = tables.find(info.name);
    if (found == tables.end()) continue;
    EXPECT_LE(found->second.most_events, static_cast<size_t>(info.num_cntrs)) << info.name;
  }
}

// Of processors that this libpfm4 does not know: against the names in its sources (record_libpfm4_names).
TEST(OwnPresetTables, NameEventsThatLibpfmHasOnOtherArchitectures) {  // PA-21
  std::ifstream names(LIBPFM4_NAMES);
  ASSERT_TRUE(names.is_open()) << LIBPFM4_NAMES;
  std::map<std::string, OfProcessor> tables = by_processor();
  for (std::string line; std::getline(names, line);) {
    std::istringstream words(line);
    std::string cpu;
    words >> cpu;
    const std::set<std::string> known{std::istream_iterator<std::string>(words), {}};
    const auto table = tables.find(cpu);
    ASSERT_NE(table, tables.end()) << "no table has " << cpu;
    for (const std::string& event : table->second.events)
      EXPECT_EQ(known.count(event.substr(0, event.find(':'))), 1u) << cpu << "::" << event;
    tables.erase(table);
  }
  for (const auto& [cpu, its] : tables)
    EXPECT_FALSE(cpu.starts_with("arm_") || cpu.starts_with("power"))
        << cpu << " is not in the list of names";
}

// An event of a core PMU of AMD's in the kernel's form, from libpfm4's code: bits 0 to 7 and 32 to 35 are the event,
// 8 to 15 its mask.
std::string kernels_form(const std::string& full) {
  pfm_pmu_encode_arg_t argument{};
  argument.size = sizeof argument;
  const int result = pfm_get_os_event_encoding(full.c_str(), PFM_PLM3, PFM_OS_NONE, &argument);
  const uint64_t code = result == PFM_SUCCESS && argument.count > 0 ? argument.codes[0] : 0;
  std::free(argument.codes);
  if (result != PFM_SUCCESS) return full + ": " + pfm_strerror(result);
  const auto event = static_cast<unsigned>((code & 0xff) | (code >> 24 & 0xf00));
  const auto mask = static_cast<unsigned>(code >> 8 & 0xff);
  char text[64];
  if (mask == 0)
    std::snprintf(text, sizeof text, "cpu/event=0x%x/", event);
  else
    std::snprintf(text, sizeof text, "cpu/event=0x%x,umask=0x%x/", event, mask);
  return text;
}

TEST(OwnPresetTables, CodesOfZen5AreThoseOfItsNames) {
  if (std::getenv("LIBPFM_ENCODE_INACTIVE") == nullptr) GTEST_SKIP() << "needs LIBPFM_ENCODE_INACTIVE=1";
  ASSERT_EQ(pfm_initialize(), PFM_SUCCESS);
  const std::string unit = "amd64_fam1ah_zen5";
  perf::PresetTable by_name, by_code;
  for (const perf::BuiltInPresets* table = perf::built_in_presets(); table->name != nullptr; ++table) {
    if (std::string_view(table->name) != "amd.csv") continue;
    perf::parse_presets(table->text, {unit}, table->name, &by_name);
    perf::parse_presets(table->text, {"zen5"}, table->name, &by_code);
  }
  ASSERT_EQ(by_name.size(), by_code.size());
  for (const auto& [name, lines] : by_name) {
    ASSERT_EQ(by_code.count(name), 1u) << name;
    EXPECT_EQ(by_code.at(name).back().derived, lines.back().derived) << name;
  }
  if (!libpfm_knows_pmu(unit)) GTEST_SKIP() << "this libpfm4 does not know Zen 5: codes are not compared";
  for (const auto& [name, lines] : by_name) {
    std::vector<std::string> codes;
    for (const std::string& event : lines.back().events) codes.push_back(kernels_form(unit + "::" + event));
    EXPECT_EQ(by_code.at(name).back().events, codes) << name;
  }
}

TEST(OwnPresetTables, NameEventsThatLibpfmEncodes) {  // PA-21
  // The build sets LIBPFM_ENCODE_INACTIVE, so that other processors' events can be encoded here.
  if (std::getenv("LIBPFM_ENCODE_INACTIVE") == nullptr) GTEST_SKIP() << "needs LIBPFM_ENCODE_INACTIVE=1";
  ASSERT_EQ(pfm_initialize(), PFM_SUCCESS);
  uint32_t checked = 0;
  std::set<std::string> processors;
  for (const perf::BuiltInPresets* table = perf::built_in_presets(); table->name != nullptr; ++table) {
    std::set<std::string> cpus;
    std::string_view text = table->text;
    while (!text.empty()) {
      const size_t end = text.find('\n');
      if (text.starts_with("CPU,")) cpus.emplace(text.substr(4, end - 4));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    for (const std::string& cpu : cpus) {
      if (!libpfm_knows_pmu(cpu)) continue;  // the kernel's names, or a processor newer than this libpfm4
      perf::PresetTable presets;
      EXPECT_EQ(perf::parse_presets(table->text, {cpu}, table->name, &presets), 0u);
      for (const auto& [name, lines] : presets) {
        for (const perf::PresetLine& line : lines) {
          for (const std::string& event : line.events) {
            if (event.find('/') != std::string::npos || event.starts_with("perf::")) continue;
            const std::string full = cpu + "::" + event;
            pfm_pmu_encode_arg_t argument{};
            argument.size = sizeof argument;
            const int result = pfm_get_os_event_encoding(full.c_str(), PFM_PLM3, PFM_OS_NONE, &argument);
            std::free(argument.codes);
            EXPECT_EQ(result, PFM_SUCCESS) << line.source << ": " << full << ": " << pfm_strerror(result);
            ++checked;
            processors.insert(cpu);
          }
        }
      }
    }
  }
  std::printf("%u events of %zu processors\n", checked, processors.size());
#if defined(__x86_64__)
  EXPECT_GT(checked, 1500u);
#elif defined(__aarch64__)
  EXPECT_GT(checked, 250u);
#endif
}

}  // namespace
}  // namespace substrata::test
