// amd_smi and rocm_smi beside AMD's libraries: what only these have, of the right GPU.
#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/recorded_trees/recorded_tree.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;

struct FakeAmd {
  int started;
  int answer;
  uint64_t energy[2];
};

// device=0 is at c1, which the library calls 1.
void record_two_gpus(RecordedTree& tree) {
  for (const std::string number : {"1", "2"}) {
    const std::string device = "/sys/devices/pci0000:00/0000:c" + number + ":00.0";
    tree.write(device + "/vendor", "0x1002\n");
    tree.write(device + "/gpu_busy_percent", 87);
    tree.write(device + "/hwmon/hwmon5/power1_cap", 560'000'000);
    tree.write(device + "/hwmon/hwmon5/power1_cap_max", 560'000'000);
    tree.link("/sys/class/drm/card" + number + "/device", device);
  }
}

template <EntryPoint* entry>
class WithLibrary : public ::testing::Test {
 protected:
  WithLibrary(const char* variable, const char* file) : file_(std::string(FAKE_AMD) + "/lib/" + file) {
    host.set(variable, FAKE_AMD);
    library_ = ::dlopen(file_.c_str(), RTLD_NOW);
    EXPECT_NE(library_, nullptr) << ::dlerror();
    fake = static_cast<FakeAmd*>(::dlsym(library_, "fake_amd"));
    *fake = {0, 0, {1000, 2000}};
    record_two_gpus(tree);
    EXPECT_TRUE(substrate.open().ok());
  }
  ~WithLibrary() override { ::dlclose(library_); }

  RecordedTree tree;
  FakeHost host{tree.root()};
  Substrate substrate{entry, host};
  FakeAmd* fake = nullptr;

 private:
  std::string file_;
  void* library_ = nullptr;
};

class RocmSmiLibrary : public WithLibrary<substrata_entry_rocm_smi> {
 protected:
  RocmSmiLibrary() : WithLibrary("PAPI_ROCMSMI_ROOT", "librocm_smi64.so") {}
};
class AmdSmiLibrary : public WithLibrary<substrata_entry_amd_smi> {
 protected:
  AmdSmiLibrary() : WithLibrary("PAPI_AMDSMI_ROOT", "libamd_smi.so") {}
};

TEST_F(RocmSmiLibrary, EnergyCountsInMicrojoulesOfTheGpuAtThatPlaceBesideFiles) {
  RunningSet set(substrate, {"busy_percent:device=0", "energy_count:device=0", "energy_count:device=1"});
  fake->energy[1] += 4;   // device=0
  fake->energy[0] += 12;  // device=1
  EXPECT_THAT(set.read(), ElementsAre(87, 61, 183));
  EXPECT_STREQ(substrate.event("energy_count:device=0").unit, "uJ");
}

TEST_F(RocmSmiLibrary, HasTheTemperaturesThatTheFilesLack) {
  EventSet set(substrate, {"temp_current:device=0:sensor=3", "temp_max:device=1:sensor=1"});
  ASSERT_TRUE(set.start().ok());
  EXPECT_THAT(set.read(), ElementsAre(44'000, 101'000));
}

TEST_F(RocmSmiLibrary, SensorThatTheGpuLacksIsListedWithTheLibrarysReason) {
  EXPECT_STREQ(substrate.event("temp_current:device=0:sensor=4").why, "the stand-in does not have it");
}

TEST_F(RocmSmiLibrary, AnswerThatIsNoNumberFailsTheRead) {
  RunningSet set(substrate, {"busy_percent:device=0", "energy_count:device=1"});
  fake->answer = 8;
  const Status status = set.refused_read();
  EXPECT_EQ(status.os_error, EIO);
  EXPECT_THAT(note_of(status), HasSubstr("energy_count:device=1 cannot be read: an error of the stand-in"));
}

TEST_F(RocmSmiLibrary, EnergyThatFellIsAnErrorAndNoNumber) {
  RunningSet set(substrate, {"energy_count:device=0"});
  fake->energy[1] = 3;
  EXPECT_EQ(set.refused_read().code, Code::kCountersLost);
}

TEST_F(RocmSmiLibrary, PowerCapBesideALibrarysNumberIsWritten) {
  {
    RunningSet set(substrate, {"energy_count:device=0", "power_cap:device=0:sensor=0"});
    const int64_t values[] = {0, 300'000'000};
    ASSERT_TRUE(substrate.table.write(set.handle(), values).ok());
  }
  EXPECT_EQ(tests::contents(tree.root() + "/sys/devices/pci0000:00/0000:c1:00.0/hwmon/hwmon5/power1_cap"),
            "300000000\n");
}

TEST_F(RocmSmiLibrary, IsEndedWithTheSubstrate) {
  EXPECT_EQ(fake->started, 1);
  substrate.close();
  EXPECT_EQ(fake->started, 0);
}

TEST_F(AmdSmiLibrary, EnergyAndTemperaturesAreThoseOfTheGpuAtThatPlace) {
  RunningSet set(substrate, {"energy_consumed:device=0", "temp_current_sensor=3:device=1"});
  fake->energy[1] += 4;
  EXPECT_THAT(set.read(), ElementsAre(61, 43));
}

std::vector<int64_t> read_of(Substrate& substrate, std::vector<std::string> names) {
  EventSet set(substrate, std::move(names));
  EXPECT_TRUE(set.start().ok());
  return set.read();
}

TEST_F(AmdSmiLibrary, FieldsOfItsStructuresAreTakenFromTheirPlaces) {
  EXPECT_THAT(read_of(substrate, {"umc_activity:device=0", "mm_activity:device=0"}), ElementsAre(40, 7));
  EXPECT_THAT(read_of(substrate, {"power_cap_default:device=0", "power_cap_dpm:device=0",
                                  "power_cap_range_min:device=0", "power_cap_range_max:device=1"}),
              ElementsAre(560'000'000, 2100, 100'000'000, 560'000'000));  // the last is a file's
  EXPECT_THAT(read_of(substrate, {"ecc_total_correctable:device=0", "ecc_total_uncorrectable:device=0",
                                  "ecc_total_deferred:device=1"}),
              ElementsAre(13, 1, 2));
  EXPECT_THAT(read_of(substrate, {"clk_sys_current:device=0", "clk_sys_min:device=0", "clk_sys_max:device=0",
                                  "clk_mem_current:device=0", "clk_mem_max:device=0"}),
              ElementsAre(2100, 132, 2101, 1300, 1301));
  EXPECT_THAT(read_of(substrate, {"pcie_max_width:device=0", "pcie_max_speed:device=0",
                                  "pcie_interface_version:device=0", "pcie_slot_type:device=0",
                                  "pcie_width:device=0", "pcie_speed:device=0", "pcie_bandwidth:device=0"}),
              ElementsAre(16, 32000, 5, 1, 16, 16000, 812));
  EXPECT_THAT(
      read_of(substrate, {"gpu_subsystem_id:device=0", "numa_node:device=0", "mem_total_GTT:device=0"}),
      ElementsAre(0x74a1, 3, int64_t{3} << 30));
}

TEST_F(AmdSmiLibrary, CountsOfItsStructuresCountFromTheStart) {
  RunningSet set(substrate, {"pcie_replay_count:device=0", "util_counter_mem:device=0"});
  fake->energy[1] += 5;
  EXPECT_THAT(set.read(), ElementsAre(5, 5));
}

// As PAPI's component lists what answers; the second GPU of the library is device=0.
TEST_F(AmdSmiLibrary, NumberThatAGpuDoesNotStateIsNoEvent) {
  const std::vector<std::string> names = substrate.names();
  const auto has = [&](const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  EXPECT_TRUE(has("mm_activity:device=0"));
  EXPECT_FALSE(has("mm_activity:device=1"));
  EXPECT_TRUE(has("numa_node:device=0"));
  EXPECT_FALSE(has("numa_node:device=1"));
  EXPECT_FALSE(has("util_counter_dec:device=0"));
  EXPECT_FALSE(has("perf_level:device=0"));
}

TEST_F(AmdSmiLibrary, FilesGoBeforeTheLibraryForTheSameName) {
  EXPECT_THAT(read_of(substrate, {"gfx_activity:device=0"}), ElementsAre(87));
}

TEST_F(AmdSmiLibrary, IsEndedWithTheSubstrate) {
  substrate.close();
  EXPECT_EQ(fake->started, 0);
}

TEST(AmdLibraries, WhatOnlyTheyHaveIsListedWithTheCureWhereTheyAreMissing) {
  RecordedTree tree;
  record_two_gpus(tree);
  FakeHost host(tree.root());
  host.set("PAPI_ROCMSMI_ROOT", "/nowhere");
  Substrate substrate(substrata_entry_rocm_smi, host);
  ASSERT_TRUE(substrate.open().ok());
  EXPECT_THAT(substrate.event("energy_count:device=0").why,
              HasSubstr("PAPI_ROCMSMI_ROOT is /nowhere, below which no lib/librocm_smi64.so loads"));
  RunningSet set(substrate, {"busy_percent:device=0"});
  EXPECT_THAT(set.read(), ElementsAre(87));
}

}  // namespace
