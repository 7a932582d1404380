// The program `substrata` as its users meet it: exit status, what it prints, and that it is true.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "support/tool.hpp"

namespace {

using namespace substrata::tests;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// Refused with this status and a message that names what is wrong.
void expect_refused(int status, const std::string& arguments, const char* named) {
  const Ran ran = tool(arguments);
  EXPECT_EQ(ran.status, status);
  EXPECT_THAT(ran.errors, HasSubstr(named));
}

TEST(Tool, WithoutACommandItReportsTheCommandsAndFails) {
  const Ran ran = tool("");
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.errors, HasSubstr("doctor"));
  EXPECT_EQ(tool("no-such-command").status, 2);
  EXPECT_EQ(tool("--help").status, 0);
}

TEST(Tool, EveryCommandHelps) {
  for (const char* command : {"components", "events", "doctor", "check-presets", "run", "replay", "probes",
                              "workloads", "import", "mpirun", "reproduce"}) {
    const Ran ran = tool(std::string(command) + " --help");
    EXPECT_EQ(ran.status, 0) << command;
    EXPECT_THAT(ran.out, HasSubstr("Usage")) << command;
    EXPECT_EQ(
        tool(std::string(command) + (std::string(command) == "mpirun" ? "" : " --no-such-option")).status, 2)
        << command;
  }
}

TEST(Tool, ACommandIsTakenWithoutDashes) {
  const Ran ran = tool("stat -e 'example:::*' sh -c 'echo \"$@\"' sh --json -e");
  EXPECT_EQ(ran.status, 0) << ran.errors;
  EXPECT_EQ(ran.out, "--json -e\n") << "what follows the command is its own";
  EXPECT_THAT(ran.errors, HasSubstr("example:::constant"));
}

TEST(Tool, AMistypedOptionIsNamed) { expect_refused(2, "stat --jsom true", "--jsom"); }

TEST(Tool, OutputThatCannotBeWrittenIsAnError) {
  const Ran ran = tool("workloads > /dev/full");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.errors, HasSubstr("standard output cannot be written"));
}

TEST(Tool, AReportThatCannotBeFinishedLeavesTheFormerOne) {
  const TemporaryFolder folder;
  const std::string record = folder / "run.sub", page = folder / "page.html";
  ASSERT_EQ(tool("record -q -e example:::constant -o " + record + " true").status, 0);
  std::ofstream(page) << "the former page";
  const Ran ran = shell("trap '' XFSZ; ulimit -f 1; " SUBSTRATA_TOOL " report --html " + page + " " + record);
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.errors, HasSubstr("cannot be written"));
  std::ifstream file(page);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "the former page");
}

TEST(Tool, SaysItsVersion) {
  EXPECT_THAT(printed(tool("--version")), testing::MatchesRegex("substrata [0-9.]+\n"));
}

TEST(Tool, ANearCommandIsSuggested) { expect_refused(2, "statt", "did you mean 'stat'?"); }

TEST(Tool, HelpOfACommandIsThatOfTheCommand) { EXPECT_EQ(tool("help stat").out, tool("stat --help").out); }

TEST(Tool, ReproduceAloneListsWhatThereIs) { expect_refused(2, "reproduce", "papi-dispatch"); }

TEST(ToolMpirun, AClusterThatIsNoneIsRefused) {
  expect_refused(2, "mpirun --cluster foo --print true", "foo");
}

// It became the file's name.
TEST(ToolMpirun, AnOptionIsNotTakenForAFile) {
  expect_refused(2, "mpirun --summary -n 2 --print true", "--summary needs a value, not '-n'");
}

TEST(ToolMpirun, ItsOptionsMayFollowTheLaunchersOwn) {
  if (!has_tool("mpirun")) GTEST_SKIP() << "there is no mpirun";
  const Ran first = tool("mpirun --print --summary /tmp/s -n 2 true");
  if (first.status != 0) GTEST_SKIP() << first.errors;
  EXPECT_EQ(tool("mpirun -n 2 --print --summary /tmp/s true").out, first.out);
  EXPECT_THAT(tool("mpirun --print -n 2 true --summary x").out, HasSubstr("true --summary x"));
}

TEST(ToolComponents, ReportOriginAndWhetherTheyWork) {
  EXPECT_THAT(
      printed(tool("components")),
      testing::ContainsRegex("example +Teaches[^\n]*\n +origin: built-in\n +available: 8 native events"));
}

TEST(ToolComponents, ARefusedPlugInIsNamed) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("substrata-broken.so")) << "not a shared object\n";
  EXPECT_THAT(printed(shell("SUBSTRATA_PLUGIN_PATH=" + folder.path() + " " SUBSTRATA_TOOL " components")),
              HasSubstr("substrata-broken.so"));
}

TEST(ToolEvents, PatternChoosesAndEachIsDescribed) {
  const std::string out = printed(tool("events example:::"));
  EXPECT_THAT(out, HasSubstr("example:::reads\n"));
  EXPECT_THAT(out, HasSubstr("count, measured, unit: reads; available"));
  EXPECT_THAT(out, HasSubstr("8 events, 8 available"));
  EXPECT_EQ(tool("events no-event-is-called-so").status, 1);
}

TEST(ToolList, AnEventOfSeveralNamesIsListedOnce) {
  const std::string out = printed(tool("list --all 'example:::*'"));
  EXPECT_THAT(out, testing::ContainsRegex("example:::zero [^\n]* also example:::EXAMPLE_ZERO\n"));
  EXPECT_EQ(count_of(out, "EXAMPLE_ZERO"), 1u);
}

// It was empty, though stat counted them.
TEST(ToolList, EventsOnRequestAreListedWhereThePatternNamesThem) {
  EXPECT_THAT(printed(shell("env -u SUBSTRATA_THERMAL_MODEL " SUBSTRATA_TOOL " list thermal")),
              HasSubstr("thermal_model:::package"));
}

TEST(ToolList, TheTeachingSubstrateIsListedByNameOnly) {
  EXPECT_THAT(tool("list").out, Not(HasSubstr("example:::")));
}

TEST(ToolEvents, ModelledEventsAreCalledSo) {
  const std::string out = printed(tool("events 'memory:::*'"));
  EXPECT_GT(count_of(out, "modelled"), 0u);
  EXPECT_EQ(count_of(out, "measured"), 0u);
}

// PA-43
TEST(ToolDoctor, JsonCountsWhatWorksAndTheStatusAgrees) {
  const Ran ran = tool("doctor --json");
  const json report = json::parse(ran.out);
  EXPECT_EQ(ran.status, report.at("faults") == 0 ? 0 : 1) << ran.out;
  std::size_t working = 0;
  bool example = false;
  for (const json& component : report.at("components")) {
    for (const json& one : component.at("classes")) {
      if (one.at("works") == true) {
        working += one.at("events").size();
      } else {
        EXPECT_NE(one.at("reason"), "") << component.at("name");
      }
    }
    if (component.at("available") == false) {
      EXPECT_NE(component.at("reason"), "") << component.at("name");
    }
    example = example || (component.at("name") == "example" && component.at("classes").size() == 1);
  }
  EXPECT_TRUE(example);
  EXPECT_EQ(report.at("events_working"), working);
  EXPECT_GE(working, 4u);
}

TEST(ToolDoctor, ABrokenPlugInIsAFault) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("substrata-broken.so")) << "not a shared object\n";
  const Ran ran = shell("SUBSTRATA_PLUGIN_PATH=" + folder.path() + " " SUBSTRATA_TOOL " doctor --json");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(json::parse(ran.out).at("refused").dump(), HasSubstr("substrata-broken.so"));
}

TEST(ToolRun, IsCorrectAndTheSameForOneSeed) {
  const std::string arguments = "run --machine memory --workload fft:points=1024 --nodes 4 --seed 7 --json";
  const Ran first = tool(arguments);
  ASSERT_EQ(first.status, 0) << first.errors;
  EXPECT_EQ(first.out, tool(arguments).out);
  const json report = json::parse(first.out);
  EXPECT_EQ(report.at("correct"), true);
  std::map<std::string, long long> values;
  for (const json& event : report.at("events")) {
    EXPECT_EQ(event.at("modelled"), true);
    values[event.at("name")] = event.at("value");
  }
  EXPECT_GT(values.at("memory:::READS"), 0);
  EXPECT_EQ(values.at("memory:::ACCESSES"), values.at("memory:::READS") + values.at("memory:::WRITES"));
}

TEST(ToolRun, RefusesWhatDoesNotExistWithAMessage) {
  expect_refused(1, "run --machine nope --workload fft", "nope");
  expect_refused(1, "run --machine memory --workload fft:points=1024 --events nope:::nothing",
                 "nope:::nothing");
  EXPECT_EQ(tool("run --machine memory --workload fft --events 'nope*'").status, 1);
  EXPECT_EQ(tool("run --workload fft").status, 2);
}

TEST(ToolReplay, OfARecordedRunCountsTheSame) {
  const TemporaryFolder folder;
  const std::string events = " --events memory:::READS,memory:::WRITES,memory:::L1_MISSES --json";
  const Ran live = tool(
      "run --machine memory --workload radix:keys=4096 --nodes 2 --record-probes 'mem.cpu*.accesses' "
      "--record " +
      folder.file("trace") + events);
  ASSERT_EQ(live.status, 0) << live.errors;
  const Ran again = tool("replay " + folder.file("trace") + " --machine memory" + events);
  ASSERT_EQ(again.status, 0) << again.errors;
  const json report = json::parse(again.out);
  EXPECT_EQ(report.at("events"), json::parse(live.out).at("events"));
  EXPECT_EQ(report.at("complete"), true);
  EXPECT_GT(report.at("transactions"), 0);

  // Its help promised the counts of the recorded run, and there were none.
  EXPECT_THAT(tool("replay " + folder.file("trace")).out, testing::ContainsRegex("memory:::READS +[1-9]"));

  const Ran listed = tool("probes " + folder.file("trace"));
  EXPECT_EQ(listed.status, 0);
  EXPECT_THAT(listed.out, HasSubstr("mem.cpu1.accesses"));
  const std::string shown = printed(tool("probes --from 1000 " + folder.file("trace")));
  EXPECT_THAT(shown, testing::ContainsRegex("\n +1000 +[0-9]+ mem\\.cpu[01]\\.accesses +0x[0-9a-f]+ "));
  EXPECT_EQ(count_of(shown, "\n"), 21u) << "a head and twenty";
  EXPECT_EQ(tool("probes --from 1000000000 " + folder.file("trace")).status, 1) << "there are fewer";

  // A file cut in two is read as far as it is whole, and that is an error.
  std::filesystem::resize_file(folder.file("trace"), std::filesystem::file_size(folder.file("trace")) / 2);
  const Ran cut = tool("replay " + folder.file("trace"));
  EXPECT_EQ(cut.status, 1);
  EXPECT_THAT(cut.errors, HasSubstr("offset"));
}

TEST(ToolReplay, OfNoTraceFails) {
  EXPECT_EQ(tool("replay /dev/null").status, 1);
  EXPECT_EQ(tool("replay /no/such/file").status, 1);
  EXPECT_EQ(tool("replay").status, 2);
}

TEST(ToolProbes, OfAMachineReportWhatPassed) {
  EXPECT_THAT(printed(tool("probes --machine memory --workload fft:points=1024 --nodes 2")),
              testing::ContainsRegex("mem\\.cpu1\\.accesses +[1-9][0-9]*"));
}

TEST(ToolWorkloads, NamesMachinesAndWorkloads) {
  for (const char* name : {"  memory ", "  fft ", "  radix ", "  lu "})
    EXPECT_THAT(printed(tool("workloads")), HasSubstr(name));
}

TEST(ToolImport, OfLackeysTextMakesATrace) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("text")) << "==1== a line of valgrind\nI  04000000,3\n L 1ffe,8\n S 2000,4\n";
  EXPECT_THAT(printed(tool("import lackey " + folder.file("text") + " " + folder.file("trace"))),
              HasSubstr("3 transactions"));
  const Ran again = tool("replay " + folder.file("trace"));
  EXPECT_EQ(again.status, 0) << again.errors;
  EXPECT_THAT(again.out, HasSubstr("3 transactions"));
  EXPECT_EQ(tool("import unknown a b").status, 2);
}

// A launcher that only prints what it is and what it was given.
std::string launcher(const TemporaryFolder& folder, const std::string& version) {
  const std::string path = folder.file("launcher");
  std::ofstream(path) << "#!/bin/sh\nif [ \"$1\" = --version ]; then echo '" << version
                      << "'; exit 0; fi\nprintf '%s\\n' \"$@\"\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

TEST(ToolMpirun, PreloadsTheShimOfTheLaunchersMpi) {
  struct Case {
    const char* version;
    const char* shim;
    const char* given;
  };
  unsigned tried = 0;
  for (const Case& one : {Case{"mpirun (Open MPI) 4.1.4", "libsubstrata_mpi_openmpi.so", "-x\nLD_PRELOAD="},
                          Case{"HYDRA build details:", "libsubstrata_mpi_mpich.so", "-genv\nLD_PRELOAD\n"}}) {
    if (!std::filesystem::exists(std::string(SUBSTRATA_LIBRARIES) + "/" + one.shim)) continue;
    ++tried;
    const TemporaryFolder folder;
    const Ran ran = tool("mpirun --launcher " + launcher(folder, one.version) +
                         " --summary counts.json -n 2 /bin/true with arguments");
    EXPECT_EQ(ran.status, 0) << ran.errors;
    EXPECT_THAT(ran.out, testing::StartsWith(one.given));
    EXPECT_THAT(ran.out, HasSubstr(one.shim));
    EXPECT_THAT(ran.out, testing::EndsWith("-n\n2\n/bin/true\nwith\narguments\n"));
    EXPECT_THAT(ran.out, HasSubstr("SUBSTRATA_MPI_SUMMARY"));
  }
  if (tried == 0) GTEST_SKIP() << "no MPI shim was built (no MPI headers, or a sanitizer build)";
}

// MY-21
TEST(ToolMpirun, ReportsTheRanksOfTheClusterAndItsFolder) {
  const std::string shim = std::string(SUBSTRATA_LIBRARIES) + "/libsubstrata_mpi_openmpi.so";
  if (!std::filesystem::exists(shim)) GTEST_SKIP() << "no shim for Open MPI was built";
  const TemporaryFolder folder;
  const Ran ran = tool("mpirun --cluster myrinet:drop_ppm=1 --network factor=100 --out figures --launcher " +
                       launcher(folder, "mpirun (Open MPI) 4.1.4") + " -n 2 /bin/true");
  EXPECT_EQ(ran.status, 1) << "there are no messages to carry";
  EXPECT_THAT(ran.errors, HasSubstr("(exit status 0) left no messages in "));
  EXPECT_THAT(ran.out, HasSubstr("-x\nSUBSTRATA_MPI_CLUSTER=myrinet:drop_ppm=1\n"));
  EXPECT_THAT(ran.out, HasSubstr("-x\nSUBSTRATA_MPI_NETWORK=factor=100\n"));
  EXPECT_THAT(ran.out, testing::ContainsRegex("-x\nSUBSTRATA_MPI_CLUSTER_OUT=/.*/figures\n"));
}

TEST(ToolMpirun, RefusesAFolderForAClusterThatIsNotAskedFor) {
  expect_refused(2, "mpirun --out figures -n 2 /bin/true", "name one with --cluster myrinet");
}

TEST(ToolMpirun, RefusesAnUnknownMpi) {
  const TemporaryFolder folder;
  const Ran ran = tool("mpirun --launcher " + launcher(folder, "something else") + " /bin/true");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.errors, HasSubstr("Open MPI and MPICH are known"));
  EXPECT_EQ(tool("mpirun --launcher /no/such/launcher /bin/true").status, 1);
}

// PA-21
TEST(ToolCheckPresets, IsRightOrSaysThatNoneCanBeChecked) {
  const Ran ran = tool("check-presets");
  if (ran.status == 77) {
    EXPECT_THAT(ran.out, HasSubstr("No preset can be checked here"));
  } else {
    EXPECT_THAT(ran.out, testing::ContainsRegex("[1-9][0-9]* checked, [0-9]+ wrong"));
  }
}

// A verdict that depends on the machine has more than one recorded: "holds|undecided".
bool as_recorded(const json& report) {
  for (const json& claim : report.at("claims")) {
    const std::string recorded = "|" + claim.at("recorded").get<std::string>() + "|";
    if (recorded.find("|" + claim.at("verdict").get<std::string>() + "|") == std::string::npos) return false;
  }
  return true;
}

TEST(ToolReproduce, ListsWhatThereIs) {
  const std::string out = printed(tool("reproduce --list"));
  EXPECT_THAT(out, HasSubstr("papi-dispatch"));
  EXPECT_THAT(out, HasSubstr("papi-domains"));
  EXPECT_EQ(tool("reproduce no-such-figure").status, 2);
}

// PA-5; whether the claims hold is not tested: they are of time.
TEST(ToolReproduce, DispatchGivesClaimsAndTheirStatus) {
  const TemporaryFolder folder;
  const Ran ran = tool("reproduce papi-dispatch --json --out " + folder.path());
  const json report = json::parse(ran.out);
  EXPECT_EQ(report.at("id"), "papi-dispatch");
  ASSERT_EQ(report.at("claims").size(), 2u);
  for (const json& claim : report.at("claims"))
    for (const char* part : {"claim", "paper", "ours"}) EXPECT_NE(claim.at(part), "");
  // Where system calls are slow, a look-up by name was hidden in the read: the claim held under its mutant.
  EXPECT_GT(report.at("claims")[1].at("mutant").at("least"), 0.1) << report.dump(2);
  EXPECT_EQ(ran.status, as_recorded(report) ? 0 : 1);
  EXPECT_THAT(contents(folder.file("papi-dispatch.csv")), HasSubstr("direct call,"));
}

// PA-2, PA-3
TEST(ToolReproduce, DomainsRunAtOnceAndDoNotDisturbEachOther) {
  const Ran ran = tool("reproduce papi-domains --json");
  const json report = json::parse(ran.out);
  ASSERT_EQ(report.at("claims").size(), 6u);
  for (const json& claim : report.at("claims"))
    if (claim.at("claim").get<std::string>().find("periods") == std::string::npos) {
      EXPECT_EQ(claim.at("holds"), true) << claim.dump(2);
    }
  EXPECT_EQ(ran.status, as_recorded(report) ? 0 : 1);
}

}  // namespace
