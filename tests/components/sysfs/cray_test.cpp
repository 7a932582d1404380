// cray_pm and cxi over trees made from HPE's documentation.
#include <cerrno>
#include <filesystem>
#include <string>

#include "support/recorded_trees/recorded_tree.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;

const std::string kCounters = "/sys/cray/pm_counters/";

class CrayPm : public SubstrateOnTree<substrata_entry_cray_pm> {
 protected:
  void record(const std::string& file, int64_t value, const std::string& unit) {
    tree.write(kCounters + file, std::to_string(value) + " " + unit + " 1700000000000000 us\n");
  }
  void record_node() {
    record("energy", 1234567, "J");
    record("power", 450, "W");
    record("power_cap", 0, "W");
    record("cpu_energy", 500, "J");
    record("memory_power", 40, "W");
    record("cpu_temp", 61, "C");
    record("accel_energy", 900, "J");
    record("accel3_energy", 225, "J");
    record("accel3_power_cap", 560, "W");
    tree.write(kCounters + "freshness", "777 1700000000000000 us\n");
    tree.write(kCounters + "raw_scan_hz", "10\n");
  }
};

TEST_F(CrayPm, EventsNameTheQuantityAndThePartOfTheNode) {
  record_node();
  open();
  EXPECT_THAT(substrate.names(),
              ::testing::UnorderedElementsAre("PM_ENERGY:NODE", "PM_POWER:NODE", "PM_POWER_CAP:NODE",
                                              "PM_ENERGY:CPU", "PM_TEMP:CPU", "PM_POWER:MEMORY",
                                              "PM_ENERGY:ACC", "PM_ENERGY:ACC3", "PM_POWER_CAP:ACC3"));
  EXPECT_STREQ(substrate.event("PM_ENERGY:NODE").unit, "J");
}

TEST_F(CrayPm, EnergyCountsFromTheStartAndPowerIsALevel) {
  record_node();
  open();
  RunningSet set(substrate, {"PM_ENERGY:NODE", "PM_POWER:NODE", "PM_ENERGY:ACC3"});
  record("energy", 1234600, "J");
  record("power", 455, "W");
  record("accel3_energy", 226, "J");
  EXPECT_THAT(set.read(), ElementsAre(33, 455, 1));
}

// The controller renews all values at once; here it does so whenever anything is read.
TEST_F(CrayPm, ValuesOfDifferentRenewalsAreNotGivenAsOneReading) {
  record_node();
  tree.remove(kCounters + "freshness");
  std::filesystem::create_symlink("/proc/sys/kernel/random/uuid", tree.root() + kCounters + "freshness");
  open();
  EventSet one(substrate, {"PM_POWER:NODE"});
  ASSERT_TRUE(one.start().ok());
  EXPECT_THAT(one.read(), ElementsAre(450));
  ASSERT_TRUE(one.stop().ok());
  EventSet two(substrate, {"PM_POWER:NODE", "PM_ENERGY:NODE"});
  const Status status = two.start();
  EXPECT_EQ(status.os_error, EAGAIN) << note_of(status);
}

TEST_F(CrayPm, EnergyThatBeganAnewIsAnError) {
  record_node();
  open();
  RunningSet set(substrate, {"PM_ENERGY:NODE"});
  record("energy", 3, "J");
  EXPECT_EQ(set.refused_read().code, Code::kCountersLost);
}

TEST_F(CrayPm, OtherMachinesAreUnavailable) {
  EXPECT_EQ(substrate.detect().code, Code::kNoSupport);
  EXPECT_THAT(note_of(substrate.detect()), HasSubstr("HPE Cray"));
}

const std::string kTelemetry = "/sys/class/cxi/cxi0/device/telemetry/";

using Cxi = SubstrateOnTree<substrata_entry_cxi>;

TEST_F(Cxi, TelemetryAndRetryHandlerCountFromTheStart) {
  tree.write(kTelemetry + "hni_sts_tx_ok_octets", "1000@1700000000.123456789\n");
  tree.write(kTelemetry + "hni_pkts_sent_by_tc_0", "18446744073709551615@1700000000.123456789\n");
  tree.write(kTelemetry + "ALL-in-binary", "\x01\x02");
  tree.write(kTelemetry + "reset_counters", "");
  tree.write("/var/run/cxi/cxi0/nacks", 7);
  tree.write("/var/run/cxi/cxi0/config", "none\n");
  open();
  EXPECT_THAT(substrate.names(),
              ElementsAre("cxi0:hni_pkts_sent_by_tc_0", "cxi0:hni_sts_tx_ok_octets", "cxi0:rh:nacks"));
  EXPECT_STREQ(substrate.event("cxi0:hni_sts_tx_ok_octets").unit, "bytes");
  RunningSet set(substrate, substrate.names());
  tree.write(kTelemetry + "hni_sts_tx_ok_octets", "1500@1700000001.123456789\n");
  tree.write(kTelemetry + "hni_pkts_sent_by_tc_0", "4@1700000001.123456789\n");
  tree.write("/var/run/cxi/cxi0/nacks", 9);
  EXPECT_THAT(set.read(), ElementsAre(5, 500, 2));
}

TEST_F(Cxi, InterfaceThatGivesNoNumberAnyMoreFailsTheRead) {
  tree.write(kTelemetry + "hni_sts_tx_ok_octets", "1000@1700000000.1\n");
  open();
  RunningSet set(substrate, {"cxi0:hni_sts_tx_ok_octets"});
  tree.write(kTelemetry + "hni_sts_tx_ok_octets", "");
  EXPECT_EQ(set.refused_read().code, Code::kSystem);
}

void record_restarts(RecordedTree& tree, std::vector<int64_t> times) {
  times.resize(10);
  for (size_t i = 0; i < times.size(); ++i)
    tree.write("/sys/class/cxi/cxi0/device/link_restarts/time_" + std::to_string(i), times[i]);
}

TEST_F(Cxi, EachTimeThatTheDriverReplacedIsARestartOfTheLink) {
  tree.write(kTelemetry + "hni_sts_tx_ok_octets", "1000@1700000000.1\n");
  record_restarts(tree, {1700000100, 1700000200});
  open();
  EXPECT_STREQ(substrate.event("cxi0:link_restarts").unit, "restarts");
  RunningSet set(substrate, {"cxi0:link_restarts", "cxi0:hni_sts_tx_ok_octets"});
  EXPECT_THAT(set.read(), ElementsAre(0, 0));
  record_restarts(tree, {1700000100, 1700000200, 1700000300, 1700000300});
  EXPECT_THAT(set.read(), ElementsAre(2, 0));
  EXPECT_THAT(set.read(), ElementsAre(2, 0));
  // The ring has come round.
  record_restarts(tree, {1700000900, 1700000200, 1700000300, 1700000300});
  EXPECT_THAT(set.read(), ElementsAre(3, 0));
}

TEST_F(Cxi, LinkWhoseTimesAreGoneFailsTheReadAndLosesNoRestart) {
  tree.write(kTelemetry + "hni_sts_tx_ok_octets", "1000@1700000000.1\n");
  record_restarts(tree, {1700000100});
  open();
  RunningSet set(substrate, {"cxi0:link_restarts"});
  record_restarts(tree, {1700000100, 1700000200});
  tree.write("/sys/class/cxi/cxi0/device/link_restarts/time_9", "");
  EXPECT_EQ(set.refused_read().code, Code::kSystem);
  record_restarts(tree, {1700000100, 1700000200});
  EXPECT_THAT(set.read(), ElementsAre(1));
}

TEST_F(Cxi, MachineWithoutTelemetryIsUnavailableWithTheCure) {
  tree.write("/sys/class/cxi/cxi0/device/vendor", "0x17db\n");
  EXPECT_EQ(substrate.detect().code, Code::kNoSupport);
  EXPECT_THAT(note_of(substrate.detect()), HasSubstr("modprobe"));
}

}  // namespace
