// Eventsets: life, contents, measuring, options; return codes as observed on PAPI (PA-2, PA-10, PA-35).
#include "core/eventset/event_set.hpp"

#include <unistd.h>

#include <thread>
#include <utility>
#include <vector>

#include "support/fake_substrates.hpp"

namespace {

using namespace substrata;
using fake::calls;
using fake::code;
using fake::set_of;
using fake::ticks;

class EventSetCalls : public fake::LibraryTest {};
class Measuring : public fake::LibraryTest {};
class SetOptions : public fake::LibraryTest {};

TEST_F(EventSetCalls, HandlesCountFromZeroAndAreReusedAtOnce) {  // PA-10
  EXPECT_EQ(create_event_set().value_or(-1), 0);
  EXPECT_EQ(create_event_set().value_or(-1), 1);
  EXPECT_TRUE(destroy_event_set(0).ok());
  EXPECT_EQ(start_set(0).code, Code::kNoEventSet);
  EXPECT_EQ(create_event_set().value_or(-1), 0);
}

TEST_F(EventSetCalls, HandlesThatWereNeverMadeAreRefusedByEveryCall) {  // PA-35
  for (const int bad : {12345, -1, -7, 0, 1 << 30}) {
    int64_t values[4];
    int64_t cycles;
    const int codes[1] = {static_cast<int>(code("alpha::CYCLES"))};
    EXPECT_EQ(add_event(bad, code("alpha::CYCLES")).code, Code::kNoEventSet);
    EXPECT_EQ(add_named_event(bad, "alpha::CYCLES").code, Code::kNoEventSet);
    EXPECT_EQ(add_events(bad, codes, 1).status.code, Code::kNoEventSet);
    EXPECT_EQ(remove_event(bad, codes[0]).code, Code::kNoEventSet);
    EXPECT_EQ(start_set(bad).code, Code::kNoEventSet);
    EXPECT_EQ(stop_set(bad, values).code, Code::kNoEventSet);
    EXPECT_EQ(read_set(bad, values).code, Code::kNoEventSet);
    EXPECT_EQ(read_set_ts(bad, values, &cycles).code, Code::kNoEventSet);
    EXPECT_EQ(accumulate_set(bad, values).code, Code::kNoEventSet);
    EXPECT_EQ(reset_set(bad).code, Code::kNoEventSet);
    EXPECT_EQ(write_set(bad, values).code, Code::kNoEventSet);
    EXPECT_EQ(state_of(bad).error().code, Code::kNoEventSet);
    EXPECT_EQ(event_count_of(bad).error().code, Code::kNoEventSet);
    EXPECT_EQ(events_of(bad).error().code, Code::kNoEventSet);
    EXPECT_EQ(cleanup_event_set(bad).code, Code::kNoEventSet);
    EXPECT_EQ(destroy_event_set(bad).code, Code::kNoEventSet);
    EXPECT_EQ(component_of_set(bad).error().code, Code::kNoEventSet);
    EXPECT_EQ(multiplex_of(bad).error().code, Code::kNoEventSet);
    EXPECT_EQ(set_multiplex(bad, 0, false).code, Code::kNoEventSet);
    EXPECT_EQ(assign_component(bad, 0).code, Code::kNoEventSet);
    EXPECT_EQ(attach_set(bad, 1).code, Code::kNoEventSet);
    EXPECT_EQ(set_domain(bad, kDomainUser).code, Code::kNoEventSet);
  }
}

TEST_F(EventSetCalls, EmptySetWithoutComponentCannotMeasure) {
  const int set = set_of({});
  int64_t values[1] = {};
  EXPECT_EQ(start_set(set).code, Code::kNoComponent);
  EXPECT_EQ(stop_set(set, values).code, Code::kNoComponent);
  EXPECT_EQ(read_set(set, values).code, Code::kNoComponent);
  EXPECT_EQ(reset_set(set).code, Code::kNoComponent);
  EXPECT_EQ(accumulate_set(set, values).code, Code::kNoComponent);
  EXPECT_TRUE(cleanup_event_set(set).ok());
  EXPECT_EQ(event_count_of(set).value_or(-1), 0);
  EXPECT_EQ(state_of(set).value_or(0u), kSetStopped);
  EXPECT_EQ(component_of_set(set).error().code, Code::kNoComponent);
  EXPECT_EQ(set_multiplex(set, 0, false).code, Code::kNoComponent);
  EXPECT_EQ(attach_set(set, static_cast<unsigned long>(getpid())).code, Code::kNoComponent);
  // PAPI dies here.
  EXPECT_EQ(remove_event(set, code("alpha::CYCLES")).code, Code::kInvalid);  // PA-35
}

TEST_F(EventSetCalls, ComponentIsAssignedOnceAndMustBeThere) {
  const int set = set_of({});
  EXPECT_EQ(assign_component(set, 99).code, Code::kNoComponent);
  EXPECT_EQ(assign_component(set, -1).code, Code::kNoComponent);
  const Status gone = assign_component(set, 2);
  EXPECT_EQ(gone.code, Code::kDisabled);
  EXPECT_STREQ(gone.note, "gone: there is no such device; plug one in");  // PA-6
  EXPECT_TRUE(assign_component(set, 0).ok());
  EXPECT_EQ(assign_component(set, 0).code, Code::kInvalid);
  EXPECT_EQ(assign_component(set, 1).code, Code::kInvalid);
  EXPECT_EQ(start_set(set).code, Code::kInvalid) << "assigned, still empty";
  EXPECT_EQ(state_of(set).value_or(0u), kSetStopped);
}

TEST_F(EventSetCalls, ImpossibleEventsAreRefusedAsPapiRefusesThem) {
  const int set = set_of({});
  EXPECT_EQ(add_event(set, 0).code, Code::kInvalid);
  EXPECT_EQ(add_event(set, kPresetMask | 0x7fff).code, Code::kNoComponent);
  EXPECT_EQ(add_event(set, kNativeMask | 0x3ffffff).code, Code::kNoComponent);
  EXPECT_EQ(add_event(set, code("PAPI_FP_INS")).code, Code::kNoEvent);
  EXPECT_EQ(add_event(set, code("PAPI_LD_INS")).code, Code::kNoEvent) << "its recipe does not open";
  EXPECT_EQ(add_named_event(set, "NO_SUCH_EVENT").code, Code::kNoEvent);
  EXPECT_EQ(add_named_event(set, "").code, Code::kNoEvent);
  EXPECT_EQ(add_named_event(set, "alpha::NOPE").code, Code::kNoEvent);
  EXPECT_EQ(add_named_event(set, "alpha::BROKEN").code, Code::kNoEvent);
  EXPECT_EQ(add_named_event(set, "alpha::HIDDEN").code, Code::kNoEvent);
  EXPECT_EQ(component_of_set(set).error().code, Code::kNoComponent) << "a failed add must not bind the set";
}

TEST_F(EventSetCalls, SecondSubstrateIsRefusedAndSetUnchanged) {  // PA-2
  const int set = set_of({"alpha::CYCLES"});
  EXPECT_EQ(add_named_event(set, "beta:::a").code, Code::kInvalid);
  EXPECT_EQ(add_named_event(set, "alpha::CYCLES").code, Code::kConflict);
  EXPECT_EQ(events_of(set).value_or(std::vector<uint32_t>{}), std::vector<uint32_t>{code("alpha::CYCLES")});
  EXPECT_EQ(component_of_set(set).value_or(-1), 0);
}

TEST_F(EventSetCalls, ListsAddAsManyAsGoIn) {
  const int set = set_of({"alpha::CYCLES"});
  const int codes[3] = {static_cast<int>(code("alpha::LOADS")), static_cast<int>(code("PAPI_FP_INS")),
                        static_cast<int>(code("alpha::INSTRUCTIONS"))};
  const ManyOutcome outcome = add_events(set, codes, 3);
  EXPECT_EQ(outcome.done, 1);
  EXPECT_EQ(outcome.status.code, Code::kNoEvent);
  EXPECT_EQ(event_count_of(set).value_or(-1), 2);
  EXPECT_EQ(add_events(set, nullptr, 1).status.code, Code::kInvalid);
  EXPECT_EQ(add_events(set, codes, 0).status.code, Code::kInvalid);
  EXPECT_EQ(add_events(set, codes, -1).status.code, Code::kInvalid);
  EXPECT_EQ(remove_events(set, codes, 0).status.code, Code::kInvalid);
  EXPECT_EQ(remove_events(set, codes, 1).done, 1);
}

TEST_F(EventSetCalls, RunningSetRefusesEveryChange) {
  const int set = set_of({"delta:::a"});
  ASSERT_TRUE(start_set(set).ok());
  const int codes[1] = {static_cast<int>(code("delta:::b"))};
  EXPECT_EQ(start_set(set).code, Code::kRunning);
  EXPECT_EQ(add_event(set, codes[0]).code, Code::kRunning);
  EXPECT_EQ(add_named_event(set, "delta:::b").code, Code::kRunning);
  EXPECT_EQ(add_events(set, codes, 1).status.code, Code::kRunning);
  EXPECT_EQ(remove_event(set, code("delta:::a")).code, Code::kRunning);
  EXPECT_EQ(remove_named_event(set, "delta:::a").code, Code::kRunning);
  EXPECT_EQ(remove_events(set, codes, 1).status.code, Code::kRunning);
  EXPECT_EQ(cleanup_event_set(set).code, Code::kRunning);
  EXPECT_EQ(destroy_event_set(set).code, Code::kRunning);
  EXPECT_EQ(set_multiplex(set, 0, false).code, Code::kRunning);
  EXPECT_EQ(attach_set(set, static_cast<unsigned long>(getpid())).code, Code::kRunning);
  EXPECT_EQ(set_domain(set, kDomainAll).code, Code::kRunning);
  EXPECT_TRUE(stop_set(set, nullptr).ok());
  EXPECT_EQ(stop_set(set, nullptr).code, Code::kNotRunning);
}

TEST_F(EventSetCalls, CleanupEmptiesAndFreesFromTheComponent) {
  const int set = set_of({"alpha::CYCLES", "alpha::LOADS"});
  EXPECT_EQ(destroy_event_set(set).code, Code::kInvalid) << "not empty";
  EXPECT_TRUE(cleanup_event_set(set).ok());
  EXPECT_TRUE(cleanup_event_set(set).ok());
  EXPECT_EQ(component_of_set(set).error().code, Code::kNoComponent);
  EXPECT_TRUE(add_named_event(set, "beta:::a").ok());
  EXPECT_EQ(component_of_set(set).value_or(-1), 1);
  EXPECT_TRUE(cleanup_event_set(set).ok());
  EXPECT_TRUE(destroy_event_set(set).ok());
}

TEST_F(EventSetCalls, MoreEventsThanCountersAreAConflict) {
  const int set = set_of({"beta:::a", "beta:::b"});
  EXPECT_EQ(add_named_event(set, "beta:::c").code, Code::kConflict);
  EXPECT_EQ(event_count_of(set).value_or(-1), 2);
}

TEST_F(Measuring, ValuesAreThoseOfTheSubstrateInOrderOfAddition) {
  const int set = set_of({"alpha::LOADS", "alpha::CYCLES"});
  int64_t values[2] = {-5, -5};
  EXPECT_TRUE(read_set(set, values).ok());
  EXPECT_EQ(values[0], 0) << "never started";
  ASSERT_TRUE(start_set(set).ok());
  EXPECT_EQ(state_of(set).value_or(0u), kSetRunning);
  ticks += 7;
  EXPECT_TRUE(read_set(set, values).ok());
  EXPECT_EQ(values[0], 42);
  EXPECT_EQ(values[1], 7);
  EXPECT_EQ(read_set(set, nullptr).code, Code::kInvalid);
  EXPECT_EQ(read_set_ts(set, values, nullptr).code, Code::kInvalid);  // PA-35
  EXPECT_EQ(accumulate_set(set, nullptr).code, Code::kInvalid);
  EXPECT_EQ(write_set(set, nullptr).code, Code::kInvalid);
  EXPECT_EQ(write_set(set, values).code, Code::kNoSupport);
  int64_t cycles = 0;
  EXPECT_TRUE(read_set_ts(set, values, &cycles).ok());
  EXPECT_NE(cycles, 0);
  ticks += 1;
  EXPECT_TRUE(stop_set(set, values).ok());
  EXPECT_EQ(values[1], 8);
  ticks += 100;
  EXPECT_TRUE(read_set(set, values).ok());
  EXPECT_EQ(values[1], 8) << "a stopped set gives the values of its stop";
}

TEST_F(Measuring, AccumulateAddsAndResets) {
  const int set = set_of({"alpha::CYCLES"});
  int64_t sum[1] = {1000};
  EXPECT_TRUE(accumulate_set(set, sum).ok());
  EXPECT_EQ(sum[0], 1000);
  ASSERT_TRUE(start_set(set).ok());
  ticks += 5;
  EXPECT_TRUE(accumulate_set(set, sum).ok());
  EXPECT_EQ(sum[0], 1005);
  ticks += 2;
  EXPECT_TRUE(accumulate_set(set, sum).ok());
  EXPECT_EQ(sum[0], 1007);
  ticks += 4;
  EXPECT_TRUE(reset_set(set).ok());
  int64_t values[1] = {-1};
  EXPECT_TRUE(read_set(set, values).ok());
  EXPECT_EQ(values[0], 0);
  EXPECT_TRUE(stop_set(set, nullptr).ok());
}

TEST_F(Measuring, DerivedEventsShareTheirTerms) {
  const int set = set_of({"PAPI_LST_INS", "alpha::INSTRUCTIONS", "PAPI_BR_INS", "PAPI_TOT_CYC"});
  ASSERT_TRUE(start_set(set).ok());
  ticks += 3;
  int64_t values[4] = {};
  EXPECT_TRUE(stop_set(set, values).ok());
  EXPECT_EQ(values[0], 3 + 6);
  EXPECT_EQ(values[1], 6);
  EXPECT_EQ(values[2], (6 - 3) * 10);
  EXPECT_EQ(values[3], 3);
  EXPECT_EQ(events_of_vector(set, 1).value_or(std::vector<int>{}), (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(events_of_vector(set, 0).error().code, Code::kInvalid);
}

// What the set counts in so many ticks.
std::vector<int64_t> counted(int set, int64_t in_ticks) {
  std::vector<int64_t> values(static_cast<size_t>(event_count_of(set).value_or(0)), -1);
  EXPECT_TRUE(start_set(set).ok());
  ticks += in_ticks;
  EXPECT_TRUE(stop_set(set, values.data()).ok());
  return values;
}

TEST_F(Measuring, ARemovedEventLeavesTheTermsThatOthersHave) {
  const int set = set_of({"PAPI_LST_INS", "alpha::INSTRUCTIONS", "PAPI_BR_INS"});
  EXPECT_EQ(counted(set, 3), (std::vector<int64_t>{9, 6, 30}));
  ASSERT_TRUE(remove_named_event(set, "PAPI_BR_INS").ok());  // the last one: the others have its terms
  EXPECT_EQ(counted(set, 5), (std::vector<int64_t>{15, 10}));
  ASSERT_TRUE(add_named_event(set, "PAPI_BR_INS").ok());
  ASSERT_TRUE(add_named_event(set, "alpha::CYCLES").ok());
  ASSERT_TRUE(remove_named_event(set, "alpha::INSTRUCTIONS").ok());  // from between
  EXPECT_EQ(counted(set, 7), (std::vector<int64_t>{21, 70, 7}));
  ASSERT_TRUE(remove_named_event(set, "PAPI_LST_INS").ok());
  EXPECT_EQ(counted(set, 9), (std::vector<int64_t>{90, 9}));
  ASSERT_TRUE(remove_named_event(set, "alpha::CYCLES").ok());
  ASSERT_TRUE(remove_named_event(set, "PAPI_BR_INS").ok());
  EXPECT_EQ(event_count_of(set).value_or(-1), 0);
}

TEST_F(Measuring, AnEventThatTheSubstrateRefusesLeavesWhatTheSetCounts) {
  const int set = set_of({"beta:::a", "beta:::b"});
  EXPECT_EQ(counted(set, 3), (std::vector<int64_t>{3, 6}));
  EXPECT_EQ(add_named_event(set, "beta:::c").code, Code::kConflict);
  EXPECT_EQ(event_count_of(set).value_or(-1), 2);
  EXPECT_EQ(counted(set, 5), (std::vector<int64_t>{5, 10}));
  const int one = set_of({"alpha::INSTRUCTIONS", "PAPI_BR_INS"});
  EXPECT_EQ(counted(one, 3), (std::vector<int64_t>{6, 30}));
  EXPECT_FALSE(add_named_event(one, "alpha::BROKEN").ok());
  EXPECT_EQ(counted(one, 5), (std::vector<int64_t>{10, 50}));
}

TEST_F(Measuring, OneSetPerSubstrateAndThreadRuns) {  // PA-2
  const int first = set_of({"alpha::CYCLES"});
  const int second = set_of({"alpha::CYCLES"});
  const int other = set_of({"beta:::a"});
  ASSERT_TRUE(start_set(first).ok());
  EXPECT_EQ(start_set(second).code, Code::kRunning);
  EXPECT_TRUE(start_set(other).ok());
  std::thread([&] {
    const int own = set_of({"alpha::CYCLES"});
    EXPECT_TRUE(start_set(own).ok());
    EXPECT_TRUE(stop_set(own, nullptr).ok());
  }).join();
  EXPECT_TRUE(stop_set(first, nullptr).ok());
  EXPECT_TRUE(start_set(second).ok());
  EXPECT_TRUE(stop_set(second, nullptr).ok());
  EXPECT_TRUE(stop_set(other, nullptr).ok());
}

TEST_F(Measuring, FailedReadLeavesTheValuesAlone) {
  const int set = set_of({"alpha::CYCLES"});
  ASSERT_TRUE(start_set(set).ok());
  calls.read_fails = true;
  int64_t values[1] = {77};
  const Status status = read_set(set, values);
  EXPECT_EQ(status.code, Code::kCountersLost);
  EXPECT_STREQ(last_refusal(), "the counter was lost");
  EXPECT_EQ(values[0], 77);
  calls.read_fails = false;
  EXPECT_TRUE(stop_set(set, nullptr).ok());
}

TEST_F(Measuring, OnlyTheValuesOfAModelledEventAreFlagged) {
  const int set = set_of({"beta:::a", "beta:::c"});
  ValueDetail details[2];
  const auto flags = [&] {
    EXPECT_TRUE(read_set_details(set, details, 2).ok());
    return std::pair(details[0].flags, details[1].flags);
  };
  const std::pair<uint32_t, uint32_t> expected(0, kValueModelled);
  ASSERT_TRUE(start_set(set).ok());
  EXPECT_EQ(flags(), expected);
  EXPECT_TRUE(stop_set(set, nullptr).ok());
  EXPECT_EQ(flags(), expected);
}

TEST_F(Measuring, DetailsOfADerivedEventTakeTheWorstOfItsTerms) {  // PA-32
  const int set = set_of({"alpha::CYCLES", "PAPI_LST_INS"});
  ASSERT_TRUE(start_set(set).ok());
  ticks += 2;
  ValueDetail details[2];
  EXPECT_EQ(read_set_details(set, details, 1).code, Code::kBufferTooSmall);
  ASSERT_TRUE(read_set_details(set, details, 2).ok());
  EXPECT_EQ(details[0].value, 2);
  EXPECT_EQ(details[0].age_ns, 10);
  EXPECT_EQ(details[0].flags, 0u);
  EXPECT_EQ(details[1].value, 6);
  EXPECT_EQ(details[1].age_ns, 20);
  EXPECT_EQ(details[1].flags, static_cast<uint32_t>(kValueScaled));
  EXPECT_TRUE(stop_set(set, nullptr).ok());
}

TEST_F(Measuring, ManyThreadsOnOneSetNeverMeetInTheSubstrate) {  // PA-42
  const int set = set_of({"alpha::CYCLES"});
  ASSERT_TRUE(start_set(set).ok());
  std::vector<std::thread> strangers;
  for (int t = 0; t < 3; ++t) {
    strangers.emplace_back([&] {
      int64_t values[1];
      for (int i = 0; i < 300; ++i) EXPECT_TRUE(read_set(set, values).ok());
    });
  }
  int64_t values[1];
  for (int i = 0; i < 3000; ++i) EXPECT_TRUE(read_set(set, values).ok());
  for (std::thread& stranger : strangers) stranger.join();
  EXPECT_EQ(calls.overlaps, 0);
  EXPECT_TRUE(stop_set(set, nullptr).ok());
}

TEST_F(SetOptions, SubstrateWithoutConfigurationTakesOnlyItsDefaults) {
  const int set = set_of({"beta:::a"});
  EXPECT_EQ(set_domain(set, kDomainUser).code, Code::kComponent);
  EXPECT_TRUE(set_domain(set, kDomainAll).ok());
  EXPECT_EQ(set_domain(set, 0x40).code, Code::kInvalidDomain);
  EXPECT_EQ(set_granularity(set, kGranularityThread).code, Code::kComponent);
  EXPECT_EQ(attach_set(set, static_cast<unsigned long>(getpid())).code, Code::kComponent);
  EXPECT_EQ(set_inherit(set, true).code, Code::kComponent);
  EXPECT_TRUE(set_multiplex(set, 0, false).ok()) << "the layer lets the events take turns";
  EXPECT_EQ(bind_set_to_cpu(set, 0).code, Code::kComponent);
  EXPECT_EQ(detach_set(set).code, Code::kInvalid);
}

TEST_F(SetOptions, AttachBindInheritAndMultiplexShowInTheState) {  // PA-22, PA-36
  const int set = set_of({"delta:::a"});
  EXPECT_EQ(attach_set(set, 0x7ffffff0).code, Code::kSystem) << "no such process";
  EXPECT_TRUE(attach_set(set, static_cast<unsigned long>(getpid())).ok());
  EXPECT_EQ(state_of(set).value_or(0u), kSetStopped | kSetAttached);
  EXPECT_TRUE(detach_set(set).ok());
  EXPECT_TRUE(bind_set_to_cpu(set, 0).ok());
  EXPECT_EQ(state_of(set).value_or(0u), kSetStopped | kSetCpuAttached);
  EXPECT_EQ(bind_set_to_cpu(set, 1 << 20).code, Code::kInvalid);
  EXPECT_TRUE(detach_set(set).ok());
  EXPECT_TRUE(set_inherit(set, true).ok());
  EXPECT_EQ(add_named_event(set, "delta:::b").code, Code::kConflict);
  EXPECT_TRUE(set_multiplex(set, 5000, false).ok());
  EXPECT_TRUE(add_named_event(set, "delta:::b").ok());
  const MultiplexOption option = multiplex_of(set).value_or(MultiplexOption{});
  EXPECT_TRUE(option.on);
  EXPECT_EQ(option.period_ns, 5000u);
  EXPECT_EQ(state_of(set).value_or(0u), kSetStopped | kSetMultiplexing);
  EXPECT_EQ(configuration_of(set).value_or(Configuration{}).inherit, 1u);
}

TEST_F(SetOptions, RefusedChangeLeavesTheConfiguration) {
  const int set = set_of({"delta:::a"});
  calls.configure_fails = true;
  const Status status = set_domain(set, kDomainAll);
  EXPECT_EQ(status.code, Code::kPermission);
  EXPECT_EQ(configuration_of(set).value_or(Configuration{}).domain, kDomainUser);
  EXPECT_TRUE(start_set(set).ok());
  EXPECT_TRUE(stop_set(set, nullptr).ok());
}

TEST_F(SetOptions, OverflowIsArmedWhereTheSubstrateCan) {  // PA-22
  const int set = set_of({"delta:::a"});
  static uint64_t seen;
  seen = 0;
  SampleSink sink;
  sink.call = [](void*, const Sample* sample) noexcept { seen = sample->event_mask; };
  EXPECT_EQ(arm_event(set, code("delta:::b"), 100, 0, sink).code, Code::kNoEvent);
  EXPECT_EQ(arm_event(set, code("delta:::a"), -1, 0, sink).code, Code::kInvalid);
  EXPECT_EQ(disarm_event(set, code("delta:::a")).code, Code::kInvalid) << "never armed";
  EXPECT_TRUE(arm_event(set, code("delta:::a"), 100, 0, sink).ok());
  EXPECT_EQ(seen, 1u);
  EXPECT_EQ(state_of(set).value_or(0u), kSetStopped | kSetOverflowing);
  EXPECT_TRUE(disarm_event(set, code("delta:::a")).ok());
  EXPECT_EQ(state_of(set).value_or(0u), kSetStopped);
  const int plain = set_of({"beta:::a"});
  EXPECT_EQ(arm_event(plain, code("beta:::a"), 100, 0, sink).code, Code::kComponent);
}

}  // namespace
