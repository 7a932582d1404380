// Preset tables: PAPI's CSV form, where tables come from, and what a recipe promises.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "fake_machine.hpp"

namespace substrata::test {
namespace {

perf::PresetTable parse(const std::string& text, uint32_t* malformed = nullptr) {
  perf::PresetTable table;
  const uint32_t bad = perf::parse_presets(text, {"fake"}, "test", &table);
  if (malformed != nullptr) *malformed = bad;
  return table;
}

TEST(PresetParser, BlocksOfCpuLinesSelectThePresetsBelowThem) {  // PA-21
  const perf::PresetTable table = parse(
      "# "
      "comment\nCPU,other\nCPU,FAKE\nPRESET,PAPI_TOT_INS,NOT_DERIVED,A\n\nCPU,other\nPRESET,PAPI_TOT_CYC,NOT_"
      "DERIVED,B\n"
      "CPU,*\nPRESET,PAPI_BR_INS,DERIVED_ADD, C , D:MASK:u=1 ,\n");
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(table.at("PAPI_TOT_INS").at(0).events, (std::vector<std::string>{"A"}));
  EXPECT_EQ(table.at("PAPI_BR_INS").at(0).events, (std::vector<std::string>{"C", "D:MASK:u=1"}));
  EXPECT_EQ(table.at("PAPI_BR_INS").at(0).derived, "DERIVED_ADD");
}

TEST(PresetParser, FormulasAndNotesAreTakenApart) {
  const perf::PresetTable table =
      parse("CPU,fake\nPRESET,PAPI_FP_OPS,DERIVED_POSTFIX,N0|N1|2|*|+|,A,B,NOTE,'counts, twice'\n");
  const perf::PresetLine& line = table.at("PAPI_FP_OPS").at(0);
  EXPECT_EQ(line.postfix, "N0|N1|2|*|+|");
  EXPECT_EQ(line.events, (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(line.note, "counts, twice");
}

// PAPI's tables may have them; such lines were dropped without a word.
TEST(PresetParser, InfixFormulasAreKept) {
  uint32_t malformed = 1;
  const perf::PresetTable table =
      parse("CPU,fake\nPRESET,PAPI_FP_OPS,DERIVED_INFIX,(N0+N1)*#/2,A,B\n", &malformed);
  EXPECT_EQ(malformed, 0u);
  ASSERT_EQ(table.count("PAPI_FP_OPS"), 1u);
  EXPECT_EQ(table.at("PAPI_FP_OPS").at(0).postfix, "(N0+N1)*#/2");
  EXPECT_EQ(table.at("PAPI_FP_OPS").at(0).derived, "DERIVED_INFIX");
}

TEST(PresetParser, MalformedLinesAreCountedAndLeftOut) {
  uint32_t malformed = 0;
  const perf::PresetTable table = parse(
      "CPU,fake\nPRESET\nPRESET,X\nPRESET,X,NOT_DERIVED\nPRESET,X,SOMEHOW,A\nPRESET,X,DERIVED_POSTFIX,N0|N5|+"
      "|,A\n"
      "WHAT,ever\nPRESET,X,NOT_DERIVED,A,B,C,D,E,F,G,H,I,J,K,L,M\n",
      &malformed);
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(malformed, 7u);
}

TEST(PresetFormula, OnlySoundPostfixIsAccepted) {
  EXPECT_TRUE(perf::postfix_is_sound("N0|N1|+|", 2));
  EXPECT_TRUE(perf::postfix_is_sound("N0|4|*|N1|8.5|*|+", 2));
  EXPECT_TRUE(perf::postfix_is_sound("N0|#|*|", 1));
  EXPECT_FALSE(perf::postfix_is_sound("N0|N1|%|", 2)) << "PAPI has no such operator either";
  EXPECT_FALSE(perf::postfix_is_sound("N0|N1|", 2));
  EXPECT_FALSE(perf::postfix_is_sound("N0|+|", 1));
  EXPECT_FALSE(perf::postfix_is_sound("N2|", 2));
  EXPECT_FALSE(perf::postfix_is_sound("", 1));
  EXPECT_FALSE(perf::postfix_is_sound("N|", 1));
  EXPECT_FALSE(perf::postfix_is_sound("N0|x|+|", 1));
}

TEST(PresetFormula, OnlySoundInfixIsAccepted) {
  for (const char* good : {"N0", "N0+N1", "(N0+N1)*#/2", " N0 * ( 1e3 - N1 ) ", "N0*-2.5"})
    EXPECT_TRUE(perf::infix_is_sound(good, 2)) << good;
  for (const char* bad : {"", "N0+", "N0+(", "(N0", "N0)", "N2", "N", "N0 N1", "N0%N1", "()", "x"})
    EXPECT_FALSE(perf::infix_is_sound(bad, 2)) << bad;
}

class PresetSources : public ::testing::Test {
 protected:
  PresetSources() : host(tree.path()) {}
  // The name of the first event of a preset's recipe, or "" and the refusal's note in `why`.
  std::string first_term(const char* preset) {
    Driver driver(host, fake.kernel(), fake_encoder());
    Recipe recipe;
    const Status status = driver.table.recipe(driver.device, preset, &recipe);
    why = status.note == nullptr ? "" : status.note;
    if (!status.ok()) return "";
    EXPECT_GE(recipe.term_count, 1u);
    return driver.at(recipe.terms[0]).name;
  }
  tests::TemporaryFolder tree;
  TestHost host;
  FakeKernel fake;
  std::string why;
};

TEST_F(PresetSources, ComeInTheirOrder) {  // PA-21, PA-15
  EXPECT_EQ(first_term("PAPI_TOT_INS"), "perf::INSTRUCTIONS") << "our own table, from inside the library";
  tree.write("usr/share/papi/6.0/papi_events.csv", "CPU,fake\nPRESET,PAPI_TOT_INS,NOT_DERIVED,MASKED:TWO\n");
  tree.write("usr/share/papi/10.0/papi_events.csv",
             "CPU,fake\nPRESET,PAPI_TOT_INS,NOT_DERIVED,INSTRUCTIONS_DONE\n");
  EXPECT_EQ(first_term("PAPI_TOT_INS"), "INSTRUCTIONS_DONE") << "the newest installed PAPI's";
  EXPECT_EQ(first_term("PAPI_TOT_CYC"), "perf::CYCLES") << "ours adds what it lacks";
  tree.write("home/.config/substrata/presets.d/mine.csv",
             "CPU,fake\nPRESET,PAPI_TOT_INS,NOT_DERIVED,CYCLES_DONE\n");
  host.settings["HOME"] = tree.path() + "/home";
  EXPECT_EQ(first_term("PAPI_TOT_INS"), "CYCLES_DONE") << "the user's folder";
  tree.write("only.csv", "CPU,fake\nPRESET,PAPI_TOT_INS,NOT_DERIVED,MASKED:ONE\n");
  host.settings["PAPI_CSV_EVENT_FILE"] = tree.path() + "/only.csv";
  EXPECT_EQ(first_term("PAPI_TOT_INS"), "MASKED:ONE");
  EXPECT_EQ(first_term("PAPI_TOT_CYC"), "") << "PAPI_CSV_EVENT_FILE is the whole table";
}

TEST_F(PresetSources, UnreadableTableIsTheReasonWhyThereAreNoPresets) {
  host.settings["PAPI_CSV_EVENT_FILE"] = tree.path() + "/none.csv";
  EXPECT_EQ(first_term("PAPI_TOT_INS"), "");
  EXPECT_NE(why.find("none.csv: the file cannot be read"), std::string::npos) << why;
}

TEST_F(PresetSources, LineThatWasLeftOutIsTheReasonWithFileLineAndColumn) {
  tree.write("bad.csv",
             "CPU,fake\n"
             "PRESET,PAPI_TOT_INS,NOT_DERIVED\n"
             "PRESET,PAPI_TOT_CYC, SOMEHOW,CYCLES_DONE\n"
             "  PRESET,PAPI_FP_OPS,DERIVED_POSTFIX,N0|N7|+|,CYCLES_DONE\n"
             "EVENT,PAPI_BR_INS,NOT_DERIVED,CYCLES_DONE\n"
             "PRESET,PAPI_SP_OPS,DERIVED_INFIX,N0+(,CYCLES_DONE\n");
  host.settings["PAPI_CSV_EVENT_FILE"] = tree.path() + "/bad.csv";
  for (const auto& [preset, place] : {std::pair{"PAPI_TOT_INS", "/bad.csv:2:21: a preset needs"},
                                      std::pair{"PAPI_TOT_CYC", "/bad.csv:3:22: no such way"},
                                      std::pair{"PAPI_FP_OPS", "/bad.csv:4:38: the formula"},
                                      std::pair{"PAPI_BR_INS", "/bad.csv:5:1: a line begins"},
                                      std::pair{"PAPI_SP_OPS", "/bad.csv:6:34: the formula"}}) {
    EXPECT_EQ(first_term(preset), "");
    EXPECT_NE(why.find(place), std::string::npos) << why;
  }
}

TEST_F(PresetSources, LaterLinesReplaceEarlierOnes) {
  tree.write("t.csv",
             "CPU,fake\nPRESET,PAPI_TOT_INS,NOT_DERIVED,CYCLES_DONE\nCPU,fake\nPRESET,PAPI_TOT_INS,NOT_"
             "DERIVED,INSTRUCTIONS_DONE\n");
  host.settings["PAPI_CSV_EVENT_FILE"] = tree.path() + "/t.csv";
  EXPECT_EQ(first_term("PAPI_TOT_INS"), "INSTRUCTIONS_DONE");
}

TEST_F(PresetSources, PresetWhoseEventDoesNotOpenIsNotAPresetHere) {  // PA-23
  tree.write("t.csv",
             "CPU,fake\nPRESET,PAPI_TOT_INS,NOT_DERIVED,INSTRUCTIONS_DONE\nPRESET,PAPI_TOT_CYC,DERIVED_ADD,"
             "CYCLES_DONE,NO_SUCH\n");
  host.settings["PAPI_CSV_EVENT_FILE"] = tree.path() + "/t.csv";
  fake.refuse = [](const perf_event_attr& attr, pid_t, int, int) { return attr.config == 0xc0 ? EBUSY : 0; };
  EXPECT_EQ(first_term("PAPI_TOT_INS"), "");
  EXPECT_NE(why.find("INSTRUCTIONS_DONE"), std::string::npos) << why;
  EXPECT_NE(why.find("another user holds"), std::string::npos) << why;
  EXPECT_EQ(first_term("PAPI_TOT_CYC"), "");
  EXPECT_NE(why.find("NO_SUCH"), std::string::npos) << why;
  EXPECT_EQ(first_term("PAPI_FP_OPS"), "");
  EXPECT_NE(why.find("presets.d"), std::string::npos) << why;
}

// What our own tables say of processors that libpfm4 does not know, on the kernel's trees of such processors.
class PresetsByTheKernelsNames : public FakeMachine {
 protected:
  void give(const std::string& pmu, const std::string& type, const std::string& cpus) {
    const std::string folder = "sys/bus/event_source/devices/" + pmu;
    tree.write(folder + "/type", type);
    tree.write(folder + "/format/event", "config:0-7\n");
    tree.write(folder + "/format/umask", "config:8-15\n");
    tree.write(folder + "/format/cmask", "config:24-31\n");
    tree.write(folder + "/format/edge", "config:18\n");
    tree.write(folder + "/format/inv", "config:23\n");
    if (!cpus.empty()) tree.write(folder + "/cpus", cpus);
  }
  // Every preset of a section of a table opens on this machine, by the section's own lines.
  void expect_all_open(const std::string& table_name, const std::string& section) {
    perf::PresetTable presets;
    for (const perf::BuiltInPresets* table = perf::built_in_presets(); table->name != nullptr; ++table)
      if (table->name == table_name) perf::parse_presets(table->text, {section}, table->name, &presets);
    ASSERT_FALSE(presets.empty());
    Driver driver(host, fake.kernel(), fake_encoder(false));
    for (const auto& [preset, lines] : presets) {
      Recipe recipe;
      const Status status = driver.table.recipe(driver.device, preset.c_str(), &recipe);
      ASSERT_TRUE(status.ok()) << preset << ": " << text_of(status);
      ASSERT_EQ(recipe.term_count, lines.back().events.size()) << preset;
      for (uint32_t term = 0; term < recipe.term_count; ++term)
        EXPECT_EQ(driver.at(recipe.terms[term]).name, lines.back().events[term]) << preset;
    }
  }
};

TEST_F(PresetsByTheKernelsNames, OpenOnSierraForest) {  // PA-21
  give("cpu", "4\n", "");
  tree.write("sys/bus/event_source/devices/cpu/caps/pmu_name", "crestmont\n");
  expect_all_open("intel_crestmont.csv", "crestmont");
}

// A libpfm4 older than the processor left it with the kernel's generic events only.
TEST_F(PresetsByTheKernelsNames, OpenOnGraniteRapidsWithALibpfmThatDoesNotKnowIt) {
  give("cpu", "4\n", "");
  tree.write("sys/bus/event_source/devices/cpu/caps/pmu_name", "granite_rapids\n");
  expect_all_open("01_by_code.csv", "granite_rapids");
}

TEST_F(PresetsByTheKernelsNames, OpenOnZen5WithALibpfmThatDoesNotKnowIt) {
  give("cpu", "4\n", "");
  tree.write("sys/bus/event_source/devices/cpu/format/event", "config:0-7,32-35\n");
  tree.write("proc/cpuinfo",
             "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\n"
             "model name\t: AMD EPYC\n");
  expect_all_open("01_by_code.csv", "AuthenticAMD-1A-02");
}

TEST_F(PresetsByTheKernelsNames, OfZen5AreNotThoseOfItsSuccessor) {
  give("cpu", "4\n", "");
  tree.write("sys/bus/event_source/devices/cpu/format/event", "config:0-7,32-35\n");
  tree.write("proc/cpuinfo", "vendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 80\n");
  Driver driver(host, fake.kernel(), fake_encoder(false));
  Recipe recipe;
  EXPECT_FALSE(driver.table.recipe(driver.device, "PAPI_L2_DCM", &recipe).ok());
}

TEST_F(PresetsByTheKernelsNames, OpenOnAHybrid) {  // PA-21
  give("cpu_core", "4\n", "0-1\n");
  give("cpu_atom", "10\n", "2-3\n");
  expect_all_open("hybrid.csv", "cpu_core");
}

TEST_F(PresetsByTheKernelsNames, OfBranchesOpenOnHybridsBeforeLunarLake) {  // PA-21
  give("cpu_core", "4\n", "0-1\n");
  give("cpu_atom", "10\n", "2-3\n");
  for (const char* pmu : {"cpu_core", "cpu_atom"})
    tree.write(std::string("sys/bus/event_source/devices/") + pmu + "/caps/pmu_name", "alderlake_hybrid\n");
  expect_all_open("hybrid.csv", "alderlake_hybrid");
}

TEST_F(PresetsByTheKernelsNames, OfBranchesOpenOnLunarLakeWhereTheKernelTakesItsMasks) {  // PA-21
  give("cpu_core", "4\n", "0-1\n");
  give("cpu_atom", "10\n", "2-3\n");
  for (const char* pmu : {"cpu_core", "cpu_atom"})
    tree.write(std::string("sys/bus/event_source/devices/") + pmu + "/caps/pmu_name", "lunarlake_hybrid\n");
  {
    Driver driver(host, fake.kernel(), fake_encoder(false));
    Recipe recipe;
    EXPECT_FALSE(driver.table.recipe(driver.device, "PAPI_BR_CN", &recipe).ok());
  }
  tree.write("sys/bus/event_source/devices/cpu_core/format/umask", "config:8-15,40-47\n");
  expect_all_open("hybrid.csv", "lunarlake_hybrid");
}

TEST(OwnPresetTables, HaveNoMalformedLine) {
  uint32_t lines = 0;
  for (const perf::BuiltInPresets* table = perf::built_in_presets(); table->name != nullptr; ++table) {
    std::string everywhere;  // every block applies
    std::string_view text = table->text;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size() - 1);
      const std::string_view line = text.substr(0, end + 1);
      everywhere += line.starts_with("CPU,") ? "CPU,*\n" : std::string(line);
      text.remove_prefix(end + 1);
    }
    perf::PresetTable parsed;
    EXPECT_EQ(perf::parse_presets(everywhere, {}, table->name, &parsed), 0u) << table->name;
    for (const auto& [name, definitions] : parsed) {
      EXPECT_TRUE(name.starts_with("PAPI_")) << name;
      lines += static_cast<uint32_t>(definitions.size());
    }
  }
  EXPECT_GT(lines, 15u);
}

}  // namespace
}  // namespace substrata::test
