// The program's side of libsde where PAPI's own dies or answers wrongly, and overflow of created counters.
#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "papi/sde/tool_interface.h"
#include "sde_lib.h"
#include "support/temporary_folder.hpp"

namespace {

std::vector<std::pair<unsigned, long long>> overflow_checks;
int timers_asked = 0;

uint32_t number_of(const char* name) {
  uint32_t id = UINT32_MAX;
  EXPECT_EQ(sde_ti_name_to_code(name, &id), SDE_OK) << name;
  return id;
}

long long value_of(const char* name) {
  long long value = -777;
  EXPECT_EQ(sde_ti_read_counter(number_of(name), &value), SDE_OK) << name;
  return value;
}

// PA-10
TEST(SdePublish, UnregisteringTwiceIsRefusedNotFatal) {
  papi_handle_t library = papi_sde_init("twice");
  long long x = 1;
  ASSERT_EQ(papi_sde_register_counter(library, "x", PAPI_SDE_RO, PAPI_SDE_long_long, &x), SDE_OK);
  EXPECT_EQ(papi_sde_unregister_counter(library, "x"), SDE_OK);
  EXPECT_EQ(papi_sde_unregister_counter(library, "x"), SDE_EINVAL);
  EXPECT_EQ(papi_sde_unregister_counter(library, "never there"), SDE_EINVAL);
}

TEST(SdeTotals, AreWrittenWhenTheProgramTakesItsCountersBack) {
  const substrata::tests::TemporaryFolder folder;
  folder.write("totals", "");
  setenv("SUBSTRATA_SDE_TOTALS", folder.file("totals").c_str(), 1);
  papi_handle_t library = papi_sde_init("totals");
  long long x = 5;
  double y = 2.5;
  void* created = nullptr;
  papi_sde_register_counter(library, "x", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &x);
  papi_sde_register_counter(library, "y", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_double, &y);
  papi_sde_create_counter(library, "z", PAPI_SDE_DELTA, &created);
  papi_sde_inc_counter(created, 7);
  x = 6;
  papi_sde_unregister_counter(library, "x");
  papi_sde_shutdown(library);
  unsetenv("SUBSTRATA_SDE_TOTALS");
  EXPECT_EQ(substrata::tests::contents(folder.file("totals")),
            "totals::x\t6\ntotals::y\t2.5\ntotals::z\t7\n");
}

// PA-10: a number never passes to another event, so an eventset made before goes on
TEST(SdePublish, AnEventKeepsItsNumberOverUnregistration) {
  papi_handle_t library = papi_sde_init("again");
  long long x = 5;
  long long y = 9;
  papi_sde_register_counter(library, "x", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long, &x);
  const uint32_t id = number_of("again::x");
  papi_sde_unregister_counter(library, "x");
  EXPECT_EQ(sde_ti_get_event_name(static_cast<int>(id)), nullptr);
  long long value = -777;
  EXPECT_EQ(sde_ti_read_counter(id, &value), SDE_ENOEVNT);
  EXPECT_EQ(value, -777);
  papi_sde_register_counter(library, "x", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long, &y);
  EXPECT_EQ(number_of("again::x"), id);
  EXPECT_EQ(value_of("again::x"), 9);
}

// PA-10
TEST(SdePublish, HandlesOfAShutDownLibraryAreRefused) {
  papi_handle_t library = papi_sde_init("closed");
  void* counter = nullptr;
  long long x = 0;
  ASSERT_EQ(papi_sde_create_counter(library, "c", PAPI_SDE_DELTA, &counter), SDE_OK);
  EXPECT_EQ(papi_sde_shutdown(library), SDE_OK);
  EXPECT_EQ(papi_sde_inc_counter(counter, 1), SDE_EINVAL);
  EXPECT_EQ(papi_sde_reset_counter(counter), SDE_EINVAL);
  EXPECT_EQ(papi_sde_register_counter(library, "x", PAPI_SDE_RO, PAPI_SDE_long_long, &x), SDE_EINVAL);
  EXPECT_EQ(papi_sde_shutdown(library), SDE_EINVAL);
  EXPECT_EQ(papi_sde_init("closed"), library);
  EXPECT_EQ(papi_sde_register_counter(library, "x", PAPI_SDE_RO, PAPI_SDE_long_long, &x), SDE_OK);
  EXPECT_EQ(papi_sde_shutdown(library), SDE_OK);
}

// PA-10
TEST(SdePublish, BadNamesTypesAndVariablesAreRefused) {
  EXPECT_EQ(papi_sde_init(nullptr), nullptr);
  EXPECT_EQ(papi_sde_init(""), nullptr);
  papi_handle_t library = papi_sde_init("bad");
  long long x = 0;
  EXPECT_EQ(papi_sde_register_counter(library, nullptr, 0, 0, &x), SDE_EINVAL);
  EXPECT_EQ(papi_sde_register_counter(library, "", 0, 0, &x), SDE_EINVAL);
  EXPECT_EQ(papi_sde_register_counter(library, "x", 0, 9, &x), SDE_EINVAL);
  EXPECT_EQ(papi_sde_register_counter(library, "x", 0, 0, nullptr), SDE_EINVAL);
  EXPECT_EQ(papi_sde_register_counter_cb(library, "x", 0, 0, nullptr, &x), SDE_EINVAL);
  EXPECT_EQ(papi_sde_create_recorder(library, "x", 0, nullptr, nullptr), SDE_EINVAL);
  EXPECT_EQ(papi_sde_describe_counter(library, "x", nullptr), SDE_EINVAL);
  const long long not_a_handle[8] = {};
  EXPECT_EQ(papi_sde_inc_counter(const_cast<long long*>(not_a_handle), 1), SDE_EINVAL);
  EXPECT_EQ(papi_sde_shutdown(const_cast<long long*>(not_a_handle)), SDE_EINVAL);
  uint32_t id = 0;
  EXPECT_EQ(sde_ti_name_to_code(nullptr, &id), SDE_EINVAL);
  EXPECT_EQ(sde_ti_name_to_code("bad::x", nullptr), SDE_EINVAL);
  for (const char* name : {"", "no mark", "::x", "x::"})
    EXPECT_EQ(sde_ti_name_to_code(name, &id), SDE_ENOEVNT);
}

// PA-10: the class that has a name keeps it
TEST(SdePublish, ANameOfAnotherClassIsRefused) {
  papi_handle_t library = papi_sde_init("classes");
  long long x = 0;
  papi_sde_register_counter(library, "x", 0, 0, &x);
  void* handle = nullptr;
  EXPECT_EQ(papi_sde_create_counter(library, "x", 0, &handle), SDE_EINVAL);
  EXPECT_EQ(papi_sde_create_counting_set(library, "x", &handle), SDE_EINVAL);
  EXPECT_EQ(papi_sde_create_recorder(library, "x", 4, nullptr, &handle), SDE_EINVAL);
  EXPECT_EQ(handle, nullptr);
  papi_sde_register_counter(library, "r:MED", 0, 0, &x);
  EXPECT_EQ(papi_sde_create_recorder(library, "r", 4, papi_sde_compare_int, &handle), SDE_EINVAL);
}

// PA-31: extremes of values all on one side of 0, where PAPI's libsde answers 0
TEST(SdeGroup, GreatestAndLeastAreOfTheMembersOnly) {
  papi_handle_t library = papi_sde_init("extremes");
  static int a = -5, b = -9;
  static double p = 2.5, q = 1.25;
  papi_sde_register_counter(library, "a", PAPI_SDE_INSTANT, PAPI_SDE_int, &a);
  papi_sde_register_counter(library, "b", PAPI_SDE_INSTANT, PAPI_SDE_int, &b);
  papi_sde_register_counter(library, "p", PAPI_SDE_INSTANT, PAPI_SDE_double, &p);
  papi_sde_register_counter(library, "q", PAPI_SDE_INSTANT, PAPI_SDE_double, &q);
  for (const char* name : {"a", "b"}) papi_sde_add_counter_to_group(library, name, "greatest", PAPI_SDE_MAX);
  for (const char* name : {"p", "q"}) papi_sde_add_counter_to_group(library, name, "least", PAPI_SDE_MIN);
  EXPECT_EQ(value_of("extremes::greatest"), -5);
  EXPECT_EQ(GET_DOUBLE_SDE(value_of("extremes::least")), 1.25);
}

// PA-31
TEST(SdeGroup, MixedTypesCyclesAndUnknownFlagsAreRefused) {
  papi_handle_t library = papi_sde_init("mixed");
  static long long a = 1;
  static double d = 1;
  papi_sde_register_counter(library, "a", PAPI_SDE_INSTANT, PAPI_SDE_long_long, &a);
  papi_sde_register_counter(library, "d", PAPI_SDE_INSTANT, PAPI_SDE_double, &d);
  EXPECT_EQ(papi_sde_add_counter_to_group(library, "a", "g", PAPI_SDE_SUM), SDE_OK);
  EXPECT_EQ(papi_sde_add_counter_to_group(library, "d", "g", PAPI_SDE_SUM), SDE_EINVAL);
  EXPECT_EQ(papi_sde_add_counter_to_group(library, "g", "g", PAPI_SDE_SUM), SDE_EINVAL);
  EXPECT_EQ(papi_sde_add_counter_to_group(library, "g", "h", PAPI_SDE_SUM), SDE_OK);
  EXPECT_EQ(papi_sde_add_counter_to_group(library, "h", "g", PAPI_SDE_SUM), SDE_EINVAL);
  EXPECT_EQ(papi_sde_add_counter_to_group(library, "a", "a", PAPI_SDE_SUM), SDE_EINVAL);
  EXPECT_EQ(papi_sde_add_counter_to_group(library, "a", "k", 7), SDE_EINVAL);
  EXPECT_EQ(value_of("mixed::h"), 1);
}

// PA-31
TEST(SdeGroup, LosesMembersThatAreUnregisteredAndCanBeAskedForEarly) {
  number_of("members::sum");
  papi_handle_t library = papi_sde_init("members");
  static long long a = 7, b = 20;
  papi_sde_register_counter(library, "a", PAPI_SDE_INSTANT, PAPI_SDE_long_long, &a);
  papi_sde_register_counter(library, "b", PAPI_SDE_INSTANT, PAPI_SDE_long_long, &b);
  papi_sde_add_counter_to_group(library, "a", "sum", PAPI_SDE_SUM);
  papi_sde_add_counter_to_group(library, "b", "sum", PAPI_SDE_SUM);
  EXPECT_EQ(value_of("members::sum"), 27);
  EXPECT_EQ(papi_sde_unregister_counter(library, "b"), SDE_OK);
  EXPECT_EQ(value_of("members::sum"), 7);
  EXPECT_EQ(papi_sde_unregister_counter(library, "sum"), SDE_OK);
  EXPECT_EQ(papi_sde_shutdown(library), SDE_OK);
}

double half(void* from) { return *static_cast<double*>(from) / 2; }
float third(void* from) { return static_cast<float>(*static_cast<double*>(from)) / 4; }
papi_sde_fptr_t as_callback(void (*function)()) { return reinterpret_cast<papi_sde_fptr_t>(function); }

// PA-31: a callback is called as what it was registered to return
TEST(SdeCallback, MayReturnDoubleAndFloat) {
  papi_handle_t library = papi_sde_init("callback types");
  static double number = 5;
  papi_sde_register_counter_cb(library, "half", PAPI_SDE_INSTANT, PAPI_SDE_double,
                               as_callback(reinterpret_cast<void (*)()>(half)), &number);
  papi_sde_register_counter_cb(library, "quarter", PAPI_SDE_INSTANT, PAPI_SDE_float,
                               as_callback(reinterpret_cast<void (*)()>(third)), &number);
  EXPECT_EQ(GET_DOUBLE_SDE(value_of("callback types::half")), 2.5);
  EXPECT_EQ(GET_FLOAT_SDE(value_of("callback types::quarter")), 1.25f);
}

papi_handle_t self_library = nullptr;
long long take_myself_back(void*) {
  EXPECT_EQ(papi_sde_unregister_counter(self_library, "self"), SDE_OK);
  return 17;
}

// PA-10
TEST(SdeCallback, MayTakeItsOwnEventBack) {
  self_library = papi_sde_init("self");
  papi_sde_register_counter_cb(self_library, "self", PAPI_SDE_INSTANT, PAPI_SDE_long_long, take_myself_back,
                               nullptr);
  const uint32_t id = number_of("self::self");
  long long value = 0;
  EXPECT_EQ(sde_ti_read_counter(id, &value), SDE_OK);
  EXPECT_EQ(value, 17);
  EXPECT_EQ(sde_ti_read_counter(id, &value), SDE_ENOEVNT);
}

// PA-22, PA-31
TEST(SdeOverflow, IncrementsOfAWatchedCounterAreReportedWithItsValue) {
  papi_handle_t library = papi_sde_init("overflow");
  void* counter = nullptr;
  papi_sde_create_counter(library, "c", PAPI_SDE_DELTA, &counter);
  const uint32_t id = number_of("overflow::c");
  overflow_checks.clear();
  papi_sde_inc_counter(counter, 3);
  EXPECT_TRUE(overflow_checks.empty());
  EXPECT_EQ(sde_ti_set_counter_overflow(id, 10), SDE_OK);
  papi_sde_inc_counter(counter, 4);
  papi_sde_inc_counter(counter, 5);
  EXPECT_EQ(overflow_checks, (std::vector<std::pair<unsigned, long long>>{{id, 7}, {id, 12}}));
  EXPECT_EQ(sde_ti_shutdown(), SDE_OK);
  papi_sde_inc_counter(counter, 5);
  EXPECT_EQ(overflow_checks.size(), 2u);
}

// PA-22, PA-31: armed before anybody knows what the event will be
TEST(SdeOverflow, AnEarlyEventReportsItselfIfCreatedAndAsksForATimerIfNot) {
  const uint32_t created = number_of("early::created");
  const uint32_t variable = number_of("early::variable");
  EXPECT_EQ(sde_ti_set_counter_overflow(created, 10), SDE_OK);
  EXPECT_EQ(sde_ti_set_counter_overflow(variable, 10), SDE_OK);
  EXPECT_EQ(sde_ti_is_counter_set_to_overflow(created), 1);
  overflow_checks.clear();
  timers_asked = 0;
  papi_handle_t library = papi_sde_init("early");
  void* counter = nullptr;
  static long long x = 0;
  papi_sde_create_counter(library, "created", PAPI_SDE_DELTA, &counter);
  EXPECT_EQ(timers_asked, 0);
  papi_sde_register_counter(library, "variable", PAPI_SDE_DELTA, PAPI_SDE_long_long, &x);
  EXPECT_EQ(timers_asked, 1);
  papi_sde_inc_counter(counter, 4);
  EXPECT_EQ(overflow_checks, (std::vector<std::pair<unsigned, long long>>{{created, 4}}));
  EXPECT_EQ(sde_ti_is_counter_set_to_overflow(created), 0);
  EXPECT_EQ(sde_ti_set_counter_overflow(variable, 10), 0xFF);
  EXPECT_EQ(sde_ti_set_counter_overflow(UINT32_MAX, 10), SDE_EINVAL);
}

// PA-10: the number table grows by blocks that never move
TEST(SdePublish, ThousandsOfEventsKeepTheirNumbers) {
  papi_handle_t library = papi_sde_init("many");
  static long long values[5000];
  std::vector<uint32_t> ids;
  for (int i = 0; i < 5000; ++i) {
    values[i] = i * 3;
    const std::string name = "e" + std::to_string(i);
    ASSERT_EQ(
        papi_sde_register_counter(library, name.c_str(), PAPI_SDE_INSTANT, PAPI_SDE_long_long, &values[i]),
        SDE_OK);
    ids.push_back(number_of(("many::" + name).c_str()));
  }
  for (int i = 0; i < 5000; ++i) {
    long long value = -1;
    ASSERT_EQ(sde_ti_read_counter(ids[static_cast<size_t>(i)], &value), SDE_OK);
    ASSERT_EQ(value, i * 3);
    ASSERT_EQ("many::e" + std::to_string(i),
              sde_ti_get_event_name(static_cast<int>(ids[static_cast<size_t>(i)])));
  }
  EXPECT_EQ(papi_sde_shutdown(library), SDE_OK);
}

}  // namespace

// The words a tool lends to libsde.
extern "C" __attribute__((visibility("default"))) int papi_sde_check_overflow_status(unsigned id,
                                                                                     long long value);
extern "C" __attribute__((visibility("default"))) int papi_sde_set_timer_for_overflow(void);
int papi_sde_check_overflow_status(unsigned id, long long value) {
  overflow_checks.emplace_back(id, value);
  return 0;
}
int papi_sde_set_timer_for_overflow(void) {
  ++timers_asked;
  return 0;
}
