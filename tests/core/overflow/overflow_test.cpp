// Overflow on substrates whose values only the test moves (PA-22, PA-35).
#include "core/eventset/overflow.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>

#include "core/eventset/event_set.hpp"
#include "core/eventset/options.hpp"
#include "support/fake_substrates.hpp"
#include "support/refused_call.hpp"

namespace {

using namespace substrata;
using fake::code;
using fake::set_of;
using fake::ticks;

constexpr int kHandles = 64;
std::atomic<int> called[kHandles];
std::atomic<long long> last_vector{0};
std::atomic<uintptr_t> last_address{0};
std::atomic<int> other_called{0};

void on_overflow(int handle, void* address, long long vector, void*) {
  if (handle >= 0 && handle < kHandles) called[handle].fetch_add(1);
  last_vector.store(vector);
  last_address.store(reinterpret_cast<uintptr_t>(address));
}
void on_other(int, void*, long long, void*) { other_called.fetch_add(1); }
void stop_inside(int handle, void*, long long, void*) {
  int64_t values[2] = {};
  EXPECT_TRUE(stop_set(handle, values).ok());
  called[handle].fetch_add(1);
}

constexpr int64_t kNever = 3600ll * 1000000000;  // a period that no test lives to see

class Overflow : public fake::LibraryTest {
 protected:
  void SetUp() override {
    fake::LibraryTest::SetUp();
    for (auto& count : called) count = 0;
    other_called = 0;
    last_vector = 0;
    last_address = 0;
    ASSERT_TRUE(set_default_timer_ns(kNever).ok());
  }
  static uint32_t bits(int set) { return state_of(set).value_or(0u); }
  static void move(int64_t by, int set) {
    ticks += by;
    look_for_overflows(set, nullptr);
  }
  // Its call of this number comes after so many ticks, and not before.
  static void expect_call(int number, int64_t after, int set) {
    move(after - 1, set);
    EXPECT_EQ(called[set], number - 1);
    move(1, set);
    EXPECT_EQ(called[set], number);
    EXPECT_TRUE(stop_set(set, nullptr).ok());
  }
};

struct Actions {
  std::vector<struct sigaction> all;
  Actions() {
    for (int number = 1; number <= SIGRTMAX; ++number) {
      struct sigaction now;
      std::memset(&now, 0, sizeof now);
      sigaction(number, nullptr, &now);
      all.push_back(now);
    }
  }
  bool operator==(const Actions& other) const {
    // The C library's own flag (SA_RESTORER), which it adds whenever an action is set, says nothing.
    constexpr int kRestorer = 0x04000000;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].sa_handler != other.all[i].sa_handler ||
          (all[i].sa_flags | kRestorer) != (other.all[i].sa_flags | kRestorer))
        return false;
    }
    return true;
  }
};

TEST_F(Overflow, HandlerIsCalledOnceForEveryThresholdThatALookFinds) {  // PA-22
  const int set = set_of({"beta:::a", "beta:::b"});                     // b counts 2 a tick
  ASSERT_TRUE(set_overflow(set, code("beta:::b"), 100, OverflowBy::kEither, on_overflow).ok());
  EXPECT_EQ(bits(set), kSetStopped | kSetOverflowing);
  ASSERT_TRUE(start_set(set).ok());
  move(49, set);
  EXPECT_EQ(called[set], 0);
  move(1, set);
  EXPECT_EQ(called[set], 1);
  EXPECT_EQ(last_vector, 2) << "the second native event";
  move(0, set);
  EXPECT_EQ(called[set], 1);
  move(170, set);  // 440: three thresholds at one look, and 40 on the way to the next
  EXPECT_EQ(called[set], 2);
  move(29, set);
  EXPECT_EQ(called[set], 2);
  move(1, set);
  EXPECT_EQ(called[set], 3);
  int64_t values[2] = {};
  ASSERT_TRUE(stop_set(set, values).ok());
  EXPECT_EQ(values[1], 500) << "looking changed no value";
  move(1000, set);
  EXPECT_EQ(called[set], 3) << "a stopped set does not overflow";
}

TEST_F(Overflow, EventsOfOneHandlerAreReportedTogetherAndOthersApart) {  // PA-22
  const int set = set_of({"alpha::CYCLES", "alpha::INSTRUCTIONS", "alpha::LOADS"});
  ASSERT_TRUE(set_overflow(set, code("alpha::CYCLES"), 10, OverflowBy::kEither, on_overflow).ok());
  ASSERT_TRUE(set_overflow(set, code("alpha::LOADS"), 10, OverflowBy::kEither, on_overflow).ok());
  ASSERT_TRUE(set_overflow(set, code("alpha::INSTRUCTIONS"), 10, OverflowBy::kEither, on_other).ok());
  ASSERT_TRUE(start_set(set).ok());
  move(10, set);
  EXPECT_EQ(called[set], 1);
  EXPECT_EQ(other_called, 1);
  EXPECT_EQ(last_vector, 0b101);
  const std::vector<int> expected{0, 2};
  EXPECT_EQ(events_of_vector(set, 0b101).value_or(std::vector<int>{}), expected);
  EXPECT_TRUE(stop_set(set, nullptr).ok());
}

TEST_F(Overflow, ResetBeginsTheThresholdAnew) {  // PA-22
  const int set = set_of({"beta:::a"});
  ASSERT_TRUE(set_overflow(set, code("beta:::a"), 100, OverflowBy::kEither, on_overflow).ok());
  ASSERT_TRUE(start_set(set).ok());
  move(150, set);
  EXPECT_EQ(called[set], 1);
  ASSERT_TRUE(reset_set(set).ok());
  move(0, set);
  expect_call(2, 100, set);
}

TEST_F(Overflow, SettingAgainReplacesAndClearingSwitchesOff) {  // PA-22
  const int set = set_of({"beta:::a"});
  const uint32_t event = code("beta:::a");
  EXPECT_EQ(clear_overflow(set, event).code, Code::kInvalid) << "never set";
  ASSERT_TRUE(set_overflow(set, event, 10, OverflowBy::kTimer, on_other).ok());
  ASSERT_TRUE(set_overflow(set, event, 20, OverflowBy::kTimer, on_overflow).ok());
  ASSERT_TRUE(start_set(set).ok());
  EXPECT_EQ(set_overflow(set, event, 10, OverflowBy::kTimer, on_other).code, Code::kRunning);
  EXPECT_EQ(clear_overflow(set, event).code, Code::kRunning);
  move(10, set);
  EXPECT_EQ(other_called + called[set], 0);
  move(10, set);
  EXPECT_EQ(other_called, 0);
  EXPECT_EQ(called[set], 1);
  ASSERT_TRUE(stop_set(set, nullptr).ok());
  ASSERT_TRUE(clear_overflow(set, event).ok());
  EXPECT_EQ(bits(set), kSetStopped);
  EXPECT_EQ(clear_overflow(set, event).code, Code::kInvalid);
  ASSERT_TRUE(start_set(set).ok());
  EXPECT_EQ(overflow_signal(), 0) << "nobody needs the timer";
  move(100, set);
  EXPECT_EQ(called[set], 1);
  EXPECT_TRUE(stop_set(set, nullptr).ok());
}

TEST_F(Overflow, RefusalsAreThoseOfPapiAndChangeNothing) {  // PA-22, PA-35
  const int set = set_of({"beta:::a"});
  const uint32_t event = code("beta:::a");
  EXPECT_EQ(set_overflow(12345, event, 10, OverflowBy::kEither, on_overflow).code, Code::kNoEventSet);
  EXPECT_EQ(clear_overflow(12345, event).code, Code::kNoEventSet);
  EXPECT_EQ(set_overflow(set, code("beta:::b"), 10, OverflowBy::kEither, on_overflow).code, Code::kNoEvent);
  EXPECT_EQ(set_overflow(set, event, -1, OverflowBy::kEither, on_overflow).code, Code::kInvalid);
  EXPECT_EQ(set_overflow(set, event, 10, OverflowBy::kEither, nullptr).code, Code::kInvalid);
  EXPECT_EQ(set_overflow(set, event, 10, OverflowBy::kSubstrate, on_overflow).code, Code::kComponent);
  EXPECT_EQ(bits(set), kSetStopped);
  ASSERT_TRUE(set_overflow(set, event, 10, OverflowBy::kTimer, on_overflow).ok());
  EXPECT_EQ(set_overflow(set, event, 10, OverflowBy::kEither, on_other).code, Code::kConflict);
  ASSERT_TRUE(start_set(set).ok());
  move(10, set);
  EXPECT_EQ(called[set], 1) << "the first setting stands";
  EXPECT_TRUE(stop_set(set, nullptr).ok());
}

TEST_F(Overflow, DerivedEventOverflowsByTheTimerOnly) {  // PA-22
  const int set = create_event_set().value_or(-1);
  const uint32_t event = code("PAPI_LST_INS");  // cycles + instructions: 3 a tick
  ASSERT_TRUE(add_event(set, event).ok());
  EXPECT_EQ(set_overflow(set, event, 30, OverflowBy::kEither, on_overflow).code, Code::kInvalid);
  ASSERT_TRUE(set_overflow(set, event, 30, OverflowBy::kTimer, on_overflow).ok());
  ASSERT_TRUE(start_set(set).ok());
  expect_call(1, 10, set);
}

TEST_F(Overflow, SubstrateThatReportsByItselfNeedsNoTimer) {  // PA-22
  const int set = set_of({"delta:::a"});
  const uint32_t event = code("delta:::a");
  ASSERT_TRUE(set_overflow(set, event, 10, OverflowBy::kEither, on_overflow).ok());
  EXPECT_EQ(called[set], 1) << "the fake calls at once";
  EXPECT_EQ(last_vector, 1);
  EXPECT_EQ(last_address, 0x1234u);
  EXPECT_EQ(bits(set), kSetStopped | kSetOverflowing);
  ASSERT_TRUE(start_set(set).ok());
  EXPECT_EQ(overflow_signal(), 0);
  move(100, set);
  EXPECT_EQ(called[set], 1);
  ASSERT_TRUE(stop_set(set, nullptr).ok());
  const int armed = fake::calls.armed;
  ASSERT_TRUE(clear_overflow(set, event).ok());
  EXPECT_EQ(fake::calls.armed, armed - 1);
  EXPECT_EQ(bits(set), kSetStopped);
  ASSERT_TRUE(set_overflow(set, event, 10, OverflowBy::kTimer, on_overflow).ok());
  EXPECT_EQ(fake::calls.armed, armed - 1);
  ASSERT_TRUE(start_set(set).ok());
  move(10, set);
  EXPECT_EQ(called[set], 2);
  EXPECT_TRUE(stop_set(set, nullptr).ok());
}

TEST_F(Overflow, EventThatLeavesTheSetOverflowsNoMore) {  // PA-22
  const int set = set_of({"beta:::a", "beta:::b"});
  ASSERT_TRUE(set_overflow(set, code("beta:::a"), 10, OverflowBy::kEither, on_other).ok());
  ASSERT_TRUE(set_overflow(set, code("beta:::b"), 10, OverflowBy::kEither, on_overflow).ok());
  ASSERT_TRUE(remove_event(set, code("beta:::a")).ok());
  EXPECT_EQ(bits(set), kSetStopped | kSetOverflowing);
  ASSERT_TRUE(start_set(set).ok());
  move(5, set);
  EXPECT_EQ(other_called, 0);
  EXPECT_EQ(called[set], 1);
  EXPECT_EQ(last_vector, 1) << "now the first native event";
  ASSERT_TRUE(stop_set(set, nullptr).ok());
  ASSERT_TRUE(cleanup_event_set(set).ok());
  EXPECT_EQ(bits(set), kSetStopped);
  ASSERT_TRUE(add_event(set, code("beta:::b")).ok());
  ASSERT_TRUE(start_set(set).ok());
  EXPECT_EQ(overflow_signal(), 0);
  EXPECT_TRUE(stop_set(set, nullptr).ok());
}

TEST_F(Overflow, HandlerMayStopTheSet) {  // PA-22
  const int set = set_of({"beta:::a"});
  ASSERT_TRUE(set_overflow(set, code("beta:::a"), 10, OverflowBy::kEither, stop_inside).ok());
  ASSERT_TRUE(start_set(set).ok());
  move(10, set);
  EXPECT_EQ(called[set], 1);
  EXPECT_EQ(bits(set) & kSetRunning, 0u);
  EXPECT_EQ(overflow_signal(), 0);
}

TEST_F(Overflow, FailedReadingIsNoOverflow) {  // PA-22
  const int set = set_of({"beta:::a"});
  ASSERT_TRUE(set_overflow(set, code("beta:::a"), 10, OverflowBy::kEither, on_overflow).ok());
  ASSERT_TRUE(start_set(set).ok());
  fake::calls.read_fails = true;
  move(10, set);
  EXPECT_EQ(called[set], 0);
  fake::calls.read_fails = false;
  move(0, set);
  EXPECT_EQ(called[set], 1);
  EXPECT_TRUE(stop_set(set, nullptr).ok());
}

TEST_F(Overflow, OneHandlerIsInstalledAndThePreviousOneRestored) {  // PA-22
  const Actions before;
  const int first = set_of({"beta:::a"}), second = set_of({"alpha::CYCLES"});
  ASSERT_TRUE(set_overflow(first, code("beta:::a"), 10, OverflowBy::kTimer, on_overflow).ok());
  ASSERT_TRUE(set_overflow(second, code("alpha::CYCLES"), 10, OverflowBy::kTimer, on_overflow).ok());
  EXPECT_TRUE(before == Actions()) << "setting alone installs nothing";
  ASSERT_TRUE(start_set(first).ok());
  const int number = overflow_signal();
  ASSERT_GE(number, SIGRTMIN);
  const Actions one;
  EXPECT_FALSE(before == one);
  ASSERT_TRUE(start_set(second).ok());
  EXPECT_TRUE(one == Actions()) << "the second set shares the handler";
  ASSERT_TRUE(stop_set(first, nullptr).ok());
  EXPECT_EQ(overflow_signal(), number);
  ASSERT_TRUE(stop_set(second, nullptr).ok());
  EXPECT_EQ(overflow_signal(), 0);
  EXPECT_TRUE(before == Actions());
  // A running set that goes down with the library leaves nothing behind either.
  ASSERT_TRUE(start_set(first).ok());
  Library::instance().shutdown();
  EXPECT_TRUE(before == Actions());
}

TEST_F(Overflow, OtherThreadThanTheSetsOwnIsRefusedTheTimer) {  // PA-22
  const int set = set_of({"beta:::a"});
  ASSERT_TRUE(set_overflow(set, code("beta:::a"), 10, OverflowBy::kTimer, on_overflow).ok());
  Code answer = Code::kOk;
  std::thread([&] { answer = start_set(set).code; }).join();
  EXPECT_EQ(answer, Code::kNoSupport);
  EXPECT_EQ(overflow_signal(), 0);
  EXPECT_TRUE(start_set(set).ok());
  EXPECT_TRUE(stop_set(set, nullptr).ok());
}

// Burns processor time, moves the values and reads, until the set's handler was called. The bound is far
// beyond any period; allocation gives a sanitizer the chance to deliver what it held back.
void burn_until_called(int set) {
  int64_t values[2] = {};
  for (int64_t i = 0; i < 400000000 && called[set].load() == 0; ++i) {
    ++ticks;
    if (i % 64 == 0) {
      EXPECT_TRUE(read_set(set, values).ok());
      void* volatile block = std::malloc(16);
      std::free(block);
    }
  }
}

// Runs `body` in a forked child; whether it held there.
template <class Body>
bool holds_in_child(Body&& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(Overflow, ForkedChildOverflowsByItsOwnTimer) {  // PA-22
  const int set = set_of({"beta:::a"});
  ASSERT_TRUE(set_overflow(set, code("beta:::a"), 10, OverflowBy::kTimer, on_overflow).ok());
  EXPECT_TRUE(holds_in_child([&] {
    if (!start_set(set).ok() || overflow_signal() == 0) return false;
    move(10, set);
    return called[set] == 1 && stop_set(set, nullptr).ok() && overflow_signal() == 0;
  }));
  EXPECT_EQ(called[set], 0) << "the parent's set did not run";
}

TEST_F(Overflow, StoppingInAForkedChildLeavesTheParentsTimerAlone) {  // PA-22
  ASSERT_TRUE(set_default_timer_ns(1000000).ok());
  const int set = set_of({"beta:::a"});
  ASSERT_TRUE(set_overflow(set, code("beta:::a"), 1, OverflowBy::kTimer, on_overflow).ok());
  ASSERT_TRUE(start_set(set).ok());
  EXPECT_TRUE(holds_in_child([&] { return stop_set(set, nullptr).ok() && overflow_signal() == 0; }));
  burn_until_called(set);
  EXPECT_GE(called[set], 1);
  EXPECT_TRUE(stop_set(set, nullptr).ok());
}

TEST_F(Overflow, ATimerThatTheKernelDoesNotDeleteEndsNoProgramAfterTheStop) {
  ASSERT_TRUE(set_default_timer_ns(1000000).ok());
  const int set = set_of({"beta:::a"});
  ASSERT_TRUE(set_overflow(set, code("beta:::a"), 1, OverflowBy::kTimer, on_overflow).ok());
  EXPECT_TRUE(holds_in_child([&] {
    if (!start_set(set).ok()) return false;
    if (!tests::refuse_system_call(SYS_timer_delete)) return true;  // without filters nothing is found out
    const bool stopped = stop_set(set, nullptr).ok();
    for (const std::clock_t begin = std::clock(); std::clock() - begin < CLOCKS_PER_SEC / 20;) {
    }  // of 50 periods
    return stopped;
  }));
}

TEST_F(Overflow, ForkedChildArmsItsOwnCounters) {  // PA-22
  const int set = set_of({"delta:::a"});
  ASSERT_TRUE(set_overflow(set, code("delta:::a"), 10, OverflowBy::kEither, on_overflow).ok());
  ASSERT_EQ(called[set], 1) << "the fake calls when it is armed";
  EXPECT_TRUE(
      holds_in_child([&] { return start_set(set).ok() && called[set] == 2 && stop_set(set, nullptr).ok(); }));
}

TEST_F(Overflow, SignalFindsTheOverflowAndNeverMeetsAReading) {  // PA-22; TearDown checks for overlaps
  ASSERT_TRUE(set_default_timer_ns(1000000).ok());
  const int set = set_of({"beta:::a"});
  ASSERT_TRUE(set_overflow(set, code("beta:::a"), 1, OverflowBy::kTimer, on_overflow).ok());
  ASSERT_TRUE(start_set(set).ok());
  burn_until_called(set);
  ASSERT_TRUE(stop_set(set, nullptr).ok());
  EXPECT_GE(called[set], 1);
  EXPECT_NE(last_address, 0u) << "the interrupted instruction";
}

TEST_F(Overflow, EveryThreadHasItsOwnTimer) {  // PA-22
  ASSERT_TRUE(set_default_timer_ns(1000000).ok());
  const Actions before;
  std::vector<std::thread> threads;
  std::atomic<int> overflowed{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const int set = set_of({"beta:::a"});
      EXPECT_TRUE(set_overflow(set, code("beta:::a"), 1, OverflowBy::kTimer, on_overflow).ok());
      EXPECT_TRUE(start_set(set).ok());
      burn_until_called(set);
      EXPECT_TRUE(stop_set(set, nullptr).ok());
      if (called[set] > 0) ++overflowed;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(overflowed, 4);
  EXPECT_TRUE(before == Actions());
}

TEST_F(Overflow, ProfileCountsAndIsMarked) {  // PA-22
  const int set = set_of({"beta:::a"});
  const uint32_t event = code("beta:::a");
  uint16_t bucket = 0;
  Result<std::unique_ptr<Profile>> profile =
      Profile::make({{&bucket, sizeof bucket, 0, 2}}, 2, kProfileWeighted, 100);
  ASSERT_TRUE(profile.has_value());
  ASSERT_TRUE(set_profile(set, event, 100, OverflowBy::kTimer, std::move(*profile)).ok());
  EXPECT_EQ(bits(set), kSetStopped | kSetOverflowing | kSetProfiling);
  ASSERT_TRUE(start_set(set).ok());
  move(100, set);
  EXPECT_EQ(bucket, 1);
  move(150, set);  // half a threshold beyond
  EXPECT_EQ(bucket, 1 + 127);
  move(500, set);
  EXPECT_EQ(bucket, 1 + 127 + 255);
  ASSERT_TRUE(stop_set(set, nullptr).ok());
  ASSERT_TRUE(clear_overflow(set, event).ok());
  EXPECT_EQ(bits(set), kSetStopped);
}

}  // namespace
