// `substrata top` in a pseudo-terminal, and as plain text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "in_terminal.hpp"
#include "running_program.hpp"
#include "support/program.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace substrata::tests;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kEnter = "\x1b[?1049h";
constexpr const char* kLeave = "\x1b[?1049l";

#define NEEDS_TERMINAL(terminal) \
  if (!(terminal).works()) GTEST_SKIP() << "there is no pseudo-terminal here"

// The view of a command of the shell.
std::vector<std::string> top_of(const char* command) {
  return {SUBSTRATA_TOOL, "top", "-e", "example:::*", "-i", "5ms", "--", "sh", "-c", command};
}

TEST(Top, DrawsInTheTerminalAndGivesItBackOnQ) {
  InTerminal terminal({SUBSTRATA_TOOL, "top", "-e", "example:::*,thermal_model:::*", "-i", "5ms"});
  NEEDS_TERMINAL(terminal);
  const std::string entered = terminal.until(kEnter);
  EXPECT_THAT(entered, HasSubstr(kEnter));
  const std::string page = terminal.until("look now");
  EXPECT_TRUE(terminal.raw());
  EXPECT_THAT(page, HasSubstr("whole machine"));
  EXPECT_THAT(page, HasSubstr("example:::"));
  EXPECT_THAT(page, HasSubstr("modelled"));
  // It goes on by itself.
  EXPECT_THAT(terminal.until("s since the last look"), HasSubstr("s since the last look"));
  EXPECT_TRUE(terminal.type("jjk \x1b[6~\x1b[5~xyzq"));
  EXPECT_EQ(terminal.wait(), 0);
  const std::string end = terminal.rest();
  EXPECT_THAT(end, HasSubstr(kLeave));
  EXPECT_THAT(end.substr(end.rfind(kLeave)), kLeave) << "nothing is drawn afterwards";
  EXPECT_THAT(end, HasSubstr("\x1b[?25h"));
  EXPECT_TRUE(terminal.as_before());
}

TEST(Top, GivesTheTerminalBackOnSignals) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    InTerminal terminal({SUBSTRATA_TOOL, "top", "-e", "example:::*", "-i", "1s"});
    NEEDS_TERMINAL(terminal);
    terminal.until("look now");
    kill(terminal.pid(), signal);
    EXPECT_EQ(terminal.wait(), 0) << signal;
    EXPECT_THAT(terminal.rest(), HasSubstr(kLeave)) << signal;
    EXPECT_TRUE(terminal.as_before()) << signal;
  }
}

TEST(Top, GivesTheTerminalBackWhileItIsStopped) {
  InTerminal terminal({SUBSTRATA_TOOL, "top", "-e", "example:::*", "-i", "1s"});
  NEEDS_TERMINAL(terminal);
  terminal.until("look now");
  kill(terminal.pid(), SIGTSTP);
  ASSERT_EQ(terminal.wait(WUNTRACED), InTerminal::kStopped);
  EXPECT_THAT(terminal.rest(), HasSubstr(kLeave));
  EXPECT_TRUE(terminal.as_before());
  kill(terminal.pid(), SIGCONT);
  EXPECT_THAT(terminal.until("look now"), HasSubstr(kEnter));
  EXPECT_TRUE(terminal.raw());
  EXPECT_TRUE(terminal.type("q"));
  EXPECT_EQ(terminal.wait(), 0);
}

// The lines of the page that was drawn last, without escapes.
std::vector<std::string> lines_of(const std::string& shown) {
  std::vector<std::string> lines(1);
  for (std::size_t i = shown.rfind("\x1b[H"); i < shown.size(); ++i) {
    if (shown[i] == '\x1b') {
      for (i += 2; i < shown.size() && (shown[i] < '@' || shown[i] > '~'); ++i) {
      }
    } else if (shown[i] == '\n') {
      lines.emplace_back();
    } else if (shown[i] != '\r') {
      lines.back() += shown[i];
    }
  }
  return lines;
}

TEST(Top, KeepsToTheSizeOfTheTerminal) {
  InTerminal terminal({SUBSTRATA_TOOL, "top", "-e", "example:::*,net:::lo:*,thermal_model:::*", "-i", "1s"});
  NEEDS_TERMINAL(terminal);
  terminal.until("look now");
  terminal.rest();
  terminal.resize(60, 8);
  // The signal comes with the change, drawing some time later.
  std::string page = terminal.until("events 1 to 5 of");
  page += terminal.until("\x1b[J");
  const std::vector<std::string> lines = lines_of(page);
  EXPECT_LE(lines.size(), 8u);
  for (const std::string& line : lines) {
    const auto columns = std::count_if(line.begin(), line.end(),
                                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
    EXPECT_LE(columns, 60) << line;
  }
  EXPECT_TRUE(terminal.type("q"));
  EXPECT_EQ(terminal.wait(), 0);
}

// At 80 columns the end of the title and of the first note were missing, and sensors had one name; at 120 there was no
// history.
TEST(Top, NamesNotesAndTheHistoryHaveTheirPlaceInUsualTerminals) {
  const TemporaryFolder folder;
  ASSERT_EQ(shell(SUBSTRATA_TOOL " machine unfold " + folder.file("machine") + " " MACHINE_TEXT).status, 0);
  for (const unsigned short columns : {80, 120}) {
    InTerminal terminal({SUBSTRATA_TOOL, "machine", "run", folder.file("machine"), "--", "sh", "-c",
                         "sleep 0.2; exec " SUBSTRATA_TOOL " top -i 100ms"});
    NEEDS_TERMINAL(terminal);
    terminal.resize(columns, 30);
    std::string page = terminal.until("s since the last look");
    page += terminal.until("\x1b[J");
    page += terminal.until("s since the last look");
    page += terminal.until("\x1b[J");
    const std::vector<std::string> lines = lines_of(page);
    EXPECT_LE(lines.size(), 30u);
    EXPECT_THAT(lines[0],
                testing::ContainsRegex(": whole machine, [0-9:]{8}, [0-9.]+ s since the last look *$"));
    EXPECT_THAT(lines[1] + lines[2] + lines[3], HasSubstr("its kernel's counters can be listed")) << page;
    bool package = false;
    for (const std::string& line : lines) {
      if (line.find(":Package_id_1 ") == std::string::npos) continue;
      package = true;
      EXPECT_THAT(line, testing::AnyOf(HasSubstr("▄"), HasSubstr("~")));
    }
    EXPECT_TRUE(package) << page;
    EXPECT_TRUE(terminal.type("q"));
    EXPECT_EQ(terminal.wait(), 0);
  }
}

TEST(Top, ACommandEndsWithTheView) {
  InTerminal terminal(top_of("echo visible; exec sleep 1000"));
  NEEDS_TERMINAL(terminal);
  std::string shown = terminal.until("s since the last look");
  EXPECT_TRUE(terminal.type("q"));
  EXPECT_EQ(terminal.wait(), 128 + SIGTERM);
  shown += terminal.rest();
  EXPECT_THAT(shown, Not(HasSubstr("visible\r\n"))) << "only its name is shown";
  EXPECT_THAT(shown, HasSubstr(kLeave));
  EXPECT_TRUE(terminal.as_before());
}

// Nothing was left when the command ended.
TEST(Top, TheTotalsOfACommandAreLeftWhenItEnds) {
  InTerminal terminal(top_of("exit 3"));
  NEEDS_TERMINAL(terminal);
  std::string shown = terminal.until("its events:");
  EXPECT_EQ(terminal.wait(), 3);
  shown += terminal.rest();
  const std::string left = shown.substr(shown.rfind(kLeave));
  EXPECT_THAT(left, HasSubstr("has ended with status 3"));
  EXPECT_THAT(left, HasSubstr("example:::"));
}

TEST(Top, ShowsEachProcessorMemoryAndLoad) {
  InTerminal terminal({SUBSTRATA_TOOL, "top", "-e", "example:::*", "-i", "5ms"});
  NEEDS_TERMINAL(terminal);
  std::string page = terminal.until("s since the last look");
  page += terminal.until("look now");
  EXPECT_THAT(page, testing::ContainsRegex(" 0 [^\n]*[0-9]+ %"));
  EXPECT_THAT(page, HasSubstr(" mem "));
  EXPECT_THAT(page, HasSubstr("load "));
  EXPECT_TRUE(terminal.type("q"));
  EXPECT_EQ(terminal.wait(), 0);
}

TEST(Top, ACommandThatDoesNotEndIsEndedBySecondQ) {
  InTerminal terminal(top_of("trap '' TERM; while :; do sleep 1000; done"));
  NEEDS_TERMINAL(terminal);
  terminal.until("s since the last look");
  EXPECT_TRUE(terminal.type("q"));
  EXPECT_THAT(terminal.until("waiting for the command"), HasSubstr("waiting for the command"));
  EXPECT_TRUE(terminal.type("q"));
  const int status = terminal.wait();
  // The signal may have come before the trap was set.
  EXPECT_TRUE(status == 128 + SIGKILL || status == 128 + SIGTERM) << status;
  EXPECT_TRUE(terminal.as_before());
}

TEST(TopBatch, WritesThatManyLooksAsPlainText) {
  const Ran ran = shell(SUBSTRATA_TOOL " top --batch -n 3 -i 1ms -e 'example:::*,thermal_model:::*'");
  EXPECT_EQ(ran.status, 0) << ran.errors;
  EXPECT_EQ(count_of(ran.out, "EVENT "), 3u);
  EXPECT_EQ(count_of(ran.out, "s since the last look"), 3u);
  EXPECT_GE(count_of(ran.out, "modelled"), 3u);
  EXPECT_THAT(ran.out, Not(HasSubstr("\x1b")));
}

// The processors' clocks counted 1 for each processor, idle or not.
TEST(TopBatch, OfTheMachineShowsHowManyProcessorsAreBusy) {
  const Ran ran = shell(SUBSTRATA_TOOL " top --batch -n 1 -i 50ms");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  EXPECT_THAT(ran.out, testing::ContainsRegex("machine:busy +[0-9.]+k? CPUs"));
}

// Beside rates in CPUs the total stood in nanoseconds.
TEST(TopBatch, TotalsOfTimesAreInSeconds) {
  const Ran ran = shell(SUBSTRATA_TOOL " top --batch -n 1 -i 50ms");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  EXPECT_THAT(ran.out, testing::ContainsRegex("machine:busy [^\n]* [0-9.e-]+ s +measured"));
}

TEST(TopBatch, ACommandKeepsItsOutputAndItsStatus) {
  const Ran ran = shell(SUBSTRATA_TOOL " top -b -i 1h -e 'example:::*' -- sh -c 'echo hello; exit 5'");
  EXPECT_EQ(ran.status, 1) << "an hour is written in seconds";
  const Ran run = shell(SUBSTRATA_TOOL " top -b -i 3600s -e 'example:::*' -- sh -c 'echo hello; exit 5'");
  EXPECT_EQ(run.status, 5) << run.errors;
  EXPECT_THAT(run.out, testing::StartsWith("hello\n"));
  EXPECT_EQ(count_of(run.out, "EVENT "), 1u) << "the last look is at the end";
}

// A running process and what it starts: the page faults of a shell that waits for a line at first.
TEST(TopBatch, ARunningProcessIsCounted) {
  const TemporaryFolder folder;
  ASSERT_EQ(shell("mkfifo " + folder.file("gate")).status, 0);
  RunningProgram program({"/bin/sh", "-c",
                          "echo ready >&2; read line < " + folder.file("gate") +
                              "; head -c 1000000 /dev/zero | md5sum; exit 0"});
  program.errors_until("ready");
  const std::string number = std::to_string(program.pid());
  RunningProgram top({SUBSTRATA_TOOL, "top", "--pid", number, "-b", "-i", "1ms", "-e", "perf::PAGE-FAULTS"},
                     folder.file("out"));
  // It has begun to look once it writes; then the process may go on.
  while (contents(folder.file("out")).find("EVENT") == std::string::npos) {
    if (top.ended()) GTEST_SKIP() << "perf::PAGE-FAULTS does not open here: " << top.errors_until("\n\n");
  }
  std::ofstream(folder.file("gate")) << "go\n";
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(top.wait(), 0) << "it ends with the process";
  const std::string out = contents(folder.file("out"));
  EXPECT_THAT(out, HasSubstr("process " + number + " (sh)"));
  const std::string last = out.substr(out.rfind("perf::PAGE-FAULTS"));
  long total = 0;
  // EVENT NOW UNIT LEAST MOST TOTAL
  ASSERT_EQ(std::sscanf(last.c_str(), "%*s %*s %*s %*s %*s %ld", &total), 1) << last;
  EXPECT_GT(total, 100) << "its children count\n" << last;
}

TEST(TopBatch, SaysWhatIsWrong) {
  EXPECT_EQ(shell(SUBSTRATA_TOOL " top -p 1 -- true").status, 2);
  const Ran ran = shell(SUBSTRATA_TOOL " top -e 'example:::*'");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.errors, HasSubstr("--batch"));
  EXPECT_THAT(shell(SUBSTRATA_TOOL " top -b -n 1 -e nope:::nothing").errors, HasSubstr("nope:::nothing"));
  const Ran gone = shell("sh -c 'exit 0' & wait; exec " SUBSTRATA_TOOL " top -b -n 1 -p 4194305");
  EXPECT_EQ(gone.status, 1);
  EXPECT_THAT(gone.errors, HasSubstr("4194305"));
}

}  // namespace
