// Multiplexing by the layer on a substrate that cannot count all events at once: values, times and refusals
// to the digit, by a clock that only the test moves (PA-22).
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/table_of.hpp"
#include "core/eventset/event_set.hpp"
#include "core/eventset/library.hpp"
#include "core/eventset/measure.hpp"
#include "core/eventset/options.hpp"
#include "core/eventset/overflow.hpp"
#include "core/registry/built_in.hpp"

namespace {

using namespace substrata;

std::atomic<int64_t> now{0}, step{0};  // every look at the clock moves it by `step`
int64_t test_clock() noexcept { return now.fetch_add(step.load()) + step.load(); }
int64_t ticks = 0;
int sets_alive = 0;
uint32_t busy_event = UINT32_MAX;  // a set with it does not start

struct TestSet {
  std::vector<uint32_t> events;
  int64_t begin = 0, end = 0;
  bool running = false;
};
TestSet& of(Set* set) { return *reinterpret_cast<TestSet*>(set); }

// narrow: two at once, but never "left" with "right"; event i counts i + 1 a tick.
// single: one at once, of every type; switches in signals.
// turning: as narrow, but its kernel multiplexes.
constexpr const char* kNarrow[] = {"left", "right", "third", "fourth"};
Status single_at(Device*, uint32_t index, Event* out) noexcept {
  constexpr const char* kNames[] = {"count", "share", "big", "level"};
  *out = {.name = kNames[index], .text = "A number.", .unit = ""};
  if (index == 1) out->type = ValueType::kDouble;
  if (index == 2) out->type = ValueType::kUint64;
  if (index == 3) out->kind = ValueKind::kGauge;
  return kSuccess;
}
Status program_one(Set* set, const uint32_t* events, uint32_t count) noexcept {
  of(set).events.assign(events, events + count);
  return kSuccess;
}
int64_t distance(const TestSet& set) { return (set.running ? ticks : set.end) - set.begin; }
Status read_one(Set* set, int64_t* values) noexcept {
  for (size_t i = 0; i < of(set).events.size(); ++i) {
    const double share = static_cast<double>(distance(of(set))) / 2;
    switch (of(set).events[i]) {
      case 1:
        std::memcpy(&values[i], &share, sizeof share);
        break;
      case 2:
        values[i] = static_cast<int64_t>(static_cast<uint64_t>(distance(of(set))) << 60);
        break;
      case 3:
        values[i] = (of(set).running ? ticks : of(set).end) + 1000;
        break;
      default:
        values[i] = distance(of(set));
    }
  }
  return kSuccess;
}
struct Narrow {
  static uint32_t event_count(Device*) noexcept { return 4; }
  static Status event_at(Device*, uint32_t index, Event* out) noexcept {
    *out = {.name = kNarrow[index], .text = "A count.", .unit = ""};
    return kSuccess;
  }
  static Status create_set(Device*, Thread*, Set** out) noexcept {
    ++sets_alive;
    *out = reinterpret_cast<Set*>(new TestSet);
    return kSuccess;
  }
  static void destroy_set(Set* set) noexcept {
    --sets_alive;
    delete &of(set);
  }
  static Status program(Set* set, const uint32_t* events, uint32_t count) noexcept {
    bool left = false, right = false;
    for (uint32_t i = 0; i < count; ++i) {
      left = left || events[i] == 0;
      right = right || events[i] == 1;
    }
    if (left && right) return {Code::kConflict, 0, "left and right share a counter"};
    of(set).events.assign(events, events + count);
    return kSuccess;
  }
  static Status configure(Set*, const Configuration* wanted) noexcept {
    if (wanted->inherit != 0) return {Code::kPermission, 0, "not allowed"};
    return kSuccess;
  }
  static Status start(Set* set) noexcept {
    const auto& events = of(set).events;
    if (std::find(events.begin(), events.end(), busy_event) != events.end())
      return {Code::kConflict, 0, "another one counts"};
    of(set).running = true;
    of(set).begin = ticks;
    return kSuccess;
  }
  static Status stop(Set* set) noexcept {
    if (!of(set).running) return {Code::kNotRunning, 0, "stopped twice"};
    of(set).running = false;
    of(set).end = ticks;
    return kSuccess;
  }
  static Status read(Set* set, int64_t* values) noexcept {
    for (size_t i = 0; i < of(set).events.size(); ++i)
      values[i] = distance(of(set)) * (of(set).events[i] + 1);
    return kSuccess;
  }
  static Status reset(Set* set) noexcept {
    of(set).begin = of(set).end = ticks;
    return kSuccess;
  }
};

constexpr SubstrateTable kNarrowTable = table_of<Narrow>({.name = "narrow", .max_events = 2});
constexpr SubstrateTable kSingleTable = [] {
  SubstrateTable table = kNarrowTable;
  table.name = "single";
  table.traits = kSwitchesInSignal;
  table.max_events = 1;
  table.event_at = single_at;
  table.program = program_one;
  table.configure = nullptr;
  table.read = read_one;
  return table;
}();
constexpr SubstrateTable kTurningTable = [] {
  SubstrateTable table = kNarrowTable;
  table.name = "turning";
  table.traits = kKernelMultiplex;
  return table;
}();
int32_t narrow(const Host* host, SubstrateTable* out) noexcept { return publish(kNarrowTable, host, out); }
int32_t single(const Host* host, SubstrateTable* out) noexcept { return publish(kSingleTable, host, out); }
int32_t turning(const Host* host, SubstrateTable* out) noexcept { return publish(kTurningTable, host, out); }
constexpr BuiltIn kSubstrates[] = {
    {"narrow", narrow}, {"single", single}, {"turning", turning}, {nullptr, nullptr}};

constexpr uint64_t kPeriod = 1000;
using Values = std::vector<int64_t>;

class Turns : public testing::Test {
 protected:
  void SetUp() override {
    now = ticks = 0;
    step = 0;
    busy_event = UINT32_MAX;
    set_clock(test_clock);
    Library::instance().use_built_in(kSubstrates);
    ASSERT_TRUE(Library::instance().initialise().ok());
  }
  void TearDown() override {
    Library::instance().shutdown();
    set_clock(nullptr);
    EXPECT_EQ(sets_alive, 0) << "a set was not destroyed";
  }
  static int set_of(std::initializer_list<const char*> names, bool by_force = false) {
    const int set = create_event_set().value_or(-1);
    EXPECT_TRUE(add_named_event(set, *names.begin()).ok());
    const Status status = set_multiplex(set, kPeriod, by_force);
    EXPECT_TRUE(status.ok()) << status.note;
    for (auto name = names.begin() + 1; name != names.end(); ++name)
      EXPECT_TRUE(add_named_event(set, *name).ok()) << *name;
    return set;
  }
  static void pass(int64_t ns, int64_t by) {
    now += ns;
    ticks += by;
  }
  static Values values(int set, size_t count) {
    Values all(count, -1);
    const Status status = read_set(set, all.data());
    EXPECT_TRUE(status.ok()) << status.note;
    return all;
  }
};

TEST_F(Turns, CountsAreExtrapolatedFromTheTimeOfTheirTurns) {
  const int set = set_of({"narrow:::left", "narrow:::third", "narrow:::right"});
  EXPECT_EQ(state_of(set).value_or(0u), kSetStopped | kSetMultiplexing);
  ASSERT_TRUE(start_set(set).ok());
  int64_t none[3] = {7, 7, 7};
  pass(1000, 10);
  EXPECT_EQ(read_set(set, none).code, Code::kCountersLost) << "right had no time yet";
  EXPECT_EQ(none[0], 7) << "every value or none";
  pass(1000, 10);
  EXPECT_EQ(values(set, 3), (Values{20, 60, 40}));
  ValueDetail details[3];
  pass(500, 30);  // the first turn again, and six times as fast
  ASSERT_TRUE(read_set_details(set, details, 3).ok());
  for (int i : {0, 1}) {
    EXPECT_EQ(details[i].enabled_ns, 2500);
    EXPECT_EQ(details[i].running_ns, 1500);
    EXPECT_EQ(details[i].value, (10 + 30) * (i == 0 ? 1 : 3) * 2500 / 1500);
    EXPECT_EQ(details[i].flags, kValueScaled);
  }
  EXPECT_EQ(details[2].running_ns, 1000);
  EXPECT_EQ(details[2].value, 20 * 2500 / 1000);
  int64_t last[3];
  ASSERT_TRUE(stop_set(set, last).ok());
  EXPECT_EQ((Values{last, last + 3}), (Values{66, 200, 50}));
  pass(1000, 1000);
  EXPECT_EQ(values(set, 3), (Values{66, 200, 50}));
  ASSERT_TRUE(read_set_details(set, details, 3).ok());
  EXPECT_EQ(details[2].enabled_ns, 2500) << "a stopped set reports how its values came about";
  EXPECT_EQ(details[2].running_ns, 1000);
  EXPECT_EQ(details[2].value, 50);
  EXPECT_EQ(details[2].flags, kValueScaled);
}

// Its clock stands still while the machine sleeps; where it does not, values are extrapolated and stay numbers.
TEST_F(Turns, TenHoursAtOnceGiveNoNegativeAndNoWrappedValue) {
  constexpr int64_t kTenHours = int64_t{36'000} * 1'000'000'000;
  const int set = set_of({"narrow:::left", "narrow:::third", "narrow:::right"});
  ASSERT_TRUE(start_set(set).ok());
  pass(1000, 10);
  int64_t none[3] = {};
  read_set(set, none);
  pass(1000, 10);
  ASSERT_EQ(values(set, 3), (Values{20, 60, 40}));
  pass(kTenHours, 1);
  ValueDetail details[3];
  ASSERT_TRUE(read_set_details(set, details, 3).ok());
  for (const ValueDetail& detail : details) {
    EXPECT_EQ(detail.enabled_ns, 2000 + kTenHours);
    EXPECT_LE(detail.running_ns, detail.enabled_ns);
    EXPECT_GE(detail.value, 0);
    EXPECT_GE(detail.age_ns, 0);
  }
  EXPECT_EQ(details[0].value, 11) << "it counted all the time";
  EXPECT_TRUE(stop_set(set, nullptr).ok());
}

TEST_F(Turns, EventsThatCountTogetherAreNotScaled) {
  const int set = set_of({"narrow:::left", "narrow:::third"});
  ASSERT_TRUE(start_set(set).ok());
  EXPECT_EQ(overflow_signal(), 0);
  pass(12345, 7);
  EXPECT_EQ(values(set, 2), (Values{7, 21}));
  ValueDetail details[2];
  ASSERT_TRUE(read_set_details(set, details, 2).ok());
  EXPECT_EQ(details[1].value, 21);
  EXPECT_EQ(details[1].flags, 0u);
  EXPECT_EQ(details[1].enabled_ns, details[1].running_ns);
  ASSERT_TRUE(reset_set(set).ok());
  pass(1, 2);
  EXPECT_EQ(values(set, 2), (Values{2, 6}));
  EXPECT_TRUE(stop_set(set, nullptr).ok());
}

TEST_F(Turns, WhatHadNoTurnGetsAShortOneBeforeItIsReported) {
  step = 5;  // between two looks at the clock there is time
  const int set = set_of({"narrow:::left", "narrow:::right"});
  ASSERT_TRUE(start_set(set).ok());
  pass(100, 50);
  ValueDetail details[2];
  ASSERT_TRUE(read_set_details(set, details, 2).ok());
  EXPECT_GE(details[0].value, 50);
  EXPECT_EQ(details[1].value, 0);
  EXPECT_GT(details[1].running_ns, 0);
  EXPECT_LT(details[1].running_ns, details[0].running_ns);
  int64_t last[2];
  EXPECT_TRUE(stop_set(set, last).ok());
  // Started and stopped with nothing in between.
  ASSERT_TRUE(start_set(set).ok());
  EXPECT_TRUE(stop_set(set, last).ok());
  EXPECT_EQ((Values{last, last + 2}), (Values{0, 0}));
}

TEST_F(Turns, AccumulateAndResetBeginAnew) {
  const int set = set_of({"narrow:::left", "narrow:::right"});
  ASSERT_TRUE(start_set(set).ok());
  step = 1;
  for (int round = 0; round < 4; ++round) {
    pass(1000, 10);
    values(set, 2);
  }
  int64_t sums[2] = {100, 100};
  ASSERT_TRUE(accumulate_set(set, sums).ok());
  EXPECT_GE(sums[0], 100 + 40);
  EXPECT_GE(sums[1], 100 + 80);
  ASSERT_TRUE(reset_set(set).ok());
  EXPECT_EQ(values(set, 2), (Values{0, 0}));
  const int64_t wanted[2] = {1, 2};
  EXPECT_EQ(write_set(set, wanted).code, Code::kNoSupport);
  ASSERT_TRUE(stop_set(set, nullptr).ok());
  ASSERT_TRUE(reset_set(set).ok());
  EXPECT_EQ(values(set, 2), (Values{0, 0}));
}

TEST_F(Turns, EveryTypeIsScaledAsItsOwnAndALevelNever) {
  const int set = set_of({"single:::count", "single:::share", "single:::big", "single:::level"});
  ASSERT_TRUE(start_set(set).ok());
  const int64_t begin = now;
  const auto tick = [&] { look_for_overflows(set, nullptr); };
  for (int turn = 0; turn < 4; ++turn) {
    pass(1000, 4);
    tick();
  }
  pass(500, 4);  // count again
  ValueDetail details[4];
  ASSERT_TRUE(read_set_details(set, details, 4).ok());
  const int64_t enabled = now - begin;
  EXPECT_EQ(enabled, 4500);
  EXPECT_EQ(details[0].value, 8 * 4500 / 1500);
  double share = 0;
  std::memcpy(&share, &details[1].value, sizeof share);
  EXPECT_DOUBLE_EQ(share, 2.0 * 4500 / 1000);
  EXPECT_EQ(static_cast<uint64_t>(details[2].value), UINT64_MAX) << "4 << 60, 4.5 times: as much as fits";
  EXPECT_EQ(details[3].value, 1016) << "as seen at the end of its turn";
  EXPECT_EQ(details[3].age_ns, 500);
  EXPECT_EQ(details[3].flags, kValueStale);
  EXPECT_TRUE(stop_set(set, nullptr).ok());
}

struct sigaction action_of(int number) {
  struct sigaction action;
  std::memset(&action, 0, sizeof action);
  sigaction(number, nullptr, &action);
  return action;
}

TEST_F(Turns, TheTimerLetsThemPassAndLeavesNoHandler) {
  ASSERT_TRUE(set_default_timer_ns(3600ll * 1000000000).ok());
  const int set = set_of({"single:::count", "single:::big"});
  ASSERT_TRUE(set_multiplex(set, 3600ull * 1000000000, false).ok());  // no signal comes by itself
  ASSERT_TRUE(start_set(set).ok());
  const int signal = overflow_signal();
  ASSERT_NE(signal, 0);
  EXPECT_NE(action_of(signal).sa_handler, SIG_DFL);
  int64_t last[2];
  pass(100, 1);
  look_for_overflows(set, nullptr);
  pass(3600ll * 1000000000, 1);
  look_for_overflows(set, nullptr);
  pass(3600ll * 1000000000 + 100, 2);
  ASSERT_TRUE(stop_set(set, last).ok());
  EXPECT_EQ(last[0], 4) << "two of four ticks in the first half";
  EXPECT_EQ(overflow_signal(), 0);
  EXPECT_EQ(action_of(signal).sa_handler, SIG_DFL);
}

TEST_F(Turns, WhereASignalMustNotSwitchReadsDo) {
  const int set = set_of({"narrow:::left", "narrow:::right"});
  ASSERT_TRUE(start_set(set).ok());
  EXPECT_EQ(overflow_signal(), 0);
  EXPECT_TRUE(stop_set(set, nullptr).ok());
  const uint32_t code = Library::instance().catalogue().find("narrow:::left").value_or(0u);
  ASSERT_TRUE(set_overflow(set, code, 10, OverflowBy::kTimer, [](int, void*, long long, void*) {}).ok());
  EXPECT_EQ(start_set(set).code, Code::kComponent) << "the overflow timer would switch in a signal";
}

TEST_F(Turns, OnRequestTheyReplaceTheKernels) {
  const int set = set_of({"turning:::left", "turning:::third"});
  EXPECT_FALSE(multiplex_of(set).value_or(MultiplexOption{}).software);
  EXPECT_EQ(add_named_event(set, "turning:::right").code, Code::kConflict);
  ASSERT_TRUE(set_multiplex(set, kPeriod, true).ok());
  const MultiplexOption option = multiplex_of(set).value_or(MultiplexOption{});
  EXPECT_TRUE(option.on);
  EXPECT_TRUE(option.software);
  EXPECT_EQ(option.period_ns, kPeriod);
  ASSERT_TRUE(add_named_event(set, "turning:::right").ok());
  EXPECT_EQ(set_multiplex(set, 0, false).code, Code::kConflict) << "this kernel cannot";
  EXPECT_TRUE(multiplex_of(set).value_or(MultiplexOption{}).software) << "a refused change changes nothing";
  EXPECT_EQ(set_inherit(set, true).code, Code::kComponent);
  EXPECT_EQ(event_count_of(set).value_or(0), 3);
  ASSERT_TRUE(remove_named_event(set, "turning:::right").ok());
  EXPECT_TRUE(set_multiplex(set, 0, false).ok());
  EXPECT_FALSE(multiplex_of(set).value_or(MultiplexOption{}).software);
  ASSERT_TRUE(start_set(set).ok());
  pass(1, 3);
  EXPECT_EQ(values(set, 2), (Values{3, 9}));
}

TEST_F(Turns, ATurnThatIsRefusedIsReportedAndPassedOver) {
  const int set = set_of({"narrow:::left", "narrow:::right"});
  busy_event = 1;
  step = 1;
  ASSERT_TRUE(start_set(set).ok());
  pass(2000, 5);
  int64_t two[2];
  const Status lost = read_set(set, two);
  EXPECT_EQ(lost.code, Code::kCountersLost);
  ASSERT_NE(lost.note, nullptr);
  EXPECT_NE(std::string(lost.note).find("another user"), std::string::npos) << lost.note;
  busy_event = UINT32_MAX;
  pass(2000, 5);
  EXPECT_GE(values(set, 2)[0], 5);
  EXPECT_TRUE(stop_set(set, two).ok());
  busy_event = 0;
  EXPECT_TRUE(start_set(set).ok()) << "the other turn begins";
  EXPECT_EQ(stop_set(set, two).code, Code::kCountersLost);
  EXPECT_EQ(state_of(set).value_or(0u), kSetStopped | kSetMultiplexing) << "stopped all the same";
}

TEST_F(Turns, AnEventThatDoesNotCountAloneIsRefused) {
  const int set = set_of({"narrow:::left"});
  EXPECT_EQ(add_named_event(set, "narrow:::none").code, Code::kNoEvent);
  EXPECT_EQ(set_overflow(set, Library::instance().catalogue().find("narrow:::left").value_or(0u), 10,
                         OverflowBy::kSubstrate, [](int, void*, long long, void*) {})
                .code,
            Code::kComponent);
  EXPECT_EQ(event_count_of(set).value_or(0), 1);
}

TEST_F(Turns, AForkedChildTakesItsOwn) {
  const int set = set_of({"narrow:::left", "narrow:::right"});
  const pid_t child = fork();
  if (child == 0) {
    step = 1;
    int64_t two[2];
    bool good = start_set(set).ok();
    pass(1000, 10);
    good = good && read_set(set, two).ok();
    pass(1000, 10);
    good = good && read_set(set, two).ok() && two[0] >= 10 && two[1] >= 20;
    good = good && stop_set(set, two).ok();
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
