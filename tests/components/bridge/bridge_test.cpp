// The bridge to an installed PAPI (PA-46): off unless asked, with the reason when absent, and counting when there.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <papi.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <substrata/substrata.hpp>
#include <thread>
#include <vector>

namespace substrata::client {
namespace {

using Counting = client::Run;  // inside a fixture Run is GoogleTest's

bool sanitized() {
  return dlsym(RTLD_DEFAULT, "__asan_init") != nullptr || dlsym(RTLD_DEFAULT, "__tsan_init") != nullptr;
}

// The library, started with a wish for the bridge.
class Bridge : public testing::Test {
 protected:
  void TearDown() override {
    library_.reset();
    unsetenv("SUBSTRATA_BRIDGE");
    unsetenv("SUBSTRATA_BRIDGE_COMPONENTS");
  }
  void ask(const char* library, const char* components = "") {
    library_.reset();
    setenv("SUBSTRATA_BRIDGE", library, 1);
    setenv("SUBSTRATA_BRIDGE_COMPONENTS", components, 1);
    library_.emplace(Library::open().value());
  }
  SubstrateInfo bridge() {
    for (SubstrateInfo& info : library_->substrates())
      if (info.name == "bridge") return info;
    ADD_FAILURE() << "no substrate is called bridge";
    return {};
  }
  std::string reason() { return bridge().why; }
  std::optional<Library> library_;
};

TEST_F(Bridge, IsOffUnlessAskedFor) {  // PA-46
  for (const char* setting : {"", "0"}) {
    ask(setting);
    EXPECT_FALSE(bridge().available);
    EXPECT_NE(reason().find("SUBSTRATA_BRIDGE=1"), std::string::npos) << reason();
  }
}

class AskedBridge : public Bridge {
 protected:
  void SetUp() override {
    if (!sanitized()) return;
    ask(FAKE_PAPI);
    EXPECT_FALSE(bridge().available);
    EXPECT_NE(reason().find("sanitizer"), std::string::npos) << reason();
    GTEST_SKIP() << reason();
  }
};

TEST_F(AskedBridge, RefusesToLoadSubstrataItself) {  // PA-46
  for (const char* library : {OUR_PAPI_7_3, OUR_PAPI_7_0}) {
    ask(library);
    EXPECT_FALSE(bridge().available);
    EXPECT_NE(reason().find("is substrata itself"), std::string::npos) << reason();
  }
}

TEST_F(AskedBridge, SaysWhatIsWrongWithTheLibrary) {  // PA-46
  ask("/no/such/folder/libpapi.so");
  EXPECT_NE(reason().find("/no/such/folder/libpapi.so"), std::string::npos) << reason();
  char text[] = "/tmp/substrata_bridge_XXXXXX";
  const int file = mkstemp(text);
  ASSERT_GE(file, 0);
  ASSERT_EQ(write(file, "no library\n", 11), 11);
  close(file);
  ask(text);
  EXPECT_NE(reason().find(text), std::string::npos) << reason();
  unlink(text);
  ask("/proc/self/exe/");
  EXPECT_FALSE(bridge().available);
  ask(FUTURE_PAPI);
  EXPECT_NE(reason().find("is PAPI 8.0.0"), std::string::npos) << reason();
}

TEST_F(AskedBridge, AComponentThatCannotServeIsReportedWithItsReason) {  // PA-46
  ask(FAKE_PAPI, "broken");
  EXPECT_NE(reason().find("broken: no such card"), std::string::npos) << reason();
  EXPECT_NE(reason().find("gpu: not asked for"), std::string::npos) << reason();
}

TEST_F(AskedBridge, ListsTheEventsOfOtherComponentsWithUnitKindAndReason) {  // PA-46
  ask(FAKE_PAPI);
  ASSERT_TRUE(bridge().available) << reason();
  const std::vector<EventInfo> events = library_->events(bridge().index);
  std::vector<std::string> names;
  for (const EventInfo& event : events) names.push_back(event.name);
  // Without net, which substrata has itself, and with the component that waited for its first use.
  EXPECT_EQ(names,
            (std::vector<std::string>{"bridge:::gpu:::busy", "bridge:::gpu:::bytes",
                                      "bridge:::fabric:::packets", "bridge:::fabric:::stuck",
                                      "bridge:::lazy:::ready", "bridge:::intel_gpu:::ComputeBasic.GpuTime"}));
  EXPECT_EQ(events[0].kind, Kind::kGauge);
  EXPECT_EQ(events[0].unit, "%");
  EXPECT_EQ(events[1].kind, Kind::kCount);
  EXPECT_EQ(events[1].unit, "bytes");
  EXPECT_EQ(events[1].text, "stands for gpu:::bytes");
  EXPECT_TRUE(events[1].available);
  const EventInfo locked = library_->event("bridge:::fabric:::locked").value();
  EXPECT_FALSE(locked.available);  // PA-23
  EXPECT_NE(locked.why.find("fake error -15"), std::string::npos) << locked.why;
}

TEST_F(AskedBridge, CountsSeveralComponentsOfItInOneSet) {  // PA-46
  ask(FAKE_PAPI);
  EventSet set = library_->event_set("bridge").value();
  void* fake = dlopen(FAKE_PAPI, RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(fake, nullptr);
  const auto sets = reinterpret_cast<int (*)()>(dlsym(fake, "fake_papi_sets"));
  ASSERT_NE(sets, nullptr);
  {
    EventSet mine = std::move(set);
    const auto bytes = mine.add<Bytes>("bridge:::gpu:::bytes").value();
    const auto packets = mine.add("bridge:::fabric:::packets").value();
    const auto busy = mine.add("bridge:::gpu:::busy").value();
    const auto device = mine.add<Bytes>("bridge:::gpu:::bytes:device=3").value();
    EXPECT_EQ(device.event().name, "bridge:::gpu:::bytes:device=3");
    Counting run = mine.start().value();
    const Snapshot first = run.read().value();
    const Snapshot last = run.stop().value();
    EXPECT_EQ(first[bytes].amount, Bytes{100});
    EXPECT_EQ(first[packets].amount.as_int(), 10);
    EXPECT_EQ(first[busy].amount.as_int(), 37);
    EXPECT_EQ(first[device].amount, Bytes{3000});
    EXPECT_EQ(last[bytes].amount, Bytes{200});
    EXPECT_EQ(last[packets].amount.as_int(), 20);
    EXPECT_EQ(run.read().value()[packets].amount.as_int(), 20) << "a stopped set keeps its values";
    EXPECT_EQ(sets(), 2);
  }
  EXPECT_EQ(sets(), 0);
  dlclose(fake);
}

TEST_F(AskedBridge, AnEventThatDoesNotOpenIsRefusedAndTheSetUnchanged) {
  ask(FAKE_PAPI);
  EventSet set = library_->event_set("bridge").value();
  const auto packets = set.add("bridge:::fabric:::packets").value();
  const auto refused = set.add("bridge:::fabric:::locked");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().sentence.find("fake error -15"), std::string::npos) << refused.error().sentence;
  EXPECT_EQ(set.start().value().stop().value()[packets].amount.as_int(), 10);
}

TEST_F(AskedBridge, StartsEveryPartOrNone) {
  ask(FAKE_PAPI);
  EventSet set = library_->event_set("bridge").value();
  ASSERT_TRUE(set.add("bridge:::gpu:::bytes"));
  ASSERT_TRUE(set.add("bridge:::fabric:::stuck"));
  const Result<Counting> refused = set.start();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, PAPI_ECNFLCT);
  EXPECT_NE(refused.error().sentence.find("fake error -8"), std::string::npos) << refused.error().sentence;
  void* fake = dlopen(FAKE_PAPI, RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(fake, nullptr);
  const auto running = reinterpret_cast<int (*)()>(dlsym(fake, "fake_papi_running"));
  ASSERT_NE(running, nullptr);
  EXPECT_EQ(running(), 0);
  dlclose(fake);
}

TEST_F(AskedBridge, AComponentOfTheOtherPapiAnswersToItsOwnName) {
  ask(FAKE_PAPI);
  ASSERT_TRUE(bridge().available) << reason();
  int own = 0, prefixed = 0;
  ASSERT_EQ(PAPI_event_name_to_code("gpu:::bytes", &own), PAPI_OK);
  ASSERT_EQ(PAPI_event_name_to_code("bridge:::gpu:::bytes", &prefixed), PAPI_OK);
  EXPECT_EQ(own, prefixed);
  EXPECT_EQ(PAPI_query_named_event("gpu:::bytes:device=3"), PAPI_OK);
  EXPECT_EQ(PAPI_query_named_event("gpu:::no_such"), PAPI_ENOEVNT);
  EXPECT_EQ(PAPI_query_named_event("no_such:::bytes"), PAPI_ENOCMP);
  const int index = PAPI_get_component_index("gpu");
  ASSERT_EQ(index, PAPI_get_component_index("bridge"));
  EXPECT_EQ(PAPI_get_component_index("broken"), PAPI_ENOCMP);
  const PAPI_component_info_t* info = PAPI_get_component_info(index);
  ASSERT_NE(info, nullptr);
  EXPECT_STREQ(info->pmu_names[0], "gpu");
  EXPECT_FALSE(library_->event("bridge:::net:::lo")) << "of a component that was not chosen";
}

// What a set of this one event counts from its start to its stop.
long long counted(const char* event) {
  int set = PAPI_NULL;
  long long value = 0;
  EXPECT_EQ(PAPI_create_eventset(&set), PAPI_OK);
  EXPECT_EQ(PAPI_add_named_event(set, event), PAPI_OK) << substrata_last_error();
  EXPECT_EQ(PAPI_start(set), PAPI_OK);
  EXPECT_EQ(PAPI_stop(set, &value), PAPI_OK);
  EXPECT_EQ(PAPI_cleanup_eventset(set), PAPI_OK);
  EXPECT_EQ(PAPI_destroy_eventset(&set), PAPI_OK);
  return value;
}

TEST_F(AskedBridge, APresetOfItsComponentAnswersToItsOwnName) {  // PA-46
  ask(FAKE_PAPI);
  EXPECT_EQ(counted("PAPI_GPU_BYTES"), 100);
  EXPECT_EQ(PAPI_query_named_event("PAPI_GPU_NONE"), PAPI_ENOEVNT);
}

// The other PAPI's call may wait, which a signal handler must not.
TEST_F(AskedBridge, OverflowOfItsEventIsRefusedAndTheSetCounts) {
  ask(FAKE_PAPI);
  int set = PAPI_NULL, code = 0;
  long long value = 0;
  ASSERT_EQ(PAPI_create_eventset(&set), PAPI_OK);
  ASSERT_EQ(PAPI_add_named_event(set, "gpu:::bytes"), PAPI_OK);
  ASSERT_EQ(PAPI_event_name_to_code("gpu:::bytes", &code), PAPI_OK);
  EXPECT_EQ(PAPI_overflow(set, code, 200, 0, [](int, void*, long long, void*) {}), PAPI_ECMP);
  ASSERT_EQ(PAPI_start(set), PAPI_OK) << substrata_last_error();
  EXPECT_EQ(PAPI_stop(set, &value), PAPI_OK);
  EXPECT_EQ(value, 100);
  EXPECT_EQ(PAPI_cleanup_eventset(set), PAPI_OK);
  EXPECT_EQ(PAPI_destroy_eventset(&set), PAPI_OK);
}

// Ours has the kernel's events under that name, and knew no other.
TEST_F(AskedBridge, AnEventThatOursLacksIsTheOtherPapisOfTheSameComponent) {
  ask(FAKE_PAPI);
  EXPECT_EQ(counted("intel_gpu:::ComputeBasic.GpuTime"), 7);
  EXPECT_EQ(PAPI_query_named_event("intel_gpu:::ComputeBasic.no_such"), PAPI_ENOEVNT);
}

TEST_F(AskedBridge, OurOwnComponentKeepsItsNameWhereTheOtherPapiHasOneToo) {
  ask(FAKE_PAPI, "net,gpu");
  ASSERT_TRUE(bridge().available) << reason();
  EXPECT_NE(PAPI_get_component_index("net"), PAPI_get_component_index("bridge"));
}

TEST_F(AskedBridge, AnotherProcessIsCountedWhereTheOtherPapiAttaches) {
  ask(FAKE_PAPI);
  int packets = PAPI_NULL, bytes = PAPI_NULL;
  ASSERT_EQ(PAPI_create_eventset(&packets), PAPI_OK);
  ASSERT_EQ(PAPI_add_named_event(packets, "fabric:::packets"), PAPI_OK);
  ASSERT_EQ(PAPI_attach(packets, static_cast<unsigned long>(getppid())), PAPI_OK);
  long long value = 0;
  ASSERT_EQ(PAPI_start(packets), PAPI_OK);
  EXPECT_EQ(PAPI_stop(packets, &value), PAPI_OK);
  EXPECT_EQ(value, getppid());
  ASSERT_EQ(PAPI_create_eventset(&bytes), PAPI_OK);
  ASSERT_EQ(PAPI_add_named_event(bytes, "gpu:::bytes"), PAPI_OK);
  EXPECT_EQ(PAPI_attach(bytes, static_cast<unsigned long>(getppid())), PAPI_ECMP);
  for (int set : {packets, bytes}) {
    EXPECT_EQ(PAPI_cleanup_eventset(set), PAPI_OK);
    EXPECT_EQ(PAPI_destroy_eventset(&set), PAPI_OK);
  }
}

using BridgeDeathTest = AskedBridge;

// In a process of its own: a library that is up stays so.
void ask_a_library_that(const char* does, const char* expected) {
  setenv(does, "1", 1);
  setenv("SUBSTRATA_BRIDGE", FAKE_PAPI, 1);
  setenv("SUBSTRATA_BRIDGE_SECONDS", "1", 1);
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) _exit(2);
  const PAPI_component_info_t* info = PAPI_get_component_info(PAPI_get_component_index("bridge"));
  int set = PAPI_NULL;
  const bool others = PAPI_create_eventset(&set) == PAPI_OK &&
                      PAPI_add_named_event(set, "example:::ticks") == PAPI_OK && PAPI_start(set) == PAPI_OK;
  if (info->disabled == 0 || std::strstr(info->disabled_reason, expected) == nullptr) {
    std::fprintf(stderr, "%d %s\n", info->disabled, info->disabled_reason);
    _exit(3);
  }
  _exit(others ? 0 : 4);
}

TEST_F(BridgeDeathTest, ALibraryThatHangsHarmsNobody) {
  library_.reset();
  EXPECT_EXIT(ask_a_library_that("FAKE_PAPI_HANGS", "takes longer than 1 s"), testing::ExitedWithCode(0), "");
}

TEST_F(BridgeDeathTest, ALibraryThatEndsTheProcessHarmsNobody) {
  library_.reset();
  EXPECT_EXIT(ask_a_library_that("FAKE_PAPI_CRASHES", "crashes a process with signal 6"),
              testing::ExitedWithCode(0), "");
}

// Reads of the fabric never return: the bridge came up, and the first read hung the program.
void ask_where_the_fabric_hangs() {
  setenv("FAKE_PAPI_HANGS_IN_READ", "1", 1);
  setenv("SUBSTRATA_BRIDGE", FAKE_PAPI, 1);
  setenv("SUBSTRATA_BRIDGE_SECONDS", "1", 1);
  alarm(20);
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) _exit(2);
  int set = PAPI_NULL;
  long long bytes = 0;
  const bool others = PAPI_create_eventset(&set) == PAPI_OK &&
                      PAPI_add_named_event(set, "gpu:::bytes") == PAPI_OK && PAPI_start(set) == PAPI_OK &&
                      PAPI_read(set, &bytes) == PAPI_OK && bytes == 100 && PAPI_stop(set, nullptr) == PAPI_OK;
  if (!others) _exit(3);
  int fabric = PAPI_NULL;
  if (PAPI_create_eventset(&fabric) == PAPI_OK &&
      PAPI_add_named_event(fabric, "fabric:::packets") == PAPI_OK) {
    PAPI_start(fabric);
    PAPI_read(fabric, &bytes);
    _exit(4);
  }
  _exit(std::strstr(substrata_last_error(), "reading its events takes longer than 1 s") != nullptr ? 0 : 5);
}

TEST_F(BridgeDeathTest, AComponentThatHangsInAReadIsLeftOutAndTheOthersCount) {
  library_.reset();
  EXPECT_EXIT(ask_where_the_fabric_hangs(), testing::ExitedWithCode(0), "");
}

// A component that hangs in a later read held its caller for ever.
void ask_where_the_fabric_hangs_later() {
  setenv("SUBSTRATA_BRIDGE", FAKE_PAPI, 1);
  setenv("SUBSTRATA_BRIDGE_SECONDS", "1", 1);
  alarm(20);
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) _exit(2);
  int fabric = PAPI_NULL, gpu = PAPI_NULL;
  long long value = 0, values[2] = {0, 0};
  if (PAPI_create_eventset(&fabric) != PAPI_OK || PAPI_create_eventset(&gpu) != PAPI_OK ||
      PAPI_add_named_event(fabric, "gpu:::bytes") != PAPI_OK ||
      PAPI_add_named_event(fabric, "fabric:::packets") != PAPI_OK ||
      PAPI_add_named_event(gpu, "gpu:::bytes") != PAPI_OK || PAPI_start(fabric) != PAPI_OK ||
      PAPI_read(fabric, values) != PAPI_OK || values[1] != 10)
    _exit(3);
  static volatile int holds = 1;
  *static_cast<volatile int**>(dlsym(dlopen(FAKE_PAPI, RTLD_NOW | RTLD_NOLOAD), "fake_papi_fabric_hangs")) =
      &holds;
  if (PAPI_read(fabric, values) != PAPI_ESYS ||
      std::strstr(substrata_last_error(), "did not come back") == nullptr)
    _exit(4);
  // At once, from now on: alarm would come.
  for (int i = 0; i < 30; ++i)
    if (PAPI_read(fabric, values) != PAPI_ESYS) _exit(5);
  if (PAPI_stop(fabric, values) != PAPI_ESYS) _exit(6);
  if (PAPI_start(gpu) != PAPI_OK || PAPI_read(gpu, &value) != PAPI_OK || value != 100 ||
      PAPI_stop(gpu, &value) != PAPI_OK)
    _exit(7);
  int other = PAPI_NULL;
  if (PAPI_create_eventset(&other) != PAPI_OK || PAPI_add_named_event(other, "fabric:::packets") == PAPI_OK)
    _exit(8);
  if (PAPI_cleanup_eventset(fabric) != PAPI_OK || PAPI_destroy_eventset(&fabric) != PAPI_OK) _exit(9);
  PAPI_shutdown();
  _exit(0);
}

TEST_F(BridgeDeathTest, AComponentThatHangsInALaterReadHarmsNobody) {
  library_.reset();
  EXPECT_EXIT(ask_where_the_fabric_hangs_later(), testing::ExitedWithCode(0), "");
}

// The thread beside the parent's is not in its child.
TEST_F(AskedBridge, AForkedChildCountsWithAThreadOfItsOwn) {
  ask(FAKE_PAPI);
  EventSet set = library_->event_set("bridge").value();
  const auto bytes = set.add<Bytes>("bridge:::gpu:::bytes").value();
  EXPECT_EQ(set.start().value().stop().value()[bytes].amount, Bytes{100});
  EXPECT_EXIT(
      {
        alarm(20);
        int own = PAPI_NULL;
        long long value = 0;
        const bool counted = PAPI_create_eventset(&own) == PAPI_OK &&
                             PAPI_add_named_event(own, "gpu:::bytes") == PAPI_OK &&
                             PAPI_start(own) == PAPI_OK && PAPI_stop(own, &value) == PAPI_OK && value == 100;
        _exit(counted ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

// A read that hangs for a while: no one else waits.
TEST_F(AskedBridge, WhileAReadHangsOtherThreadsCountOn) {
  ask(FAKE_PAPI);
  EventSet set = library_->event_set("bridge").value();
  const auto bytes = set.add<Bytes>("bridge:::gpu:::bytes").value();
  void* fake = dlopen(FAKE_PAPI, RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(fake, nullptr);
  const auto hangs = static_cast<volatile int**>(dlsym(fake, "fake_papi_fabric_hangs"));
  ASSERT_NE(hangs, nullptr);
  static volatile int holds = 1;
  *hangs = &holds;
  std::int64_t read = 0;
  std::thread waits([&] {  // with a set of its own: a thread runs one of each substrate
    EventSet stuck = library_->event_set("bridge").value();
    const auto packets = stuck.add("bridge:::fabric:::packets").value();
    read = stuck.start().value().stop().value()[packets].amount.as_int();
  });
  try {
    EXPECT_EQ(set.start().value().stop().value()[bytes].amount, Bytes{100});
    EXPECT_EQ(PAPI_query_named_event("gpu:::bytes:device=7"), PAPI_OK);
    EXPECT_TRUE(library_->event_set("example").value().add("example:::ticks"));
  } catch (const Failure& failure) {
    ADD_FAILURE() << failure.what();
  }
  holds = 0;
  waits.join();
  EXPECT_EQ(read, 10);
  *hangs = nullptr;
  dlclose(fake);
}

TEST_F(AskedBridge, ComesUpAgainAfterTheLibraryWentDown) {
  for (int i = 0; i < 3; ++i) {
    ask(FAKE_PAPI);
    EventSet set = library_->event_set("bridge").value();
    const auto packets = set.add("bridge:::fabric:::packets").value();
    EXPECT_EQ(set.start().value().stop().value()[packets].amount.as_int(), 10);
  }
}

#ifdef INSTALLED_PAPI
constexpr size_t kPages = 64;

// Touches fresh pages: at least so many page faults.
void fault() {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* memory = mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, kPages * page, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < kPages; ++i) static_cast<volatile char*>(memory)[i * page] = 1;
  munmap(memory, kPages * page);
}

class InstalledPapi : public AskedBridge {
 protected:
  void SetUp() override {
    AskedBridge::SetUp();
    if (IsSkipped()) return;
    ask(INSTALLED_PAPI, "perf_event");
    if (!bridge().available) GTEST_SKIP() << reason();
    if (const Result<EventInfo> event = library_->event("bridge:::perf::PAGE-FAULTS");
        !event || !event->available)
      GTEST_SKIP() << (event ? event->why : event.error().sentence);
  }
};

// Oracle: our own perf_event, which runs at the same time, starts earlier and stops later.
TEST_F(InstalledPapi, CountsBesideOurs) {  // PA-46
  EventSet theirs = library_->event_set("bridge").value();
  const auto bridged = theirs.add("bridge:::perf::PAGE-FAULTS").value();
  EventSet ours = library_->event_set("perf_event").value();
  const auto own = ours.add("perf::PAGE-FAULTS");
  if (!own) GTEST_SKIP() << own.error().sentence;
  Counting outer = ours.start().value();
  Counting inner = theirs.start().value();
  fault();
  const Snapshot through = inner.stop().value();
  const Snapshot whole = outer.stop().value();
  EXPECT_GE(through[bridged].amount.as_int(), static_cast<std::int64_t>(kPages));
  EXPECT_LE(through[bridged].amount.as_int(), whole[*own].amount.as_int());
  // Ours still answers the program: its functions were not replaced.
  EXPECT_EQ(PAPI_get_opt(PAPI_LIB_VERSION, nullptr), PAPI_VERSION);
  EXPECT_NE(PAPI_get_component_index("bridge"), PAPI_ENOCMP);
}

TEST_F(InstalledPapi, EachThreadHasItsOwnSet) {
  const auto measure = [&](std::string* refusal) {
    try {
      EventSet set = library_->event_set("bridge").value();
      const auto faults = set.add("bridge:::perf::PAGE-FAULTS").value();
      Counting run = set.start().value();
      fault();
      const Snapshot end = run.stop().value();
      if (end[faults].amount.as_int() < static_cast<std::int64_t>(kPages)) *refusal = "too few page faults";
    } catch (const Failure& failure) {
      *refusal = failure.what();
    }
  };
  std::string first, second;
  std::thread one(measure, &first);
  std::thread two(measure, &second);
  one.join();
  two.join();
  EXPECT_EQ(first, "");
  EXPECT_EQ(second, "");
}

// Last: what the first wish leaves out of a PAPI stays out.
using UnnamedPapi = AskedBridge;
TEST_F(UnnamedPapi, IsFoundInTheFoldersOfTheSystem) {  // PA-46
  ask("1");
  // On a machine without further hardware that is all it can say.
  EXPECT_TRUE(bridge().available || reason().find("PAPI 7") != std::string::npos) << reason();
}
#endif

}  // namespace
}  // namespace substrata::client
