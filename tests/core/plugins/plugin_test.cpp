// Run-time plug-ins through PAPI's interface: built outside the tree, good, broken, and failing at every
// single call.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <papi.h>
#include <stdlib.h>
#include <substrata/extensions.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "faulty.hpp"
#include "support/temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;

const fs::path kPlugins = fs::path(SUBSTRATA_BUILD_DIR) / "tests" / "plugins";

bool has_component(const char* name) { return PAPI_get_component_index(name) >= 0; }

class PlugIns : public testing::Test {
 protected:
  void initialise_with(const fs::path& folder) {
    setenv("SUBSTRATA_PLUGIN_PATH", folder.c_str(), 1);
    ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT);
  }
  void TearDown() override {
    PAPI_shutdown();
    unsetenv("SUBSTRATA_PLUGIN_PATH");
  }
  // The messages of all plug-ins that were found and refused.
  std::vector<std::string> refusals() {
    std::vector<std::string> all;
    for (unsigned i = 0;; ++i) {
      const char* message = substrata_plugin_refusal(i);
      if (message == nullptr) return all;
      all.emplace_back(message);
    }
  }
  // The one plug-in of the folder is not taken, with a message that has `reason`.
  void expect_refused(const fs::path& folder, const char* component, const char* reason) {
    initialise_with(folder);
    EXPECT_FALSE(has_component(component));
    ASSERT_EQ(refusals().size(), 1u);
    EXPECT_NE(refusals()[0].find(reason), std::string::npos) << refusals()[0];
  }
};

// First in this file: plug-ins of earlier tests stay listed for the life of a process.
TEST_F(PlugIns, NoneIsLoadedUnlessAskedFor) {  // PA-40
  unsetenv("SUBSTRATA_PLUGIN_PATH");
  ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT);
  for (int i = 0; i < PAPI_num_components(); ++i) EXPECT_STREQ(substrata_component_origin(i), "built-in");
  EXPECT_TRUE(refusals().empty()) << refusals()[0];
}

TEST_F(PlugIns, BuiltOutsideTheTreeIsListedByNameAndCounts) {  // PA-40
  const substrata::tests::TemporaryFolder folder;
  const std::string command = std::string(SUBSTRATA_CXX) + " -std=c++20 -shared -fPIC -I" +
                              SUBSTRATA_SOURCE_DIR + "/include -o " + folder.file("substrata-procstat.so") +
                              " " + SUBSTRATA_SOURCE_DIR + "/examples/plugin/procstat.cpp";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  initialise_with(folder.path());
  const int component = PAPI_get_component_index("procstat");
  ASSERT_GE(component, 0) << (refusals().empty() ? "" : refusals()[0]);
  EXPECT_EQ(fs::path(substrata_component_origin(component)), folder / "substrata-procstat.so");

  int set = PAPI_NULL;
  ASSERT_EQ(PAPI_create_eventset(&set), PAPI_OK);
  ASSERT_EQ(PAPI_add_named_event(set, "procstat:::forks"), PAPI_OK);
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  constexpr int kChildren = 20;
  for (int i = 0; i < kChildren; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    ASSERT_GT(child, 0);
    waitpid(child, nullptr, 0);
  }
  long long forks = 0;
  ASSERT_EQ(PAPI_stop(set, &forks), PAPI_OK);
  EXPECT_GE(forks, kChildren);
  EXPECT_EQ(PAPI_cleanup_eventset(set), PAPI_OK);
  EXPECT_EQ(PAPI_destroy_eventset(&set), PAPI_OK);
}

TEST_F(PlugIns, AFileThatIsNoSharedObjectIsRefusedWithAMessage) {
  const substrata::tests::TemporaryFolder folder;
  std::ofstream(folder / "substrata-text.so") << "this is text\n";
  expect_refused(folder.path(), "text", "substrata-text.so");
}

TEST_F(PlugIns, AFileWithoutItsEntryPointIsRefusedByThatName) {
  expect_refused(kPlugins / "no_entry", "noentry", "substrata_entry_noentry");
}

TEST_F(PlugIns, OneOfAnotherInterfaceVersionIsRefused) {
  expect_refused(kPlugins / "other_abi", "otherabi", "substrata-otherabi.so");
}

TEST_F(PlugIns, OneThatLacksARequiredSlotIsRefusedNamingTheSlot) {
  expect_refused(kPlugins / "no_read", "noread", "read");
}

TEST_F(PlugIns, OneWhoseNameBreaksTheRulesIsRefused) {
  initialise_with(kPlugins / "other_name");
  EXPECT_FALSE(has_component("Another Name"));
  EXPECT_EQ(refusals().size(), 1u);
}

TEST_F(PlugIns, OneThatTakesABuiltInNameIsRefusedAndTheBuiltInStays) {
  initialise_with(kPlugins / "taken");
  ASSERT_TRUE(has_component("example"));
  EXPECT_STREQ(substrata_component_origin(PAPI_get_component_index("example")), "built-in");
  EXPECT_EQ(refusals().size(), 1u);
}

TEST_F(PlugIns, OneThatAnyUserMayWriteIsNotLoaded) {
  const substrata::tests::TemporaryFolder folder;
  const fs::path copy = folder / "substrata-taken.so";
  fs::copy_file(kPlugins / "taken" / "substrata-example.so", copy);
  fs::permissions(copy, fs::perms::all);
  initialise_with(folder.path());
  ASSERT_EQ(refusals().size(), 1u);
  EXPECT_NE(refusals()[0].find("chmod o-w"), std::string::npos) << refusals()[0];
}

TEST_F(PlugIns, AFolderThatDoesNotExistDoesNoHarm) {
  initialise_with("/nonexistent/folder");
  EXPECT_TRUE(has_component("example"));
}

// One pass over the whole life of an eventset. Every answer is kept; nothing may crash whatever fails.
std::vector<int> whole_life() {
  std::vector<int> answers;
  long long values[4] = {};
  int set = PAPI_NULL;
  answers.push_back(PAPI_create_eventset(&set));
  answers.push_back(PAPI_add_named_event(set, "faulty:::a"));
  answers.push_back(PAPI_add_named_event(set, "faulty:::b"));
  answers.push_back(PAPI_start(set));
  answers.push_back(PAPI_read(set, values));
  answers.push_back(PAPI_accum(set, values));
  answers.push_back(PAPI_reset(set));
  answers.push_back(PAPI_stop(set, values));
  answers.push_back(PAPI_remove_named_event(set, "faulty:::a"));
  answers.push_back(PAPI_start(set));
  answers.push_back(PAPI_stop(set, values));
  // The way out a client takes whatever happened before.
  int state = 0;
  if (PAPI_state(set, &state) == PAPI_OK && (state & PAPI_RUNNING) != 0) (void)PAPI_stop(set, nullptr);
  answers.push_back(PAPI_cleanup_eventset(set));
  answers.push_back(PAPI_destroy_eventset(&set));
  return answers;
}

TEST_F(PlugIns, AFailureOfAnySingleCallIsReportedAndLeavesNothingOpenOrOutOfOrder) {
  initialise_with(kPlugins / "faulty");
  ASSERT_TRUE(has_component("faulty"));
  void* plugin = dlopen((kPlugins / "faulty" / "substrata-faulty.so").c_str(), RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(plugin, nullptr) << "the library did not load it";
  auto control_of = reinterpret_cast<FaultyControl* (*)()>(dlsym(plugin, "faulty_control"));
  ASSERT_NE(control_of, nullptr);
  FaultyControl& control = *control_of();

  for (const int answer : whole_life()) EXPECT_EQ(answer, PAPI_OK);
  const int64_t calls = control.calls;
  ASSERT_GT(calls, 8);
  int64_t reported = 0;
  for (int64_t n = 1; n <= calls + 2; ++n) {
    SCOPED_TRACE("failing call " + std::to_string(n));
    control.failed = 0;
    control.fail_call = n;
    bool refused = false;
    for (const int answer : whole_life()) refused = refused || answer != PAPI_OK;
    control.fail_call = 0;
    EXPECT_EQ(refused, control.failed != 0);
    reported += control.failed;
    EXPECT_EQ(control.out_of_order, 0);
    EXPECT_EQ(control.sets, 0);
    EXPECT_EQ(control.running, 0);
    control.out_of_order = 0;
  }
  EXPECT_GT(reported, 8);
  for (const int answer : whole_life()) EXPECT_EQ(answer, PAPI_OK) << "the substrate did not recover";

  PAPI_shutdown();
  EXPECT_EQ(control.devices, 0);
  EXPECT_EQ(control.threads, 0);
  EXPECT_EQ(control.sets, 0);
  EXPECT_EQ(control.out_of_order, 0);
  dlclose(plugin);
}

// Lines may be broken otherwise in a document than in a source file.
std::string without_spaces(std::string text) {
  text.erase(std::remove_if(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c) != 0; }),
             text.end());
  return text;
}

// The lines of the source but those that only name a part of it ("// [events]").
std::string without_part_names(std::istream& source) {
  std::string text, line;
  while (std::getline(source, line))
    if (line.rfind("// [", 0) != 0) text += line + '\n';
  return text;
}

TEST(TheGuide, ShowsTheWholePlugIn) {
  std::ifstream guide_file(std::string(SUBSTRATA_SOURCE_DIR) + "/docs/guide/adding_a_substrate.md");
  std::ifstream source_file(std::string(SUBSTRATA_SOURCE_DIR) + "/examples/plugin/procstat.cpp");
  const std::string guide{std::istreambuf_iterator<char>(guide_file), {}};
  const std::string source = without_part_names(source_file);
  ASSERT_FALSE(source.empty());
  std::string shown;
  for (size_t at = guide.find("```cpp\n"); at != std::string::npos; at = guide.find("```cpp\n", at + 1)) {
    const size_t begin = at + 7;
    const size_t end = guide.find("```", begin);
    ASSERT_NE(end, std::string::npos);
    shown += guide.substr(begin, end - begin);
  }
  EXPECT_EQ(without_spaces(shown), without_spaces(source));
}

}  // namespace
