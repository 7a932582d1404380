// coretemp over recorded machines: names that outlive a reboot, limits, places, and sensors that fail.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "support/recorded_trees/machines.hpp"
#include "support/recorded_trees/recorded_tree.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;

using Coretemp = SubstrateOnTree<substrata_entry_coretemp>;

// PA-30
TEST_F(Coretemp, MachineWithoutSensorsIsUnavailableAndSaysWhatToDo) {
  const Status status = substrate.detect();
  EXPECT_EQ(status.code, Code::kNoSupport);
  EXPECT_THAT(note_of(status), HasSubstr("modprobe coretemp"));
  EXPECT_THAT(note_of(status), HasSubstr("SUBSTRATA_THERMAL_MODEL"));
}

// PA-30
TEST_F(Coretemp, ReadsTheSelectedSensorsInMillidegrees) {
  record_desktop(tree, {});
  open();
  RunningSet set(substrate, {"coretemp-isa-0000:Core_1", "nvme-pci-0100:Composite", "nct6775-isa-0290:fan1",
                             "coretemp-isa-0000:Core_1:crit"});
  EXPECT_THAT(set.read(), ElementsAre(47000, 38850, 1205, 100000));
  tree.write(core_path(0, 1) + "_input", 51000);
  EXPECT_THAT(set.read(), ElementsAre(51000, 38850, 1205, 100000));
  ASSERT_TRUE(set.stop().ok());
  tree.write(core_path(0, 1) + "_input", 60000);
  EXPECT_THAT(set.read(), ElementsAre(51000, 38850, 1205, 100000));  // as at the stop
}

// PA-30
TEST_F(Coretemp, AValueThatMayBeHandedOutAgainIsUntilItIsTooOldAndSaysItsAge) {
  record_desktop(tree, {});
  host.set("SUBSTRATA_CORETEMP_REFRESH_LATENCY", "1000");
  open();
  RunningSet set(substrate, {"coretemp-isa-0000:Core_1"});
  tree.write(core_path(0, 1) + "_input", 51000);
  host.advance_ns(999'999);
  EXPECT_THAT(set.read(), ElementsAre(47000));
  EXPECT_EQ(set.details()[0].age_ns, 999'999);
  host.advance_ns(1);
  EXPECT_THAT(set.read(), ElementsAre(51000));
  tree.write(core_path(0, 1) + "_input", 60000);
  ASSERT_TRUE(set.stop().ok());  // a stop is always fresh
  EXPECT_THAT(set.read(), ElementsAre(60000));
}

// PA-30: the kernel numbers its chips anew at each boot
TEST_F(Coretemp, NamesAndValuesAreTheSameAfterTheChipsAreNumberedOtherwise) {
  record_desktop(tree, {.coretemp = 0, .nvme = 1, .board = 2});
  open();
  const std::vector<std::string> before = substrate.names();
  RecordedTree rebooted;
  record_desktop(rebooted, {.coretemp = 11, .nvme = 0, .board = 5});
  FakeHost other_host(rebooted.root());
  Substrate other(substrata_entry_coretemp, other_host);
  ASSERT_TRUE(other.open().ok());
  EXPECT_EQ(before, other.names());
  EventSet set(other);
  ASSERT_TRUE(set.program({"nvme-pci-0100:Composite"}).ok());
  EXPECT_THAT(set.read(), ElementsAre(38850));
  for (const std::string& name : before) EXPECT_THAT(name, Not(HasSubstr("hwmon")));
}

// PA-16
TEST_F(Coretemp, AnswersToPapisSpellings) {
  record_desktop(tree, {.coretemp = 3});
  open();
  const int64_t stable = substrate.find("coretemp-isa-0000:Package_id_0");
  ASSERT_GE(stable, 0);
  EXPECT_EQ(substrate.find("hwmon3:temp1_input"), stable);
  EXPECT_EQ(substrate.find("coretemp-isa-0000:temp1_input"), stable);
  EXPECT_EQ(substrate.find("coretemp-isa-0000.Package_id_0.temp1_input"), stable);
  EXPECT_EQ(substrate.find("hwmon3:temp1_max"), substrate.find("coretemp-isa-0000:Package_id_0:max"));
  EXPECT_EQ(substrate.find("thermal_zone0:temp"), substrate.find("thermal-x86_pkg_temp:temp"));
  EXPECT_EQ(substrate.find("hwmon4:temp1_input"), -1);
}

// PA-30, PA-32
TEST_F(Coretemp, EventsShowUnitScopePackageCoreAndProcessors) {
  record_desktop(tree, {});
  open();
  const Event core = substrate.event("coretemp-isa-0000:Core_1");
  EXPECT_STREQ(core.unit, "mdegC");
  EXPECT_EQ(core.kind, ValueKind::kGauge);
  EXPECT_EQ(core.flags, kEventScopeCore);
  EXPECT_THAT(core.text, HasSubstr("package 0, core 1, logical processors 1,3"));
  const Event package = substrate.event("coretemp-isa-0000:Package_id_0");
  EXPECT_EQ(package.flags, kEventScopePackage);
  EXPECT_THAT(package.text, HasSubstr("package 0, logical processors 0,1,2,3"));
  EXPECT_STREQ(substrate.event("nct6775-isa-0290:fan1").unit, "RPM");
  EXPECT_STREQ(substrate.event("nct6775-isa-0290:in0").unit, "mV");
  EXPECT_EQ(substrate.event("nvme-pci-0100:Composite").flags, kEventScopeNode);
}

// PA-30: limits
TEST_F(Coretemp, LimitsOfChipsAndTripPointsOfZonesAreEvents) {
  record_desktop(tree, {});
  open();
  EXPECT_THAT(substrate.names(), Contains("coretemp-isa-0000:Package_id_0:max"));
  EXPECT_THAT(substrate.names(), Contains("thermal-acpitz:critical"));
  EventSet set(substrate,
               {"coretemp-isa-0000:Package_id_0:max", "thermal-acpitz:critical", "thermal-acpitz:temp"});
  EXPECT_THAT(set.read(), ElementsAre(80000, 119000, 27800));
}

// PA-30: a failing sensor gives an error, never a number
TEST_F(Coretemp, SensorThatShowsNoNumberGivesAnErrorAndTouchesNoValue) {
  record_desktop(tree, {});
  open();
  RunningSet set(substrate, {"nvme-pci-0100:Composite", "coretemp-isa-0000:Core_0"});
  for (const char* bad : {"", "\n", "N/A\n", "12x\n", "99999999999999999999\n", "-\n"}) {
    tree.write(core_path(0, 0) + "_input", bad);
    const Status status = set.refused_read();
    EXPECT_EQ(status.code, Code::kSystem);
    EXPECT_THAT(note_of(status), HasSubstr("coretemp-isa-0000:Core_0"));
  }
  tree.write(core_path(0, 0) + "_input", "-5000\n");
  EXPECT_THAT(set.read(), ElementsAre(38850, -5000));
}

// PA-30
TEST_F(Coretemp, SensorMarkedAsFaultyByItsChipGivesAnError) {
  record_desktop(tree, {});
  open();
  EventSet set(substrate, {"nct6775-isa-0290:AUXTIN"});
  EXPECT_THAT(set.read(), ElementsAre(33000));
  tree.write(board_path() + "/temp2_fault", 1);
  const Status status = set.refused_read();
  EXPECT_EQ(status.code, Code::kSystem);
  EXPECT_THAT(note_of(status), HasSubstr("broken"));
}

// PA-30
TEST_F(Coretemp, ChipThatWentBeforeItWasSelectedIsRefusedAndTheSetUnchanged) {
  record_desktop(tree, {});
  open();
  EventSet set(substrate, {"coretemp-isa-0000:Core_0"});
  tree.remove("/sys/devices/pci0000:00/0000:01:00.0");
  const int64_t gone = substrate.find("nvme-pci-0100:Composite");
  ASSERT_GE(gone, 0);
  const uint32_t number = static_cast<uint32_t>(gone);
  const Status status = substrate.table.program(set.handle(), &number, 1);
  EXPECT_EQ(status.code, Code::kSystem);
  EXPECT_EQ(status.os_error, ENOENT);
  EXPECT_THAT(set.read(), ElementsAre(45000));
}

// PA-30: a stop ends the run even when the sensor fails at that moment
TEST_F(Coretemp, StopWhileASensorFailsEndsTheRunAndLaterReadsAreErrors) {
  record_desktop(tree, {});
  open();
  RunningSet set(substrate, {"coretemp-isa-0000:Core_0"});
  tree.write(core_path(0, 0) + "_input", "");
  EXPECT_TRUE(set.stop().ok());
  tree.write(core_path(0, 0) + "_input", "45000\n");
  EXPECT_EQ(set.refused_read().code, Code::kSystem);
  EXPECT_EQ(set.stop().code, Code::kNotRunning);
  ASSERT_TRUE(set.start().ok());
  EXPECT_THAT(set.read(), ElementsAre(45000));
}

// PA-30: only the selected sensors are read
TEST_F(Coretemp, SensorsThatWereNotSelectedAreNotRead) {
  record_desktop(tree, {});
  open();
  EventSet set(substrate, {"coretemp-isa-0000:Core_0"});
  tree.write(core_path(0, 1) + "_input", "");  // would be an error
  tree.remove("/sys/devices/pci0000:00");
  ASSERT_TRUE(set.start().ok());
  EXPECT_THAT(set.read(), ElementsAre(45000));
}

// PA-30: which of two equal chips is known by its device, not by its number
TEST_F(Coretemp, ChipsOfTheSameKindAreDistinguished) {
  record_two_packages(tree);
  open();
  EventSet set(substrate,
               {"coretemp-isa-0000:Core_0", "coretemp-isa-0001:Core_0", "lm75-i2c-0-48:temp1",
                "lm75-i2c-0-49:temp1", "drive-virtual-0@disk0:temp1", "drive-virtual-0@disk1:temp1"});
  EXPECT_THAT(set.read(), ElementsAre(40000, 50000, 21000, 22000, 31000, 32000));
  EXPECT_THAT(substrate.event("coretemp-isa-0001:Core_0").text,
              HasSubstr("package 1, core 0, logical processors 1"));
}

// PA-31: an energy meter counts
TEST_F(Coretemp, EnergyMeterCountsFromTheStartAndAResetOfTheMeterIsAnError) {
  record_desktop(tree, {});
  tree.write(board_path() + "/energy1_input", 5000);
  open();
  RunningSet set(substrate, {"nct6775-isa-0290:energy1"});
  tree.write(board_path() + "/energy1_input", 7500);
  EXPECT_THAT(set.read(), ElementsAre(2500));
  ASSERT_TRUE(set.reset().ok());
  tree.write(board_path() + "/energy1_input", 7600);
  EXPECT_THAT(set.read(), ElementsAre(100));
  tree.write(board_path() + "/energy1_input", 3);
  EXPECT_EQ(set.refused_read().code, Code::kCountersLost);
}

// PA-32
TEST_F(Coretemp, DetailsCarryTheTimeOfTheReading) {
  record_desktop(tree, {});
  open();
  RunningSet set(substrate, {"coretemp-isa-0000:Core_0"});
  host.advance_ns(1000);
  const std::vector<ValueDetail> details = set.details();
  EXPECT_EQ(details[0].value, 45000);
  EXPECT_EQ(details[0].time_ns, 1'000'001'000);
  EXPECT_EQ(details[0].age_ns, 0);
  EXPECT_EQ(details[0].running_ns, 1000);
  EXPECT_EQ(details[0].flags, 0u);
}

// PA-23: what may not be read here is not available, and the cure is shown
TEST_F(Coretemp, FileThatOnlyRootMayReadIsListedAsUnavailableWithItsCure) {
  record_desktop(tree, {});
  tree.protect(core_path(0, 0) + "_input");
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user, to whom the file is closed";
  ASSERT_TRUE(open_as_another_user().ok());
  if (substrate.names().empty()) GTEST_SKIP() << "another user cannot reach " << tree.root();
  const Event event = substrate.event("coretemp-isa-0000:Core_0");
  ASSERT_NE(event.flags & kEventUnavailable, 0u);
  EXPECT_THAT(event.why, HasSubstr("chmod a+r"));
  EventSet set(substrate);
  EXPECT_EQ(set.program({"coretemp-isa-0000:Core_0"}).code, Code::kPermission);
  EXPECT_TRUE(set.program({"coretemp-isa-0000:Core_1"}).ok());
}

// PA-30
TEST_F(Coretemp, ChangingARunningSetIsRefused) {
  record_desktop(tree, {});
  open();
  RunningSet set(substrate, {"coretemp-isa-0000:Core_0"});
  EXPECT_EQ(set.program({"coretemp-isa-0000:Core_1"}).code, Code::kRunning);
  EXPECT_THAT(set.read(), ElementsAre(45000));
}

// PA-30
TEST_F(Coretemp, UnknownEventNumbersAndNamesAreRefused) {
  record_desktop(tree, {});
  open();
  EventSet set(substrate);
  const uint32_t beyond = substrate.table.event_count(substrate.device);
  EXPECT_EQ(substrate.table.program(set.handle(), &beyond, 1).code, Code::kNoEvent);
  Event event;
  EXPECT_EQ(substrate.table.event_at(substrate.device, beyond, &event).code, Code::kNoEvent);
  uint32_t index = 0;
  EXPECT_EQ(substrate.table.find_event(substrate.device, "nothing", &index).code, Code::kNoEvent);
  EXPECT_EQ(substrate.table.find_event(substrate.device, nullptr, &index).code, Code::kInvalid);
}

}  // namespace
