// The C++ interface for clients: what its types promise of units, lifetimes and refusals.
#include <substrata/substrata.hpp>
// First, so that the header is seen to need nothing before it.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "allocations.hpp"
#include "support/program.hpp"

namespace substrata::client {
namespace {

template <class A, class B>
concept CanBeAdded = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept CanBeCompared = requires(A a, B b) {
  a < b;
};

using Counting = Run;  // inside a fixture Run is GoogleTest's

// PA-45: amounts of different kinds do not mix, sets and runs are not copied.
static_assert(CanBeAdded<Energy, Energy> && !CanBeAdded<Energy, Power> && !CanBeAdded<Bytes, Packets>);
static_assert(CanBeCompared<Temperature, Temperature> && !CanBeCompared<Temperature, Energy>);
static_assert(!CanBeAdded<Bytes, std::int64_t> && !CanBeAdded<Bytes, std::chrono::nanoseconds>);
static_assert(!std::is_copy_constructible_v<EventSet> && std::is_nothrow_move_constructible_v<EventSet>);
static_assert(!std::is_copy_constructible_v<Run> && std::is_nothrow_move_constructible_v<Run>);
static_assert(UnitTraits<std::chrono::nanoseconds>::steps("us") == 1000);
static_assert(UnitTraits<Energy>::steps("uJ") == 1 && UnitTraits<Power>::steps("mW") == 1000);
static_assert(!UnitTraits<Energy>::steps("uW") && !UnitTraits<Bytes>::steps(""));

// PA-45
TEST(ClientAmount, ShowsItselfInItsUnit) {
  EXPECT_DOUBLE_EQ((Temperature{48500}.in_units()), 48.5);
  EXPECT_DOUBLE_EQ((Energy{2'500'000} + Energy{500'000}).in_units(), 3.0);
  EXPECT_LT(Power{999}, Power{1000});
}

TEST(ClientResult, GivesItsValueOrThrowsTheMessage) {
  const Result<int> good = 7;
  EXPECT_EQ(good.value(), 7);
  const Result<int> bad = Error{PAPI_EISRUN, "it runs; stop it first"};
  ASSERT_FALSE(bad);
  try {
    (void)bad.value();
    FAIL() << "no exception";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), PAPI_EISRUN);
    EXPECT_STREQ(failure.what(), "it runs; stop it first");
  }
  EXPECT_THROW(Result<void>(Error{PAPI_EINVAL, "no"}).value(), Failure);
}

TEST(ClientLibrary, LivesAsLongAsWhatWasMadeWithIt) {
  ASSERT_EQ(PAPI_is_initialized(), PAPI_NOT_INITED);
  {
    std::optional<Counting> run;
    Slot<Number> slot = [&] {
      std::optional<EventSet> set;
      {
        const Library library = Library::open().value();
        set.emplace(library.event_set("example").value());
      }
      EXPECT_NE(PAPI_is_initialized(), PAPI_NOT_INITED) << "a set is left";
      Slot<Number> added = set->add("example:::constant").value();
      run.emplace(set->start().value());
      return added;
    }();
    EXPECT_NE(PAPI_is_initialized(), PAPI_NOT_INITED) << "a run is left";
    EXPECT_EQ(run->stop().value()[slot].amount.as_int(), 42);
  }
  EXPECT_EQ(PAPI_is_initialized(), PAPI_NOT_INITED);
}

TEST(ClientLibrary, LeavesUpWhatTheProgramBroughtUp) {
  ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT);
  { const Library library = Library::open().value(); }
  EXPECT_NE(PAPI_is_initialized(), PAPI_NOT_INITED);
  PAPI_shutdown();
}

class Client : public testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("SUBSTRATA_THERMAL_MODEL", "1", 1); }
  Library library_ = Library::open().value();
  EventSet example_ = library_.event_set("example").value();
};

// In a process of its own, in which no signal can be queued; its exit status is 0 where the value says so.
void lose_overflows(const Library& library) {
  auto set = library.event_set("perf_event");
  if (!set) _exit(1);
  const auto clock = set->add<std::chrono::nanoseconds>("perf::TASK-CLOCK");
  int code = 0;
  if (!clock || PAPI_event_name_to_code("perf::TASK-CLOCK", &code) != PAPI_OK) _exit(1);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_SIGPENDING, &none);
  if (PAPI_overflow(set->handle(), code, 100000, 0, [](int, void*, long long, void*) {}) != PAPI_OK) _exit(1);
  const Counting run = set->start().value();
  while (run.read().value()[*clock].amount < std::chrono::milliseconds(20)) {
  }
  _exit(run.read().value()[*clock].incomplete ? 0 : 2);
}

TEST_F(Client, AValueWhoseOverflowsWereLostIsIncomplete) {
  if (!library_.event("perf::TASK-CLOCK")) GTEST_SKIP() << "the kernel gives no perf::TASK-CLOCK";
  EXPECT_EXIT(lose_overflows(library_), testing::ExitedWithCode(0), "");
}

// PA-3
TEST_F(Client, ListsSubstratesAndTheirEventsWithUnitAndOrigin) {
  bool seen = false;
  for (const SubstrateInfo& substrate : library_.substrates()) {
    EXPECT_TRUE(substrate.available || !substrate.why.empty()) << substrate.name;
    if (substrate.name != "example") continue;
    seen = true;
    EXPECT_TRUE(substrate.available) << substrate.why;
    const std::vector<EventInfo> events = library_.events(substrate.index);
    ASSERT_GE(events.size(), 4u);
    EXPECT_EQ(events[2].name, "example:::reads");
    EXPECT_EQ(events[2].unit, "reads");
    EXPECT_EQ(events[2].kind, Kind::kCount);
    EXPECT_EQ(events[1].kind, Kind::kGauge);
  }
  EXPECT_TRUE(seen);
  EXPECT_EQ(library_.event("memory:::READS").value().origin, Origin::kModelled);
  EXPECT_EQ(library_.event("example:::constant").value().origin, Origin::kMeasured);
}

TEST_F(Client, AnUnknownNameIsRefusedWithAMessage) {
  const Result<Slot<Number>> refused = example_.add("example:::no_such");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, PAPI_ENOEVNT);
  EXPECT_NE(refused.error().sentence.find("example:::no_such"), std::string::npos)
      << refused.error().sentence;
  const Result<EventSet> nowhere = library_.event_set("no_such");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, PAPI_ENOCMP);
}

// PA-2
TEST_F(Client, AnEventOfAnotherSubstrateIsRefusedAndTheSetUnchanged) {
  const Slot<Number> constant = example_.add("example:::constant").value();
  const auto refused = example_.add("memory:::READS");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, PAPI_EINVAL);
  EXPECT_EQ(example_.size(), 1u);
  EXPECT_EQ(example_.start().value().stop().value()[constant].amount.as_int(), 42);
}

// PA-45
TEST_F(Client, AnEventOfAnotherUnitIsRefusedAndTheSetUnchanged) {
  const auto refused = example_.add<Bytes>("example:::reads");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, PAPI_EINVAL);
  EXPECT_NE(refused.error().sentence.find("'reads'"), std::string::npos) << refused.error().sentence;
  EXPECT_EQ(example_.size(), 0u);
  EXPECT_EQ(PAPI_num_events(example_.handle()), 0);
  EXPECT_TRUE(example_.add("example:::reads"));
}

// PA-31, PA-45
TEST_F(Client, AModelledTemperatureSaysSoAndIsATemperature) {
  EventSet thermal = library_.event_set("thermal_model").value();
  const auto slot = thermal.add<Temperature>("thermal_model:::package0:temperature").value();
  const Snapshot level = thermal.start().value().stop().value();
  EXPECT_EQ(level[slot].origin, Origin::kModelled);
  EXPECT_GT(level[slot].amount, Temperature{0});
  EXPECT_LT(level[slot].amount, Temperature{200'000});
  EXPECT_EQ(slot.unit(), "mdegC");
}

TEST_F(Client, ProcessorTimeIsADuration) {
  EventSet processor = library_.event_set("perf_event").value();
  const auto clock = processor.add<std::chrono::nanoseconds>("perf::TASK-CLOCK");
  if (!clock) GTEST_SKIP() << clock.error().sentence;
  Counting run = processor.start().value();
  const Snapshot before = run.read().value();
  const Snapshot after = run.stop().value();
  EXPECT_GE(after[*clock].amount, before[*clock].amount);
  EXPECT_GE(after[*clock].time, before[*clock].time);
  EXPECT_GT(before[*clock].time.count(), 0);
}

TEST_F(Client, ARunEndsWithItsScope) {
  ASSERT_TRUE(example_.add("example:::reads"));
  {
    const Counting run = example_.start().value();
    EXPECT_TRUE(run.running());
    const auto refused = example_.add("example:::zero");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, PAPI_EISRUN);
    EXPECT_EQ(example_.size(), 1u);
  }
  EXPECT_TRUE(example_.add("example:::zero"));
}

TEST_F(Client, AnEndedRunGivesItsLastValuesAndIsNotStoppedTwice) {
  const auto reads = example_.add("example:::reads").value();
  Counting run = example_.start().value();
  ASSERT_TRUE(run.read());
  const Snapshot last = run.stop().value();
  EXPECT_FALSE(run.running());
  EXPECT_EQ(run.read().value()[reads].amount.as_int(), last[reads].amount.as_int());
  const Result<Snapshot> again = run.stop();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, PAPI_ENOTRUN);
}

TEST_F(Client, AMovedRunStopsOnceAndAnAssignedOneEndsFirst) {
  ASSERT_TRUE(example_.add("example:::constant"));
  Counting run = example_.start().value();
  Counting moved = std::move(run);
  EXPECT_TRUE(moved.running());
  EXPECT_TRUE(moved.stop());
  moved = example_.start().value();
  EXPECT_TRUE(moved.running());
}

TEST_F(Client, ResetBringsCountsBackToZero) {
  const auto reads = example_.add("example:::reads").value();
  Counting run = example_.start().value();
  const std::int64_t first = run.read().value()[reads].amount.as_int();
  ASSERT_TRUE(run.read());
  ASSERT_TRUE(run.reset());
  EXPECT_EQ(run.read().value()[reads].amount.as_int(), first);
}

// The library promises no allocation on read paths; neither does this interface add one.
TEST_F(Client, ReadingIntoASnapshotAllocatesNothing) {
  if (allocations() < 0) GTEST_SKIP() << "the sanitizers replace the allocation functions";
  ASSERT_TRUE(example_.add("example:::reads"));
  ASSERT_TRUE(example_.add("example:::constant"));
  Counting run = example_.start().value();
  Snapshot values = run.snapshot();
  ASSERT_TRUE(run.read(values));
  const long before = allocations();
  for (int i = 0; i < 100; ++i)
    if (!run.read(values)) break;
  EXPECT_EQ(allocations(), before);
}

TEST_F(Client, ASlotOfAnotherSetIsNotFound) {
  const auto constant = example_.add("example:::constant").value();
  Snapshot kept = [&] {
    EventSet other = library_.event_set("memory").value();
    const auto reads = other.add("memory:::READS").value();
    Snapshot values = other.start().value().stop().value();
    EXPECT_EQ(values[reads].amount.as_int(), 0);
    return values;
  }();
  EXPECT_THROW((void)kept[constant], std::out_of_range);
  // PAPI gives the ended set's number to the next one; the old snapshot is none of its own.
  EventSet next = library_.event_set("memory").value();
  const auto fresh = next.add("memory:::READS").value();
  EXPECT_THROW((void)kept[fresh], std::out_of_range);
  const Counting run = next.start().value();
  const Result<void> refused = run.read(kept);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, PAPI_EINVAL);
}

// PA-41
TEST_F(Client, SetsOfTwoSubstratesStartTogetherOrNotAtAll) {
  const auto constant = example_.add("example:::constant").value();
  EventSet memory = library_.event_set("memory").value();
  const auto reads = memory.add("memory:::READS").value();
  {
    Counting run = EventSet::start_together(example_, memory).value();
    EXPECT_GT(run.started().time.count(), 0);
    const Snapshot values = run.stop().value();
    EXPECT_EQ(values[constant].amount.as_int(), 42);
    EXPECT_EQ(values[reads].amount.as_int(), 0);
    EXPECT_EQ(values[reads].origin, Origin::kModelled);
    EXPECT_GE(values.stamp().time, run.started().time - run.started().skew);
  }
  EventSet second = library_.event_set("example").value();
  ASSERT_TRUE(second.add("example:::zero"));
  const Counting busy = second.start().value();
  const Result<Counting> refused = EventSet::start_together(memory, example_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, PAPI_EISRUN);
  EXPECT_TRUE(memory.add("memory:::WRITES")) << "the first set was stopped again";
}

TEST_F(Client, ThreadsHaveRunsOfTheirOwn) {
  const auto reads = example_.add("example:::reads").value();
  Counting mine = example_.start().value();
  std::int64_t theirs = -1;
  std::string refusal;
  std::thread([&] {
    try {
      EventSet set = library_.event_set("example").value();
      const auto slot = set.add("example:::constant").value();
      theirs = set.start().value().stop().value()[slot].amount.as_int();
    } catch (const Failure& failure) {
      refusal = failure.what();
    }
  }).join();
  EXPECT_EQ(theirs, 42) << refusal;
  EXPECT_GE(mine.stop().value()[reads].amount.as_int(), 0);
}

// It ended in an error of the parser somewhere in the header.
TEST(ClientHeader, SaysThatItNeedsCxx20) {
  const substrata::tests::Ran ran =
      substrata::tests::shell("echo '#include <substrata/substrata.hpp>' | " CXX_COMPILER
                              " -std=c++17 -fsyntax-only -I " INCLUDES " -x c++ -");
  EXPECT_NE(ran.status, 0);
  EXPECT_NE(ran.errors.find("needs C++20"), std::string::npos) << ran.errors.substr(0, 500);
}

#ifdef DOMAINS_PROGRAM
// PA-45: the example ends well and names units and origins.
TEST(ClientExample, CountsInEachDomain) {
  EventSet probe = Library::open().value().event_set("perf_event").value();
  if (const auto clock = probe.add("perf::TASK-CLOCK"); !clock) GTEST_SKIP() << clock.error().sentence;
  const substrata::tests::Ran ran = substrata::tests::run(substrata::tests::shell_word(DOMAINS_PROGRAM));
  const std::string& text = ran.out;
  EXPECT_EQ(ran.status, 0) << text;
  EXPECT_NE(text.find("sum 549755289600\n"), std::string::npos) << text;
  EXPECT_NE(text.find("ms of processor time, measured"), std::string::npos) << text;
  EXPECT_NE(text.find("packets and"), std::string::npos) << text;
}
#endif

}  // namespace
}  // namespace substrata::client
