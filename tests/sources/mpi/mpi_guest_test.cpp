// Programs of every kind end under the MPI shims as they do without them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "shimmed_program.hpp"

namespace {

using namespace substrata::tests;

size_t count_of(const std::string& what, const std::string& text) {
  size_t out = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++out;
  return out;
}

// Under each of the two MPI libraries.
class MpiGuest : public MpiShim, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (!is_there(compiler()) || !is_there(launcher()))
      GTEST_SKIP() << compiler() << " or " << launcher() << " is not installed";
  }
  static bool is_mpich() { return GetParam() == std::string("mpich"); }
  static std::string compiler() { return std::string("mpicc.") + GetParam(); }
  static std::string launcher() { return is_mpich() ? "mpiexec.mpich" : "mpirun.openmpi"; }
  static std::string shim() { return kLib + "libsubstrata_mpi_" + GetParam() + ".so"; }

  void build(const std::string& source, const std::string& name, const std::string& options = "") {
    const Ran built =
        run(compiler() + " -O1 -o " + (folder_ / name) + " " + kSources + source + " " + options);
    ASSERT_EQ(built.status, 0) << built.out;
  }
  // What sets a variable for the ranks of one context.
  static std::string setting(const std::string& name, const std::string& value) {
    return is_mpich() ? "-env " + name + " " + value + " " : "-x " + name + "=" + value + " ";
  }
  std::string preload() const { return setting("LD_PRELOAD", shim()); }
  std::string summary() const { return setting("SUBSTRATA_MPI_SUMMARY", folder_ / "summary.json"); }
  // The launcher's words behind its own options.
  static Ran start(const std::string& contexts) {
    const std::string options =
        is_mpich() ? "" : " --allow-run-as-root --oversubscribe --mca btl self,vader,tcp";
    return run("OMPI_MCA_mpi_yield_when_idle=1 timeout 60 " + launcher() + options + " " + contexts);
  }
  // Skips where the program does not end well by itself; expects under the shim that it does, and that each of its
  // `ranks` says that it is whole.
  void expect_whole(const std::string& words, int ranks, const std::string& settings = "") {
    const std::string number = "-n " + std::to_string(ranks) + " ";
    const Ran plain = start(number + words);
    if (plain.status != 0)
      GTEST_SKIP() << GetParam() << " cannot run this program here: " << plain.out.substr(0, 300);
    const Ran ran = start(number + preload() + summary() + settings + words);
    EXPECT_EQ(ran.status, 0) << ran.out;
    EXPECT_EQ(count_of("whole", ran.out), static_cast<size_t>(ranks)) << ran.out;
  }
  // Of messages of so many bytes, each rank's own.
  void expect_counted(const std::string& bytes, int messages) {
    std::ifstream stream(folder_ / "summary.json");
    summary_ = Json::parse(stream, nullptr, false);
    ASSERT_TRUE(summary_.is_object()) << "no summary";
    for (const Json& rank : summary_["ranks"])
      EXPECT_EQ(rank["phases"][0]["sizes_sent"][bytes], messages) << rank.dump();
  }
};
INSTANTIATE_TEST_SUITE_P(, MpiGuest, testing::Values("openmpi", "mpich"),
                         [](const auto& name) { return name.param; });

// It ended by a call of address 0.
TEST_P(MpiGuest, APluginThatBringsTheMpiLibraryAlongIsCounted) {
  build("plugin.c", "plugin.so", "-shared -fPIC");
  ASSERT_EQ(run("cc -O1 -o " + (folder_ / "program") + " " + kSources + "loads_mpi.c -ldl").status, 0);
  expect_whole((folder_ / "program") + " plugin " + (folder_ / "plugin.so"), 2);
  if (IsSkipped() || HasFailure()) return;
  expect_counted("80", 10);
}

TEST_P(MpiGuest, AProgramThatLooksTheMpiFunctionsUpGoesOn) {
  ASSERT_EQ(run("cc -O1 -o " + (folder_ / "program") + " " + kSources + "loads_mpi.c -ldl").status, 0);
  expect_whole((folder_ / "program") + " lookup " + (is_mpich() ? "libmpich.so.12" : "libmpi.so.40"), 2);
}

TEST_P(MpiGuest, AnMpiLibraryInANamespaceOfItsOwnIsPassedBy) {
  build("plugin.c", "plugin.so", "-shared -fPIC");
  ASSERT_EQ(run("cc -O1 -o " + (folder_ / "program") + " " + kSources + "loads_mpi.c -ldl").status, 0);
  expect_whole((folder_ / "program") + " namespace " + (folder_ / "plugin.so"), 1);
}

// Each undefined function of the MPI library ended it.
TEST_P(MpiGuest, AProgramWithoutMpiThatBindsAllSymbolsAtOnceGoesOn) {
  const Ran ran = run("LD_BIND_NOW=1 LD_PRELOAD=" + shim() + " /bin/echo whole");
  EXPECT_EQ(ran.status, 0) << ran.out;
  EXPECT_EQ(ran.out, "whole\n");
}

// The shim asked the MPI library about handles that were none any more.
TEST_P(MpiGuest, OperationsCompleteWhoseHandlesAreFreedWhileTheyArePending) {
  build("freed_in_use.c", "program");
  for (const char* kind :
       {"communicator", "any-source", "datatype", "persistent", "probed", "request", "window-and-group"})
    for (const char* level : {"1", "2"}) {
      SCOPED_TRACE(std::string(kind) + " at level " + level);
      expect_whole((folder_ / "program") + " " + kind, 2, setting("SUBSTRATA_MPI_LEVEL", level));
    }
}

// The shim's own collective operations met those of the program in the ranks that do not have it: it hanged.
TEST_P(MpiGuest, AJobEndsOfWhichOneProgramHasNoShim) {
  build("together.c", "program");
  const std::string program = folder_ / "program";
  const Ran ran = start("-n 1 " + preload() + summary() + program + " : -n 2 " + program);
  EXPECT_EQ(ran.status, 0) << ran.out;
  EXPECT_EQ(count_of("whole", ran.out), 3u) << ran.out;
  EXPECT_EQ(count_of("1 of 3 ranks", ran.out), 1u) << ran.out;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "summary.json"));
}

TEST_P(MpiGuest, AJobEndsWhoseSecondProgramAloneHasTheShim) {
  build("together.c", "program");
  const std::string program = folder_ / "program";
  const Ran ran = start("-n 1 " + program + " : -n 2 " + preload() + summary() + program);
  EXPECT_EQ(ran.status, 0) << ran.out;
  EXPECT_EQ(count_of("whole", ran.out), 3u) << ran.out;
  EXPECT_EQ(count_of("2 of 3 ranks", ran.out), 1u) << ran.out;
}

TEST_P(MpiGuest, AJobEndsWhoseRanksAreStartedWithoutTheirPreloads) {
  build("together.c", "program");
  std::ofstream(folder_ / "wrapper")
      << "#!/bin/sh\n[ \"$OMPI_COMM_WORLD_RANK$PMI_RANK\" = 1 ] && unset LD_PRELOAD\n"
      << "exec \"$@\"\n";
  std::filesystem::permissions(folder_ / "wrapper", std::filesystem::perms::owner_all);
  expect_whole((folder_ / "wrapper") + " " + (folder_ / "program"), 3);
}

TEST_P(MpiGuest, AJobOfSeveralProgramsThatAllHaveTheShimIsCounted) {
  build("together.c", "program");
  const std::string words = preload() + summary() + (folder_ / "program");
  const Ran ran = start("-n 1 " + words + " : -n 2 " + words);
  EXPECT_EQ(ran.status, 0) << ran.out;
  EXPECT_EQ(count_of("ranks are known", ran.out), 0u) << ran.out;
  std::ifstream stream(folder_ / "summary.json");
  summary_ = Json::parse(stream, nullptr, false);
  ASSERT_TRUE(summary_.is_object()) << ran.out;
  EXPECT_EQ(summary_["ranks"].size(), 3u);
}

// One program of the two had no shim.
TEST_P(MpiGuest, SubstrataMpirunHandsTheShimToEachOfSeveralPrograms) {
  build("together.c", "program");
  const std::string program = folder_ / "program", file = folder_ / "summary.json";
  const std::string options = is_mpich() ? "" : "--allow-run-as-root --oversubscribe ";
  const Ran ran = run("OMPI_MCA_mpi_yield_when_idle=1 timeout 60 " SUBSTRATA_BUILD_DIR
                      "/bin/substrata mpirun --summary " +
                      file + " " + options + "-n 1 " + program + " : -n 1 " + program);
  EXPECT_EQ(ran.status, 0) << ran.out;
  std::ifstream stream(file);
  summary_ = Json::parse(stream, nullptr, false);
  ASSERT_TRUE(summary_.is_object()) << ran.out;
  EXPECT_EQ(summary_["ranks"].size(), 2u);
}

TEST_P(MpiGuest, AProgramThatUsesSessionsOnlyGoesOn) {
  build("sessions.c", "program");
  expect_whole(folder_ / "program", 2);
}

// Debian's module for Python is built for Open MPI.
TEST_F(MpiShim, APythonProgramIsCounted) {
  if (!is_there("mpirun.openmpi") || run("/usr/bin/python3 -c 'import mpi4py.MPI'").status != 0)
    GTEST_SKIP() << "mpirun.openmpi or mpi4py is not installed";
  const std::string command =
      "OMPI_MCA_mpi_yield_when_idle=1 timeout 100 mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 ";
  const std::string words = "/usr/bin/python3 " + kSources + "module.py";
  if (const Ran plain = run(command + words); plain.status != 0)
    GTEST_SKIP() << "mpi4py cannot run here: " << plain.out.substr(0, 300);
  const Ran ran =
      run(command + "-x LD_PRELOAD=" + kLib +
          "libsubstrata_mpi_openmpi.so -x SUBSTRATA_MPI_SUMMARY=" + (folder_ / "summary.json") + " " + words);
  ASSERT_EQ(ran.status, 0) << ran.out;
  EXPECT_EQ(count_of("whole", ran.out), 2u) << ran.out;
  std::ifstream stream(folder_ / "summary.json");
  const Json counted = Json::parse(stream, nullptr, false);
  ASSERT_TRUE(counted.is_object());
  for (const Json& rank : counted["ranks"])
    EXPECT_EQ(rank["phases"][0]["sizes_sent"]["80"], 10) << rank.dump();
}

}  // namespace
