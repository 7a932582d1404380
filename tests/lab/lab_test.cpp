// What only a real kernel with a PMU and sensors can show, through PAPI's interface in the emulated machine:
// counts of known loops, presets, overflow, multiplexing, user-space reads, temperatures that follow.
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <papi.h>
#include <substrata/extensions.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/system_calls.hpp"

namespace {

// Two instructions a round; the emulator gives two cycles an instruction.
inline __attribute__((always_inline)) void loop(long count) {
#if defined(__aarch64__)
  asm volatile("1: subs %0, %0, #1\n b.ne 1b" : "+r"(count) : : "cc");
#else
  for (volatile long i = 0; i < count; ++i) {
  }
#endif
}
__attribute__((noinline)) void rounds(long count) { loop(count); }

// In sections of their own, whose ends the linker names.
__attribute__((noinline, section("hot_loop"))) void hot(long count) { loop(count); }
__attribute__((noinline, section("warm_loop"))) void warm(long count) { loop(count); }
__attribute__((noinline, section("cold_loop"))) void cold(long count) { loop(count); }
extern "C" {
extern const char __start_hot_loop[], __stop_hot_loop[], __start_warm_loop[], __stop_warm_loop[],
    __start_cold_loop[], __stop_cold_loop[];
}

class Lab : public testing::Test {
 protected:
  void SetUp() override {
    unsetenv("PAPI_CSV_EVENT_FILE");
    ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT);
    ASSERT_EQ(PAPI_create_eventset(&set_), PAPI_OK);
  }
  void TearDown() override {
    int state = 0;
    if (PAPI_state(set_, &state) == PAPI_OK && (state & PAPI_RUNNING) != 0) PAPI_stop(set_, nullptr);
    PAPI_cleanup_eventset(set_);
    PAPI_destroy_eventset(&set_);
    PAPI_shutdown();
  }
  void add(const char* name) {
    ASSERT_EQ(PAPI_add_named_event(set_, name), PAPI_OK) << name << ": " << substrata_last_error();
  }
  int set_ = PAPI_NULL;
};

// A bare counter of the kernel's, user code only: the oracle.
class BareCounter {
 public:
  explicit BareCounter(uint64_t config, bool pinned = false) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.config = config;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    attributes.pinned = pinned;  // never rotated away
    file_ = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
  }
  ~BareCounter() {
    if (file_ >= 0) close(file_);
  }
  BareCounter(const BareCounter&) = delete;
  BareCounter& operator=(const BareCounter&) = delete;
  bool open() const { return file_ >= 0; }
  long long value() const {
    long long value = -1;
    if (read(file_, &value, sizeof value) != sizeof value) return -1;
    return value;
  }

 private:
  int file_;
};

// |value - wanted| within `part` of wanted.
void expect_near(long long value, long long wanted, double part) {
  EXPECT_NEAR(static_cast<double>(value), static_cast<double>(wanted), static_cast<double>(wanted) * part);
}

TEST_F(Lab, CyclesAndInstructionsOfAKnownLoopAreRight) {  // PA-20
  add("PAPI_TOT_INS");
  add("PAPI_TOT_CYC");
  long long values[2] = {};
  ASSERT_EQ(PAPI_start(set_), PAPI_OK);
  rounds(5'000'000);
  ASSERT_EQ(PAPI_stop(set_, values), PAPI_OK);
  expect_near(values[0], 10'000'000, 0.01);
  expect_near(values[1], 20'000'000, 0.01);
}

TEST_F(Lab, InstructionsACycleAreAHalf) {
  add("metric:::IPC");
  long long value = 0;
  ASSERT_EQ(PAPI_start(set_), PAPI_OK) << substrata_last_error();
  rounds(5'000'000);
  ASSERT_EQ(PAPI_stop(set_, &value), PAPI_OK);
  EXPECT_NEAR(std::bit_cast<double>(value), 0.5, 0.005);
}

TEST_F(Lab, CountsAreWithinOneHundredthOfTheKernelsOwn) {
  BareCounter instructions(PERF_COUNT_HW_INSTRUCTIONS);
  ASSERT_TRUE(instructions.open());
  add("PAPI_TOT_INS");
  long long value = 0;
  ASSERT_EQ(PAPI_start(set_), PAPI_OK);
  const long long before = instructions.value();
  rounds(5'000'000);
  const long long after = instructions.value();
  ASSERT_EQ(PAPI_stop(set_, &value), PAPI_OK);
  expect_near(value, after - before, 0.01);
}

TEST_F(Lab, ReadsWhileRunningGrowAndResetTakesBackToZero) {
  add("PAPI_TOT_INS");
  long long first = 0;
  long long second = 0;
  long long third = 0;
  ASSERT_EQ(PAPI_start(set_), PAPI_OK);
  rounds(1'000'000);
  ASSERT_EQ(PAPI_read(set_, &first), PAPI_OK);
  rounds(1'000'000);
  ASSERT_EQ(PAPI_read(set_, &second), PAPI_OK);
  ASSERT_EQ(PAPI_reset(set_), PAPI_OK);
  rounds(1'000'000);
  ASSERT_EQ(PAPI_stop(set_, &third), PAPI_OK);
  expect_near(first, 2'000'000, 0.02);
  expect_near(second - first, 2'000'000, 0.02);
  expect_near(third, 2'000'000, 0.02);
}

TEST_F(Lab, APresetIsAvailableOnlyWhereItOpens) {  // PA-23
  int available = 0;
  int code = PAPI_PRESET_MASK;
  ASSERT_EQ(PAPI_enum_event(&code, PAPI_ENUM_FIRST), PAPI_OK);
  do {
    if (PAPI_query_event(code) != PAPI_OK) continue;
    ++available;
    char name[PAPI_MAX_STR_LEN] = "";
    ASSERT_EQ(PAPI_event_code_to_name(code, name), PAPI_OK);
    int set = PAPI_NULL;
    ASSERT_EQ(PAPI_create_eventset(&set), PAPI_OK);
    EXPECT_EQ(PAPI_add_event(set, code), PAPI_OK) << name;
    EXPECT_EQ(PAPI_start(set), PAPI_OK) << name;
    EXPECT_EQ(PAPI_stop(set, nullptr), PAPI_OK) << name;
    PAPI_cleanup_eventset(set);
    PAPI_destroy_eventset(&set);
  } while (PAPI_enum_event(&code, PAPI_PRESET_ENUM_AVAIL) == PAPI_OK);
  EXPECT_GE(available, 2);
}

// Ten events on six counters; values of instructions and cycles against the kernel's own, which stay on
// theirs.
void multiplex_against_the_kernel(int set, bool by_the_library) {
  ASSERT_EQ(PAPI_multiplex_init(), PAPI_OK);
  ASSERT_EQ(PAPI_assign_eventset_component(set, 0), PAPI_OK);
  PAPI_option_t option{};
  option.multiplex.eventset = set;
  option.multiplex.flags = by_the_library ? PAPI_MULTIPLEX_FORCE_SW : PAPI_MULTIPLEX_DEFAULT;
  ASSERT_EQ(PAPI_set_opt(PAPI_MULTIPLEX, &option), PAPI_OK) << substrata_last_error();
  // Raw event numbers (hexadecimal) of the ARM PMU; several count nothing in the emulator, which takes a
  // counter all the same.
  const std::vector<const char*> names = {"PAPI_TOT_INS", "PAPI_TOT_CYC", "r01", "r03", "r04",
                                          "r10",          "r12",          "r13", "r16", "r17"};
  for (const char* name : names)
    ASSERT_EQ(PAPI_add_named_event(set, name), PAPI_OK) << name << ": " << substrata_last_error();
  // The kernel's own count of the same loop, beforehand: beside the set it would take two of its counters.
  long long before[2] = {}, after[2] = {};
  {
    BareCounter instructions(PERF_COUNT_HW_INSTRUCTIONS, true), cycles(PERF_COUNT_HW_CPU_CYCLES, true);
    ASSERT_TRUE(instructions.open() && cycles.open());
    before[0] = instructions.value(), before[1] = cycles.value();
    rounds(200'000'000);
    after[0] = instructions.value(), after[1] = cycles.value();
  }
  ASSERT_EQ(PAPI_start(set), PAPI_OK) << substrata_last_error();
  rounds(200'000'000);
  std::vector<long long> values(names.size());
  ASSERT_EQ(PAPI_stop(set, values.data()), PAPI_OK) << substrata_last_error();
  for (int i : {0, 1}) {
    const long long wanted = after[i] - before[i];
    std::printf(
        "%s, multiplexed by %s: %lld, the kernel's own %lld, %.4f %% apart\n", names[static_cast<size_t>(i)],
        by_the_library ? "the library" : "the kernel", values[static_cast<size_t>(i)], wanted,
        100.0 * static_cast<double>(values[static_cast<size_t>(i)] - wanted) / static_cast<double>(wanted));
    expect_near(values[static_cast<size_t>(i)], wanted, 0.01);
  }
  std::vector<substrata_value> details(names.size());
  ASSERT_EQ(substrata_read_values(set, details.data(), static_cast<unsigned>(details.size())), PAPI_OK);
  bool scaled = false;
  for (const substrata_value& detail : details)
    scaled = scaled || (detail.flags & SUBSTRATA_VALUE_SCALED) != 0;
  EXPECT_TRUE(scaled);
}

TEST_F(Lab, EventsThatTheKernelMultiplexesAreWithinOneHundredthOfItsOwn) {  // PA-22
  multiplex_against_the_kernel(set_, false);
}

TEST_F(Lab, EventsThatTheLibraryMultiplexesAreWithinOneHundredthOfTheKernelsOwn) {  // PA-22
  multiplex_against_the_kernel(set_, true);
}

volatile int overflows = 0;
void count_overflow(int, void*, long long, void*) { overflows = overflows + 1; }

TEST_F(Lab, CyclesOverflowAsOftenAsTheThresholdSays) {  // PA-22
  add("PAPI_TOT_CYC");
  int code = 0;
  ASSERT_EQ(PAPI_event_name_to_code("PAPI_TOT_CYC", &code), PAPI_OK);
  constexpr int kThreshold = 10'000'000;
  overflows = 0;
  const int armed = PAPI_overflow(set_, code, kThreshold, 0, count_overflow);
  ASSERT_EQ(armed, PAPI_OK) << substrata_last_error();
  ASSERT_EQ(PAPI_start(set_), PAPI_OK);
  rounds(50'000'000);  // 200 million cycles
  ASSERT_EQ(PAPI_stop(set_, nullptr), PAPI_OK);
  EXPECT_GE(overflows, 15);
  EXPECT_LE(overflows, 30);
  EXPECT_EQ(PAPI_overflow(set_, code, 0, 0, count_overflow), PAPI_OK);
}

TEST_F(Lab, OverflowsOfInstructionsAreWithinOneHundredthOfTheKernelsCount) {  // PA-22
  BareCounter instructions(PERF_COUNT_HW_INSTRUCTIONS);
  ASSERT_TRUE(instructions.open());
  add("PAPI_TOT_INS");
  int code = 0;
  ASSERT_EQ(PAPI_event_name_to_code("PAPI_TOT_INS", &code), PAPI_OK);
  constexpr int kThreshold = 5'000'000;  // more often than the clock tick the kernel throttles
  overflows = 0;
  ASSERT_EQ(PAPI_overflow(set_, code, kThreshold, 0, count_overflow), PAPI_OK) << substrata_last_error();
  ASSERT_EQ(PAPI_start(set_), PAPI_OK);
  const long long before = instructions.value();
  rounds(250'000'000);
  const long long after = instructions.value();
  long long value = 0;
  ASSERT_EQ(PAPI_stop(set_, &value), PAPI_OK);
  std::printf("%d overflows of %d, the kernel's own count %lld, ours %lld\n", overflows, kThreshold,
              after - before, value);
  expect_near(static_cast<long long>(overflows) * kThreshold, after - before, 0.01);
  expect_near(value, after - before, 0.01);
}

// PA-22: a profile over the whole program, as a user takes one who does not know where its time goes.
TEST_F(Lab, ProfilFindsTheHotLoopOfThreeWithinOneHundredth) {
  const PAPI_exe_info_t* const program = PAPI_get_executable_info();
  ASSERT_NE(program, nullptr);
  const char* const text = static_cast<const char*>(program->address_info.text_start);
  std::vector<uint32_t> buckets(
      static_cast<size_t>(static_cast<const char*>(program->address_info.text_end) - text) / 2 + 1);
  int code = 0;
  add("PAPI_TOT_CYC");
  ASSERT_EQ(PAPI_event_name_to_code("PAPI_TOT_CYC", &code), PAPI_OK);
  constexpr unsigned kABucketForTwoBytes = 65536;
  constexpr int kCycles = 500'000;
  ASSERT_EQ(PAPI_profil(buckets.data(), static_cast<unsigned>(buckets.size() * sizeof buckets[0]),
                        const_cast<char*>(text), kABucketForTwoBytes, set_, code, kCycles,
                        PAPI_PROFIL_POSIX | PAPI_PROFIL_BUCKET_32),
            PAPI_OK)
      << substrata_last_error();
  ASSERT_EQ(PAPI_start(set_), PAPI_OK);
  for (int turn = 0; turn < 10; ++turn) {  // 2000 million cycles in all
    warm(7'500'000);
    hot(40'000'000);
    cold(2'500'000);
  }
  ASSERT_EQ(PAPI_stop(set_, nullptr), PAPI_OK);
  const auto in = [&](const char* begin, const char* end) {
    return std::accumulate(buckets.begin() + (begin - text) / 2, buckets.begin() + (end - text) / 2, 0.0);
  };
  const double all = std::accumulate(buckets.begin(), buckets.end(), 0.0);
  const double shares[] = {in(__start_hot_loop, __stop_hot_loop) / all,
                           in(__start_warm_loop, __stop_warm_loop) / all,
                           in(__start_cold_loop, __stop_cold_loop) / all};
  std::printf("%.0f samples, shares of the loops %.4f %.4f %.4f\n", all, shares[0], shares[1], shares[2]);
  EXPECT_GT(all, 3000);
  EXPECT_NEAR(shares[0], 0.80, 0.01);
  EXPECT_NEAR(shares[1], 0.15, 0.01);
  EXPECT_NEAR(shares[2], 0.05, 0.01);
  EXPECT_EQ(PAPI_profil(buckets.data(), 0, nullptr, 0, set_, code, 0, 0), PAPI_OK);
}

// PA-22: where the processor lets programs read its counters, which the machine's kernel is asked to allow.
TEST(LabUserSpaceReads, MakeNoSystemCall) {
  const substrata::tests::SystemCalls seen = substrata::tests::system_calls_of([] {
    int set = PAPI_NULL;
    long long values[2] = {};
    if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT || PAPI_create_eventset(&set) != PAPI_OK ||
        PAPI_add_named_event(set, "PAPI_TOT_INS") != PAPI_OK ||
        PAPI_add_named_event(set, "PAPI_TOT_CYC") != PAPI_OK || PAPI_start(set) != PAPI_OK)
      return false;
    substrata::tests::mark();
    rounds(1'000'000);
    bool good = PAPI_read(set, values) == PAPI_OK && values[0] >= 2'000'000 && values[0] < 2'100'000;
    rounds(1'000'000);
    good = good && PAPI_read(set, values) == PAPI_OK && values[0] >= 4'000'000 && values[0] < 4'100'000;
    substrata::tests::mark();
    return good;
  });
  ASSERT_TRUE(seen.traced);
  EXPECT_TRUE(seen.good);
  EXPECT_TRUE(seen.calls.empty()) << seen.numbers();
}

TEST_F(Lab, TheProcessorReportsItsCounters) {  // PA-37
  EXPECT_EQ(PAPI_num_hwctrs(), 7);             // six, and the one for cycles
  const PAPI_component_info_t* const about = PAPI_get_component_info(0);
  ASSERT_NE(about, nullptr);
  EXPECT_EQ(about->num_cntrs, 7);
}

#ifdef SUBSTRATA_TOOL
TEST_F(Lab, CheckPresetsFindsWhatIsRightAndWhatTheEmulatorDoesNotCount) {  // PA-21
  const int status = std::system("\"" SUBSTRATA_TOOL "\" check-presets > /tmp/check_presets");
  std::ifstream file("/tmp/check_presets");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::printf("%s", text.c_str());
  EXPECT_NE(text.find("PAPI_TOT_INS   right: 40000000 expected"), std::string::npos);
  // Events that open and count nothing, which is a wrong preset to whoever measures with it.
  const bool any_wrong = text.find("WRONG") != std::string::npos;
  EXPECT_EQ(WEXITSTATUS(status), any_wrong ? 1 : 0);
}
#endif

// The name of the first event of a temperature component whose text or name holds `part`.
std::string sensor(const char* component, const char* part) {
  const int index = PAPI_get_component_index(component);
  int code = PAPI_NATIVE_MASK;
  if (index < 0 || PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, index) != PAPI_OK) return {};
  do {
    char name[PAPI_MAX_STR_LEN] = "";
    if (PAPI_event_code_to_name(code, name) != PAPI_OK) continue;
    const std::string text = name;
    if (text.find(part) != std::string::npos && text.find("max") == std::string::npos &&
        text.find("crit") == std::string::npos)
      return text;
  } while (PAPI_enum_cmp_event(&code, PAPI_ENUM_EVENTS, index) == PAPI_OK);
  return {};
}

void set_temperature(const std::string& arguments) {
  ASSERT_EQ(std::system(("set_temperature " + arguments).c_str()), 0);
}

TEST_F(Lab, TheLm75ChipsTemperatureFollows) {  // PA-30
  const std::string name = sensor("coretemp", "lm75");
  ASSERT_FALSE(name.empty());
  add(name.c_str());
  ASSERT_EQ(PAPI_start(set_), PAPI_OK);
  for (const int wanted : {30500, 91500, -12500}) {
    set_temperature("lm75 " + std::to_string(wanted));
    // The driver keeps a reading for a second and a half.
    long long value = 0;
    for (int tries = 0; tries < 40 && value != wanted; ++tries) {
      usleep(100000);
      ASSERT_EQ(PAPI_read(set_, &value), PAPI_OK);
    }
    EXPECT_EQ(value, wanted) << name;
  }
  EXPECT_EQ(PAPI_stop(set_, nullptr), PAPI_OK);
}

TEST_F(Lab, AThermalZoneFollowsAndABrokenOneGivesAnErrorNeverANumber) {  // PA-30
  const std::string name = sensor("coretemp", "cpu_thermal");
  ASSERT_FALSE(name.empty());
  add(name.c_str());
  ASSERT_EQ(PAPI_start(set_), PAPI_OK);
  set_temperature("cpu 83200");
  long long value = 0;
  ASSERT_EQ(PAPI_read(set_, &value), PAPI_OK);
  EXPECT_EQ(value, 83200) << name;
  set_temperature("cpu broken");
  value = 4711;
  EXPECT_NE(PAPI_read(set_, &value), PAPI_OK);
  EXPECT_EQ(value, 4711);
  set_temperature("cpu 45000");
  EXPECT_EQ(PAPI_read(set_, &value), PAPI_OK);
  EXPECT_EQ(value, 45000);
  EXPECT_EQ(PAPI_stop(set_, nullptr), PAPI_OK);
}

// PA-12: the unmodified programs of Debian's papi-tools, on this library, where there are counters to be
// read. Their output, or the reason why they did not end well.
std::string debians(const std::string& command, bool* ended_well) {
  const substrata::tests::Ran ran =
      substrata::tests::run("cd /tmp && LD_LIBRARY_PATH=" LIBRARIES " timeout 300 /usr/bin/" + command);
  *ended_well = ran.status == 0;
  return ran.out + "\nstatus " + std::to_string(ran.status);
}

class DebiansTool : public testing::TestWithParam<const char*> {};
TEST_P(DebiansTool, EndsWellWhereThereIsACounterUnit) {
  bool ended_well = false;
  const std::string output = debians(GetParam(), &ended_well);
  EXPECT_TRUE(ended_well) << GetParam() << ":\n" << output;
}
INSTANTIATE_TEST_SUITE_P(All, DebiansTool,
                         testing::Values("papi_avail -a", "papi_clockres",
                                         "papi_command_line PAPI_TOT_INS PAPI_TOT_CYC",
                                         "papi_component_avail", "papi_cost -t 1000", "papi_decode",
                                         "papi_error_codes", "papi_event_chooser PRESET PAPI_TOT_CYC",
                                         "papi_hardware_avail", "papi_mem_info",
                                         "papi_multiplex_cost -t 1000", "papi_native_avail", "papi_version",
                                         "papi_xml_event_info"),
                         [](const testing::TestParamInfo<const char*>& tool) {
                           const std::string command = tool.param;
                           return command.substr(0, command.find(' '));
                         });

TEST(DebiansTools, LoadThisLibrary) {
  bool ended_well = false;
  const std::string output =
      debians("../../usr/bin/env LD_TRACE_LOADED_OBJECTS=1 /usr/bin/papi_cost", &ended_well);
  EXPECT_NE(output.find(LIBRARIES "/libpapi.so.7.0"), std::string::npos) << output;
}

TEST(DebiansTools, CostMeasuresWithTheProcessorsCounters) {
  bool ended_well = false;
  const std::string output = debians("papi_cost -t 1000", &ended_well);
  EXPECT_NE(output.find("PAPI_start/stop"), std::string::npos) << output;
  EXPECT_NE(output.find("PAPI_read"), std::string::npos) << output;
}

}  // namespace
