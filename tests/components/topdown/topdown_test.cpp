// topdown over a kernel with given counts: the shares are the published formulas of them, worked out by hand.
#include "topdown/topdown.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include "components/perf_event/fake_kernel.hpp"
#include "support/recorded_trees/recorded_tree.hpp"

extern "C" substrata::EntryPoint substrata_entry_topdown;

namespace {

using namespace substrata;
using namespace substrata::testing;
using ::testing::DoubleNear;

const std::string kDevices = "/sys/bus/event_source/devices/";

class Topdown : public ::testing::Test {
 protected:
  Topdown() { fake.hardware_counters = 9; }

  void record_intel(const std::string& pmu, uint32_t type, bool second_level) {
    const std::string folder = kDevices + pmu + "/";
    tree.write(folder + "type", type);
    tree.write(folder + "format/event", "config:0-7\n");
    tree.write(folder + "format/umask", "config:8-15\n");
    tree.write(folder + "events/slots", "event=0x00,umask=0x4\n");
    const char* const names[] = {"retiring",  "bad-spec",      "fe-bound",  "be-bound",
                                 "heavy-ops", "br-mispredict", "fetch-lat", "mem-bound"};
    for (int i = 0; i < (second_level ? 8 : 4); ++i)
      tree.write(folder + "events/topdown-" + names[i], "event=0x00,umask=0x8" + std::to_string(i) + "\n");
    if (pmu != "cpu") tree.write(folder + "cpus", "0-1\n");
  }
  void record_arm() {
    const std::string folder = kDevices + "armv8_pmuv3_0/";
    tree.write(folder + "type", 8);
    tree.write(folder + "events/stall_slot", "event=0x003f\n");
    tree.write(folder + "caps/slots", "0x00000008\n");
  }
  void record_zen(int family, int model) {
    tree.write(kDevices + "cpu/type", 4);
    tree.write("/proc/cpuinfo",
               "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: " + std::to_string(family) +
                   "\nmodel\t\t: " + std::to_string(model) + "\nmodel name\t: AMD\n");
  }
  void open() {
    ASSERT_TRUE(substrate.detect().ok()) << note_of(substrate.detect());
    const Status status = topdown::open_over(host.get(), fake.kernel(), &substrate.device);
    ASSERT_TRUE(status.ok()) << note_of(status);
  }
  void count(const std::map<uint64_t, uint64_t>& by_config) { fake.count(by_config); }
  static std::vector<double> read(EventSet* set) {
    std::vector<double> values;
    for (const int64_t bits : set->read()) values.push_back(std::bit_cast<double>(bits));
    return values;
  }

  RecordedTree tree;
  FakeHost host{tree.root()};
  test::FakeKernel fake;
  Substrate substrate{substrata_entry_topdown, host};
};

constexpr const char* kFirst[] = {"TOPDOWN_RETIRING_PERC", "TOPDOWN_BAD_SPEC_PERC", "TOPDOWN_FE_BOUND_PERC",
                                  "TOPDOWN_BE_BOUND_PERC"};
const std::vector<std::string> kFirstLevel(std::begin(kFirst), std::end(kFirst));

// Of 1000 slots: 400 retired, 100 lost, 200 empty, 300 waited; heavy 50, mispredicted 90, late 150, memory 200.
const std::map<uint64_t, uint64_t> kIntelCounts = {{0x400, 1000}, {0x8000, 400}, {0x8100, 100},
                                                   {0x8200, 200}, {0x8300, 300}, {0x8400, 50},
                                                   {0x8500, 90},  {0x8600, 150}, {0x8700, 200}};

TEST_F(Topdown, IntelsMetricsAreSharesOfTheSlots) {
  record_intel("cpu", 4, true);
  open();
  EXPECT_EQ(substrate.names().size(), 12u);
  EventSet set(substrate,
               {"TOPDOWN_RETIRING_PERC", "TOPDOWN_BAD_SPEC_PERC", "TOPDOWN_FE_BOUND_PERC",
                "TOPDOWN_BE_BOUND_PERC", "TOPDOWN_HEAVY_OPS_PERC", "TOPDOWN_BR_MISPREDICT_PERC",
                "TOPDOWN_FETCH_LAT_PERC", "TOPDOWN_MEM_BOUND_PERC", "TOPDOWN_LIGHT_OPS_PERC",
                "TOPDOWN_MACHINE_CLEARS_PERC", "TOPDOWN_FETCH_BAND_PERC", "TOPDOWN_CORE_BOUND_PERC"});
  count(kIntelCounts);  // before the start: not counted
  ASSERT_TRUE(set.start().ok());
  count(kIntelCounts);
  EXPECT_THAT(read(&set), ElementsAre(40, 10, 20, 30, 5, 9, 15, 20, 35, 1, 5, 10));
}

TEST_F(Topdown, SlotsLeadTheGroupAndWhatIsNotAskedForIsNotCounted) {
  record_intel("cpu", 4, true);
  open();
  fake.opened.clear();
  EventSet set(substrate, {"TOPDOWN_MEM_BOUND_PERC"});
  ASSERT_TRUE(set.start().ok());
  ASSERT_EQ(fake.opened.size(), 2u);
  EXPECT_EQ(fake.opened[0].config, 0x400u);
  EXPECT_EQ(fake.opened[1].config, 0x8700u);
  EXPECT_EQ(fake.events.begin()->second.pid, 0);
}

TEST_F(Topdown, ProcessorWithOneLevelHasFourEvents) {
  record_intel("cpu", 4, false);
  open();
  EXPECT_EQ(substrate.names(), kFirstLevel);
}

TEST_F(Topdown, HybridsCountOnThePerformanceCoresUnit) {
  record_intel("cpu_core", 4, true);
  tree.write(kDevices + "cpu_atom/type", 10);
  tree.write(kDevices + "cpu_atom/cpus", "2-3\n");
  tree.write(kDevices + "cpu_atom/format/event", "config:0-7\n");
  tree.write(kDevices + "cpu_atom/events/topdown-retiring", "event=0xc2\n");
  open();
  EventSet set(substrate, {"TOPDOWN_RETIRING_PERC"});
  ASSERT_TRUE(set.start().ok());
  for (const auto& [descriptor, event] : fake.events) EXPECT_EQ(event.attr.type, 4u);
}

TEST_F(Topdown, ThreadThatRanOnEfficiencyCoresOnlyHasNoNumber) {
  record_intel("cpu_core", 4, true);
  open();
  EventSet set(substrate, {"TOPDOWN_RETIRING_PERC"});
  ASSERT_TRUE(set.start().ok());
  fake.advance(0, 100, 0);
  Status status;
  set.read(&status);
  EXPECT_EQ(status.code, Code::kCountersLost);
  EXPECT_THAT(note_of(status), HasSubstr("efficiency core"));
}

TEST_F(Topdown, ArmsStallsAndOperationsGiveTheFourShares) {
  record_arm();
  open();
  EventSet set(substrate, kFirstLevel);
  ASSERT_TRUE(set.start().ok());
  // 100 cycles of 8 slots; 240 stalled, 80 in front, 160 behind; of 500 operations 450 retired: 70 % of the slots used.
  count({{0x11, 100}, {0x3f, 240}, {0x3e, 80}, {0x3d, 160}, {0x3a, 450}, {0x3b, 500}});
  EXPECT_THAT(read(&set), ElementsAre(DoubleNear(63, 1e-9), DoubleNear(7, 1e-9), 10, 20));
}

TEST_F(Topdown, ZensDispatchSlotsGiveTheFourShares) {
  record_zen(25, 17);
  open();
  EventSet set(substrate, kFirstLevel);
  ASSERT_TRUE(set.start().ok());
  // 100 cycles of 6 slots: 300 retired of 360 dispatched, 150 without work, 90 stalled.
  count({{0x76, 100}, {0x1000001a0, 150}, {0x100001ea0, 90}, {0x7aa, 360}, {0xc1, 300}});
  EXPECT_THAT(read(&set), ElementsAre(50, 10, 25, 15));
}

TEST_F(Topdown, Zen5HasEightSlotsACycle) {
  record_zen(26, 2);
  open();
  EventSet set(substrate, {"TOPDOWN_RETIRING_PERC"});
  ASSERT_TRUE(set.start().ok());
  count({{0x76, 100}, {0xc1, 200}});
  EXPECT_THAT(read(&set), ElementsAre(25));
}

TEST_F(Topdown, SecondStartCountsAnewAndAStoppedSetKeepsItsValues) {
  record_intel("cpu", 4, false);
  open();
  EventSet set(substrate, {"TOPDOWN_RETIRING_PERC"});
  ASSERT_TRUE(set.start().ok());
  count({{0x400, 100}, {0x8000, 90}});
  ASSERT_TRUE(set.stop().ok());
  count({{0x400, 100}, {0x8000, 0}});
  EXPECT_THAT(read(&set), ElementsAre(90));
  ASSERT_TRUE(set.start().ok());
  count({{0x400, 100}, {0x8000, 10}});
  EXPECT_THAT(read(&set), ElementsAre(10));
  ASSERT_TRUE(set.reset().ok());
  count({{0x400, 100}, {0x8000, 20}});
  EXPECT_THAT(read(&set), ElementsAre(20));
}

TEST_F(Topdown, ReadIsOneCallForAllShares) {
  record_intel("cpu", 4, true);
  open();
  EventSet set(substrate, kFirstLevel);
  ASSERT_TRUE(set.start().ok());
  fake.reads = fake.controls = fake.opens = 0;
  read(&set);
  EXPECT_EQ(fake.reads, 1);
  EXPECT_EQ(fake.controls + fake.opens, 0);
}

TEST_F(Topdown, RefusedCountersAreListedWithTheCure) {
  record_intel("cpu", 4, false);
  tree.write("/proc/sys/kernel/perf_event_paranoid", 3);
  fake.refuse = [](const perf_event_attr&, pid_t, int, int) { return EACCES; };
  open();
  const Event event = substrate.event("TOPDOWN_RETIRING_PERC");
  EXPECT_NE(event.flags & kEventUnavailable, 0u);
  EXPECT_THAT(std::string(event.why), HasSubstr("perf_event_paranoid"));
}

TEST_F(Topdown, OtherProcessorsAndMachinesWithoutCountersAreUnavailable) {
  EXPECT_THAT(note_of(substrate.detect()), HasSubstr("virtual PMU"));
  record_zen(23, 49);
  EXPECT_EQ(substrate.detect().code, Code::kNoSupport);
  EXPECT_THAT(note_of(substrate.detect()), HasSubstr("Zen 4"));
}

}  // namespace
