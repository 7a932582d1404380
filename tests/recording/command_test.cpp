// `substrata record` as its users meet it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "recorded_command.hpp"
#include "recording/timeline.hpp"
#include "synthetic.hpp"

namespace {

using namespace substrata::recording;
using namespace substrata::tests;
using nlohmann::json;
using testing::HasSubstr;

// CO-2, CO-3, CO-8, CO-9
TEST(RecordCommand, SamplesTheProcessTreeAndSaysWhereItComesFrom) {
  NEEDS_PERF();
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  const Ran ran = tool(std::string("record") + kEvents + "-i 1ms -o " + path + kCommand);
  EXPECT_EQ(ran.status, 3) << ran.errors;
  EXPECT_THAT(ran.errors, HasSubstr(path));
  const Recording read = read_file(path);
  EXPECT_TRUE(read.complete());
  ASSERT_EQ(read.writers.size(), 1u);
  const Writer& writer = read.writers[0];
  EXPECT_EQ(property(writer.end_properties, "exit_status"), "3");
  EXPECT_EQ(property(writer.properties, "interval_ns"), "1000000");
  for (const char* name : {"host", "machine.boot_id", "machine.kernel", "machine.processors",
                           "software.substrata", "start.raw_ns", "start.real_ns", "command"})
    EXPECT_NE(property(writer.properties, name), "") << name;
  ASSERT_EQ(writer.series.size(), 4u);
  EXPECT_EQ(writer.series[0].name, "perf::TASK-CLOCK");
  EXPECT_EQ(writer.series[0].unit, "ns");
  EXPECT_EQ(writer.series[0].scope, "process tree");
  EXPECT_FALSE(writer.series[0].modelled);
  EXPECT_EQ(writer.series[2].scope, "recorder");
  const Series& faults = writer.series[1];
  ASSERT_GE(faults.values.size(), 2u);
  EXPECT_GT(faults.values.back(), 100) << "sh, head and md5sum: the children count";
  EXPECT_TRUE(std::is_sorted(faults.values.begin(), faults.values.end()));
  EXPECT_GT(writer.series[2].values.back(), 0) << "the recorder's own processor time";

  const Ran report = tool("report " + path);
  EXPECT_EQ(report.status, 0) << report.errors;
  for (const char* text : {"perf::PAGE-FAULTS", "measured", "overhead", "exit status 3", "md5sum"})
    EXPECT_THAT(report.out, HasSubstr(text));
  EXPECT_THAT(report.out, testing::Not(HasSubstr("CUT OFF")));
}

TEST(RecordCommand, AModelIsCalledAModelEverywhere) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  EXPECT_EQ(printed(tool("record -e 'thermal_model:::*' -i 1ms -o " + path +
                         " -- sh -c 'echo ${SUBSTRATA_THERMAL_MODEL-unset}'")),
            "unset\n")
      << "the command's environment is its own";
  EXPECT_THAT(tool("report " + path).out, HasSubstr("modelled"));
  for (const char* form : {"csv", "json", "perfetto", "openmetrics"})
    EXPECT_THAT(tool("export " + path + " --to " + form).out, HasSubstr("modelled")) << form;
  EXPECT_THAT(tool("stat -e 'thermal_model:::*' -- true").errors, HasSubstr("modelled"));
}

// A good recording was replaced by an empty one.
TEST(RecordCommand, ACommandThatCannotBeginLeavesTheOldRecording) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub"), program = folder.file("program");
  std::ofstream(program) << "#!/no/such/interpreter\n";
  shell("chmod +x " + program);
  ASSERT_EQ(tool("record -q -e 'example:::*' -o " + path + " -- true").status, 0);
  ASSERT_EQ(tool("record -q -e 'example:::*' -o " + path + " -- true").status, 0);
  const std::string before = contents(path), older = contents(path + ".old");
  EXPECT_EQ(tool("record -e 'example:::*' -o " + path + " -- no-such-command").status, 127);
  EXPECT_EQ(tool("record -e 'example:::*' -o " + path + " -- /").status, 126);
  // The kernel refuses this one when the recording is open already.
  EXPECT_EQ(tool("record -e 'example:::*' -o " + path + " -- " + program).status, 127);
  EXPECT_TRUE(contents(path) == before);
  EXPECT_TRUE(contents(path + ".old") == older);
}

TEST(RecordCommand, AnEarlierRecordingIsKeptAsOld) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  ASSERT_EQ(tool("record -q -e 'example:::*' -o " + path + " -- true").status, 0);
  const std::string first = contents(path);
  ASSERT_EQ(tool("record -q -e 'example:::*' -o " + path + " -- true").status, 0);
  EXPECT_TRUE(contents(path + ".old") == first);
  EXPECT_FALSE(contents(path) == first);
}

// It said how many rows were in the file, and ended with 0.
TEST(RecordCommand, ARecordingRemovedMeanwhileIsAnError) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  const Ran ran = tool("record -e 'example:::*' -o " + path + " -- rm " + path);
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.errors, HasSubstr("cannot keep '" + path + "': the file was removed"));
  EXPECT_THAT(ran.errors, testing::Not(HasSubstr("shows them")));
}

TEST(RecordCommand, ARecordingWhoseFolderIsRemovedMeanwhileIsAnError) {
  const TemporaryFolder folder;
  const std::string path = folder.file("inner/r.sub");
  const Ran ran =
      shell("mkdir " + folder.file("inner") + " && " SUBSTRATA_TOOL " record -e 'example:::*' -o " + path +
            " -- rm -r " + folder.file("inner"));
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.errors, HasSubstr("its data are lost"));
}

TEST(RecordCommand, ARecordingReplacedMeanwhileIsAnError) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  const Ran ran = tool("record -e 'example:::*' -o " + path + " -- sh -c 'mv " + path + " " +
                       folder.file("moved") + "; echo another > " + path + "'");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.errors, HasSubstr("renamed while it was written"));
  EXPECT_TRUE(read_file(folder.file("moved")).complete());
}

TEST(RecordCommand, ARecordingThatAnotherRecorderWritesIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub"), ran = folder.file("ran"), status = folder.file("status");
  const Ran outer = tool("record -e 'example:::*' -o " + path +
                         " -- sh -c '" SUBSTRATA_TOOL " record -e \"example:::*\" -o " + path + " -- touch " +
                         ran + "; echo $? > " + status + "'");
  EXPECT_EQ(outer.status, 0) << outer.errors;
  EXPECT_THAT(outer.errors, HasSubstr("cannot write '" + path + "': another recorder is writing it"));
  EXPECT_EQ(contents(status), "1\n");
  EXPECT_EQ(contents(ran), "") << "the command did not begin";
  EXPECT_TRUE(read_file(path).complete());
  EXPECT_EQ(contents(path + ".old"), "");
}

TEST(RecordCommand, ARankKeepsTheRecordingOfAnEarlierJobAsOld) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  const auto job = [&](const std::string& name) {
    return shell("PMIX_NAMESPACE=" + name +
                 " OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_LOCAL_RANK=0 " SUBSTRATA_TOOL
                 " record -q -e 'example:::*' -o " +
                 path + " -- true");
  };
  ASSERT_EQ(job("first").status, 0);
  const std::string first = contents(path);
  ASSERT_EQ(job("second").status, 0);
  EXPECT_TRUE(contents(path + ".old") == first);
}

// Its total was another one than the head of the report had.
TEST(RecordCommand, TheRecordersOwnTimeBeginsAtItsFirstRow) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  ASSERT_EQ(tool("record -q -e 'example:::*' -o " + path + " -- true").status, 0);
  const Recording read = read_file(path);
  for (const Series& series : read.writers.at(0).series) {
    if (series.name == "recorder:cpu") {
      EXPECT_EQ(series.values.front(), 0);
    }
  }
}

TEST(RecordCommand, RegionsThatTheCommandMarksAreRecorded) {
  NEEDS_PERF();
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  const Ran ran = tool(
      std::string("record") + kEvents + "-o " + path +
      " -- sh -c 'for w in \"begin first part\" nonsense \"mark here\" end \"begin rest\"; do echo \"$w\" "
      ">> \"$SUBSTRATA_MARKS\"; done'");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const Recording read = read_file(path);
  const Timeline timeline = lay_out(read);
  ASSERT_EQ(timeline.regions.size(), 2u);
  EXPECT_EQ(timeline.regions[0].name, "first part");
  EXPECT_FALSE(timeline.regions[0].open);
  EXPECT_TRUE(timeline.regions[1].open);
  ASSERT_EQ(timeline.moments.size(), 1u);
  EXPECT_THAT(tool("report " + path).out, HasSubstr("rest (not ended)"));
}

// CO-3: the command itself kills its recorder once something was flushed.
TEST(RecordCommand, KilledItLeavesAFileThatOpensAndSaysWhereItEnds) {
  NEEDS_PERF();
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  // `exec` makes the recorder the parent of the inner shell.
  shell("exec " + std::string(SUBSTRATA_TOOL) + " record" + kEvents + "-i 1ms --flush 1ms -o " + path +
        " -- sh -c 'while [ $(wc -c < " + path + ") -lt 4000 ]; do :; done; kill -9 $PPID'");
  const Recording read = read_file(path);
  EXPECT_FALSE(read.complete());
  EXPECT_FALSE(read.writers.at(0).ended);
  EXPECT_GE(read.writers[0].sets.at(0).times.size(), 3u);
  const Ran report = tool("report " + path);
  EXPECT_EQ(report.status, 0) << report.errors;
  EXPECT_THAT(report.out, HasSubstr("CUT OFF"));
  EXPECT_THAT(report.out, HasSubstr("The last sample is at"));
  for (const char* form : {"csv", "json", "perfetto", "openmetrics"})
    EXPECT_EQ(tool("export " + path + " --to " + form).status, 0) << form;
}

TEST(RecordCommand, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  const std::string out = " -o " + folder.file("r.sub");
  EXPECT_EQ(tool("record").status, 2);
  EXPECT_EQ(tool("stat --").status, 2);
  const Ran command = tool("record" + out + " -e 'example:::*' -- /no/such/program");
  EXPECT_EQ(command.status, 127);
  EXPECT_THAT(command.errors, HasSubstr("/no/such/program"));
  const Ran event = tool("record" + out + " -e nope:::nothing -- true");
  EXPECT_EQ(event.status, 1);
  EXPECT_THAT(event.errors, HasSubstr("nope:::nothing"));
  const Ran interval = tool("record" + out + " -i soon -- true");
  EXPECT_EQ(interval.status, 1);
  EXPECT_THAT(interval.errors, HasSubstr("soon"));
  EXPECT_EQ(tool("record -o /no/such/folder/r.sub -e 'example:::*' -- true").status, 1);
  EXPECT_EQ(tool("report /dev/null").status, 1);
  EXPECT_EQ(tool("report").status, 2);
  EXPECT_EQ(tool("export " + folder.file("r.sub") + " --to xml").status, 2);
}

// CO-1: the high-level interface's regions, with their own times; those of another thread within them are not
// mixed in.
TEST(RecordCommand, RegionsOfTheHighLevelInterfaceAreRecorded) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  const Ran ran = shell("cd " + folder.path() + " && " SUBSTRATA_TOOL " record -e 'example:::*' -o " + path +
                        " -- " HIGH_LEVEL_PROGRAM);
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const Recording read = read_file(path);
  const Timeline timeline = lay_out(read);
  std::vector<std::string> names;
  for (const Region& region : timeline.regions) {
    names.push_back(region.name);
    EXPECT_FALSE(region.open) << region.name;
    EXPECT_LE(region.begin, region.end);
  }
  EXPECT_THAT(names, testing::ElementsAre("outer part", "inner", "given up"));
  EXPECT_EQ(timeline.regions.at(1).depth, 1u);
  EXPECT_LE(timeline.regions[0].begin, timeline.regions[1].begin);
  EXPECT_GE(timeline.regions[0].end, timeline.regions[1].end);
  EXPECT_THAT(property(read.writers.at(0).end_properties, "note.threads"), HasSubstr("1 high-level regions"));
}

// CO-8: what recording costs is measured by runs with and without it, in turns, and reported.
TEST(RecordCommand, ItsCostIsMeasuredByInterleavedRuns) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  EXPECT_EQ(printed(tool("record --overhead 3 -e 'example:::*' -o " + path +
                         " -- sh -c 'echo run; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'")),
            "run\n")
      << "only the recorded run speaks";
  EXPECT_THAT(tool("report " + path).out,
              HasSubstr("3 interleaved pairs of runs with and without recording"));
}

}  // namespace
