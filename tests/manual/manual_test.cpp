// The manual pages: one for each program, without a mistake in its markup, with every option that the program
// has.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "support/program.hpp"

namespace {

using namespace substrata::tests;

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The programs that are installed: PAPI's utilities, the tool, the compiler wrappers.
std::set<std::string> programs() {
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(PROGRAMS)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("papi_") || name == "substrata" || name.starts_with("substrata-"))
      names.insert(name);
  }
  return names;
}

// The commands of the tool, each of which has a page of its own.
std::set<std::string> commands() {
  std::set<std::string> names;
  const fs::path tool = fs::path(PROGRAMS) / "substrata";
  if (!fs::exists(tool)) return names;
  const std::string usage = run(shell_word(tool) + " --help").out;
  const std::regex command("\n  ([a-z][a-z-]*) ");
  for (auto at = std::sregex_iterator(usage.begin(), usage.end(), command); at != std::sregex_iterator();
       ++at)
    names.insert((*at)[1].str());
  return names;
}

std::set<std::string> pages() {
  std::set<std::string> names = programs();
  for (const std::string& command : commands()) names.insert("substrata-" + command);
  return names;
}

// A page as a terminal shows it, without bold and underlining, on lines that are never broken.
std::string rendered(const std::string& name) {
  const fs::path page = fs::path(PAGES) / (name + ".1");
  return run("printf '.ll 2000n\\n.pl 100000\\n' | cat - " + shell_word(page) +
             " | groff -man -Tascii -P-cbou")
      .out;
}

// PA-13
TEST(Manual, EachProgramHasAPageThatNamesIt) {
  const std::set<std::string> all = pages();
  if (all.empty()) GTEST_SKIP() << "the programs are not built here (package libcli11-dev)";
  for (const std::string& name : all) {
    const std::string page = text_of(fs::path(PAGES) / (name + ".1"));
    EXPECT_NE(page.find(".SH NAME\n"), std::string::npos) << name;
    EXPECT_NE(page.find(".SH SYNOPSIS\n"), std::string::npos) << name;
    EXPECT_NE(page.find(".SH DESCRIPTION\n"), std::string::npos) << name;
    EXPECT_NE(page.find(".SH EXIT STATUS\n"), std::string::npos) << name;
    EXPECT_NE(page.find(std::regex_replace(name, std::regex("-"), "\\-")), std::string::npos) << name;
    EXPECT_EQ(page.find("\n@"), std::string::npos) << name << " has a mark that was not replaced";
  }
}

TEST(Manual, NoPageIsLeftOfAProgramThatIsGone) {
  const std::set<std::string> all = pages();
  if (!fs::exists(PAGES)) GTEST_SKIP() << "no program of which to make a page is built here";
  for (const fs::directory_entry& entry : fs::directory_iterator(PAGES))
    EXPECT_EQ(all.count(entry.path().stem().string()), 1u) << entry.path();
}

TEST(Manual, GroffFindsNothingWrongWithAnyPage) {
  if (!has_tool("groff")) GTEST_SKIP() << "groff is missing (package groff-base)";
  for (const std::string& name : pages()) {
    const Ran outcome = run("groff -man -ww -Tutf8 -z " + shell_word(fs::path(PAGES) / (name + ".1")));
    EXPECT_EQ(outcome.status, 0) << name;
    EXPECT_EQ(outcome.out, "") << name;
  }
}

// CO-2, CO-4: the pages of commands have the options and the examples of their --help.
TEST(Manual, EachCommandHasAPageWithItsOptionsAndExamples) {
  if (!has_tool("groff")) GTEST_SKIP() << "groff is missing (package groff-base)";
  const std::set<std::string> all = commands();
  if (all.empty()) GTEST_SKIP() << "the program substrata is not built here";
  for (const std::string& name : all) {
    const std::string page = rendered("substrata-" + name);
    const std::string help = run(shell_word(fs::path(PROGRAMS) / "substrata") + " " + name + " --help").out;
    EXPECT_NE(page.find("substrata-" + name + " - "), std::string::npos) << page;
    const std::regex option("\n  (?:-[A-Za-z],)?(--[a-z-]+)");
    for (auto at = std::sregex_iterator(help.begin(), help.end(), option); at != std::sregex_iterator(); ++at)
      EXPECT_NE(page.find((*at)[1].str()), std::string::npos) << name << " " << (*at)[1].str() << "\n"
                                                              << page;
    const std::regex example("\n  (substrata " + name + "[^\n]*)");
    if (std::smatch found; std::regex_search(help, found, example)) {
      EXPECT_NE(page.find("EXAMPLES"), std::string::npos) << name;
      EXPECT_NE(page.find(found[1].str()), std::string::npos) << found[1] << "\n" << page;
    }
  }
  const std::string record = rendered("substrata-record");
  EXPECT_NE(record.find("substrata record -- make -j4"), std::string::npos) << record;
}

// Oracle: what the program says of itself.
TEST(Manual, EachOptionOfAProgramIsInItsPage) {
  if (!has_tool("groff")) GTEST_SKIP() << "groff is missing (package groff-base)";
  for (const std::string& name : programs()) {
    const std::string text = text_of(fs::path(TEMPLATES) / (name + ".page"));
    if (text.find("\n@options@") == std::string::npos) continue;
    const Ran help = run(shell_word(fs::path(PROGRAMS) / name) + " --help");
    ASSERT_EQ(help.status, 0) << help.out;
    const std::string page = rendered(name);
    const std::regex option("(^|[\\s,])(--?[A-Za-z][a-z-]*)");
    int options = 0;
    for (auto at = std::sregex_iterator(help.out.begin(), help.out.end(), option);
         at != std::sregex_iterator(); ++at, ++options)
      EXPECT_NE(page.find((*at)[2].str()), std::string::npos) << name << " " << (*at)[2].str() << "\n"
                                                              << page;
    EXPECT_GE(options, 2) << name << "\n" << help.out;
  }
}

TEST(Manual, TheToolsPageHasEachCommandWithItsOptions) {
  if (!has_tool("groff")) GTEST_SKIP() << "groff is missing (package groff-base)";
  const fs::path tool = fs::path(PROGRAMS) / "substrata";
  if (!fs::exists(tool)) GTEST_SKIP() << "the program substrata is not built here";
  const std::string page = rendered("substrata");
  const std::string usage = run(shell_word(tool) + " --help").out;
  const std::regex command("\n  ([a-z][a-z-]*) ");
  int commands = 0;
  for (auto at = std::sregex_iterator(usage.begin(), usage.end(), command); at != std::sregex_iterator();
       ++at, ++commands) {
    const std::string name = (*at)[1].str();
    EXPECT_NE(page.find("substrata " + name), std::string::npos) << name << "\n" << page;
    const Ran help = run(shell_word(tool) + " " + name + " --help");
    EXPECT_EQ(help.status, 0) << name << "\n" << help.out;
    EXPECT_NE(help.out.find("Usage: substrata " + name), std::string::npos) << name << "\n" << help.out;
  }
  EXPECT_GE(commands, 8) << usage;
  for (const char* option : {"-m, --machine MACHINE", "-w, --workload WORKLOAD", "--launcher PROGRAM"})
    EXPECT_NE(page.find(option), std::string::npos) << option << "\n" << page;
}

// What a program says with dots, quotes and backslashes at the beginning of a line stays text.
TEST(Manual, TextOfAProgramIsNotTakenForMarkup) {
  if (!has_tool("groff")) GTEST_SKIP() << "groff is missing (package groff-base)";
  const TemporaryFolder temporary;
  const fs::path folder = temporary.path();
  {
    std::ofstream program(folder / "odd");
    program << "#!/bin/sh\ncat <<'END'\nDoes odd things.\nUsage: odd [OPTIONS] FILE\n\nPositionals:\n"
               "  FILE TEXT REQUIRED          .br is no request here\n\nOptions:\n"
               "  -q,--quote TEXT             'quoted' and back\\slash\n"
               "  --a-name-that-is-far-too-long TEXT\n                              its text is below\n"
               "  -x,--exactly-filled-up TEXT one space only\nEND\n";
    std::ofstream page(folder / "odd.page");
    page << "summary: does odd things\n\n.SH DESCRIPTION\nIt is odd.\n@options@\n.SH EXIT STATUS\n0.\n";
  }
  fs::permissions(folder / "odd", fs::perms::owner_all);
  const Ran made = run(shell_word(MAKE_PAGE) + " odd 1.0 " + shell_word(folder / "odd.page") + " " +
                       shell_word(folder / "odd") + " > " + shell_word(folder / "odd.1"));
  EXPECT_EQ(made.status, 0) << made.out;
  EXPECT_EQ(run("groff -man -ww -Tascii -z " + shell_word(folder / "odd.1")).out, "");
  const std::string text = run("groff -man -Tascii -P-cbou " + shell_word(folder / "odd.1")).out;
  for (const char* piece :
       {"odd - does odd things", "odd [OPTIONS] FILE", ".br is no request here", "'quoted' and back\\slash",
        "--a-name-that-is-far-too-long TEXT", "its text is below", "one space only"})
    EXPECT_NE(text.find(piece), std::string::npos) << piece << "\n" << text;
  fs::remove_all(folder);
}

}  // namespace
