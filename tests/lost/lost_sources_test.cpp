// Sensors, energy zones and network interfaces that fail, vanish, freeze and come back while a program counts with
// PAPI's interface: an error and never a number, the set stays usable, and values afterwards are right.
#include <gtest/gtest.h>
#include <papi.h>
#include <stdlib.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>

#include "support/temporary_folder.hpp"

namespace {

constexpr long long kMark = -987654321;

// One number of the machine below a folder, and how it goes.
struct Source {
  const char* test_name;
  const char* component;
  const char* event;
  const char* file;
  bool counts;
  bool is_interface = false;
};

std::ostream& operator<<(std::ostream& out, const Source& source) { return out << source.test_name; }

constexpr Source kSources[] = {
    {"Temperature", "machine_coretemp", "machine_coretemp:::hwmon0:temp1_input",
     "sys/class/hwmon/hwmon0/temp1_input", false},
    {"EnergyMeter", "machine_coretemp", "machine_coretemp:::hwmon0:energy1_input",
     "sys/class/hwmon/hwmon0/energy1_input", true},
    {"EnergyZone", "machine_powercap", "machine_powercap:::ENERGY_UJ:ZONE0",
     "sys/class/powercap/intel-rapl:0/energy_uj", true},
    {"Interface", "machine_net", "machine_net:::eth9:rx:bytes", "proc/net/dev", true, true},
};

constexpr const char* kHeading =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls "
    "carrier compressed\n";

class LostSource : public testing::TestWithParam<Source> {
 protected:
  void SetUp() override {
    setenv("SUBSTRATA_PLUGIN_PATH", MACHINE_PLUGINS, 1);
    setenv("TEST_MACHINE", tree_.path().c_str(), 1);
    tree_.write("sys/class/hwmon/hwmon0/name", "nvme\n");
    tree_.write("sys/class/hwmon/hwmon0/temp1_input", "41000\n");
    tree_.write("sys/class/hwmon/hwmon0/energy1_input", "5000\n");
    tree_.write("sys/class/powercap/intel-rapl:0/name", "package-0\n");
    tree_.write("sys/class/powercap/intel-rapl:0/energy_uj", "5000\n");
    tree_.write("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "100000\n");
    tree_.write("sys/class/net/eth9/ifindex", "7\n");
    interface_shows(5000);
    ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT);
    ASSERT_GE(PAPI_get_component_index(GetParam().component), 0);
  }
  void TearDown() override {
    PAPI_shutdown();
    unsetenv("TEST_MACHINE");
  }

  void interface_shows(std::uint64_t bytes) {
    tree_.write("proc/net/dev",
                kHeading + ("  eth9: " + std::to_string(bytes)) +
                    " 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n    lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n");
  }
  void shows(std::uint64_t number) {
    if (GetParam().is_interface)
      interface_shows(number);
    else
      tree_.write(GetParam().file, std::to_string(number) + "\n");
  }
  void shows_text(const std::string& text) { tree_.write(GetParam().file, text); }
  // Reads fail with this error; 0: they do not.
  void fails(int error) {
    const std::string fault = std::string(GetParam().file) + ".error";
    if (error != 0)
      tree_.write(fault, std::to_string(error));
    else
      std::filesystem::remove(tree_.file(fault));
  }
  void vanishes() {
    if (!GetParam().is_interface) {
      std::filesystem::remove(tree_.file(GetParam().file));
      return;
    }
    std::filesystem::remove(tree_.file("sys/class/net/eth9/ifindex"));
    tree_.write("proc/net/dev", kHeading);
  }
  void comes_back(std::uint64_t number) {
    if (GetParam().is_interface) tree_.write("sys/class/net/eth9/ifindex", "8\n");
    shows(number);
  }
  int set_of_source() {
    int set = PAPI_NULL;
    EXPECT_EQ(PAPI_create_eventset(&set), PAPI_OK);
    EXPECT_EQ(PAPI_add_named_event(set, GetParam().event), PAPI_OK) << GetParam().event;
    return set;
  }
  int started() {
    shows(5000);
    const int set = set_of_source();
    EXPECT_EQ(PAPI_start(set), PAPI_OK);
    return set;
  }
  // What a set gives that started at 5000 when the source shows `now`.
  static long long value_at(long long now) { return GetParam().counts ? now - 5000 : now; }
  static long long read(int set) {
    long long value = kMark;
    EXPECT_EQ(PAPI_read(set, &value), PAPI_OK);
    return value;
  }
  // The answer of a read that must not touch the value.
  static int refused_read(int set) {
    long long value = kMark;
    const int status = PAPI_read(set, &value);
    EXPECT_EQ(value, kMark);
    const int accumulated = PAPI_accum(set, &value);
    EXPECT_EQ(accumulated, status);
    EXPECT_EQ(value, kMark);
    return status;
  }
  // Whose source is there again: from a start on.
  void counts_anew(int set) {
    fails(0);
    shows(5000);
    ASSERT_EQ(PAPI_start(set), PAPI_OK);
    shows(5050);
    EXPECT_EQ(read(set), value_at(5050));
  }
  static int state_of(int set) {
    int state = 0;
    EXPECT_EQ(PAPI_state(set, &state), PAPI_OK);
    return state;
  }
  substrata::tests::TemporaryFolder tree_;
};

TEST_P(LostSource, WhoseReadsFailGivesAnErrorAndThenTheRightNumber) {
  const int set = started();
  long long now = 5000;
  for (const int error : {EIO, ENODATA, ENXIO, EACCES, ETIMEDOUT, EAGAIN}) {
    shows(static_cast<std::uint64_t>(now += 10));
    fails(error);
    EXPECT_EQ(refused_read(set), PAPI_ESYS) << error;
    EXPECT_EQ(state_of(set), PAPI_RUNNING);
    fails(0);
    EXPECT_EQ(read(set), value_at(now)) << error;
  }
  EXPECT_EQ(PAPI_stop(set, nullptr), PAPI_OK);
}

TEST_P(LostSource, ThatShowsNoNumberGivesAnErrorAndThenTheRightNumber) {
  const int set = started();
  for (const char* text : {"", "\n", "N/A\n", "50 10 x\n", "-\n", "99999999999999999999999\n"}) {
    shows_text(text);
    EXPECT_EQ(refused_read(set), PAPI_ESYS) << text;
  }
  shows(5200);
  EXPECT_EQ(read(set), value_at(5200));
}

TEST_P(LostSource, ThatFreezesGivesItsLastNumberUntilItMoves) {
  const int set = started();
  shows(5100);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(read(set), value_at(5100));
  shows(5300);
  EXPECT_EQ(read(set), value_at(5300));
}

TEST_P(LostSource, ThatFailsAtTheStopLeavesASetThatCountsAnew) {
  const int set = started();
  fails(EIO);
  long long value = kMark;
  EXPECT_EQ(PAPI_stop(set, &value), PAPI_ESYS);
  EXPECT_EQ(value, kMark);
  EXPECT_EQ(state_of(set), PAPI_STOPPED);
  counts_anew(set);
}

TEST_P(LostSource, ThatFailsAtTheStartLeavesTheSetStopped) {
  const int set = set_of_source();
  fails(ENODATA);
  EXPECT_EQ(PAPI_start(set), PAPI_ESYS);
  EXPECT_EQ(state_of(set), PAPI_STOPPED);
  counts_anew(set);
}

TEST_P(LostSource, ThatFailsAtTheStartLeavesTheValuesOfTheLastRun) {
  const int set = started();
  shows(5060);
  ASSERT_EQ(PAPI_stop(set, nullptr), PAPI_OK);
  vanishes();
  EXPECT_LT(PAPI_start(set), 0);
  EXPECT_EQ(read(set), value_at(5060));
}

TEST_P(LostSource, ThatVanishesIsAnErrorUntilTheSetStops) {
  const int set = started();
  vanishes();
  EXPECT_LT(refused_read(set), 0);
  long long value = kMark;
  EXPECT_LT(PAPI_stop(set, &value), 0);
  EXPECT_EQ(value, kMark);
  EXPECT_EQ(state_of(set), PAPI_STOPPED);
}

TEST_P(LostSource, ThatVanishesAndComesBackCountsFromTheNextStart) {
  const int set = started();
  vanishes();
  EXPECT_LT(PAPI_stop(set, nullptr) + refused_read(set), 0);
  EXPECT_LT(PAPI_start(set), 0);
  comes_back(5000);
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  shows(5070);
  EXPECT_EQ(read(set), value_at(5070));
  EXPECT_EQ(PAPI_stop(set, nullptr), PAPI_OK);
}

TEST_P(LostSource, LeavesTheOtherSetsOfTheThreadCounting) {
  const int set = started();
  int other = PAPI_NULL;
  ASSERT_EQ(PAPI_create_eventset(&other), PAPI_OK);
  ASSERT_EQ(PAPI_add_named_event(other, "example:::reads"), PAPI_OK);
  ASSERT_EQ(PAPI_start(other), PAPI_OK);
  vanishes();
  EXPECT_LT(refused_read(set), 0);
  const long long first = read(other);
  EXPECT_EQ(read(other), first + 1);
  EXPECT_EQ(PAPI_stop(other, nullptr), PAPI_OK);
}

TEST_P(LostSource, ThatVanishedLetsItsSetBeDestroyed) {
  int set = started();
  vanishes();
  EXPECT_LT(PAPI_stop(set, nullptr) + refused_read(set), 0);
  EXPECT_EQ(PAPI_cleanup_eventset(set), PAPI_OK);
  EXPECT_EQ(PAPI_destroy_eventset(&set), PAPI_OK);
}

INSTANTIATE_TEST_SUITE_P(Of, LostSource, testing::ValuesIn(kSources),
                         [](const auto& each) { return each.param.test_name; });

// Counters that are at their end while they are counted.
using EnergyZone = LostSource;
using Interface = LostSource;
using EnergyMeter = LostSource;

TEST_P(EnergyZone, AtTheWrapOfItsRangeCountsOn) {
  const int set = started();
  shows(99990);
  EXPECT_EQ(read(set), 94990);
  shows(15);
  EXPECT_EQ(read(set), 94990 + 10 + 15);
}
INSTANTIATE_TEST_SUITE_P(Of, EnergyZone, testing::Values(kSources[2]));

TEST_P(Interface, AtTheWrapOfThirtyTwoBitsCountsOn) {
  interface_shows(UINT32_MAX - 9);
  const int set = set_of_source();
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  shows(20);
  EXPECT_EQ(read(set), 30);
}

TEST_P(Interface, BeyondThirtyTwoBitsCountsOn) {
  interface_shows(UINT32_MAX - 9);
  const int set = set_of_source();
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  shows(std::uint64_t{UINT32_MAX} + 21);
  EXPECT_EQ(read(set), 30);
}

TEST_P(Interface, AtTheEndOfSixtyFourBitsIsLostWhereItBeginsAnew) {
  interface_shows(UINT64_MAX - 9);
  const int set = set_of_source();
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  shows(UINT64_MAX - 4);
  EXPECT_EQ(read(set), 5);
  shows(20);
  EXPECT_EQ(refused_read(set), PAPI_ECLOST);
}
INSTANTIATE_TEST_SUITE_P(Of, Interface, testing::Values(kSources[3]));

TEST_P(EnergyMeter, ThatGoesBackwardsIsLostUntilTheNextStart) {
  const int set = started();
  shows(3);
  EXPECT_EQ(refused_read(set), PAPI_ECLOST);
  EXPECT_LT(PAPI_stop(set, nullptr), 0);
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  shows(8);
  EXPECT_EQ(read(set), 5);
}
INSTANTIATE_TEST_SUITE_P(Of, EnergyMeter, testing::Values(kSources[1]));

}  // namespace
