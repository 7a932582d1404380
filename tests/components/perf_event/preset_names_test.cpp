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

#include "perf_events/device_files.hpp"
#include "perf_events/presets.hpp"
#include "support/counter_units.hpp"

namespace substrata::test {
namespace {

using tests::is_counter_unit;

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
  for (const char* of_the_kernel :
       {"*", "armv8*", "cpu_core", "alderlake_hybrid", "meteorlake_hybrid", "lunarlake_hybrid"})
    EXPECT_EQ(tables.erase(of_the_kernel), 1u);
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
  for (const pfm_pmu_info_t& info : tests::counter_units()) {
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
      if (!is_counter_unit(cpu)) continue;  // the kernel's names, or a processor newer than this libpfm4
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

// The codes for processors that an old libpfm4 does not know are those that a newer one gives for the names.
TEST(OwnPresetTables, GiveByCodeWhatTheyGiveByName) {
  if (std::getenv("LIBPFM_ENCODE_INACTIVE") == nullptr) GTEST_SKIP() << "needs LIBPFM_ENCODE_INACTIVE=1";
  ASSERT_EQ(pfm_initialize(), PFM_SUCCESS);
  perf::Pmu intel, amd;
  intel.format = {{"event", *perf::parse_format("config:0-7")},
                  {"cmask", *perf::parse_format("config:24-31")}};
  intel.format["umask"] = amd.format["umask"] = *perf::parse_format("config:8-15");
  intel.format["inv"] = amd.format["inv"] = *perf::parse_format("config:23");
  intel.format["edge"] = amd.format["edge"] = *perf::parse_format("config:18");
  amd.format["event"] = *perf::parse_format("config:0-7,32-35");
  amd.format["cmask"] = *perf::parse_format("config:24-31");
  struct Pair {
    const char *named, *coded;
    const perf::Pmu* pmu;
  };
  uint32_t compared = 0;
  for (const Pair& pair :
       {Pair{"spr", "sapphire_rapids", &intel}, Pair{"emr", "sapphire_rapids", &intel},
        Pair{"gnr", "granite_rapids", &intel}, Pair{"amd64_fam1ah_zen5", "AuthenticAMD-1A-02", &amd}}) {
    perf::PresetTable named, coded;
    for (const perf::BuiltInPresets* table = perf::built_in_presets(); table->name != nullptr; ++table) {
      if (std::string_view(table->text).find("CPU,*") != std::string_view::npos) continue;
      perf::parse_presets(table->text, {pair.named}, table->name, &named);
      perf::parse_presets(table->text, {pair.coded}, table->name, &coded);
    }
    EXPECT_EQ(named.size(), coded.size()) << pair.named;
    const bool encodes = is_counter_unit(pair.named);
    if (!encodes)
      std::printf("this libpfm4 does not know %s: only how it is derived is compared\n", pair.named);
    for (const auto& [preset, lines] : named) {
      ASSERT_EQ(coded.count(preset), 1u) << pair.coded << " lacks " << preset;
      const perf::PresetLine &by_name = lines.back(), &by_code = coded.at(preset).back();
      EXPECT_EQ(by_name.derived, by_code.derived) << preset;
      EXPECT_EQ(by_name.postfix, by_code.postfix) << preset;
      EXPECT_EQ(by_name.note, by_code.note) << preset;
      ASSERT_EQ(by_name.events.size(), by_code.events.size()) << preset;
      for (size_t term = 0; encodes && term < by_name.events.size(); ++term) {
        const std::string full = std::string(pair.named) + "::" + by_name.events[term];
        pfm_pmu_encode_arg_t argument{};
        argument.size = sizeof argument;
        ASSERT_EQ(pfm_get_os_event_encoding(full.c_str(), PFM_PLM3, PFM_OS_NONE, &argument), PFM_SUCCESS)
            << full;
        const uint64_t flags = 0x530000;  // which privilege levels, interrupts, enabled: the kernel sets them
        const uint64_t code = argument.codes[0] & ~flags;
        std::free(argument.codes);
        const std::string& coded_event = by_code.events[term];  // "cpu/.../"
        std::string error;
        const auto words =
            perf::encode_terms(*pair.pmu, coded_event.substr(4, coded_event.size() - 5), &error);
        ASSERT_TRUE(words) << coded_event << ": " << error;
        EXPECT_EQ(words->word[0], code) << preset << ": " << full << " and " << coded_event;
        ++compared;
      }
    }
  }
#if defined(__x86_64__)
  EXPECT_GT(compared, 50u);
#endif
}

}  // namespace
}  // namespace substrata::test
