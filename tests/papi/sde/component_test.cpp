// The sde substrate through its table, over our libsde.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "papi/sde/tool_interface.h"
#include "sde_lib.h"
#include "substrata/substrate.h"

extern "C" int32_t substrata_entry_sde(const substrata::Host* host, substrata::SubstrateTable* out) noexcept;
extern "C" void substrata_sde_overflow(uint32_t counter, long long value) noexcept;

// As libpapi passes it on.
extern "C" __attribute__((visibility("default"))) int papi_sde_check_overflow_status(unsigned id,
                                                                                     long long value);
int papi_sde_check_overflow_status(unsigned id, long long value) {
  substrata_sde_overflow(id, value);
  return 0;
}

namespace {

using substrata::Code;
using substrata::Event;
using substrata::Status;

class SdeComponent : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(substrata_entry_sde(&host_, &table_), 0);
    ASSERT_TRUE(table_.detect(&host_).ok());
    ASSERT_TRUE(table_.open(&host_, &device_).ok());
    // One library a test, so that the tests can run in one process in any order.
    name_ = testing::UnitTest::GetInstance()->current_test_info()->name();
    library_ = papi_sde_init(name_.c_str());
  }
  void TearDown() override {
    for (substrata::Set* set : sets_) table_.destroy_set(set);
    papi_sde_shutdown(library_);
    table_.close(device_);
  }

  uint32_t find(const std::string& event) {
    uint32_t index = UINT32_MAX;
    EXPECT_TRUE(table_.find_event(device_, (name_ + "::" + event).c_str(), &index).ok()) << event;
    return index;
  }
  substrata::Set* set_of(const std::vector<uint32_t>& events) {
    substrata::Set* set = nullptr;
    EXPECT_TRUE(table_.create_set(device_, nullptr, &set).ok());
    EXPECT_TRUE(table_.program(set, events.data(), static_cast<uint32_t>(events.size())).ok());
    sets_.push_back(set);
    return set;
  }
  // Two sets of one event: 10 are counted before the second starts, 1 after it.
  std::pair<substrata::Set*, substrata::Set*> start_in_turn(const char* event, long long& work) {
    substrata::Set* const first = set_of({find(event)});
    substrata::Set* const second = set_of({find(event)});
    table_.start(first);
    work += 10;
    table_.start(second);
    work += 1;
    return {first, second};
  }
  std::vector<int64_t> read(substrata::Set* set, size_t count) {
    std::vector<int64_t> values(count, -777);
    EXPECT_TRUE(table_.read(set, values.data()).ok());
    return values;
  }

  substrata::Host host_;
  substrata::SubstrateTable table_;
  substrata::Device* device_ = nullptr;
  std::string name_;
  papi_handle_t library_ = nullptr;
  std::vector<substrata::Set*> sets_;
};

using Values = std::vector<int64_t>;

// PA-31
TEST_F(SdeComponent, CountsWhatTheProgramPublishesBetweenStartAndStop) {
  static long long work = 100;
  static long long level = 7;
  void* created = nullptr;
  papi_sde_register_counter(library_, "work", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &work);
  papi_sde_register_counter(library_, "level", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long, &level);
  papi_sde_create_counter(library_, "created", PAPI_SDE_DELTA, &created);
  papi_sde_inc_counter(created, 5);
  substrata::Set* set = set_of({find("work"), find("level"), find("created")});
  ASSERT_TRUE(table_.start(set).ok());
  EXPECT_EQ(read(set, 3), (Values{0, 7, 0}));
  work += 11;
  level = 3;
  papi_sde_inc_counter(created, 4);
  EXPECT_EQ(read(set, 3), (Values{11, 3, 4}));
  ASSERT_TRUE(table_.reset(set).ok());
  work += 2;
  EXPECT_EQ(read(set, 3), (Values{2, 3, 0}));
  ASSERT_TRUE(table_.stop(set).ok());
  work += 50;
  level = 99;
  EXPECT_EQ(read(set, 3), (Values{2, 3, 0}));
  ASSERT_TRUE(table_.reset(set).ok());
  EXPECT_EQ(read(set, 3), (Values{0, 3, 0}));
}

TEST_F(SdeComponent, SetIsStoppedThoughAnEventOfItWasUnregistered) {
  static long long work = 0;
  papi_sde_register_counter(library_, "work", PAPI_SDE_DELTA, PAPI_SDE_long_long, &work);
  substrata::Set* set = set_of({find("work")});
  ASSERT_TRUE(table_.start(set).ok());
  work += 5;
  papi_sde_unregister_counter(library_, "work");
  EXPECT_FALSE(table_.stop(set).ok());
  papi_sde_register_counter(library_, "work", PAPI_SDE_DELTA, PAPI_SDE_long_long, &work);
  work += 7;
  EXPECT_EQ(read(set, 1), (Values{0})) << "it counts on";
}

// PA-31: with PAPI's libsde the start of one set throws the other's count away
TEST_F(SdeComponent, TwoSetsCountOneEventEachFromItsOwnStart) {
  static long long work = 0;
  papi_sde_register_counter(library_, "work", PAPI_SDE_DELTA, PAPI_SDE_long_long, &work);
  const auto [first, second] = start_in_turn("work", work);
  EXPECT_EQ(read(first, 1), Values{11});
  EXPECT_EQ(read(second, 1), Values{1});
  table_.reset(second);
  EXPECT_EQ(read(first, 1), Values{11});
}

// PA-31: with PAPI, what a member counted before is added unless the member itself is in the set
TEST_F(SdeComponent, TheDeltaMembersOfAGroupCountFromTheSetsStart) {
  static long long work = 100;
  static long long level = 7;
  papi_sde_register_counter(library_, "work", PAPI_SDE_DELTA, PAPI_SDE_long_long, &work);
  papi_sde_register_counter(library_, "level", PAPI_SDE_INSTANT, PAPI_SDE_long_long, &level);
  papi_sde_add_counter_to_group(library_, "work", "g", PAPI_SDE_SUM);
  papi_sde_add_counter_to_group(library_, "level", "g", PAPI_SDE_SUM);
  const auto [first, second] = start_in_turn("g", work);
  EXPECT_EQ(read(first, 1), Values{18});
  EXPECT_EQ(read(second, 1), Values{8});
  table_.reset(first);
  EXPECT_EQ(read(first, 1), Values{7});
}

// PA-31
TEST_F(SdeComponent, FloatingCountersGiveTheBitsOfADoubleAndSaySo) {
  static double energy = 1.5;
  static float heat = 2.25f;
  papi_sde_register_counter(library_, "energy", PAPI_SDE_DELTA, PAPI_SDE_double, &energy);
  papi_sde_register_counter(library_, "heat", PAPI_SDE_INSTANT, PAPI_SDE_float, &heat);
  Event event;
  ASSERT_TRUE(table_.event_at(device_, find("energy"), &event).ok());
  EXPECT_EQ(event.type, substrata::ValueType::kDouble);
  EXPECT_EQ(event.kind, substrata::ValueKind::kCount);
  ASSERT_TRUE(table_.event_at(device_, find("heat"), &event).ok());
  EXPECT_EQ(event.type, substrata::ValueType::kDouble);
  EXPECT_EQ(event.kind, substrata::ValueKind::kGauge);
  substrata::Set* set = set_of({find("energy"), find("heat")});
  table_.start(set);
  energy += 0.75;
  const Values values = read(set, 2);
  EXPECT_EQ(GET_DOUBLE_SDE(values[0]), 0.75);
  EXPECT_EQ(GET_FLOAT_SDE(values[1]), 2.25f);
}

// PA-16, PA-31: a tool may be set up before the library that publishes
TEST_F(SdeComponent, AnEventAskedForEarlyReadsMinusOneAndThenCounts) {
  const uint32_t index = find("later");
  EXPECT_LT(index, table_.event_count(device_));
  Event event;
  ASSERT_TRUE(table_.event_at(device_, index, &event).ok());
  EXPECT_EQ(event.name, name_ + "::later");
  EXPECT_NE(std::string(event.text).find("not registered"), std::string::npos);
  substrata::Set* set = set_of({index});
  ASSERT_TRUE(table_.start(set).ok());
  EXPECT_EQ(read(set, 1), Values{-1});
  void* counter = nullptr;
  papi_sde_create_counter(library_, "later", PAPI_SDE_DELTA, &counter);
  papi_sde_describe_counter(library_, "later", "what came later");
  papi_sde_inc_counter(counter, 12);
  EXPECT_EQ(read(set, 1), Values{12});
  EXPECT_EQ(find("later"), index);
  ASSERT_TRUE(table_.event_at(device_, index, &event).ok());
  EXPECT_STREQ(event.text, "what came later");
}

// PA-16
TEST_F(SdeComponent, NamesAreLibraryAndEventWithOrWithoutThePrefix) {
  uint32_t plain = 0;
  uint32_t prefixed = 1;
  EXPECT_TRUE(table_.find_event(device_, (name_ + "::x").c_str(), &plain).ok());
  EXPECT_TRUE(table_.find_event(device_, ("sde:::" + name_ + "::x").c_str(), &prefixed).ok());
  EXPECT_EQ(plain, prefixed);
  for (const char* bad : {"", "x", "::x", "x::"}) {
    uint32_t index = 4242;
    const Status status = table_.find_event(device_, bad, &index);
    EXPECT_EQ(status.code, Code::kNoEvent);
    EXPECT_NE(status.note, nullptr);
    EXPECT_EQ(index, 4242u);
  }
}

// PA-22
TEST_F(SdeComponent, WhatIsCopiedUnderALockSaysSo) {
  void* recorder = nullptr;
  static long long plain = 0;
  papi_sde_register_counter(library_, "plain", PAPI_SDE_DELTA, PAPI_SDE_long_long, &plain);
  papi_sde_create_recorder(library_, "r", sizeof(int), papi_sde_compare_int, &recorder);
  for (const auto& [name, locks] : {std::pair{"plain", false}, std::pair{"r", true}, std::pair{"r:MED", true},
                                    std::pair{"r:CNT", false}}) {
    Event event;
    ASSERT_TRUE(table_.event_at(device_, find(name), &event).ok()) << name;
    EXPECT_EQ((event.flags & substrata::kEventReadLocks) != 0, locks) << name;
  }
}

// PA-31
TEST_F(SdeComponent, RecordersGroupsAndCallbacksAreRead) {
  void* recorder = nullptr;
  static long long a = 4;
  static long long calls = 0;
  papi_sde_create_recorder(library_, "r", sizeof(int), papi_sde_compare_int, &recorder);
  papi_sde_register_counter(library_, "a", PAPI_SDE_DELTA, PAPI_SDE_long_long, &a);
  papi_sde_register_counter_cb(
      library_, "cb", PAPI_SDE_DELTA, PAPI_SDE_long_long,
      [](void* from) { return ++*static_cast<long long*>(from); }, &calls);
  papi_sde_add_counter_to_group(library_, "a", "g", PAPI_SDE_SUM);
  papi_sde_add_counter_to_group(library_, "a", "g", PAPI_SDE_SUM);
  substrata::Set* set = set_of({find("r:CNT"), find("r:MED"), find("g"), find("cb")});
  ASSERT_TRUE(table_.start(set).ok());
  a += 3;
  for (int value : {9, 1, 5}) papi_sde_record(recorder, sizeof value, &value);
  const Values values = read(set, 4);
  EXPECT_EQ(values[0], 3);
  EXPECT_EQ(*GET_SDE_RECORDER_ADDRESS(values[1], int), 5);
  EXPECT_EQ(values[2], 6) << "the member stands in the group twice";
  EXPECT_EQ(values[3], 1);
  free(GET_SDE_RECORDER_ADDRESS(values[1], int));
  // What nobody fetched after the stop is freed with the set (leak sanitizer watches).
  ASSERT_TRUE(table_.stop(set).ok());
}

// PA-31, PA-32: an error never travels as a number
TEST_F(SdeComponent, AnEventTheProgramTookBackGivesAnErrorAndNoValue) {
  static long long a = 1;
  static long long b = 2;
  papi_sde_register_counter(library_, "a", PAPI_SDE_INSTANT, PAPI_SDE_long_long, &a);
  papi_sde_register_counter(library_, "b", PAPI_SDE_INSTANT, PAPI_SDE_long_long, &b);
  const uint32_t ia = find("a");
  const uint32_t ib = find("b");
  substrata::Set* set = set_of({ia, ib});
  ASSERT_TRUE(table_.start(set).ok());
  Event event;
  ASSERT_TRUE(table_.event_at(device_, ib, &event).ok());
  papi_sde_unregister_counter(library_, "b");
  int64_t values[2] = {-777, -777};
  const Status status = table_.read(set, values);
  EXPECT_EQ(status.code, Code::kNoEvent);
  EXPECT_EQ(values[0], -777);
  EXPECT_EQ(values[1], -777);
  ASSERT_TRUE(table_.event_at(device_, ib, &event).ok());
  EXPECT_EQ(event.name, name_ + "::b");
  EXPECT_TRUE(event.flags & substrata::kEventUnavailable);
  EXPECT_NE(event.why, nullptr);
  papi_sde_register_counter(library_, "b", PAPI_SDE_INSTANT, PAPI_SDE_long_long, &b);
  EXPECT_EQ(read(set, 2), (Values{1, 2}));
}

// PA-10
TEST_F(SdeComponent, AFailedProgramLeavesTheSetAsItWas) {
  static long long a = 1;
  papi_sde_register_counter(library_, "a", PAPI_SDE_INSTANT, PAPI_SDE_long_long, &a);
  const uint32_t good = find("a");
  substrata::Set* set = set_of({good});
  const uint32_t bad[2] = {good, table_.event_count(device_) + 1000};
  EXPECT_EQ(table_.program(set, bad, 2).code, Code::kNoEvent);
  const std::vector<uint32_t> many(table_.max_events + 1, good);
  EXPECT_EQ(table_.program(set, many.data(), static_cast<uint32_t>(many.size())).code, Code::kTooMany);
  ASSERT_TRUE(table_.start(set).ok());
  EXPECT_EQ(read(set, 1), Values{1});
}

// PA-10
TEST_F(SdeComponent, WritingSetsTheProgramsVariableAndWhatIsRead) {
  static long long a = 5;
  void* created = nullptr;
  papi_sde_register_counter(library_, "a", PAPI_SDE_RW | PAPI_SDE_DELTA, PAPI_SDE_long_long, &a);
  papi_sde_create_counter(library_, "c", PAPI_SDE_RW | PAPI_SDE_DELTA, &created);
  papi_sde_add_counter_to_group(library_, "a", "g", PAPI_SDE_SUM);
  substrata::Set* set = set_of({find("a"), find("c")});
  table_.start(set);
  const int64_t values[2] = {100, 200};
  ASSERT_TRUE(table_.write(set, values).ok());
  EXPECT_EQ(a, 100);
  a += 1;
  papi_sde_inc_counter(created, 1);
  EXPECT_EQ(read(set, 2), (Values{101, 201}));
  substrata::Set* group = set_of({find("g")});
  EXPECT_EQ(table_.write(group, values).code, Code::kInvalid);
}

struct Heard {
  std::vector<uint64_t> masks;
  substrata::SampleSink sink() {
    return {[](void* owner, const substrata::Sample* sample) noexcept {
              static_cast<Heard*>(owner)->masks.push_back(sample->event_mask);
            },
            this};
  }
};

// PA-22, PA-31
TEST_F(SdeComponent, ACreatedCounterOverflowsAtTheIncrementThatCrosses) {
  void* counter = nullptr;
  static long long a = 0;
  papi_sde_register_counter(library_, "a", PAPI_SDE_DELTA, PAPI_SDE_long_long, &a);
  papi_sde_create_counter(library_, "c", PAPI_SDE_DELTA, &counter);
  papi_sde_inc_counter(counter, 3);
  substrata::Set* set = set_of({find("a"), find("c")});
  Heard heard;
  const substrata::SampleSink sink = heard.sink();
  ASSERT_TRUE(table_.arm(set, 1, 10, 0, &sink).ok());
  papi_sde_inc_counter(counter, 100);
  EXPECT_EQ(heard.masks.size(), 0u);
  ASSERT_TRUE(table_.start(set).ok());
  papi_sde_inc_counter(counter, 9);
  EXPECT_EQ(heard.masks.size(), 0u);
  papi_sde_inc_counter(counter, 1);
  EXPECT_EQ(heard.masks, std::vector<uint64_t>{2});
  papi_sde_inc_counter(counter, 35);  // 45: beyond 20, 30 and 40 in one step
  EXPECT_EQ(heard.masks.size(), 2u);
  papi_sde_inc_counter(counter, 4);
  EXPECT_EQ(heard.masks.size(), 2u);
  papi_sde_inc_counter(counter, 1);
  EXPECT_EQ(heard.masks.size(), 3u);
  std::thread([&] { papi_sde_inc_counter(counter, 1000); }).join();  // another thread's work
  EXPECT_EQ(heard.masks.size(), 3u);
  ASSERT_TRUE(table_.stop(set).ok());
  papi_sde_inc_counter(counter, 1000);
  EXPECT_EQ(heard.masks.size(), 3u);
  ASSERT_TRUE(table_.start(set).ok());
  ASSERT_TRUE(table_.disarm(set, 1).ok());
  papi_sde_inc_counter(counter, 1000);
  EXPECT_EQ(heard.masks.size(), 3u);
}

// PA-22: with PAPI_accum for a read, a counter of few increments between reads was never heard
TEST_F(SdeComponent, TheDistanceToTheNextOverflowGoesOnOverAReset) {
  void* counter = nullptr;
  papi_sde_create_counter(library_, "c", PAPI_SDE_DELTA, &counter);
  substrata::Set* set = set_of({find("c")});
  Heard heard;
  const substrata::SampleSink sink = heard.sink();
  ASSERT_TRUE(table_.arm(set, 0, 10, 0, &sink).ok());
  ASSERT_TRUE(table_.start(set).ok());
  for (int i = 0; i < 5; ++i) {
    papi_sde_inc_counter(counter, 6);
    EXPECT_EQ(read(set, 1), Values{6});
    ASSERT_TRUE(table_.reset(set).ok());
  }
  EXPECT_EQ(heard.masks.size(), 3u);
}

// PA-22
TEST_F(SdeComponent, OtherEventsAreLeftToATimerOrRefused) {
  static long long a = 0;
  papi_sde_register_counter(library_, "a", PAPI_SDE_DELTA, PAPI_SDE_long_long, &a);
  papi_sde_create_recorder(library_, "r", sizeof(int), nullptr, nullptr);
  substrata::Set* set = set_of({find("a"), find("r"), find("unknown so far")});
  Heard heard;
  const substrata::SampleSink sink = heard.sink();
  EXPECT_EQ(table_.arm(set, 0, 10, 0, &sink).code, Code::kComponent);
  EXPECT_EQ(table_.arm(set, 1, 10, 0, &sink).code, Code::kInvalid);
  EXPECT_EQ(table_.arm(set, 2, 10, 0, &sink).code, Code::kComponent);
  EXPECT_EQ(table_.arm(set, 0, 0, 0, &sink).code, Code::kInvalid);
  EXPECT_EQ(table_.arm(set, 3, 10, 0, &sink).code, Code::kInvalid);
}

// PA-42: the sets of several threads, and a program that increments and lists meanwhile
TEST_F(SdeComponent, SetsOfDifferentThreadsRunSideBySide) {
  void* counter = nullptr;
  papi_sde_create_counter(library_, "c", PAPI_SDE_DELTA, &counter);
  const uint32_t index = find("c");
  std::vector<substrata::Set*> sets;
  for (int i = 0; i < 3; ++i) sets.push_back(set_of({index}));
  std::vector<int64_t> last(sets.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < sets.size(); ++i) {
    threads.emplace_back([&, i] {
      table_.start(sets[i]);
      for (int step = 0; step < 500; ++step) {
        papi_sde_inc_counter(counter, 1);
        int64_t value = -1;
        ASSERT_TRUE(table_.read(sets[i], &value).ok());
        ASSERT_GE(value, last[i]);
        last[i] = value;
        Event event;
        ASSERT_TRUE(table_.event_at(device_, index, &event).ok());
      }
      table_.stop(sets[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int64_t value : last) EXPECT_GE(value, 500);
  long long total = 0;
  EXPECT_EQ(sde_ti_read_counter(index, &total), SDE_OK);
  EXPECT_EQ(total, 1500);
}

}  // namespace
