// Groups of LIKWID and vendors' metrics, in files written for these tests: what they become, and where a fault lies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "metrics/evaluation.hpp"
#include "metrics/foreign.hpp"
#include "metrics/library.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace substrata;
using namespace substrata::metrics;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kGroup =
    "SHORT Work and traffic\n"
    "\n"
    "EVENTSET\n"
    "FIXC0 INSTR_RETIRED_ANY\n"
    "FIXC1 CPU_CLK_UNHALTED_CORE\n"
    "FIXC2 CPU_CLK_UNHALTED_REF\n"
    "PMC0  SOME_EVENT_MASK_ONE\n"
    "PMC1  OTHER_EVENT:EDGEDETECT:THRESHOLD=0x4\n"
    "MBOX1C0 CAS_COUNT_RD\n"
    "PWR0  PWR_PKG_ENERGY\n"
    "CBOX0C0 SOMETHING_ELSE\n"
    "\n"
    "METRICS\n"
    "Runtime [s] time\n"
    "Clock [MHz] 1.E-06*(FIXC1/FIXC2)/inverseClock\n"
    "CPI FIXC1/FIXC0\n"
    "Rate of work [MOP/s] 1.0E-06*(PMC0*4.0+PMC1)/time\n"
    "Read bandwidth [MBytes/s] 1.0E-06*MBOX1C0*64.0/time\n"
    "Power [W] PWR0/time\n"
    "Other CBOX0C0/time\n"
    "\n"
    "LONG\n"
    "Formulas: METRICS\n"
    "anything\n";

// What a file gave.
struct Parsed {
  const Metric& metric(const std::string& name) const {
    for (const Metric& one : all.metrics)
      if (one.name == name) return one;
    throw std::runtime_error("no metric " + name);
  }
  Definitions all;
  std::vector<Fault> faults;
};

struct Read : Parsed {
  explicit Read(const std::string& text, double clock_hz = 2e9) {
    Foreign about;
    about.file = "W.txt";
    about.processors = {"skx"};
    about.clock_hz = clock_hz;
    faults = parse_likwid_group(text, "W", about, &all);
  }
};

Number counted(double value) {
  Number out;
  out.present = true;
  out.value = value;
  return out;
}

// Groups of a LIKWID that knows Zen 5 were not read there.
TEST(LikwidFolders, OfZen5AreForItByBothOfItsNames) {
  EXPECT_THAT(processors_of_likwid("zen5"), Contains("amd64_fam1ah_zen5"));
  EXPECT_THAT(processors_of_likwid("zen5c"), Contains("AuthenticAMD-1A-1*"));
}

TEST(LikwidGroups, BecomeAGroupOfItsMetricsByName) {
  const Read read(kGroup);
  ASSERT_EQ(read.all.groups.size(), 1u);
  EXPECT_EQ(read.all.groups[0].name, "likwid:W");
  EXPECT_EQ(read.all.groups[0].text, "Work and traffic");
  EXPECT_THAT(read.all.groups[0].metrics,
              ElementsAre("LIKWID_W_RUNTIME", "LIKWID_W_CLOCK", "LIKWID_W_CPI", "LIKWID_W_RATE_OF_WORK",
                          "LIKWID_W_READ_BANDWIDTH", "LIKWID_W_POWER"));
}
TEST(LikwidGroups, HaveTheUnitInBrackets) {
  EXPECT_EQ(Read(kGroup).metric("LIKWID_W_READ_BANDWIDTH").unit_text, "MBytes/s");
}
TEST(LikwidGroups, ComputeWhatTheirFormulaSays) {
  const Read read(kGroup);
  const Metric& work = read.metric("LIKWID_W_RATE_OF_WORK");  // terms in the order of the formula
  EXPECT_DOUBLE_EQ(evaluate(work, {counted(3e6), counted(8e6)}, 2, 1).value, 10);
}
TEST(LikwidGroups, KnowTheRateOfTheReferenceClock) {
  const Read read(kGroup);
  EXPECT_DOUBLE_EQ(evaluate(read.metric("LIKWID_W_CLOCK"), {counted(3e9), counted(2e9)}, 1, 1).value, 3000);
}
TEST(LikwidGroups, CountEnergyInJoules) {
  const Read read(kGroup);
  EXPECT_EQ(dimension_text(read.metric("LIKWID_W_POWER").terms.at(0).unit), "J");
}
TEST(LikwidGroups, LeaveOutWhatNeedsACounterThatIsNotKnownAndSayWhere) {
  const Read read(kGroup);
  ASSERT_EQ(read.faults.size(), 1u);
  EXPECT_EQ(read.faults[0].text(), "W.txt:20:7: 'Other' is left out: counters CBOX0C0 are not known here");
}
TEST(LikwidGroups, WithoutTheRateOfTheClockLeaveOutWhatNeedsIt) {
  const Read read(kGroup, 0);
  EXPECT_EQ(read.faults.at(0).text(),
            "W.txt:15:34: 'Clock' is left out: the rate of the reference clock is not known here");
}
TEST(LikwidGroups, NameTheColumnOfACounterThatHasNoEvent) {
  const Read read("SHORT x\nEVENTSET\nPMC0 AN_EVENT\nMETRICS\nSum PMC0+PMC7\nFine PMC0\n");
  EXPECT_EQ(read.faults.at(0).text(), "W.txt:5:10: 'Sum' is left out: EVENTSET has no counter PMC7");
  EXPECT_EQ(read.all.groups.at(0).metrics.size(), 1u) << "the other metric is kept";
}
TEST(LikwidGroups, OfAnotherFormAreRefusedAtTheirFirstLine) {
  const Read read("metric M\n");
  EXPECT_EQ(read.faults.at(0).text(), "W.txt:1:1: expected SHORT, EVENTSET, METRICS or LONG");
  EXPECT_THAT(read.all.groups, IsEmpty());
}

std::vector<std::string> ours(const char* counter, const char* event) {
  std::string unit, why;
  return events_of_likwid(counter, event, {"skx"}, &unit, &why);
}
TEST(LikwidEvents, AreSpelledWithAColonForEachUnderscore) {
  EXPECT_THAT(ours("PMC0", "A_B_C"), ElementsAre("A_B:C", "A:B_C", "A_B_C"));
}
TEST(LikwidEvents, KeepTheirOptionsAsModifiers) {
  EXPECT_THAT(ours("PMC0", "A_B:EDGEDETECT:THRESHOLD=0x4"), Contains("A:B:e=1:c=4"));
}
TEST(LikwidEvents, OfAMemoryChannelAreThoseOfItsController) {
  EXPECT_THAT(ours("MBOX3C1", "CAS_COUNT_WR"), Contains("skx_unc_imc3::UNC_M_CAS_COUNT:WR"));
}
TEST(LikwidEvents, WithAnOptionThatHasNoCounterpartAreRefused) {
  std::string unit, why;
  EXPECT_THAT(events_of_likwid("PMC0", "A_B:MATCH0=0x1", {"skx"}, &unit, &why), IsEmpty());
  EXPECT_EQ(why, "the option MATCH0=0x1 of A_B has no counterpart");
}

constexpr const char* kMetrics =
    "[\n"
    " {\"MetricName\": \"Ratio\", \"MetricExpr\": \"SOME.EVENT / CPU_CLK_UNHALTED.THREAD\",\n"
    "  \"ScaleUnit\": \"100%\", \"MetricGroup\": \"Own;Other\", \"BriefDescription\": \"A ratio. And "
    "more\"},\n"
    " {\"MetricName\": \"Twice\", \"MetricExpr\": \"max(0, 1 - Ratio) * 2\"},\n"
    " {\"MetricName\": \"Bandwidth\", \"MetricExpr\": \"64 * SOME.EVENT / 1e6 / duration_time\",\n"
    "  \"ScaleUnit\": \"1MB/s\"},\n"
    " {\"MetricName\": \"Chosen\", \"MetricExpr\": \"A.ONE if 2 > 1 else B.TWO\"},\n"
    " {\"MetricName\": \"Masked\", \"MetricExpr\": \"cpu@A.ONE\\\\,cmask\\\\=0x4@\"},\n"
    " {\"MetricName\": \"Far\", \"MetricExpr\": \"UNC_X.Y / 2\"}\n"
    "]\n";

struct Vendor : Parsed {
  explicit Vendor(const std::string& text, const VendorCodes& codes = {}) {
    Foreign about;
    about.file = "m.json";
    faults = parse_vendor_metrics(text, about, codes, &all);
  }
};

TEST(VendorMetrics, AreComputedInTheirUnit) {
  const Vendor read(kMetrics);
  const Metric& ratio = read.metric("Ratio");
  EXPECT_DOUBLE_EQ(evaluate(ratio, {counted(1), counted(4)}, 1, 1).value, 25);
  EXPECT_EQ(ratio.unit_text, "%");
  EXPECT_EQ(ratio.text, "A ratio");
}
TEST(VendorMetrics, HaveTheirEventsInOurSpelling) {
  const Vendor read(kMetrics);
  EXPECT_THAT(read.metric("Ratio").terms.at(0).events, ElementsAre("SOME:EVENT"));
  EXPECT_THAT(read.metric("Ratio").terms.at(1).events, ElementsAre("PAPI_TOT_CYC"));
}
TEST(VendorMetrics, MayReferToEachOther) {
  EXPECT_DOUBLE_EQ(evaluate(Vendor(kMetrics).metric("Twice"), {counted(1), counted(4)}, 1, 1).value, 1.5);
}
TEST(VendorMetrics, KnowTheTimeMeasured) {
  EXPECT_DOUBLE_EQ(evaluate(Vendor(kMetrics).metric("Bandwidth"), {counted(1e6)}, 2, 1).value, 32);
}
TEST(VendorMetrics, CountOnlyTheBranchThatIsTaken) {
  EXPECT_EQ(Vendor(kMetrics).metric("Chosen").terms.size(), 1u);
}
TEST(VendorMetrics, KeepTheOptionsOfEvents) {
  EXPECT_THAT(Vendor(kMetrics).metric("Masked").terms.at(0).events, ElementsAre("A:ONE:c=4"));
}
TEST(VendorMetrics, AreInTheirGroups) {
  const Vendor read(kMetrics);
  ASSERT_EQ(read.all.groups.size(), 2u);
  EXPECT_EQ(read.all.groups[0].name, "Other");
  EXPECT_THAT(read.all.groups[0].metrics, ElementsAre("Ratio"));
}
TEST(VendorMetrics, OfPartsBesideTheCoreAreLeftOutWithTheirPlace) {
  const Vendor read(kMetrics);
  ASSERT_EQ(read.faults.size(), 1u);
  EXPECT_EQ(read.faults[0].text(),
            "m.json:9:38: 'Far' is left out: 'UNC_X.Y' is not an event of the core at character 1");
}
TEST(VendorMetrics, ThatReferToThemselvesAreLeftOut) {
  const Vendor read("[{\"MetricName\": \"A\", \"MetricExpr\": \"A + 1\"}]");
  EXPECT_THAT(read.all.metrics, IsEmpty());
  EXPECT_THAT(read.faults.at(0).what, HasSubstr("too deeply"));
}
TEST(VendorMetrics, ThatAreNoJsonHaveTheirLineAndColumn) {
  EXPECT_EQ(Vendor("[\n {\"MetricName\" 1}]").faults.at(0).text(), "m.json:2:16: a ':' is missing");
}
TEST(VendorMetrics, WithoutAnExpressionAreNone) {
  EXPECT_THAT(Vendor("[{\"MetricName\": \"A\", \"MetricExpr\": \"\"}, {\"MetricName\": \"B\"}]").all.metrics,
              IsEmpty());
}
TEST(VendorCodesOfEvents, AreThoseOfTheProcessorsRegister) {
  VendorCodes codes;
  const char* text =
      "[{\"EventName\": \"a.one\", \"EventCode\": \"0x44\", \"UMask\": \"0x8\", \"CounterMask\": \"2\"},\n"
      " {\"EventName\": \"b\", \"EventCode\": \"0x1A3\"}, {\"EventName\": \"u\", \"EventCode\": \"1\", "
      "\"Unit\": \"L3\"}]";
  EXPECT_THAT(parse_vendor_codes(text, "e.json", &codes), IsEmpty());
  EXPECT_THAT(codes, ElementsAre(testing::Pair("a.one", "perf_raw::r2000844"),
                                 testing::Pair("b", "perf_raw::r1000000a3")));
}
TEST(VendorCodesOfEvents, StandBesideTheirNames) {
  const Vendor read("[{\"MetricName\": \"M\", \"MetricExpr\": \"a.one\"}]", {{"a.one", "perf_raw::r844"}});
  EXPECT_THAT(read.metric("M").terms.at(0).events, ElementsAre("a:one", "perf_raw::r844"));
}

class InstalledLikwid : public testing::Test {
 protected:
  InstalledLikwid() {
    std::filesystem::create_directories(folder_.file("skylakeX"));
    std::filesystem::create_directories(folder_.file("zen3"));
    for (const char* name : {"skylakeX/W.txt", "skylakeX/MEM.txt", "zen3/Z.txt"})
      std::ofstream(folder_.file(name)) << kGroup;
  }
  Library library() const {
    return Library(
        {"skx"},
        [path = folder_.path()](const char* name) -> const char* {
          return std::string(name) == "SUBSTRATA_LIKWID_DIR" ? path.c_str() : nullptr;
        },
        [] { return 2e9; });
  }
  tests::TemporaryFolder folder_;
};
TEST_F(InstalledLikwid, HasGroupsOfThisProcessorByName) {
  const Library here = library();
  ASSERT_NE(here.find_group("W"), nullptr);
  EXPECT_EQ(here.find_group("W")->name, "likwid:W");
  EXPECT_EQ(here.find_group("Z"), nullptr) << "of another processor";
}
TEST_F(InstalledLikwid, DoesNotReplaceOurGroups) {
  const Library here = library();
  EXPECT_EQ(here.find_group("MEM")->name, "MEM");
  EXPECT_NE(here.find_group("likwid:MEM"), nullptr);
}
TEST_F(InstalledLikwid, HasNoFaultsOfTheUsers) {
  EXPECT_THAT(library().faults(), IsEmpty());
  EXPECT_EQ(library().likwid_faults().size(), 2u);
}
TEST_F(InstalledLikwid, OneOfItsFilesCanBeNamed) {
  Library here = library();
  EXPECT_THAT(here.add_file(folder_.file("zen3/Z.txt")), Contains("LIKWID_Z_CPI"));
}
TEST(UsersFolder, HasFilesOfOtherToolsToo) {
  const tests::TemporaryFolder folder;
  std::ofstream(folder.file("W.txt")) << kGroup;
  std::ofstream(folder.file("m.json")) << kMetrics;
  const std::string path = folder.path();
  const Library library({"skx"}, [&](const char* name) {
    return std::string(name) == "SUBSTRATA_METRICS_DIR" ? path.c_str() : nullptr;
  });
  EXPECT_NE(library.find_group("W"), nullptr);
  EXPECT_EQ(library.find("Ratio").size(), 1u);
  EXPECT_THAT(library.faults().at(0).text(), HasSubstr("W.txt:15:34: 'Clock' is left out"));
}
TEST_F(InstalledLikwid, AFileWithoutMetricsIsRefusedWithItsFirstFault) {
  Library here = library();
  const std::string path = folder_.file("bad.txt");
  std::ofstream(path) << "nothing\n";
  EXPECT_THROW(
      try { here.add_file(path); } catch (const std::runtime_error& error) {
        EXPECT_THAT(error.what(), HasSubstr("bad.txt:1:1: expected SHORT"));
        throw;
      },
      std::runtime_error);
}

}  // namespace
