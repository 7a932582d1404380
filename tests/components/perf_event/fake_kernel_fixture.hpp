// The fixture of tests that count with the plug-in fake_perf through PAPI's interface.
#ifndef SUBSTRATA_TESTS_PERF_EVENT_FAKE_KERNEL_FIXTURE_HPP
#define SUBSTRATA_TESTS_PERF_EVENT_FAKE_KERNEL_FIXTURE_HPP

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <papi.h>
#include <stdlib.h>

#include "fake_perf.hpp"
#include "support/temporary_folder.hpp"

namespace substrata::test {

inline constexpr const char* kInstructions = "fake_perf:::INSTRUCTIONS_DONE";
inline constexpr const char* kCycles = "fake_perf:::CYCLES_DONE";

class CountersOfAFakeKernel : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("SUBSTRATA_PLUGIN_PATH", FAKE_PERF_FOLDER, 1);
    ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT);
    ASSERT_GE(PAPI_get_component_index("fake_perf"), 0);
    void* const plugin = dlopen(FAKE_PERF_FOLDER "/substrata-fake_perf.so", RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(plugin, nullptr) << dlerror();
    perf_ = reinterpret_cast<FakePerf* (*)()>(dlsym(plugin, "fake_perf"))();
    dlclose(plugin);
    tree_.write("sys/bus/event_source/devices/cpu/type", "4\n");
    perf_->root = tree_.path();
    perf_->kind = perf::PmuKind::kCore;
    kernel().lost = false;
    kernel().refuse = nullptr;
    kernel().read_error = kernel().control_error = 0;
    kernel().hardware_counters = 4;
  }
  void TearDown() override {
    PAPI_shutdown();
    ASSERT_NE(perf_, nullptr);
    EXPECT_TRUE(kernel().events.empty()) << "descriptors stay open";
  }
  FakeKernel& kernel() { return perf_->kernel; }
  int set_of(const char* name) {
    int set = PAPI_NULL;
    EXPECT_EQ(PAPI_create_eventset(&set), PAPI_OK);
    EXPECT_EQ(PAPI_add_named_event(set, name), PAPI_OK) << name;
    return set;
  }
  static int state_of(int set) {
    int state = 0;
    EXPECT_EQ(PAPI_state(set, &state), PAPI_OK);
    return state;
  }
  static long long stopped(int set) {
    long long value = -1;
    EXPECT_EQ(PAPI_stop(set, &value), PAPI_OK);
    return value;
  }
  // A set that was stopped while the kernel could not keep it on the processor's counters.
  int set_that_lost() {
    const int set = set_of(kInstructions);
    EXPECT_EQ(PAPI_start(set), PAPI_OK);
    kernel().advance(40);
    kernel().lost = true;
    long long value = 77;
    EXPECT_EQ(PAPI_stop(set, &value), PAPI_ECLOST);
    EXPECT_EQ(value, 77);
    kernel().lost = false;
    return set;
  }
  substrata::tests::TemporaryFolder tree_;
  FakePerf* perf_ = nullptr;
};

}  // namespace substrata::test

#endif
