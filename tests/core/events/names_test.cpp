// Near names and the reader of user-defined events.
#include <gtest/gtest.h>

#include "events/event_spec.hpp"
#include "events/near_names.hpp"
#include "events/user_events.hpp"

namespace {

using namespace substrata;

TEST(NearNamesSearch, DistanceIsThatOfSingleChanges) {
  EXPECT_EQ(edit_distance("kitten", "sitting", 9), 3u);
  EXPECT_EQ(edit_distance("", "abc", 9), 3u);
  EXPECT_EQ(edit_distance("ABC", "abc", 9), 0u);
  EXPECT_EQ(edit_distance("aaaaaaaa", "bbbbbbbb", 3), 4u) << "stops above the limit";
}

TEST(NearNamesSearch, BestComeFirstAndStrangersNotAtAll) {
  NearNames near("TASK-CLOK", 2);
  for (const char* name : {"perf::CPU-CLOCK", "perf::TASK-CLOCK", "PAPI_TOT_CYC", "perf::TASK-CLOCK"})
    near.offer(name);
  ASSERT_FALSE(near.best().empty());
  EXPECT_EQ(near.best()[0], "perf::TASK-CLOCK");
  EXPECT_TRUE(NearNames("xyzzy").best().empty());
}

TEST(EventSpecOfAName, DividesComponentEventAndQualifiers) {
  const EventSpec whole = parse_event_spec("net:::lo:rx:bytes");
  EXPECT_TRUE(whole.has_component);
  EXPECT_EQ(whole.component, "net");
  EXPECT_EQ(whole.event, "lo:rx:bytes");
  const EventSpec prefixed = parse_event_spec("perf::CYCLES:u=1:k=0");
  EXPECT_FALSE(prefixed.has_component);
  EXPECT_EQ(prefixed.event, "perf::CYCLES:u=1:k=0");
  EXPECT_EQ(prefixed.plain, "perf::CYCLES");
  EXPECT_TRUE(parse_event_spec("perf::CYCLES").plain.empty());
  EXPECT_TRUE(parse_event_spec("").event.empty());
  EXPECT_TRUE(parse_event_spec(":::").has_component);
  EXPECT_TRUE(parse_event_spec(":::").event.empty());
}

TEST(UserEventsFile, BadLinesAreToldByNumber) {
  struct Case {
    const char* text;
    const char* part;
  };
  for (const Case& bad :
       {Case{"\nPRESET,A,NOT_DERIVED,x\n", "line 2: a line begins with EVENT"},
        Case{"EVENT,A,NOT_DERIVED\n", "line 1: an event needs"},
        Case{"EVENT,A B,NOT_DERIVED,x\n", "not an event name"},
        Case{"EVENT,A,DERIVED_X,x\n", "unknown derived type"},
        Case{"EVENT,A,DERIVED_POSTFIX,N0|N1|+,x\n", "no such term"},
        Case{"EVENT,A,NOT_DERIVED,\"x\n", "quoted"},
        Case{"EVENT,A,NOT_DERIVED,x,LDESC\n", "a text is missing"},
        Case{"EVENT,A,NOT_DERIVED,x\nEVENT,A,NOT_DERIVED,x\n", "line 2: this name is defined twice"}}) {
    const Result<std::vector<UserEvent>> events = parse_user_events(bad.text);
    ASSERT_EQ(events.error().code, Code::kInvalid) << bad.text;
    EXPECT_NE(std::string(events.error().note).find(bad.part), std::string::npos) << events.error().note;
  }
  EXPECT_TRUE(parse_user_events("# nothing\r\n\n").value_or(std::vector<UserEvent>(1)).empty());
  std::string many;
  for (int i = 0; i < 51; ++i) many += "EVENT,E" + std::to_string(i) + ",NOT_DERIVED,x\n";
  EXPECT_EQ(parse_user_events(many).error().code, Code::kInvalid);
}

}  // namespace
