// nvml over a stand-in for NVIDIA's library: names and units as PAPI's, values as the library gave them, and what
// happens where a GPU, a function or a permission is missing.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "fake_nvml.h"
#include "support/recorded_trees/recorded_tree.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

class Nvml : public ::testing::Test {
 protected:
  void SetUp() override { use(FAKE_NVML); }
  void TearDown() override {
    nvml.reset();
    ::dlclose(library_);
  }

  void use(const char* path) {
    nvml.reset();
    if (library_ != nullptr) ::dlclose(library_);
    library_ = ::dlopen(path, RTLD_NOW);
    ASSERT_NE(library_, nullptr) << ::dlerror();
    node = static_cast<FakeNode*>(::dlsym(library_, "fake_node"));
    reinterpret_cast<void (*)()>(::dlsym(library_, "fake_node_as_new"))();
    for (FakeGpu& gpu : node->gpu) gpu.has_gpm = 0;
    host.set("PAPI_NVML_MAIN", path);
  }
  void open() {
    nvml = std::make_unique<Substrate>(substrata_entry_nvml, host);
    ASSERT_TRUE(nvml->detect().ok()) << note_of(nvml->detect());
    const Status status = nvml->open();
    ASSERT_TRUE(status.ok()) << note_of(status);
  }
  std::vector<int64_t> read_once(const std::vector<std::string>& names) {
    EventSet set(*nvml);
    const Status status = set.program(names);
    EXPECT_TRUE(status.ok()) << note_of(status);
    EXPECT_TRUE(set.start().ok());
    return set.read();
  }

  FakeHost host{""};
  FakeNode* node = nullptr;
  std::unique_ptr<Substrate> nvml;

 private:
  void* library_ = nullptr;
};

std::string of_device(int device, const std::string& what) {
  return "NVIDIA_H200:device_" + std::to_string(device) + ":" + what;
}

TEST_F(Nvml, EveryNameOfPapiIsThereForEveryGpu) {
  open();
  for (int device = 0; device < 8; ++device) {
    for (const char* what : {"graphics_clock",
                             "sm_clock",
                             "memory_clock",
                             "graphics_max_clock",
                             "sm_max_clock",
                             "memory_max_clock",
                             "fan_speed",
                             "gpu_utilization",
                             "memory_utilization",
                             "temperature",
                             "pstate",
                             "total_memory",
                             "unallocated_memory",
                             "allocated_memory",
                             "total_energy_consumption",
                             "power",
                             "gpu_inst_power",
                             "gpu_memory_avg_power",
                             "power_management_limit",
                             "power_management_limit_constraint_min",
                             "power_management_limit_constraint_max",
                             "l1_single_ecc_errors",
                             "l2_single_ecc_errors",
                             "memory_single_ecc_errors",
                             "regfile_single_ecc_errors",
                             "1l_double_ecc_errors",
                             "l1_double_ecc_errors",
                             "l2_double_ecc_errors",
                             "memory_double_ecc_errors",
                             "regfile_double_ecc_errors",
                             "total_ecc_errors"}) {
      EXPECT_GE(nvml->find(of_device(device, what)), 0) << of_device(device, what);
    }
  }
}

TEST_F(Nvml, NumbersAreThoseOfTheLibraryInTheirUnits) {
  node->gpu[0].has_fan = 1;
  open();
  EXPECT_THAT(
      read_once({of_device(0, "graphics_clock"), of_device(0, "fan_speed"), of_device(0, "temperature"),
                 of_device(0, "pstate"), of_device(0, "total_memory"), of_device(0, "unallocated_memory"),
                 of_device(0, "allocated_memory"), of_device(0, "total_energy_consumption"),
                 of_device(0, "power"), of_device(0, "power_management_limit"),
                 of_device(0, "power_management_limit_constraint_min"),
                 of_device(0, "power_management_limit_constraint_max")}),
      ElementsAre(1000, 33, 40, 2, 150000000000, 149000000000, 1000000000, 5000000, 300000, 700000, 200000,
                  700000));
  EXPECT_STREQ(nvml->event(of_device(0, "power")).unit, "mW");
  EXPECT_STREQ(nvml->event(of_device(0, "allocated_memory")).unit, "bytes");
}

TEST_F(Nvml, HighestClockIsNotTheCurrentOne) {
  open();
  EXPECT_THAT(read_once({of_device(2, "sm_clock"), of_device(2, "sm_max_clock")}), ElementsAre(1102, 2002));
}

TEST_F(Nvml, GpuAfterOneWithoutErrorChecksIsNotTakenForItsNeighbour) {
  open();
  EXPECT_THAT(
      read_once({of_device(0, "temperature"), of_device(1, "temperature"), of_device(7, "temperature")}),
      ElementsAre(40, 41, 47));
}

TEST_F(Nvml, ErrorsAreCountedByPlaceAndKind) {
  open();
  EXPECT_THAT(read_once({of_device(2, "l1_single_ecc_errors"), of_device(2, "memory_single_ecc_errors"),
                         of_device(2, "1l_double_ecc_errors"), of_device(2, "regfile_double_ecc_errors"),
                         of_device(2, "total_ecc_errors")}),
              ElementsAre(30, 32, 10, 13, 4));
}

TEST_F(Nvml, NumberThatTheGpuLacksIsListedWithTheReasonAndRefused) {
  open();
  const Event event = nvml->event(of_device(1, "total_ecc_errors"));
  EXPECT_NE(event.flags & kEventUnavailable, 0u);
  EXPECT_THAT(event.why, HasSubstr("does not have it"));
  EventSet set(*nvml);
  EXPECT_EQ(set.program({of_device(1, "total_ecc_errors")}).code, Code::kNoSupport);
}

TEST_F(Nvml, EnergyIsCountedFromTheStart) {
  open();
  EventSet set(*nvml);
  ASSERT_TRUE(set.program({of_device(3, "energy"), of_device(3, "total_energy_consumption")}).ok());
  ASSERT_TRUE(set.start().ok());
  node->gpu[3].energy_mj += 1234;
  EXPECT_THAT(set.read(), ElementsAre(1234, 5001237));
}

TEST_F(Nvml, PciExpressBytesGoOnWhereTheirCounterStartsAgain) {
  node->gpu[0].pcie_bytes[0] = 4294967000u;
  open();
  EventSet set(*nvml);
  ASSERT_TRUE(set.program({of_device(0, "pcie_tx_bytes")}).ok());
  ASSERT_TRUE(set.start().ok());
  node->gpu[0].pcie_bytes[0] = 104;
  EXPECT_THAT(set.read(), ElementsAre(400));
}

TEST_F(Nvml, CounterThatFellIsAnErrorAndNoNumber) {
  open();
  EventSet set(*nvml);
  ASSERT_TRUE(set.program({of_device(0, "energy")}).ok());
  ASSERT_TRUE(set.start().ok());
  node->gpu[0].energy_mj = 10;
  EXPECT_EQ(set.refused_read().code, Code::kCountersLost);
}

TEST_F(Nvml, LinkBytesAreBytes) {
  open();
  EventSet set(*nvml);
  ASSERT_TRUE(set.program({of_device(0, "nvlink_tx_bytes"), of_device(0, "nvlink_rx_bytes")}).ok());
  ASSERT_TRUE(set.start().ok());
  node->gpu[0].nvlink_kib[0] += 3;
  node->gpu[0].nvlink_kib[1] += 5;
  EXPECT_THAT(set.read(), ElementsAre(3072, 5120));
}

TEST_F(Nvml, ThrottlingSaysItsCauseAndItsTime) {
  node->gpu[0].throttle_reasons = 0x4 | 0x1;
  open();
  EventSet set(*nvml);
  ASSERT_TRUE(set.program({of_device(0, "throttle_reasons"), of_device(0, "throttled_by_power"),
                           of_device(0, "throttled_by_heat"), of_device(0, "time_throttled_by_power")})
                  .ok());
  ASSERT_TRUE(set.start().ok());
  node->gpu[0].throttled_ns[0] += 77;
  EXPECT_THAT(set.read(), ElementsAre(5, 1, 0, 77));
}

TEST_F(Nvml, NumbersOfOneCallAreAskedForOnce) {
  open();
  EventSet set(*nvml);
  ASSERT_TRUE(set.program({of_device(0, "total_memory"), of_device(0, "unallocated_memory"),
                           of_device(0, "allocated_memory")})
                  .ok());
  ASSERT_TRUE(set.start().ok());
  const unsigned before = node->calls;
  set.read();
  EXPECT_EQ(node->calls - before, 1u);
}

TEST_F(Nvml, MemoryOfItsProcessesIsThatOfAllAndOfTheOneThatReads) {
  FakeGpu& gpu = node->gpu[3];
  gpu.processes = 3;
  gpu.process[0] = {1, 500, {0, 0}};
  gpu.process[1] = {static_cast<unsigned>(::getpid()), 70, {0, 0}};
  gpu.process[2] = {2, 3000, {0, 0}};
  open();
  EXPECT_THAT(read_once({of_device(3, "compute_processes"), of_device(3, "compute_processes_memory"),
                         of_device(3, "process_memory")}),
              ElementsAre(3, 3570, 70));
  EXPECT_STREQ(nvml->event(of_device(3, "process_memory")).unit, "bytes");
}

// The driver's lists have the machine's numbers of processes.
TEST_F(Nvml, ProcessThatIsNotInTheListHasNoMemoryOrCannotBeKnownInAContainer) {
  node->gpu[0].processes = 1;
  node->gpu[0].process[0] = {1, 500, {0, 0}};
  open();
  const Event event = nvml->event(of_device(0, "process_memory"));
  if ((event.flags & kEventUnavailable) == 0)
    EXPECT_THAT(read_once({of_device(0, "process_memory")}), ElementsAre(0));
  else
    EXPECT_THAT(event.why, HasSubstr("--pid=host"));
}

TEST_F(Nvml, MemoryThatTheDriverDoesNotKnowIsAnErrorAndNoNumber) {
  node->gpu[0].processes = 1;
  node->gpu[0].process[0] = {1, 500, {0, 0}};
  open();
  EventSet set(*nvml);
  ASSERT_TRUE(set.program({of_device(0, "compute_processes_memory")}).ok());
  ASSERT_TRUE(set.start().ok());
  node->gpu[0].process[0].memory = ~0ULL;
  EXPECT_EQ(set.refused_read().code, Code::kNoSupport);
}

TEST_F(Nvml, EachLevelSaysWhatTimeItIsOf) {
  node->gpu[1].capability[0] = node->gpu[2].capability[0] = 8;  // GA100, and
  node->gpu[2].capability[1] = 6;                               // its smaller sisters
  open();
  EXPECT_THAT(nvml->event(of_device(0, "power")).text, EndsWith("mean of the last second"));
  EXPECT_THAT(nvml->event(of_device(1, "power")).text, EndsWith("value of the moment"));
  EXPECT_THAT(nvml->event(of_device(2, "power")).text, EndsWith("mean of the last second"));
  EXPECT_THAT(nvml->event(of_device(0, "temperature")).text, EndsWith("value of the moment"));
  EXPECT_THAT(nvml->event(of_device(0, "memory_utilization")).text,
              EndsWith("(a sixth of a second to a second)"));
}

TEST_F(Nvml, AgeOfAValueIsTheTimeSinceTheDriverTookIt) {
  for (FakeGpu& gpu : node->gpu) gpu.field_time_us = ::time(nullptr) * 1'000'000LL - 3'600'000'000LL;
  open();
  EXPECT_THAT(read_once({of_device(0, "gpu_inst_power_age")}),
              ElementsAre(AllOf(Ge(3'600'000'000LL), Le(3'900'000'000LL))));
}

TEST_F(Nvml, ProcessesAreListedOnceForAllTheirNumbers) {
  open();
  EventSet set(*nvml);
  ASSERT_TRUE(
      set.program({of_device(0, "compute_processes"), of_device(0, "compute_processes_memory")}).ok());
  ASSERT_TRUE(set.start().ok());
  const unsigned before = node->calls;
  set.read();
  EXPECT_EQ(node->calls - before, 1u);
}

TEST_F(Nvml, GpuThatFallsOffTheBusIsAnErrorAndNoNumber) {
  open();
  EventSet set(*nvml);
  ASSERT_TRUE(set.program({of_device(5, "power"), of_device(6, "power")}).ok());
  ASSERT_TRUE(set.start().ok());
  node->gpu[5].lost = 1;
  const Status status = set.refused_read();
  EXPECT_EQ(status.os_error, EIO);
  EXPECT_THAT(note_of(status), HasSubstr("fallen off the bus"));
}

TEST_F(Nvml, GpuLostBeforeTheStartLeavesTheNumbersOfTheOthersAlone) {
  node->gpu[0].lost = 1;
  open();
  EXPECT_EQ(nvml->find(of_device(0, "power")), -1);
  EXPECT_THAT(read_once({of_device(1, "power")}), ElementsAre(300001));
}

TEST_F(Nvml, SensorThatFailsIsUnavailableWithTheLibrarysReason) {
  node->gpu[0].temperature_answer = 999;
  open();
  const Event event = nvml->event(of_device(0, "temperature"));
  EXPECT_NE(event.flags & kEventUnavailable, 0u);
  EXPECT_STREQ(event.why, "an error of the stand-in");
}

TEST_F(Nvml, FunctionsThatAnOldDriverLacksAreUnavailable) {
  use(FAKE_OLD_NVML);
  open();
  EXPECT_THAT(nvml->event(of_device(0, "energy")).why, HasSubstr("driver is too old"));
  EXPECT_EQ(nvml->find(of_device(0, "gpm_sm_utilization")), -1);
  EXPECT_THAT(read_once({of_device(0, "power")}), ElementsAre(300000));
}

TEST_F(Nvml, DriverThatDoesNotStartIsSaidWithItsCure) {
  node->init_answer = 9;
  nvml = std::make_unique<Substrate>(substrata_entry_nvml, host);
  const Status status = nvml->open();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(note_of(status), HasSubstr("modprobe nvidia"));
}

TEST_F(Nvml, LibraryIsShutDownAsOftenAsItWasStarted) {
  open();
  nvml->close();
  EXPECT_EQ(node->started, 0);
}

TEST_F(Nvml, NodeWithoutADriverLoadsNothingAndSaysWhatIsMissing) {
  RecordedTree empty;
  FakeHost bare(empty.root());
  Substrate substrate(substrata_entry_nvml, bare);
  const Status status = substrate.detect();
  EXPECT_EQ(status.code, Code::kNoSupport);
  EXPECT_THAT(note_of(status), HasSubstr("/proc/driver/nvidia"));
}

TEST_F(Nvml, ChosenLibraryThatIsNotThereIsNamed) {
  host.set("PAPI_NVML_MAIN", "/nowhere/libnvidia-ml.so");
  Substrate substrate(substrata_entry_nvml, host);
  EXPECT_THAT(note_of(substrate.detect()), HasSubstr("/nowhere/libnvidia-ml.so"));
}

class NvmlPowerLimit : public Nvml {
 protected:
  Status write(const std::vector<std::string>& names, std::vector<int64_t> values) {
    EventSet set(*nvml);
    EXPECT_TRUE(set.program(names).ok());
    EXPECT_TRUE(set.start().ok());
    return nvml->table.write(set.handle(), values.data());
  }
};

TEST_F(NvmlPowerLimit, IsSetByAWrite) {
  open();
  EXPECT_TRUE(write({of_device(4, "power_management_limit")}, {350000}).ok());
  EXPECT_EQ(node->gpu[4].limit_mw, 350000u);
}

TEST_F(NvmlPowerLimit, OutsideTheRangeIsRefusedWithTheRange) {
  open();
  const Status status = write({of_device(4, "power_management_limit")}, {100000});
  EXPECT_EQ(status.code, Code::kInvalid);
  EXPECT_THAT(note_of(status), HasSubstr("200000 to 700000"));
}

TEST_F(NvmlPowerLimit, BesideAnotherEventIsRefusedAndNothingIsSet) {
  open();
  EXPECT_EQ(write({of_device(4, "power_management_limit"), of_device(4, "power")}, {350000, 1}).code,
            Code::kInvalid);
  EXPECT_EQ(node->gpu[4].limit_mw, 700000u);
}

TEST_F(NvmlPowerLimit, WithoutPermissionSaysSo) {
  node->gpu[4].limit_answer = 4;
  open();
  EXPECT_EQ(write({of_device(4, "power_management_limit")}, {350000}).code, Code::kPermission);
}

TEST_F(NvmlPowerLimit, IsRestoredAtTheEnd) {
  open();
  ASSERT_TRUE(write({of_device(4, "power_management_limit")}, {350000}).ok());
  nvml->close();
  EXPECT_EQ(node->gpu[4].limit_mw, 700000u);
}

TEST_F(NvmlPowerLimit, ThatAnotherSetMeanwhileStays) {
  open();
  ASSERT_TRUE(write({of_device(4, "power_management_limit")}, {350000}).ok());
  node->gpu[4].limit_mw = 444000;
  nvml->close();
  EXPECT_EQ(node->gpu[4].limit_mw, 444000u);
}

TEST_F(NvmlPowerLimit, SurvivesAReset) {
  open();
  EventSet set(*nvml);
  ASSERT_TRUE(set.program({of_device(4, "power_management_limit")}).ok());
  ASSERT_TRUE(set.start().ok());
  const int64_t wanted = 350000;
  ASSERT_TRUE(nvml->table.write(set.handle(), &wanted).ok());
  ASSERT_TRUE(set.reset().ok());
  EXPECT_EQ(node->gpu[4].limit_mw, 350000u);
}

class NvmlPerformanceMonitor : public Nvml {
 protected:
  void SetUp() override {
    Nvml::SetUp();
    node->gpu[0].has_gpm = node->gpu[1].has_gpm = 1;
  }
  // What the first GPU does in so many milliseconds.
  void work(unsigned amount, int64_t ms) {
    node->gpu[0].gpm_total += amount;
    host.advance_ns(ms * 1'000'000);
  }
  void start(const std::vector<std::string>& names) {
    open();
    set = std::make_unique<EventSet>(*nvml);
    const Status status = set->program(names);
    ASSERT_TRUE(status.ok()) << note_of(status);
    ASSERT_TRUE(set->start().ok());
  }
  void TearDown() override {
    set.reset();
    Nvml::TearDown();
  }
  std::unique_ptr<EventSet> set;
};

TEST_F(NvmlPerformanceMonitor, MonitorThatTheDriverKeepsForRootSaysHowToOpenIt) {
  start({of_device(0, "gpm_sm_utilization")});
  node->gpu[0].gpm_answer = 4;
  host.advance_s(1);
  Status status;
  set->read(&status);
  EXPECT_EQ(status.code, Code::kPermission);
  EXPECT_THAT(note_of(status), HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
}

// The stand-in's metric is the work between the samples, and half its own identification.
TEST_F(NvmlPerformanceMonitor, MetricIsTheMeanBetweenTwoReads) {
  start({of_device(0, "gpm_sm_utilization"), of_device(0, "gpm_pcie_tx_rate")});
  work(40, 100);
  EXPECT_THAT(set->read(), ElementsAre(41000, 50 * 1048576));
}

TEST_F(NvmlPerformanceMonitor, NextReadHasTheMeanSinceTheOneBefore) {
  start({of_device(0, "gpm_sm_utilization")});
  host.advance_ns(100'000'000);
  set->read();
  work(7, 200);
  EXPECT_THAT(set->read(), ElementsAre(8000));
}

TEST_F(NvmlPerformanceMonitor, FirstReadTooEarlyWaitsForItsMeanAndIsNotZero) {
  start({of_device(0, "gpm_sm_utilization")});
  work(3, 99);
  EXPECT_THAT(set->read(), ElementsAre(4000));
}

TEST_F(NvmlPerformanceMonitor, ReadSoonAfterAnotherHasItsValueAgain) {
  start({of_device(0, "gpm_sm_utilization")});
  work(40, 100);
  set->read();
  work(9, 10);
  EXPECT_THAT(set->read(), ElementsAre(41000));
}

TEST_F(NvmlPerformanceMonitor, NumbersBesideAMetricAreRead) {
  start({of_device(0, "gpm_sm_utilization"), of_device(1, "power"), of_device(1, "gpm_sm_utilization")});
  node->gpu[0].gpm_total += 40;
  node->gpu[1].gpm_total += 50;
  host.advance_ns(100'000'000);
  EXPECT_THAT(set->read(), ElementsAre(41000, 300001, 51000));
}

TEST_F(NvmlPerformanceMonitor, MetricThatThisGpuLacksIsListedAsUnavailable) {
  open();
  EXPECT_NE(nvml->event(of_device(0, "gpm_nvlink_rx_rate")).flags & kEventUnavailable, 0u);
  EXPECT_EQ(nvml->event(of_device(0, "gpm_nvlink_tx_rate")).flags & kEventUnavailable, 0u);
}

TEST_F(NvmlPerformanceMonitor, PartOfADividedGpuHasItsOwn) {
  node->gpu[0].parts = 2;
  start({of_device(0, "mig_1:gpm_sm_utilization"), of_device(0, "mig_1:allocated_memory")});
  work(10, 100);
  EXPECT_THAT(set->read(), ElementsAre(21000, 1));
}

}  // namespace
