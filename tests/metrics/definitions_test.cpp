// Files of metrics: what they may say, where a fault lies, and which definition of a name is taken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>

#include "base/glob.hpp"
#include "metrics/library.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace substrata;
using namespace substrata::metrics;
using testing::HasSubstr;

std::vector<Fault> faults_of(const std::string& text) {
  Definitions definitions;
  return parse_definitions(text, "m", &definitions);
}
std::string first_fault(const std::string& text) {
  const std::vector<Fault> faults = faults_of(text);
  return faults.empty() ? "none" : faults.front().text();
}
std::string with_formula(const std::string& formula, const std::string& unit = "1") {
  return "metric M\n text t\n term seconds_a [ns] = a\n term bytes_b [64*bytes] = b\n term count = c\n "
         "formula " +
         formula + "\n unit " + unit + "\n";
}

TEST(MetricFiles, BytesBySecondsAreABandwidth) {
  EXPECT_EQ(first_fault(with_formula("bytes_b / seconds_a", "GB/s")), "none");
}
TEST(MetricFiles, BytesAndSecondsCannotBeAdded) {
  EXPECT_EQ(first_fault(with_formula("bytes_b + seconds_a")), "m:6:10: bytes and s cannot be added");
}
TEST(MetricFiles, AUnitThatTheFormulaDoesNotGiveIsRefused) {
  EXPECT_EQ(first_fault(with_formula("bytes_b / count", "GB/s")),
            "m:6:10: the formula gives bytes, the unit 'GB/s' is bytes/s");
}
TEST(MetricFiles, TheLesserOfTwoThatMeasureDifferentThingsIsRefused) {
  EXPECT_EQ(first_fault(with_formula("min(count, 4) / max(1, count)")), "none");
  EXPECT_EQ(first_fault(with_formula("min(bytes_b, seconds_a)")), "m:6:10: bytes and s cannot be compared");
  EXPECT_THAT(first_fault(with_formula("max(count)")), HasSubstr("min and max have two values"));
}
TEST(MetricFiles, ACountIsAddedToANumber) {
  EXPECT_EQ(first_fault(with_formula("1 - count / 4", "%")), "none");
}
TEST(MetricFiles, AnUnknownTermOfAFormulaIsNamedByItsPlace) {
  EXPECT_THAT(first_fault(with_formula("count / cuont")), HasSubstr("there is no such term at character 9"));
}
TEST(MetricFiles, AnUnknownKeywordHasItsLineAndColumn) {
  EXPECT_EQ(first_fault("metric M\n   txet t\n"),
            "m:2:4: expected text, term, formula, unit, needs, source or beside");
}
TEST(MetricFiles, AUnitThatIsNoneHasItsColumn) {
  EXPECT_EQ(first_fault("metric M\n term x [by-tes] = e\n"), "m:2:10: 'by-tes' is not a unit");
}
TEST(MetricFiles, AMetricWithoutAFormulaIsLeftOutAndTheNextIsTaken) {
  Definitions definitions;
  const auto faults =
      parse_definitions("metric A\n text a\nmetric B\n text b\n term x = e\n formula x\n", "m", &definitions);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].text(), "m:1:1: the metric has no formula");
  ASSERT_EQ(definitions.metrics.size(), 1u);
  EXPECT_EQ(definitions.metrics[0].name, "B");
}
TEST(MetricFiles, ATermIsDefinedOnce) {
  EXPECT_EQ(first_fault("metric M\n term x = a\n term x = b\n"), "m:3:7: the name is taken");
}
TEST(MetricFiles, AHugeFileIsRefused) {
  EXPECT_THAT(first_fault(std::string(kMostBytes + 1, '\n')), HasSubstr("larger than 1 MiB"));
}

TEST(Units, AreThoseOfTheKernelToo) {
  const Result<Unit> unit = parse_unit("6.103515625e-5 MiB");  // of uncore_imc
  ASSERT_TRUE(unit);
  EXPECT_DOUBLE_EQ(unit->factor, 64);
  EXPECT_EQ(dimension_text(*unit), "bytes");
}
TEST(Units, OfPowerAreEnergyByTime) {
  EXPECT_TRUE(parse_unit("mW")->measures_the_same_as(*parse_unit("nJ/ms")));
}
TEST(Units, OfCountsHaveNoDimension) { EXPECT_EQ(dimension_text(*parse_unit("cycles/instruction")), "1"); }
TEST(Units, HavePrefixes) {
  EXPECT_DOUBLE_EQ(parse_unit("GB/s")->factor, 1e9);
  EXPECT_DOUBLE_EQ(parse_unit("MHz")->factor, 1e6);
  EXPECT_DOUBLE_EQ(parse_unit("KiB")->factor, 1024);
  EXPECT_DOUBLE_EQ(parse_unit("%")->factor, 0.01);
}

const Library& built_in(const std::vector<std::string>& units = {"skx"}) {
  static std::map<std::vector<std::string>, std::unique_ptr<Library>> all;
  auto& one = all[units];
  if (one == nullptr) one = std::make_unique<Library>(units, nullptr);
  return *one;
}

TEST(BuiltInMetrics, HaveNoFault) {
  for (const Fault& fault : built_in().faults()) ADD_FAILURE() << fault.text();
}
TEST(BuiltInMetrics, HaveATextAndASource) {
  for (const BuiltInTable* table = built_in_tables(); table->name != nullptr; ++table) {
    Definitions definitions;
    parse_definitions(table->text, table->name, &definitions);
    for (const Metric& metric : definitions.metrics) EXPECT_FALSE(metric.source.empty()) << metric.place;
    for (const Group& group : definitions.groups) EXPECT_FALSE(group.text.empty()) << group.place;
  }
}
TEST(BuiltInMetrics, OfEveryGroupAreDefinedForSomeProcessor) {
  Definitions all;
  for (const BuiltInTable* table = built_in_tables(); table->name != nullptr; ++table)
    parse_definitions(table->text, table->name, &all);
  for (const Group& group : all.groups)
    for (const std::string& name : group.metrics)
      EXPECT_TRUE(std::any_of(all.metrics.begin(), all.metrics.end(),
                              [&](const Metric& metric) { return metric.name == name; }))
          << group.name << ": " << name;
}
TEST(BuiltInMetrics, HaveTheGroupsOfLikwidAndOfOtherDomains) {
  for (const char* name : {"MEM", "FLOPS_DP", "FLOPS_SP", "L2", "L3", "CACHES", "BRANCH", "TMA", "ENERGY",
                           "CLOCK", "NUMA", "TLB", "NET", "GPU", "FABRIC", "IO", "MPI", "HEAT"})
    EXPECT_NE(built_in().find_group(name), nullptr) << name;
}

// Counts every event of a list, with its unit.
Countable countable(const std::map<std::string, std::string>& events) {
  Countable out;
  out.check = [events](const std::string& event, std::string* unit) -> std::string {
    const auto found = events.find(event);
    if (found == events.end()) return event + " does not open";
    *unit = found->second;
    return {};
  };
  out.expand = [events](const std::string& pattern) {
    std::vector<std::string> names;
    for (const auto& one : events)
      if (glob(pattern, one.first)) names.push_back(one.first);
    return names;
  };
  return out;
}

TEST(Definitions, OfThisProcessorArePreferred) {
  EXPECT_THAT(built_in({"skx"}).find("MEM_BW").front()->place, HasSubstr("intel.metrics"));
  EXPECT_THAT(built_in({"power9"}).find("MEM_BW").front()->place, HasSubstr("processor.metrics"));
}
TEST(Definitions, WhoseEventsDoNotOpenGiveWayToTheNext) {
  std::string why;
  const auto bound = built_in({"skx"}).bind("MEM_BW", countable({{"PAPI_L3_TCM", ""}}), &why);
  ASSERT_TRUE(bound) << why;
  EXPECT_THAT(bound->metric->place, HasSubstr("processor.metrics"));
}
TEST(Definitions, OfTheUsersFolderComeFirst) {
  const tests::TemporaryFolder folder;
  std::ofstream(folder.file("a.metrics")) << "metric IPC\n text mine\n term x = e\n formula x\n";
  const std::string path = folder.file("");
  const Library library({"skx"}, [&](const char* name) {
    return std::string(name) == "SUBSTRATA_METRICS_DIR" ? path.c_str() : nullptr;
  });
  EXPECT_EQ(library.find("IPC").front()->text, "mine");
}
TEST(Definitions, AnEventInAnotherUnitIsConverted) {
  std::string why;
  const auto bound = built_in().bind("CPUS", countable({{"perf::TASK-CLOCK", "us"}}), &why);
  ASSERT_TRUE(bound) << why;
  EXPECT_DOUBLE_EQ(bound->terms[0].factors[0], 1e-6);
}
TEST(Definitions, AnEventOfAnotherDimensionIsRefused) {
  std::string why;
  EXPECT_FALSE(built_in().bind("CPU_SHARE", countable({{"perf::TASK-CLOCK", "bytes"}}), &why));
  EXPECT_THAT(why, HasSubstr("perf::TASK-CLOCK counts bytes, the metric expects s"));
}
TEST(Definitions, OfAPatternTakeOnlyWhatMeasuresTheSame) {
  std::string why;
  const auto bound = built_in().bind(
      "PACKAGE_TEMPERATURE",
      countable({{"coretemp:::chip:Package", "mdegC"}, {"coretemp:::chip:fan", "rpm"}}), &why);
  ASSERT_TRUE(bound) << why;
  EXPECT_EQ(bound->terms[0].events, std::vector<std::string>{"coretemp:::chip:Package"});
}
// The file was left out with "expected names of events": a comma ended the name.
TEST(Binding, TakesAnEventInTheKernelsFormWhereLibpfmHasNoName) {
  std::string why;
  const auto bound = built_in({"AuthenticAMD-1A-02"})
                         .bind("TMA_FRONTEND_BOUND",
                               countable({{"cpu/event=0x1a0,umask=0x1/", ""}, {"PAPI_TOT_CYC", ""}}), &why);
  ASSERT_TRUE(bound) << why;
  EXPECT_EQ(bound->terms[0].events, std::vector<std::string>{"cpu/event=0x1a0,umask=0x1/"});
}

// It said that no file defines the metric.
TEST(Binding, OfAMetricOfOtherProcessorsSaysSo) {
  std::string why;
  EXPECT_FALSE(built_in({"perf", "perf_raw"}).bind("TMA_RETIRING", countable({}), &why));
  EXPECT_EQ(
      why,
      "the files have TMA_RETIRING for other processors only; here: no counter unit whose name is known");
  EXPECT_FALSE(built_in({"slm", "cpu"}).bind("TMA_RETIRING", countable({}), &why));
  EXPECT_EQ(why, "the files have TMA_RETIRING for other processors only; here: slm, cpu");
}

TEST(Definitions, ThatCannotBeCountedSayWhyAndWhatTheyNeed) {
  std::string why;
  EXPECT_FALSE(built_in().bind("IPC", countable({}), &why));
  EXPECT_EQ(why, "PAPI_TOT_INS does not open; it needs counters of the processor");
}

}  // namespace
