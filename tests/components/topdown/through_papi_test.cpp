// Top-down shares as a program of PAPI's gets them, on recorded machines: their files, and a kernel with given counts.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <papi.h>
#include <stdlib.h>
#include <substrata/extensions.h>

#include <bit>
#include <cstdint>
#include <map>
#include <string>

#include "components/perf_event/fake_perf.hpp"

namespace {

using substrata::test::FakePerf;

// Counts by the code that the kernel is given, and the shares that the published formulas make of them, by hand.
struct OnMachine {
  const char* machine;
  std::map<uint64_t, uint64_t> counts;
  double retiring, bad_speculation, front_end, back_end;
};

// Of 1000 slots: 400 retired, 100 lost, 200 empty, 300 waited.
const std::map<uint64_t, uint64_t> kIntel = {
    {0x400, 1000}, {0x8000, 400}, {0x8100, 100}, {0x8200, 200}, {0x8300, 300}};
const OnMachine kMachines[] = {
    {"eight_h200", kIntel, 40, 10, 20, 30},
    {"intel_arc_b580", kIntel, 40, 10, 20, 30},
    {"intel_laptop_hybrid", kIntel, 40, 10, 20, 30},
    {"xeon_two_sockets", kIntel, 40, 10, 20, 30},
    // 100 cycles of 8 slots; 240 stalled, 80 in front, 160 behind; of 500 operations 450 retired: 70 % of the slots
    // used.
    {"grace", {{0x11, 100}, {0x3f, 240}, {0x3e, 80}, {0x3d, 160}, {0x3a, 450}, {0x3b, 500}}, 63, 7, 10, 20},
    // 100 cycles of 6 slots: 300 retired of 360 dispatched, 150 without work, 90 stalled.
    {"epyc_9654",
     {{0x76, 100}, {0x1000001a0, 150}, {0x100001ea0, 90}, {0x7aa, 360}, {0xc1, 300}},
     50,
     10,
     25,
     15},
    // A Zen 4, too (model 0x90).
    {"four_mi300a",
     {{0x76, 100}, {0x1000001a0, 150}, {0x100001ea0, 90}, {0x7aa, 360}, {0xc1, 300}},
     50,
     10,
     25,
     15},
    {"epyc_9755",
     {{0x76, 100}, {0x1000001a0, 200}, {0x100001ea0, 120}, {0x7aa, 480}, {0xc1, 400}},
     50,
     10,
     25,
     15},
};

class TopdownOnRecordedMachines : public testing::TestWithParam<OnMachine> {
 protected:
  void SetUp() override {
    setenv("SUBSTRATA_PLUGIN_PATH", FAKE_TOPDOWN_FOLDER, 1);
    ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT);
    void* const plugin = dlopen(FAKE_TOPDOWN_FOLDER "/substrata-fake_topdown.so", RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(plugin, nullptr) << dlerror();
    fake_ = reinterpret_cast<FakePerf* (*)()>(dlsym(plugin, "fake_topdown"))();
    dlclose(plugin);
    fake_->root = std::string(MACHINES "/") + GetParam().machine;
    fake_->kernel.hardware_counters = 9;
  }
  void TearDown() override { PAPI_shutdown(); }
  FakePerf* fake_ = nullptr;
};

TEST_P(TopdownOnRecordedMachines, GiveThePublishedFormulasOfTheirCounts) {
  int set = PAPI_NULL;
  ASSERT_EQ(PAPI_create_eventset(&set), PAPI_OK);
  for (const char* const share : {"RETIRING", "BAD_SPEC", "FE_BOUND", "BE_BOUND"}) {
    const std::string name = std::string("fake_topdown:::TOPDOWN_") + share + "_PERC";
    ASSERT_EQ(PAPI_add_named_event(set, name.c_str()), PAPI_OK) << name << ": " << substrata_last_error();
  }
  ASSERT_EQ(PAPI_start(set), PAPI_OK) << substrata_last_error();
  fake_->kernel.count(GetParam().counts);
  long long values[4] = {};
  ASSERT_EQ(PAPI_stop(set, values), PAPI_OK) << substrata_last_error();
  EXPECT_NEAR(std::bit_cast<double>(values[0]), GetParam().retiring, 1e-9);
  EXPECT_NEAR(std::bit_cast<double>(values[1]), GetParam().bad_speculation, 1e-9);
  EXPECT_NEAR(std::bit_cast<double>(values[2]), GetParam().front_end, 1e-9);
  EXPECT_NEAR(std::bit_cast<double>(values[3]), GetParam().back_end, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(All, TopdownOnRecordedMachines, testing::ValuesIn(kMachines),
                         [](const auto& tested) { return std::string(tested.param.machine); });

}  // namespace
