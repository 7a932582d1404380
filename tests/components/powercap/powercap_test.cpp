// powercap over recorded zones: names, energy across the wrap of its counter, limits, files closed to the
// user.
#include <gmock/gmock.h>
#include <unistd.h>

#include <string>

#include "support/recorded_trees/recorded_tree.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;

const std::string kClass = "/sys/class/powercap/";

void record_zone(RecordedTree& tree, const std::string& zone, const std::string& name, int64_t energy_uj,
                 int64_t range_uj) {
  tree.write(kClass + zone + "/name", name + "\n");
  tree.write(kClass + zone + "/energy_uj", energy_uj);
  tree.write(kClass + zone + "/max_energy_range_uj", range_uj);
  tree.write(kClass + zone + "/enabled", 1);
  tree.write(kClass + zone + "/constraint_0_power_limit_uw", 125'000'000);
}

// A psys zone in front, as on machines where package zones do not have their package's number.
void record_machine(RecordedTree& tree) {
  tree.write(kClass + "intel-rapl/enabled", 1);
  record_zone(tree, "intel-rapl:0", "psys", 1, 1000);
  record_zone(tree, "intel-rapl:1", "package-0", 262143000000, 262143328850);
  record_zone(tree, "intel-rapl:1:0", "core", 500, 1000);
  record_zone(tree, "intel-rapl:1:1", "dram", 100, 65712999613);
  record_zone(tree, "intel-rapl-mmio:0", "package-0", 7, 262143328850);
  tree.write(kClass + "intel-rapl:1/constraint_1_power_limit_uw", 200'000'000);
}

using Powercap = SubstrateOnTree<substrata_entry_powercap>;

// PA-31
TEST_F(Powercap, MachineWithoutZonesIsUnavailableAndSaysWhatToDo) {
  EXPECT_EQ(substrate.detect().code, Code::kNoSupport);
  EXPECT_THAT(note_of(substrate.detect()), HasSubstr("modprobe intel_rapl_msr"));
  tree.write(kClass + "intel-rapl/enabled", 1);  // the control type alone is no zone
  EXPECT_EQ(substrate.detect().code, Code::kNoSupport);
}

// PA-16, PA-31
TEST_F(Powercap, EventsHavePapisNamesAndAnswerToTheNameOfTheirZone) {
  record_machine(tree);
  open();
  for (const char* name :
       {"ENERGY_UJ:ZONE1", "ENERGY_UJ:ZONE1_SUBZONE1", "MAX_ENERGY_RANGE_UJ:ZONE1", "POWER_LIMIT_A_UW:ZONE1",
        "POWER_LIMIT_B_UW:ZONE1", "ENABLED:ZONE0", "NAME:ZONE0", "ENERGY_UJ:intel-rapl-mmio_ZONE0"}) {
    EXPECT_THAT(substrate.names(), Contains(name));
  }
  EXPECT_EQ(substrate.find("ENERGY_UJ:package-0/dram"), substrate.find("ENERGY_UJ:ZONE1_SUBZONE1"));
  EXPECT_EQ(substrate.find("ENERGY_UJ:psys"), substrate.find("ENERGY_UJ:ZONE0"));
  EXPECT_EQ(substrate.find("POWER_LIMIT_B_UW:ZONE0"), -1);
  const Event energy = substrate.event("ENERGY_UJ:ZONE1_SUBZONE1");
  EXPECT_STREQ(energy.unit, "uJ");
  EXPECT_EQ(energy.kind, ValueKind::kCount);
  EXPECT_THAT(energy.text, HasSubstr("package-0/dram"));
  EXPECT_EQ(substrate.event("POWER_LIMIT_A_UW:ZONE1").kind, ValueKind::kGauge);
}

// PA-31
TEST_F(Powercap, EnergyCountsFromTheStartAcrossTheWrapOfItsCounter) {
  record_machine(tree);
  open();
  RunningSet set(substrate, {"ENERGY_UJ:ZONE1", "ENERGY_UJ:ZONE1_SUBZONE0", "POWER_LIMIT_A_UW:ZONE1"});
  tree.write(kClass + "intel-rapl:1/energy_uj", 262143300000);
  tree.write(kClass + "intel-rapl:1:0/energy_uj", 900);
  EXPECT_THAT(set.read(), ElementsAre(300000, 400, 125'000'000));
  tree.write(kClass + "intel-rapl:1/energy_uj", 1000);   // 28850 to the end, 1000 from the beginning
  tree.write(kClass + "intel-rapl:1:0/energy_uj", 100);  // each zone has its own range
  EXPECT_THAT(set.read(), ElementsAre(300000 + 29850, 400 + 200, 125'000'000));
  ASSERT_TRUE(set.reset().ok());
  tree.write(kClass + "intel-rapl:1:0/energy_uj", 50);
  EXPECT_THAT(set.read(), ElementsAre(0, 950, 125'000'000));
}

// PA-30, PA-31: an error never travels as a number
TEST_F(Powercap, EnergyThatFallsWithoutAKnownRangeIsAnError) {
  record_machine(tree);
  tree.remove(kClass + "intel-rapl:1:1/max_energy_range_uj");
  open();
  RunningSet set(substrate, {"ENERGY_UJ:package-0/dram"});
  tree.write(kClass + "intel-rapl:1:1/energy_uj", 99);
  EXPECT_EQ(set.refused_read().code, Code::kCountersLost);
  tree.write(kClass + "intel-rapl:1:1/energy_uj", "");
  EXPECT_EQ(set.refused_read().code, Code::kSystem);
}

// PA-23, PA-31
TEST_F(Powercap, NameOfAZoneIsReportedInTextAndCannotBeRead) {
  record_machine(tree);
  open();
  const Event name = substrate.event("NAME:ZONE1_SUBZONE1");
  EXPECT_NE(name.flags & kEventUnavailable, 0u);
  EXPECT_THAT(name.why, HasSubstr("package-0/dram"));
  EventSet set(substrate);
  EXPECT_EQ(set.program({"NAME:ZONE1_SUBZONE1"}).code, Code::kNoEvent);
}

TEST_F(Powercap, PowerLimitsOfAPackageAreWrittenInTheSetsOrderAndGivenBackAtTheEnd) {
  record_machine(tree);
  open();
  const auto limit = [&](const std::string& file) {
    return tests::contents(tree.root() + kClass + "intel-rapl:1/" + file);
  };
  {
    RunningSet set(substrate, {"POWER_LIMIT_B_UW:ZONE1", "ENERGY_UJ:ZONE1", "POWER_LIMIT_A_UW:ZONE1"});
    const int64_t values[] = {150'000'000, 42, 90'000'000};
    ASSERT_TRUE(substrate.table.write(set.handle(), values).ok());
    EXPECT_EQ(limit("constraint_1_power_limit_uw"), "150000000\n");
    EXPECT_EQ(limit("constraint_0_power_limit_uw"), "90000000\n");
    EXPECT_EQ(limit("energy_uj"), "262143000000\n");
  }
  substrate.close();
  EXPECT_EQ(limit("constraint_1_power_limit_uw"), "200000000\n");
  EXPECT_EQ(limit("constraint_0_power_limit_uw"), "125000000\n");
}

TEST_F(Powercap, LimitOfAPartOfAPackageCannotBeWritten) {
  record_machine(tree);
  open();
  RunningSet set(substrate, {"POWER_LIMIT_A_UW:ZONE1_SUBZONE1"});
  const int64_t value = 1000;
  EXPECT_EQ(substrate.table.write(set.handle(), &value).code, Code::kNoSupport);
}

// PA-23, PA-31: root only since Linux 5.10
TEST_F(Powercap, EnergyThatOnlyRootMayReadIsListedAsUnavailableWithReasonAndCure) {
  record_machine(tree);
  tree.protect(kClass + "intel-rapl:1/energy_uj");
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user, to whom the file is closed";
  ASSERT_TRUE(open_as_another_user().ok());
  if (substrate.names().empty()) GTEST_SKIP() << "another user cannot reach " << tree.root();
  const Event energy = substrate.event("ENERGY_UJ:ZONE1");
  ASSERT_NE(energy.flags & kEventUnavailable, 0u);
  EXPECT_THAT(energy.why, HasSubstr("root only"));
  EXPECT_THAT(energy.why, HasSubstr("chmod a+r"));
  EventSet set(substrate);
  const Status status = set.program({"ENERGY_UJ:ZONE1"});
  EXPECT_EQ(status.code, Code::kPermission);
  EXPECT_THAT(note_of(status), HasSubstr("chmod a+r"));
  EXPECT_EQ(substrate.event("ENERGY_UJ:ZONE0").flags & kEventUnavailable, 0u);
}

// Whether or not the clock goes on while the machine sleeps.
TEST_F(Powercap, EnergyOverASleepOfTenHoursIsTheDifferenceAndItsTimesAreNotNegative) {
  record_machine(tree);
  open();
  RunningSet set(substrate, {"ENERGY_UJ:ZONE1_SUBZONE1"});
  host.advance_s(36'000);
  tree.write(kClass + "intel-rapl:1:1/energy_uj", 350);
  const std::vector<ValueDetail> details = set.details();
  EXPECT_EQ(details[0].value, 250);
  EXPECT_EQ(details[0].age_ns, 0);
  EXPECT_EQ(details[0].running_ns, int64_t{36'000} * 1'000'000'000);
  EXPECT_EQ(details[0].enabled_ns, details[0].running_ns);
}

}  // namespace
