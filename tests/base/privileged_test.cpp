// A set-user-ID program whose user sets every variable that the library heeds: none has an effect. Each is seen to have
// one in the same program without the rights.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "support/temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;

constexpr uid_t kUser = 65534;

class PrivilegedProgram : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to make a set-user-ID program";
    fs::permissions(folder_.path(), fs::perms::all);
    fs::copy_file(PRIVILEGED_CLIENT, folder_ / "plain");
    fs::copy_file(PRIVILEGED_CLIENT, folder_ / "raised");
    chmod((folder_ / "plain").c_str(), 0755);
    chmod((folder_ / "raised").c_str(), 04755);
    folder_.write("events", "EVENT,OF_THE_ENVIRONMENT,NOT_DERIVED,perf::TASK-CLOCK\n");
    chmod((folder_ / "events").c_str(), 0644);
    fs::create_directory(folder_ / "reports");
    fs::permissions(folder_ / "reports", fs::perms::all);
    if (run("raised", {}).empty()) GTEST_SKIP() << "another user cannot run the program where it was built";
    if (run("raised", {}).at("privileged") == 0) GTEST_SKIP() << "set-user-ID has no effect here (nosuid)";
  }
  // What the program printed, as run by a user without rights.
  std::map<std::string, int> run(const char* program, const std::vector<std::string>& settings) {
    const std::string out = folder_ / "out";
    const pid_t child = fork();
    if (child == 0) {
      for (const std::string& setting : settings) putenv(const_cast<char*>(setting.c_str()));
      if (std::freopen(out.c_str(), "w", stdout) == nullptr) _exit(2);
      if (chdir(folder_.path().c_str()) != 0 || setgid(kUser) != 0 || setuid(kUser) != 0) _exit(2);
      const std::string path = folder_ / program;
      execl(path.c_str(), path.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return {};
    std::map<std::string, int> values;
    std::istringstream lines(substrata::tests::contents(out));
    std::string name;
    for (int value = 0; lines >> name >> value;) values[name] = value;
    return values;
  }
  // The same number with and without the setting where the rights are raised, another one where not.
  void ignores(const std::string& what, const std::string& setting) {
    EXPECT_NE(run("plain", {}).at(what), run("plain", {setting}).at(what))
        << setting << " has no effect at all";
    EXPECT_EQ(run("raised", {}).at(what), run("raised", {setting}).at(what)) << setting;
  }
  substrata::tests::TemporaryFolder folder_;
};

TEST_F(PrivilegedProgram, LoadsNoPluginOfTheEnvironment) {
  ignores("plugin", "SUBSTRATA_PLUGIN_PATH=" FAULTY_PLUGIN);
}

TEST_F(PrivilegedProgram, TakesNoEventsOfTheEnvironment) {
  ignores("user_event", "PAPI_USER_EVENTS_FILE=" + (folder_ / "events"));
}

TEST_F(PrivilegedProgram, KeepsItsComponentsWhateverTheEnvironmentSays) {
  ignores("example_disabled", "PAPI_DISABLE_COMPONENTS=example");
}

TEST_F(PrivilegedProgram, WritesNoReportWhereTheEnvironmentSays) {
  const std::string setting = "PAPI_OUTPUT_DIRECTORY=" + (folder_ / "reports");
  const std::string events = "PAPI_EVENTS=example:::reads";
  run("raised", {setting, events});
  EXPECT_TRUE(fs::is_empty(folder_ / "reports"));
  run("plain", {setting, events});
  EXPECT_FALSE(fs::is_empty(folder_ / "reports")) << "the setting has no effect at all";
}

// hwloc reads its variables itself, and loads code that one of them names.
TEST_F(PrivilegedProgram, HasNoTopologyOfTheEnvironment) {
  const std::string setting = "HWLOC_SYNTHETIC=pack:3 core:7 pu:1";
  EXPECT_EQ(run("plain", {setting}).at("processors"), 21) << "the setting has no effect at all";
  EXPECT_EQ(run("raised", {setting}).at("processors"), 0) << "the machine is unknown then";
}

// libpfm reads its variables itself.
TEST_F(PrivilegedProgram, HasNoKernelEventsOfTheEnvironment) {
  const std::string setting = "LIBPFM_ENCODE_INACTIVE=1";
  EXPECT_LE(run("raised", {setting}).at("kernel_events"), run("raised", {}).at("kernel_events"));
}

}  // namespace
