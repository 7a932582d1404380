// Command lines and files that are wrong: each is refused before any work, in a line that names what was asked, what
// refused it and what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include "support/program.hpp"

namespace {

using namespace substrata::tests;
using testing::HasSubstr;

struct Mistake {
  const char* name;
  const char* arguments;  // in a folder with a recording run.sub, one that is cut off, and text.txt
  int status;
  std::vector<const char*> said;
};
std::ostream& operator<<(std::ostream& out, const Mistake& one) { return out << one.arguments; }

class Mistakes : public testing::TestWithParam<Mistake> {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    std::ofstream(folder_->file("text.txt")) << "hello\n";
    std::ofstream(folder_->file("roofs.json"))
        << "{\"processor\":\"x\",\"cores\":1,\"flops_per_second\":[],\"bytes_per_second\":[],\"points\":[]}";
    shell("cd " + folder_->path() +
          " && " SUBSTRATA_TOOL
          " record -q -e example:::constant -o run.sub sh -c 'echo begin solve >> $SUBSTRATA_MARKS; sleep "
          "0.2' && "
          "head -c 100 run.sub > cut.sub");
  }
  static void TearDownTestSuite() { delete folder_; }
  static TemporaryFolder* folder_;
};
TemporaryFolder* Mistakes::folder_ = nullptr;

TEST_P(Mistakes, AreRefusedInALineThatHelps) {
  const Mistake& mistake = GetParam();
  const Ran ran = shell("cd " + folder_->path() + " && timeout 20 " SUBSTRATA_TOOL " " + mistake.arguments +
                        " < /dev/null");
  EXPECT_EQ(ran.status, mistake.status);
  EXPECT_EQ(ran.out, "");
  for (const char* const part : mistake.said) EXPECT_THAT(ran.errors, HasSubstr(part));
  EXPECT_EQ(std::count(ran.errors.begin(), ran.errors.end(), '\n'), 1) << ran.errors;
}

INSTANTIATE_TEST_SUITE_P(
    All, Mistakes,
    testing::Values(
        Mistake{"StatOption",
                "stat --toopdown true",
                2,
                {"substrata stat: there is no option '--toopdown'; did you mean --topdown?",
                 "`substrata stat --help`"}},
        Mistake{"StatRunsNoNumber",
                "stat -r many true",
                2,
                {"substrata stat: --repeat = many is no whole number"}},
        Mistake{"StatRunsNegative",
                "stat -r -3 true",
                2,
                {"substrata stat: --repeat = -3 is no whole number of 0 or more"}},
        Mistake{"StatEvent", "stat -e nosuch true", 1, {"no event is called \"nosuch\"", "`substrata list`"}},
        Mistake{"StatProcessor",
                "stat -C 60000 true",
                1,
                {"-C 60000: there is no processor 60000 online here", "these are: 0"}},
        Mistake{"StatOutput",
                "stat -o no/such/file true",
                1,
                {"'no/such/file' cannot be written", "No such file"}},
        Mistake{"ReportNothing", "report", 2, {"no recording is named"}},
        Mistake{"ReportText",
                "report text.txt",
                1,
                {"'text.txt' is not a recording of `substrata record`, or was cut off at its begin"}},
        Mistake{"ReportCut", "report cut.sub", 1, {"'cut.sub'", "cut off at its begin"}},
        Mistake{"ReportRegion",
                "report --region slove run.sub",
                1,
                {"there is no region 'slove'", "it has solve"}},
        Mistake{"ReportInterval",
                "report --from 5 --to 1 run.sub",
                1,
                {"nothing of the recording lies in that interval; it goes from 0 to 0."}},
        Mistake{"ReportRoofline",
                "report --roofline text.txt --html page.html run.sub",
                1,
                {"'text.txt' is no roofline", "`substrata roofline --json"}},
        Mistake{"ReportRooflineAsText", "report --roofline roofs.json run.sub", 2, {"--html FILE"}},
        Mistake{"ReportPage",
                "report --html no/such/page run.sub",
                1,
                {"'no/such/page' cannot be written: No such file"}},
        Mistake{"RooflinePeaks",
                "roofline --peaks text.txt",
                1,
                {"'text.txt' holds no roofs", "name a file that `substrata roofline --peaks` wrote"}},
        Mistake{"RooflineNewPeaks",
                "roofline --peaks no/such/peaks",
                1,
                {"'no/such/peaks' cannot be written: No such file"}},
        Mistake{"RooflinePicture",
                "roofline --svg no/such/picture echo ran",
                1,
                {"'no/such/picture' cannot be written: No such file"}},
        Mistake{"TopologyPicture",
                "topology --svg no/such/picture",
                1,
                {"'no/such/picture' cannot be written: No such file"}},
        Mistake{"TopologyMachine",
                "topology --input nofile.xml",
                1,
                {"'nofile.xml' is neither", "package:2 core:4 pu:2"}},
        Mistake{"TopLooks", "top --batch -n 0", 2, {"-n needs at least one update"}},
        Mistake{"ServeAddress",
                "serve --listen 127.0.0.1:99999",
                1,
                {"'99999' is not a port", "--listen ADDRESS:PORT"}},
        Mistake{"ServeText", "serve text.txt", 1, {"'text.txt' is not a recording"}},
        Mistake{"CompareOne", "compare run.sub", 2, {"name an old and a new recording"}},
        Mistake{"CompareWithNothing",
                "compare run.sub --with",
                2,
                {"substrata compare: --with", "`substrata compare --help`"}},
        Mistake{"CompareMissing",
                "compare run.sub nofile.sub",
                1,
                {"'nofile.sub' cannot be read: No such file"}}),
    [](const auto& tested) { return std::string(tested.param.name); });

// It printed the counts together, as if it had not been asked.
TEST(StatOptions, RanksApartOfAProgramWithoutRanksAreANote) {
  const Ran ran = shell(SUBSTRATA_TOOL " stat -e example:::constant --per-rank true");
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.errors, HasSubstr("no rank of an MPI program was seen"));
}

// The metric's reason was that no table defines it, with the advice to write one, on a machine without a counter unit.
TEST(StatMetrics, WithoutACounterUnitHaveThatReason) {
  if (shell(SUBSTRATA_TOOL " doctor").out.find("PERF_COUNT_HW") != std::string::npos)
    GTEST_SKIP() << "this machine has a counter unit";
  if (std::getenv("OTHER_FAMILY_VENDOR") != nullptr)
    GTEST_SKIP() << "libpfm4 knows one of the processor's units here, and the table names another's event";
  const Ran ran = shell(SUBSTRATA_TOOL " stat -g MEM true");
  EXPECT_THAT(ran.errors, HasSubstr("PAPI_L3_TCM: no hardware PMU is visible here"));
}

}  // namespace
