// The unmodified programs of Debian's papi-tools, built against PAPI 7.0's header, on this library: they end
// well and what they print is true.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include "support/kernel_events.hpp"
#include "support/program.hpp"

namespace {

using namespace substrata::tests;
using testing::HasSubstr;

// In a folder of its own, because some of them write files.
class DebiansTools : public testing::Test {
 protected:
  void SetUp() override {
    if (access("/usr/bin/papi_avail", X_OK) != 0) GTEST_SKIP() << "Debian's papi-tools are not installed";
  }
  Ran tool(const std::string& command, const std::string& environment = "") const {
    return shell("cd '" + folder_.path() + "' && LD_LIBRARY_PATH='" LIBRARIES "' " + environment +
                 " /usr/bin/" + command);
  }
  const std::string& folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

size_t presets_of(const std::string& text) {
  const std::regex line("PAPI_[A-Z0-9_]+ +0x[0-9a-f]+.*");
  size_t count = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    count += std::regex_match(text.substr(begin, end - begin), line) ? 1 : 0;
    begin = end + 1;
  }
  return count;
}

// PA-12
TEST_F(DebiansTools, LoadThisLibraryAndNoOther) {
  const Ran ran = tool("ldd /usr/bin/papi_cost");
  EXPECT_THAT(ran.out, HasSubstr(LIBRARIES "/libpapi.so.7.0")) << ran.errors;
}

// PA-12
TEST_F(DebiansTools, AvailListsOnlyPresetsThatCanBeAdded) {
  const std::string out = printed(tool("papi_avail -a"));
  const std::regex preset("(^|\n)(PAPI_[A-Z0-9_]+) ");
  for (std::sregex_iterator at(out.begin(), out.end(), preset), end; at != end; ++at) {
    const std::string name = (*at)[2];
    EXPECT_THAT(tool("papi_command_line " + name).out, HasSubstr("Successfully added")) << name;
  }
}

// PA-12, PA-37: PAPI 7.0 claims 53 presets on a machine without a PMU.
TEST_F(DebiansTools, AvailClaimsNoPresetWhereCyclesCannotBeCounted) {
  if (tool("papi_command_line PAPI_TOT_CYC").out.find("Successfully added") != std::string::npos)
    GTEST_SKIP() << "this machine has a PMU";
  const Ran ran = tool("papi_avail -a");
  EXPECT_EQ(presets_of(ran.out), 0u) << ran.out;
}

// PA-12
TEST_F(DebiansTools, NativeAvailListsTheKernelsSoftwareEvents) {
  SUBSTRATA_NEEDS_KERNEL_EVENTS();
  EXPECT_THAT(printed(tool("papi_native_avail")), HasSubstr("TASK-CLOCK"));
}

// PA-12
TEST_F(DebiansTools, CommandLineCountsTheKernelsSoftwareEvents) {
  SUBSTRATA_NEEDS_KERNEL_EVENTS();
  const std::string out = printed(tool("papi_command_line perf::TASK-CLOCK perf::PAGE-FAULTS"));
  EXPECT_TRUE(std::regex_search(out, std::regex("TASK-CLOCK : *\t?[1-9]"))) << out;
}

// PA-12
TEST_F(DebiansTools, ComponentAvailListsTheProcessorsSubstrate) {
  EXPECT_THAT(printed(tool("papi_component_avail")), HasSubstr("perf_event"));
}

// PA-12, PA-38: PAPI says 0 MB a node.
TEST_F(DebiansTools, HardwareAvailReportsTheMemory) {
  const std::string out = printed(tool("papi_hardware_avail"));
  EXPECT_EQ(out.find("Memory: 0MB"), std::string::npos) << out;
}

// PA-12
TEST_F(DebiansTools, XmlEventInfoIsOneDocument) {
  const std::string out = printed(tool("papi_xml_event_info"));
  EXPECT_THAT(out, HasSubstr("<?xml"));
  EXPECT_THAT(out, HasSubstr("</eventinfo>"));
}

// PA-12, PA-38: on PAPI without a PMU it dies, since it probes with a hardware event.
TEST_F(DebiansTools, MultiplexCostEndsWell) {
  SUBSTRATA_NEEDS_KERNEL_EVENTS();
  const Ran ran = tool("papi_multiplex_cost -t 100");
  EXPECT_EQ(ran.status, 0) << ran.out << ran.errors;
}

// PA-12
class DebiansTool : public DebiansTools, public testing::WithParamInterface<const char*> {};
TEST_P(DebiansTool, EndsWell) {
  if (std::string(GetParam()).find("perf::") != std::string::npos) SUBSTRATA_NEEDS_KERNEL_EVENTS();
  const Ran ran = tool(GetParam());
  EXPECT_EQ(ran.status, 0) << ran.out << ran.errors;
}
INSTANTIATE_TEST_SUITE_P(Others, DebiansTool,
                         testing::Values("papi_version", "papi_avail", "papi_clockres", "papi_decode",
                                         "papi_error_codes", "papi_mem_info",
                                         "papi_event_chooser NATIVE perf::TASK-CLOCK"),
                         [](const testing::TestParamInfo<const char*>& tool) {
                           const std::string command = tool.param;
                           return command.substr(0, command.find(' '));
                         });

// PA-12: it knows no events but these two presets.
TEST_F(DebiansTools, CostSaysWhichEventItMissesOrMeasures) {
  const Ran ran = tool("papi_cost -t 100");
  if (tool("papi_command_line PAPI_TOT_CYC").out.find("Successfully added") != std::string::npos) {
    EXPECT_EQ(ran.status, 0) << ran.out << ran.errors;
  } else {
    EXPECT_EQ(ran.status, 256 - 7) << "PAPI_ENOEVNT";
    EXPECT_THAT(ran.errors + ran.out, HasSubstr("PAPI_TOT_CYC is not available"));
  }
}

// PA-12, docs/reference/utilities.md
TEST_F(DebiansTools, CostMeasuresWithTheStandInsThatAUserNames) {
  SUBSTRATA_NEEDS_KERNEL_EVENTS();
  std::ofstream(folder() + "/stand-ins.csv") << "CPU,*\n"
                                                "PRESET,PAPI_TOT_CYC,NOT_DERIVED,perf::TASK-CLOCK\n"
                                                "PRESET,PAPI_TOT_INS,NOT_DERIVED,perf::PAGE-FAULTS\n";
  const Ran ran = tool("papi_cost -t 100", "PAPI_CSV_EVENT_FILE=stand-ins.csv");
  EXPECT_EQ(ran.status, 0) << ran.out << ran.errors;
  EXPECT_TRUE(std::regex_search(ran.out, std::regex("PAPI_read"))) << ran.out;
}

}  // namespace
