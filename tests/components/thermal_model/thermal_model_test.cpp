// The thermal model over recorded use and a clock of the test's own, against a plain integration in small
// steps.
#include <gmock/gmock.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/decimal_comma.hpp"
#include "support/recorded_trees/recorded_tree.hpp"
#include "thermal_model/heat.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;

// Busy and idle ticks of each processor since boot.
void record_use(RecordedTree& tree, const std::vector<std::pair<int64_t, int64_t>>& ticks) {
  std::string table = "cpu  0 0 0 0 0 0 0 0 0 0\n";
  for (size_t i = 0; i < ticks.size(); ++i) {
    table += "cpu" + std::to_string(i) + " " + std::to_string(ticks[i].first) + " 0 0 " +
             std::to_string(ticks[i].second) + " 0 0 0 0 0 0\n";
  }
  tree.write("/proc/stat", table + "intr 12345\nctxt 1\n");
}

using ThermalModel = SubstrateOnTree<substrata_entry_thermal_model>;

// PA-31: only on request
TEST_F(ThermalModel, IsDisabledUnlessItsSettingAsksForIt) {
  record_use(tree, {{0, 1}});
  EXPECT_EQ(substrate.detect().code, Code::kDisabled);
  EXPECT_THAT(note_of(substrate.detect()), HasSubstr("SUBSTRATA_THERMAL_MODEL=1"));
  EXPECT_FALSE(substrate.open().ok());
  host.set("SUBSTRATA_THERMAL_MODEL", "0");
  EXPECT_EQ(substrate.detect().code, Code::kDisabled);
  host.set("SUBSTRATA_THERMAL_MODEL", "1");
  EXPECT_TRUE(substrate.detect().ok());
}

// PA-31: and always named as a model
TEST_F(ThermalModel, EveryEventAndValueIsCalledModelled) {
  record_use(tree, {{0, 1}});
  host.set("SUBSTRATA_THERMAL_MODEL", "1");
  open();
  EXPECT_NE(substrate.table.traits & kModelled, 0u);
  EXPECT_NE(substrate.table.traits & kOnRequest, 0u);
  EventSet set(substrate);
  ASSERT_TRUE(set.program(substrate.names()).ok());
  ASSERT_FALSE(substrate.events().empty());
  for (const Event& event : substrate.events()) {
    EXPECT_NE(event.flags & kEventModelled, 0u) << event.name;
    EXPECT_THAT(event.text, HasSubstr("model"));
  }
  for (const ValueDetail& detail : set.details()) EXPECT_EQ(detail.flags, kValueModelled);
}

// PA-31
TEST_F(ThermalModel, BeginsSettledAtTheMeanUseSinceBoot) {
  record_use(tree, {{50, 50}, {0, 100}});
  host.set("SUBSTRATA_THERMAL_MODEL", "peak_w=100,idle=0.2,ambient_c=40");
  open();
  EventSet set(substrate, {"package0:temperature", "package0:power"});
  const double watts = 100 * (0.2 + 0.8 * 0.25);
  const double expected = 40 + watts * (thermal_model::kDie.k_per_w + thermal_model::kSink.k_per_w);
  EXPECT_THAT(set.read(), ElementsAre(std::llround(expected * 1000), 40000));
}

// strtod ended at the point: the setting was refused.
TEST_F(ThermalModel, TakesItsSettingInAProgramWhoseLocaleHasADecimalComma) {
  const substrata::tests::DecimalComma locale;
  if (!locale.is_set()) GTEST_SKIP() << "localedef cannot make the locale de_DE.UTF-8 here";
  record_use(tree, {{50, 50}});
  host.set("SUBSTRATA_THERMAL_MODEL", "peak_w=62.5,idle=0.2");
  open();
  EventSet set(substrate, {"package0:power"});
  EXPECT_THAT(set.read(), ElementsAre(std::llround(62.5e3 * (0.2 + 0.8 * 0.5))));
}

// PA-31: against forward Euler in steps of 10 us, and the same whether read often or seldom
TEST_F(ThermalModel, FollowsRealUseLikeAPlainIntegrationAndAlikeAtAnyRateOfReading) {
  record_use(tree, {{0, 1000}});
  host.set("SUBSTRATA_THERMAL_MODEL", "peak_w=100,idle=0.2,ambient_c=40");
  open();
  EventSet often(substrate);
  EventSet seldom(substrate);
  ASSERT_TRUE(often.program({"package0:temperature"}).ok());
  ASSERT_TRUE(seldom.program({"package0:temperature"}).ok());
  ASSERT_TRUE(often.start().ok());
  ASSERT_TRUE(seldom.start().ok());

  double die = 20 * thermal_model::kDie.k_per_w;
  double sink = 20 * thermal_model::kSink.k_per_w;
  int64_t busy = 0;
  int64_t idle = 1000;
  std::vector<int64_t> seen;
  for (const bool working : {true, false, true}) {
    const double watts = working ? 100 : 20;
    for (int part = 0; part < 20; ++part) {
      (working ? busy : idle) += 10;  // 100 ms in ticks
      record_use(tree, {{busy, idle}});
      host.advance_ns(100'000'000);
      constexpr double kStep_s = 1e-5;
      for (int i = 0; i < 10'000; ++i) {
        die += kStep_s * (watts - die / thermal_model::kDie.k_per_w) / thermal_model::kDie.j_per_k;
        sink += kStep_s * (watts - sink / thermal_model::kSink.k_per_w) / thermal_model::kSink.j_per_k;
      }
      seen = often.read();
      EXPECT_NEAR(static_cast<double>(seen[0]), (40 + die + sink) * 1000, 2) << working << part;
    }
    EXPECT_NEAR(static_cast<double>(seldom.read()[0]), static_cast<double>(seen[0]), 1);
  }
}

// PA-31: deterministic
TEST_F(ThermalModel, TheSameUseAndClockGiveTheSameNumbers) {
  host.set("SUBSTRATA_THERMAL_MODEL", "1");
  std::vector<std::vector<int64_t>> runs(2);
  for (std::vector<int64_t>& run : runs) {
    record_use(tree, {{5, 100}, {7, 100}});
    Substrate fresh(substrata_entry_thermal_model, host);
    ASSERT_TRUE(fresh.open().ok());
    RunningSet set(fresh, {"package0:temperature", "package0:power"});
    for (int64_t i = 1; i < 50; ++i) {
      record_use(tree, {{5 + i * i % 17, 100 + 3 * i}, {7 + 2 * i, 100 + i}});
      host.advance_ns(50'000'000);
      for (const int64_t value : set.read()) run.push_back(value);
    }
  }
  EXPECT_EQ(runs[0], runs[1]);
}

// PA-31: between two ticks of the kernel the use last seen holds
TEST_F(ThermalModel, KeepsTheLastUseWhileNoTickPassed) {
  record_use(tree, {{0, 100}});
  host.set("SUBSTRATA_THERMAL_MODEL", "peak_w=100,idle=0.2,ambient_c=40");
  open();
  RunningSet set(substrate, {"package0:power", "package0:temperature"});
  record_use(tree, {{10, 100}});
  host.advance_ns(100'000'000);
  const std::vector<int64_t> first = set.read();
  EXPECT_EQ(first[0], 100'000);
  host.advance_ns(1'000'000);
  const std::vector<int64_t> second = set.read();
  EXPECT_EQ(second[0], 100'000);
  EXPECT_GT(second[1], first[1]);
}

// PA-31
TEST_F(ThermalModel, PackagesAreModelledApartAndTakeTheirOwnPowerLimit) {
  for (int processor = 0; processor < 4; ++processor) {
    tree.write("/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology/physical_package_id",
               processor % 2);
  }
  tree.write("/sys/class/powercap/intel-rapl:1/constraint_0_max_power_uw", 150'000'000);
  record_use(tree, {{100, 0}, {0, 100}, {100, 0}, {0, 100}});
  host.set("SUBSTRATA_THERMAL_MODEL", "idle=0.5");
  open();
  EventSet set(substrate, {"package0:power", "package1:power"});
  EXPECT_THAT(set.read(), ElementsAre(65'000, 75'000));
  EXPECT_THAT(substrate.event("package0:power").text, HasSubstr("assumed"));
  EXPECT_THAT(substrate.event("package1:power").text, HasSubstr("the processor's own limit"));
  EXPECT_STREQ(substrate.event("package1:power").unit, "mW");
  EXPECT_STREQ(substrate.event("package1:temperature").unit, "mdegC");
}

// PA-30: no number without a source
TEST_F(ThermalModel, UnreadableUseIsAnErrorAndTouchesNoValue) {
  record_use(tree, {{0, 100}});
  host.set("SUBSTRATA_THERMAL_MODEL", "1");
  open();
  RunningSet set(substrate, {"package0:temperature"});
  tree.write("/proc/stat", "nothing of use\n");
  EXPECT_EQ(set.refused_read().code, Code::kSystem);
}

// PA-31
TEST_F(ThermalModel, SettingsThatMakeNoSenseAreRefusedByName) {
  record_use(tree, {{0, 100}});
  for (const char* text :
       {"peak_w=-1", "idle=2", "peak_w=65,colour=red", "peak_w=", "peak_w=1x", "peak_w=nan", ","}) {
    host.set("SUBSTRATA_THERMAL_MODEL", text);
    EXPECT_EQ(substrate.detect().code, Code::kInvalid) << text;
    EXPECT_THAT(note_of(substrate.detect()), HasSubstr("SUBSTRATA_THERMAL_MODEL")) << text;
  }
}

}  // namespace
