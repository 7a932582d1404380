// The library up and down, laziness, forks (PA-6, PA-35).
#include "core/eventset/library.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include "core/eventset/options.hpp"
#include "support/fake_substrates.hpp"

namespace {

using namespace substrata;
using fake::calls;
using fake::set_of;
using fake::ticks;

class LibraryLife : public fake::LibraryTest {};

TEST(LibraryBeforeInit, EveryCallAnswersInsteadOfDying) {  // PA-35
  Library::instance().use_built_in(fake::substrates());
  int64_t values[1];
  int64_t cycles;
  const int codes[1] = {0};
  EXPECT_EQ(create_event_set().error().code, Code::kNotInitialised);
  EXPECT_EQ(add_event(0, kPresetMask).code, Code::kNotInitialised);
  EXPECT_EQ(add_events(0, codes, 1).status.code, Code::kNotInitialised);
  EXPECT_EQ(remove_event(0, kPresetMask).code, Code::kNotInitialised);
  EXPECT_EQ(cleanup_event_set(0).code, Code::kNotInitialised);
  EXPECT_EQ(assign_component(0, 0).code, Code::kNotInitialised);
  EXPECT_EQ(start_set(0).code, Code::kNotInitialised);
  EXPECT_EQ(stop_set(0, values).code, Code::kNotInitialised);
  EXPECT_EQ(read_set(0, values).code, Code::kNotInitialised);
  EXPECT_EQ(read_set_ts(0, values, &cycles).code, Code::kNotInitialised);
  EXPECT_EQ(accumulate_set(0, values).code, Code::kNotInitialised);
  EXPECT_EQ(reset_set(0).code, Code::kNotInitialised);
  EXPECT_EQ(write_set(0, values).code, Code::kNotInitialised);
  EXPECT_EQ(state_of(0).error().code, Code::kNotInitialised);
  EXPECT_EQ(event_count_of(0).error().code, Code::kNotInitialised);
  EXPECT_EQ(events_of(0).error().code, Code::kNotInitialised);
  EXPECT_EQ(component_of_set(0).error().code, Code::kNotInitialised);
  EXPECT_EQ(set_multiplex(0, 0, false).code, Code::kNotInitialised);
  EXPECT_EQ(set_default_domain(kDomainUser).code, Code::kNotInitialised);
  EXPECT_EQ(register_thread().code, Code::kNotInitialised);
  EXPECT_EQ(unregister_thread().code, Code::kMisc);
  EXPECT_EQ(thread_id().error().code, Code::kMisc);
  EXPECT_TRUE(list_threads().empty());
  EXPECT_EQ(Library::instance().registry().count(), 4) << "the list of substrates is known before";
}

TEST_F(LibraryLife, NothingIsDetectedBeforeAnyoneAsks) {
  const int before = calls.detects;
  Library::instance().shutdown();
  ASSERT_TRUE(Library::instance().initialise().ok());
  EXPECT_EQ(calls.detects, before);
  EXPECT_EQ(Library::instance().registry().at(2)->disabled(), static_cast<int>(Code::kNoSupport));
  EXPECT_EQ(Library::instance().registry().at(2)->disabled_reason(), "there is no such device; plug one in");
  EXPECT_EQ(calls.detects, before + 1);
}

TEST_F(LibraryLife, InitShutdownInitWorksAnyNumberOfTimes) {  // PA-35
  for (int round = 0; round < 20; ++round) {
    const int set = set_of({"alpha::CYCLES"});
    EXPECT_EQ(set, 0);
    ASSERT_TRUE(start_set(set).ok());
    const int opened = calls.opens - calls.closes;
    EXPECT_EQ(opened, 1);
    Library::instance().shutdown();  // while it runs
    EXPECT_EQ(calls.opens, calls.closes);
    EXPECT_EQ(calls.starts, calls.stops);
    EXPECT_EQ(read_set(set, nullptr).code, Code::kNotInitialised);
    Library::instance().shutdown();
    ASSERT_TRUE(Library::instance().initialise().ok());
    ASSERT_TRUE(Library::instance().initialise().ok());
  }
}

TEST_F(LibraryLife, DisabledComponentSaysWhoDisabledIt) {  // PA-15
  Library::instance().shutdown();
  ASSERT_TRUE(Library::instance().registry().disable("alpha").ok());
  EXPECT_EQ(Library::instance().registry().disable("nosuch").code, Code::kNoComponent);
  ASSERT_TRUE(Library::instance().initialise().ok());
  EXPECT_EQ(Library::instance().registry().at(0)->disabled(), 1);
  EXPECT_EQ(Library::instance().catalogue().find("alpha::CYCLES").error().code, Code::kNoEvent);
  Library::instance().shutdown();
  ASSERT_TRUE(Library::instance().initialise().ok());
  EXPECT_EQ(Library::instance().registry().at(0)->disabled(), 0);
}

// Runs `body` in a forked child; its result is the exit status.
template <class Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST_F(LibraryLife, ForkedChildReadsAndStopsTheParentsSetWithoutStoppingTheCounters) {
  const int set = set_of({"alpha::CYCLES"});
  ASSERT_TRUE(start_set(set).ok());
  ticks += 4;
  EXPECT_EQ(in_child([&] {
              const int stops = calls.stops;
              int64_t values[1] = {};
              if (!stop_set(set, values).ok()) return 1;
              if (values[0] != 4) return 2;
              if (calls.stops != stops) return 3;  // the parent's counters
              if (!start_set(set).ok()) return 4;
              ticks += 2;
              if (!stop_set(set, values).ok() || values[0] != 2) return 5;
              return 0;
            }),
            0);
  int64_t values[1] = {};
  EXPECT_TRUE(stop_set(set, values).ok());
  EXPECT_EQ(values[0], 4);
}

TEST_F(LibraryLife, ForkedChildMayBeginAnew) {
  const int set = set_of({"alpha::CYCLES"});
  ASSERT_TRUE(start_set(set).ok());
  EXPECT_EQ(in_child([&] {
              if (!Library::instance().initialise().ok()) return 1;
              if (read_set(set, nullptr).code != Code::kNoEventSet) return 2;
              const int own = create_event_set().value_or(-1);
              if (own != 0) return 3;
              if (!add_named_event(own, "alpha::CYCLES").ok()) return 4;
              if (!start_set(own).ok()) return 5;
              if (!stop_set(own, nullptr).ok()) return 6;
              Library::instance().shutdown();
              return 0;
            }),
            0);
  EXPECT_TRUE(stop_set(set, nullptr).ok());
}

TEST_F(LibraryLife, DefaultsAreCheckedAndForgottenAtShutdown) {
  EXPECT_EQ(set_default_domain(0).code, Code::kInvalid);
  EXPECT_EQ(set_default_domain(0x40).code, Code::kInvalid);
  EXPECT_TRUE(set_default_domain(kDomainAll, 3).ok());
  EXPECT_EQ(default_domain(3).value_or(0u), static_cast<uint32_t>(kDomainAll));
  EXPECT_EQ(set_default_domain(kDomainUser, 99).code, Code::kNoComponent);
  EXPECT_EQ(set_default_granularity(0, 3).code, Code::kInvalid);
  EXPECT_EQ(set_default_granularity(kGranularityProcessGroup, 3).code, Code::kInvalid);
  EXPECT_TRUE(set_default_granularity(kGranularityThread, 3).ok());
  EXPECT_EQ(configuration_of(set_of({"delta:::a"})).value_or(Configuration{}).granularity,
            kGranularityThread);
  EXPECT_EQ(set_default_granularity(kGranularityThread, 99).code, Code::kNoComponent);
  EXPECT_EQ(default_multiplex_ns(), 10'000'000u);
  EXPECT_EQ(set_debug_level(99).code, Code::kInvalid);
  EXPECT_TRUE(set_debug_level(0).ok());
  EXPECT_EQ(counters_of_component(0).value_or(-1), 64);
  EXPECT_EQ(counters_of_component(2).value_or(-1), 0) << "an unavailable component counts nothing";
  EXPECT_EQ(counters_of_component(99).error().code, Code::kComponent);
  Library::instance().shutdown();
  ASSERT_TRUE(Library::instance().initialise().ok());
  EXPECT_EQ(default_domain(3).value_or(0u), static_cast<uint32_t>(kDomainUser));
}

}  // namespace
