// Command lines of substrata are completed: candidates, and what bash and zsh make of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "in_terminal.hpp"
#include "support/kernel_events.hpp"
#include "support/lines.hpp"
#include "support/temporary_folder.hpp"
#include "support/tool.hpp"

namespace {

using namespace substrata::tests;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

std::vector<std::string> words(const std::string& typed) {
  const Ran ran = tool("completion words " + typed);
  EXPECT_EQ(ran.status, 0) << ran.errors;
  EXPECT_EQ(ran.errors, "");
  return lines_of(ran.out);
}

// There was nothing to choose from.
TEST(Completion, KnowsTheSeriesOfTheRecordThatIsNamed) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  ASSERT_EQ(tool("record -q -e 'example:::*' -o " + path + " -- true").status, 0);
  EXPECT_THAT(words("correlate " + path + " example:::c"), ElementsAre("example:::constant"));
}

TEST(Completion, KnowsCommandsOptionsAndWhatTheirValuesStandFor) {
  EXPECT_THAT(words("re"), ElementsAre("record", "replay", "report", "reproduce"));
  EXPECT_THAT(words("stat --ev"), ElementsAre("--events"));
  EXPECT_THAT(words("stat -e example:::con"), ElementsAre("example:::constant"));
  EXPECT_THAT(words("stat -e example:::ticks,example:::con"),
              ElementsAre("example:::ticks,example:::constant"));
  EXPECT_THAT(words("stat --events=example:::con"), ElementsAre("--events=example:::constant"));
  EXPECT_THAT(words("list example:::c"), ElementsAre("example:::constant"));
  EXPECT_THAT(words("export run.sub --to ''"), IsSupersetOf({"csv", "json", "openmetrics", "perfetto"}));
  EXPECT_THAT(words("export run.sub --to=per"), ElementsAre("--to=perfetto"));
  EXPECT_THAT(words("export ''"), ElementsAre(":files"));
  EXPECT_THAT(words("record -o ''"), ElementsAre(":files"));
  EXPECT_THAT(words("record -q -- ''"), ElementsAre(":command"));
  EXPECT_THAT(words("run -m mem"), Contains("memory"));
  EXPECT_THAT(words("run -m memory -w ff"), Contains("fft"));
  EXPECT_THAT(words("reproduce papi-di"), ElementsAre("papi-dispatch"));
  EXPECT_THAT(words("module s"), ElementsAre("show"));
  EXPECT_THAT(words("module show ''"), Contains("histogram"));
  EXPECT_THAT(words("module build ''"), ElementsAre(":files"));
  EXPECT_THAT(words("top -p 1"), Contains("1"));
  EXPECT_THAT(words("completion ''"), IsSupersetOf({"bash", "zsh"}));
  EXPECT_THAT(words("mpirun --la"), ElementsAre("--launcher"));
  EXPECT_THAT(words("no-such-command ''"), testing::IsEmpty());
  EXPECT_THAT(words("stat -i ''"), testing::IsEmpty());
}

TEST(Completion, KnowsTheKernelsEvents) {
  SUBSTRATA_NEEDS_KERNEL_EVENTS();
  EXPECT_THAT(words("stat -e perf::TASK"), ElementsAre("perf::TASK-CLOCK"));
  EXPECT_THAT(words("stat -e perf::PAGE-FAULTS,perf::TASK"),
              ElementsAre("perf::PAGE-FAULTS,perf::TASK-CLOCK"));
  EXPECT_THAT(words("stat --events=perf::TASK"), ElementsAre("--events=perf::TASK-CLOCK"));
}

// Oracle: what each command's --help says.
TEST(Completion, HasTheOptionsOfEachCommandAndNoOthers) {
  int commands = 0;
  for (const std::string& name : words("''")) {
    if (name == "--help") continue;
    ++commands;
    const std::string help = tool(name + " --help").out;
    std::set<std::string> reported;
    // A line of an option begins with its names.
    const std::regex line("\n  (-[A-Za-z],)?(--[a-z-]+)");
    for (auto at = std::sregex_iterator(help.begin(), help.end(), line); at != std::sregex_iterator(); ++at)
      reported.insert((*at)[2].str());
    if (help.find("-h,--help") == std::string::npos) reported.insert("--help");
    const std::vector<std::string> found = words(name + " --");
    EXPECT_EQ(std::set<std::string>(found.begin(), found.end()), reported) << name << "\n" << help;
  }
  EXPECT_GE(commands, 20);
}

// A person at a real bash.
TEST(Completion, BashCompletesEventsOptionsAndCommands) {
  if (shell("command -v bash").status != 0) GTEST_SKIP() << "bash is missing";
  const TemporaryFolder folder;
  std::ofstream(folder.file("script")) << tool("completion bash").out;
  std::ofstream(folder.file("inputrc")) << "set bell-style audible\nset enable-bracketed-paste off\n";
  std::ofstream(folder.file("a-record.sub")) << "";
  EXPECT_EQ(shell("bash -n " + folder.file("script")).status, 0);
  setenv("INPUTRC", folder.file("inputrc").c_str(), 1);
  setenv("PS1", "ready> ", 1);
  InTerminal terminal({"bash", "--norc", "--noprofile", "-i"});
  if (!terminal.works()) GTEST_SKIP() << "there is no pseudo-terminal here";
  const std::string program = SUBSTRATA_TOOL;
  const std::string path = program.substr(0, program.rfind('/'));
  // The prompt is distinguished from what is typed by its expansion.
  terminal.type("PATH='" + path + "':$PATH; cd " + folder.path() + "; . ./script; echo go$((1))on\n");
  ASSERT_THAT(terminal.until("go1on"), HasSubstr("go1on"));
  const auto completed = [&](const std::string& typed, const std::string& whole) {
    terminal.type("echo " + std::string(1, '\x15') + typed + "\t");
    const std::string shown = terminal.until(whole, '\a');  // the bell: there is nothing to complete
    EXPECT_THAT(shown, HasSubstr(whole)) << typed;
    // The line is given up.
    terminal.type(
        "\x15"
        "echo next$((2))line\n");
    EXPECT_THAT(terminal.until("next2line"), HasSubstr("next2line"));
  };
  completed("substrata corr", "substrata correlate ");
  completed("substrata stat -e example:::con", "example:::constant ");
  completed("substrata stat -e example:::ticks,example:::con", "example:::ticks,example:::constant ");
  completed("substrata stat --events=example:::con", "--events=example:::constant ");
  completed("substrata export --to perf", "--to perfetto ");
  completed("substrata report a-re", "report a-record.sub ");
  terminal.type("exit\n");
  terminal.wait();
}

// The function with the parts of zsh that need a terminal replaced.
TEST(Completion, ZshTakesTheSameCandidates) {
  if (shell("command -v zsh").status != 0) GTEST_SKIP() << "zsh is missing (package zsh)";
  const TemporaryFolder folder;
  std::ofstream(folder.file("script")) << tool("completion zsh").out;
  const auto completed = [&](const std::string& line) {
    return shell("cd " + folder.path() +
                 "; zsh -f -c 'compdef() { : }; compadd() { shift; print -l -- \"$@\" }; _files() { print "
                 "files }\n"
                 ". ./script\nwords=(" SUBSTRATA_TOOL " " +
                 line + "); CURRENT=$#words; _substrata'")
        .out;
  };
  EXPECT_EQ(completed("corr"), "correlate\n");
  EXPECT_EQ(completed("stat -e example:::con"), "example:::constant\n");
  EXPECT_EQ(completed("report \"\""), "files\n");
}

TEST(Completion, SaysWhatIsWrong) {
  EXPECT_EQ(tool("completion").status, 2);
  EXPECT_EQ(tool("completion fish").status, 2);
}

}  // namespace
