// What energy and power the regions of a PAPI program are given, on a recorded machine whose counters go on meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <papi.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;
using ::testing::ContainsRegex;

class RegionsOnAMachine : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::copy(MACHINES "/xeon_two_sockets", machine_,
             fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    setenv("SUBSTRATA_ROOT", machine_.c_str(), 1);
    setenv("PAPI_OUTPUT_DIRECTORY", folder_.path().c_str(), 1);
    setenv("PAPI_EVENTS",
           "powercap:::ENERGY_UJ:ZONE1,coretemp:::coretemp-isa-0001:Package_id_1=instant,"
           "powercap:::POWER_LIMIT_A_UW:ZONE1=instant",
           1);
  }

  void set_energy(long long microjoules) const {
    std::ofstream(machine_ + "/sys/class/powercap/intel-rapl:1/energy_uj") << microjoules << "\n";
  }
  bool program() const {
    set_energy(1'000'000);
    bool good = PAPI_hl_region_begin("compute") == PAPI_OK;
    set_energy(7'500'000);
    good = good && PAPI_hl_region_end("compute") == PAPI_OK;
    set_energy(7'600'000);  // between the regions
    good = good && PAPI_hl_region_begin("exchange") == PAPI_OK;
    set_energy(7'850'000);
    return good && PAPI_hl_region_end("exchange") == PAPI_OK;
  }
  // The whole of what it wrote.
  std::string output() const {
    std::string all;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path() + "/papi_hl_output")) {
      std::ifstream file(entry.path());
      all.append(std::istreambuf_iterator<char>(file), {});
    }
    return all;
  }

  substrata::tests::TemporaryFolder folder_;
  const std::string machine_ = folder_.path() + "/machine";
};

TEST_F(RegionsOnAMachine, EachHasTheEnergyThatWasUsedInIt) {
  const pid_t child = fork();  // reports are written at exit
  if (child == 0) std::exit(program() ? 0 : 3);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const std::string text = output();
  EXPECT_THAT(text, ContainsRegex("\"compute\"[^}]*ENERGY_UJ:ZONE1\": *\"6500000\""));
  EXPECT_THAT(text, ContainsRegex("\"exchange\"[^}]*ENERGY_UJ:ZONE1\": *\"250000\""));
  EXPECT_THAT(text, ContainsRegex("\"exchange\"[^}]*Package_id_1\": *\"46000\""));
  EXPECT_THAT(text, ContainsRegex("\"exchange\"[^}]*POWER_LIMIT_A_UW:ZONE1\": *\"270000000\""));
}

}  // namespace
