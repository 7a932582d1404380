// `substrata owl` and `substrata record --owl` as their users meet them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "recorded_command.hpp"
#include "recording/reader.hpp"

namespace {

using namespace substrata::recording;
using namespace substrata::tests;
using nlohmann::json;
using testing::HasSubstr;

// Three writes of a thousand bytes, and what dd reports.
const std::string kThreeWrites = "dd if=/dev/zero bs=1000 count=3 of=/dev/null status=none";
const std::string kWrites = " -- " + kThreeWrites;

TEST(OwlCommand, ItsJsonHasTheQueryAndAllThatWasCounted) {
  const std::string query = "io: filter(write) -> count, sum(size), avg(size) by kind, size";
  const json row = {{"keys", {"write", 1000}}, {"values", {3, 3000, 1000.0}}};
  const json table = {{"keys", {"kind", "size"}},
                      {"values", {"count", "sum(size)", "avg(size)"}},
                      {"rows", json::array({row})},
                      {"all", 3.0},
                      {"left_out", 0}};
  json found = json::parse(printed(tool("owl --json -e '" + query + "'" + kWrites)));
  EXPECT_GE(found.at("transactions"), 6) << "three reads and three writes";
  found.erase("transactions");
  EXPECT_EQ(found, (json{{"query", query},
                         {"tables", json::array({table})},
                         {"processes", 1},
                         {"dropped", 0},
                         {"messages", json::array()}}));
}

TEST(OwlCommand, ShowsItsGreatestRowWhileTheProgramRuns) {
  const TemporaryFolder folder;
  const std::string shown = folder.file("shown");
  // The program ends once its first row is shown.
  const Ran ran =
      shell("timeout 60 " SUBSTRATA_TOOL
            " owl --progress -e 'io: filter(write && size == 1000) -> sum(size) by kind' -- sh -c '" +
            kThreeWrites + "; until grep -q \"sum(size) 3,000 write\" " + shown +
            "; do sleep 0.1; done' 2> " + shown);
  EXPECT_EQ(ran.status, 0);
}

TEST(OwlCommand, NamesObjectsThatAreFreedAtOnceAndKnowsWhatIsWrittenLast) {
  const std::string compiler = std::string(SUBSTRATA_TOOL) + "-cc";
  if (!has_tool(compiler) || !has_tool("cc")) GTEST_SKIP() << "there is no C compiler, or no access tracer";
  const TemporaryFolder folder;
  std::ofstream(folder.file("freed.c")) << R"(
#include <stdlib.h>
__attribute__((noinline)) static void use(long* a) { for (int i = 0; i < 20; ++i) a[i] = i + 5; }
int main(void) {
  for (int i = 0; i < 10; ++i) { long* a = malloc(20 * sizeof *a); use(a); free(a); }
  return 0;
})";
  ASSERT_EQ(shell(compiler + " -g -O2 -o " + folder.file("freed") + " " + folder.file("freed.c")).status, 0);
  const Ran ran =
      tool("owl --json -e 'mem.accesses: filter(write) -> count, sum(value), sum(valued) by object' -- " +
           folder.file("freed"));
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const json rows = json::parse(ran.out).at("tables")[0].at("rows");
  ASSERT_EQ(rows.size(), 1u) << rows.dump(1);
  EXPECT_THAT(rows[0].at("keys")[0].get<std::string>(), HasSubstr("heap of main"));
  EXPECT_EQ(rows[0].at("values"), json::array({200, 10 * (20 * 5 + 190), 200}));
}

TEST(OwlCommand, WhatAThreadDidBeforeItStartedAnotherComesBeforeTheOthersAccesses) {
  const std::string compiler = std::string(SUBSTRATA_TOOL) + "-cc";
  if (!has_tool(compiler) || !has_tool("cc")) GTEST_SKIP() << "there is no C compiler, or no access tracer";
  const TemporaryFolder folder;
  ASSERT_EQ(shell(compiler + " -g -O1 -o " + folder.file("started") + " " STARTED " -lpthread").status, 0);
  const json rows =
      json::parse(
          printed(tool(
              "owl --json -e 'mem.accesses: filter(write && size == 8 && (object == \"before\" || object == "
              "\"after\")) -> count by object every 100' -- " +
              folder.file("started"))))
          .at("tables")[0]
          .at("rows");
  ASSERT_EQ(rows.size(), 2u) << rows.dump(1);
  EXPECT_EQ(rows[0], (json{{"keys", {0, "before"}}, {"values", {100}}}));
  EXPECT_EQ(rows[1], (json{{"keys", {1, "after"}}, {"values", {100}}}));
}

TEST(OwlCommand, NamesTheObjectOfEveryAccessWhileManyThreadsComeAndGo) {
  const std::string compiler = std::string(SUBSTRATA_TOOL) + "-cc";
  if (!has_tool(compiler) || !has_tool("cc")) GTEST_SKIP() << "there is no C compiler, or no access tracer";
  const TemporaryFolder folder;
  ASSERT_EQ(shell(compiler + " -g -O1 -o " + folder.file("many") + " " MANY_THREADS " -lpthread").status, 0);
  const json rows =
      json::parse(
          printed(tool("owl --json -e 'mem.accesses: filter(write && size == 8) -> count by object' -- " +
                       folder.file("many"))))
          .at("tables")[0]
          .at("rows");
  ASSERT_EQ(rows.size(), 1u) << rows.dump(1);
  EXPECT_EQ(rows[0], (json{{"keys", {"rows"}}, {"values", {5 * 32 * 20 * 2 * 64}}}));
}

TEST(OwlCommand, ACopiedStructureHasTheValueThatIsStoredAndNotTheOneBefore) {
  const std::string compiler = std::string(SUBSTRATA_TOOL) + "-cc";
  if (!has_tool(compiler) || !has_tool("cc")) GTEST_SKIP() << "there is no C compiler, or no access tracer";
  const TemporaryFolder folder;
  std::ofstream(folder.file("copied.c")) << R"(
struct both { double low, high; };
static struct both there[100], here[100];
__attribute__((noinline)) static void copy(struct both* to, const struct both* from) {
  for (int i = 0; i < 100; ++i) to[i] = from[i];
}
int main(void) {
  for (int i = 0; i < 100; ++i) ((volatile long*)&here[i])[0] = i + 1;
  copy(there, here);
  return 0;
})";
  ASSERT_EQ(shell(compiler + " -g -O1 -o " + folder.file("copied") + " " + folder.file("copied.c")).status,
            0);
  const Ran ran =
      tool("owl --json -e 'mem.accesses: filter(size == 16) -> count, sum(value), sum(valued) by kind' -- " +
           folder.file("copied"));
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const json values = json::array({100, 5050, 100});
  EXPECT_EQ(
      json::parse(ran.out).at("tables")[0].at("rows"),
      json::array({{{"keys", {"read"}}, {"values", values}}, {{"keys", {"write"}}, {"values", values}}}));
}

TEST(OwlCommand, AForkedChildThatEndsByItselfIsNotAborted) {
  if (!has_tool("bash")) GTEST_SKIP() << "bash is not installed";  // its subshells run the handlers of exit()
  const Ran ran = tool("owl -e 'page-faults: count' -- bash -c '(exit 3); echo ended with $?'");
  EXPECT_THAT(ran.out, HasSubstr("ended with 3\n"));
  EXPECT_THAT(ran.errors, testing::Not(HasSubstr("terminate called")));
}

TEST(OwlCommand, WritesItsTablesIntoAFileBesideTheProgramsOutput) {
  const TemporaryFolder folder;
  const Ran ran =
      tool("owl -o " + folder.file("tables") + " -e 'io: filter(write) -> count by size' -- sh -c '" +
           kThreeWrites + "; echo program'");
  EXPECT_EQ(ran.status, 0) << ran.errors;
  EXPECT_EQ(ran.out, "program\n");
  EXPECT_THAT(contents(folder.file("tables")), testing::ContainsRegex("3 +[0-9.]+ % +1000"));
  EXPECT_EQ(tool("owl -o /no/such/folder/file -e 'io: count' -- true").status, 1);
}

TEST(OwlCommand, AWordThatIsNoStreamIsAnsweredWithTheNearest) {
  const Ran ran = tool("owl -e 'swiches: count' -- true");
  EXPECT_THAT(ran.errors, HasSubstr("nothing passed at swiches; did you mean 'switches'?"));
}

TEST(OwlCommand, ItsOwnThreadIsNotAmongThoseThatWait) {
  const json found = json::parse(printed(tool("owl --json -e 'switches: count by thread' -- sleep 0.3")));
  if (!found.at("messages").empty()) GTEST_SKIP() << found.at("messages");
  EXPECT_EQ(found.at("tables")[0].at("rows").size(), 1u) << found.dump(1);
}

TEST(OwlCommand, SeesWhatIsWrittenAtAPlaceOfAFileAndIntoASocket) {
  if (!has_tool("python3")) GTEST_SKIP() << "python3 is not installed";
  const json found = json::parse(printed(tool(
      "owl --json -e 'io: filter(size == 1234) -> count by kind' -- python3 -S -E -c 'import os, _socket\n"
      "file = os.open(\"/dev/zero\", os.O_RDWR)\n"
      "os.pwrite(file, b\"x\" * 1234, 5)\n"
      "os.pread(file, 1234, 5)\n"
      "one, other = _socket.socketpair()\n"
      "one.send(b\"y\" * 1234)\n"
      "other.recv(2000)'")));
  EXPECT_EQ(found.at("tables")[0].at("rows").size(), 4u) << found.dump(1);  // read, write, send, receive
}

TEST(OwlCommand, AnErrorHasItsPlaceAndEndsWithStatusTwo) {
  const Ran ran = tool("owl -e 'io: filtre(write) -> count' -- true");
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.errors,
              testing::StartsWith("-e:1:5: there is no sub-module 'filtre'; did you mean 'filter'?"));
}

TEST(OwlCommand, SaysWhyNothingPassed) {
  const Ran ran = tool("owl -e 'mem.accesses: count' -- true");
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.errors, HasSubstr("compile it with substrata-cc"));
  EXPECT_THAT(tool("owl -e 'counters: count' -- true").errors,
              HasSubstr("`substrata owl --counters EVENTS`"));
  if (has_tool("mpirun")) {
    EXPECT_THAT(shell("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " SUBSTRATA_TOOL
                      " owl -e 'mpi.contents: count' -- mpirun -n 1 true")
                    .errors,
                HasSubstr("these are point-to-point messages of an MPI program"));
  }
}

TEST(OwlCommand, ReadsASensorOfAGpuWhileTheProgramRuns) {
  const TemporaryFolder folder;
  const std::string machine = folder.file("machine");
  ASSERT_EQ(tool("machine unfold " + machine + " " MACHINE_TEXT).status, 0);
  const json found = json::parse(
      printed(tool("machine run " + machine +
                   " -- " SUBSTRATA_TOOL " owl --json --counters rocm_smi:::temp_current:device=0:sensor=2 "
                   "-e 'counters: min(value), max(value) by probe' -- sleep 0.3")));
  EXPECT_EQ(found.at("messages"), json::array());
  EXPECT_EQ(found.at("tables")[0].at("rows")[0].at("values"), json({52000, 52000})) << found.dump(1);
}

TEST(OwlCommand, SaysOnceWhatSeveralProcessesSay) {
  const Ran ran = tool("owl --json -e 'tracepoint.none.such: count' -- sh -c 'true; /bin/true; /bin/true'");
  EXPECT_EQ(json::parse(ran.out).at("messages").size(), 1u) << ran.out;
}

class QueryInRecording : public testing::Test {
 protected:
  void record(const std::string& options) {
    ran_ = tool("record -q -e example:::constant -o " + path_ + options);
    ASSERT_EQ(ran_.status, 0) << ran_.errors;
    recording_ = read_file(path_);
    ASSERT_EQ(recording_.writers.size(), 1u);
  }
  const TemporaryFolder folder_;
  const std::string path_ = folder_.file("r.sub");
  Ran ran_;
  Recording recording_;
};

TEST_F(QueryInRecording, IsShownByTheReport) {
  record(" --owl 'io: filter(write) -> sum(size) by kind'" + kWrites);
  const Ran report = tool("report " + path_);
  EXPECT_THAT(report.out, HasSubstr("query: io: filter(write) -> sum(size) by kind\n"));
  EXPECT_THAT(report.out, HasSubstr("  sum(size)    share  kind\n       3000  100.0 %  write\n"));
}

TEST_F(QueryInRecording, ItsMarksStandAmongThoseOfTheRun) {
  record(" --owl 'io: filter(write && size == 1000) -> mark(\"a thousand\")'" + kWrites);
  const auto& marks = recording_.writers[0].marks;
  EXPECT_EQ(
      std::count_if(marks.begin(), marks.end(), [](const Mark& each) { return each.name == "a thousand"; }),
      3);
}

TEST_F(QueryInRecording, RunsThatMeasureTheOverheadAreNotCounted) {
  record(" --overhead 1 --owl 'io: filter(write) -> sum(size)'" + kWrites);
  const auto& all = recording_.writers[0].attachments;
  const auto found =
      std::find_if(all.begin(), all.end(), [](const Attachment& each) { return each.name == "owl"; });
  ASSERT_NE(found, all.end());
  EXPECT_EQ(json::parse(found->content).at("tables")[0].at("rows")[0].at("values"), json::parse("[3000]"));
}

TEST_F(QueryInRecording, AMistakeInItEndsTheCommandBeforeItBegins) {
  const Ran ran = tool("record -q -o " + path_ + " --owl 'io: count by' -- touch " + folder_.file("began"));
  EXPECT_NE(ran.status, 0);
  EXPECT_THAT(ran.errors, HasSubstr("--owl:1:"));
  EXPECT_EQ(shell("test -e " + folder_.file("began")).status, 1);
}

}  // namespace
