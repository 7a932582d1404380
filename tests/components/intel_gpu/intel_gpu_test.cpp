// intel_gpu on a laptop with i915 and a desktop with xe.
#include "intel_gpu/intel_gpu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "components/perf_event/fake_kernel.hpp"
#include "support/recorded_trees/recorded_machine.hpp"

extern "C" substrata::EntryPoint substrata_entry_intel_gpu;

namespace {

using namespace substrata;
using namespace substrata::testing;

const std::string kArc = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:03:00.0/";

class IntelGpu : public ::testing::Test {
 protected:
  void open(const std::string& machine) {
    unfold(std::string(MACHINE_TEXTS "/") + machine + ".txt", tree);
    ASSERT_TRUE(substrate.detect().ok()) << note_of(substrate.detect());
    ASSERT_TRUE(intel_gpu::open_over(host.get(), fake.kernel(), &substrate.device).ok());
  }
  uint64_t* counter(uint64_t config) {
    for (auto& [descriptor, event] : fake.events)
      if (event.attr.config == config) return &event.value;
    return nullptr;
  }

  RecordedTree tree;
  FakeHost host{tree.root()};
  test::FakeKernel fake;
  Substrate substrate{substrata_entry_intel_gpu, host};
};

TEST_F(IntelGpu, LaptopHasEnginesFrequencyAndIdleTime) {
  open("intel_laptop_hybrid");
  for (const char* const name :
       {"rcs0-busy:device=0", "vcs0-sema:device=0", "interrupts:device=0", "rc6-residency:device=0",
        "frequency:gt=0:device=0", "idle_residency:gt=0:device=0", "throttled:gt=0:device=0"})
    EXPECT_THAT(substrate.names(), Contains(name));
  EXPECT_STREQ(substrate.event("rcs0-busy:device=0").unit, "ns");
  EXPECT_THAT(substrate.names(), Not(Contains("actual-frequency:device=0")));
}

TEST_F(IntelGpu, EnginesCountFromTheStartOnTheUnitsProcessor) {
  open("intel_laptop_hybrid");
  EventSet set(substrate, {"rcs0-busy:device=0", "frequency:gt=0:device=0", "vcs0-busy:device=0"});
  ASSERT_NE(counter(0x2000), nullptr);
  *counter(0x2000) = 777;
  ASSERT_TRUE(set.start().ok());
  for (const auto& [descriptor, event] : fake.events) {
    EXPECT_EQ(event.attr.type, 24u);
    EXPECT_EQ(event.pid, -1);
    EXPECT_EQ(event.cpu, 0);
  }
  *counter(0) = 5000;
  *counter(0x2000) = 1000;
  EXPECT_THAT(set.read(), ElementsAre(5000, 650, 223));
}

TEST_F(IntelGpu, DesktopHasTicksOfEachClassOfEngineSensorsAndEnergy) {
  open("intel_arc_b580");
  EventSet set(substrate,
               {"energy_card:device=0", "temperature_vram:device=0", "bcs0-active-ticks:gt=0:device=0",
                "frequency:gt=0:device=0", "fan:device=0", "power_limit_pkg:device=0"});
  ASSERT_TRUE(set.start().ok());
  tree.write(kArc + "hwmon/hwmon2/energy1_input", 123456999);
  uint64_t* const ticks = counter(0x02 | 1u << 20);  // event 2, class 1
  ASSERT_NE(ticks, nullptr);
  *ticks = 42;
  EXPECT_THAT(set.read(), ElementsAre(210, 48000, 42, 2400, 1450, 190000000));
  EXPECT_NE(substrate.find("vcs0-active-ticks:gt=1:device=0"), -1);
  EXPECT_NE(substrate.find("gt-c6-residency:gt=1:device=0"), -1);
}

TEST_F(IntelGpu, GpuThatIsGoneIsAnErrorAndNoNumber) {
  open("intel_laptop_hybrid");
  EventSet set(substrate, {"rcs0-busy:device=0"});
  ASSERT_TRUE(set.start().ok());
  fake.read_error = ENODEV;
  Status status;
  EXPECT_THAT(set.read(&status), ElementsAre(EventSet::kMark));
  EXPECT_THAT(note_of(status), HasSubstr("is gone"));
}

TEST_F(IntelGpu, CounterThatFellIsAnErrorAndNoNumber) {
  open("intel_laptop_hybrid");
  EventSet set(substrate, {"rcs0-busy:device=0"});
  *counter(0) = 100;
  ASSERT_TRUE(set.start().ok());
  *counter(0) = 7;
  Status status;
  set.read(&status);
  EXPECT_EQ(status.code, Code::kCountersLost);
}

TEST_F(IntelGpu, ReadIsOneCallACounter) {
  open("intel_laptop_hybrid");
  EventSet set(substrate, {"rcs0-busy:device=0", "bcs0-busy:device=0"});
  ASSERT_TRUE(set.start().ok());
  fake.reads = fake.opens = 0;
  set.read();
  EXPECT_EQ(fake.reads, 2);
  EXPECT_EQ(fake.opens, 0);
}

TEST_F(IntelGpu, CountersThatThisUserMayNotHaveAreListedWithTheCure) {
  fake.refuse = [](const perf_event_attr&, pid_t, int, int) { return EACCES; };
  open("intel_laptop_hybrid");
  EXPECT_THAT(std::string(substrate.event("rcs0-busy:device=0").why), HasSubstr("perf_event_paranoid"));
  EXPECT_EQ(substrate.event("frequency:gt=0:device=0").why, nullptr);
}

TEST_F(IntelGpu, MetricsOfLevelZeroAreRefusedWithWhatCountsThem) {
  open("intel_arc_b580");
  uint32_t index = 0;
  const Status refused =
      substrate.table.find_event(substrate.device, "ComputeBasic.GpuTime:device=0", &index);
  EXPECT_EQ(refused.code, Code::kNoEvent);
  EXPECT_THAT(note_of(refused), HasSubstr("SUBSTRATA_BRIDGE"));
  EXPECT_THAT(note_of(refused), HasSubstr("libze_loader.so"));
}

TEST_F(IntelGpu, MachineWithoutOneSaysWhichDriver) {
  EXPECT_EQ(substrate.detect().code, Code::kNoSupport);
  EXPECT_THAT(note_of(substrate.detect()), HasSubstr("modprobe i915"));
}

}  // namespace
