// Loads the plug-in from the folder that the build names, and gives it a processor's counter unit.
#include "fake_kernel_fixture.hpp"

#include <dlfcn.h>
#include <stdlib.h>

namespace substrata::test {

void CountersOfAFakeKernel::SetUp() {
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

}  // namespace substrata::test
