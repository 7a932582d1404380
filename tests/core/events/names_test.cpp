// Near names and the reader of user-defined events.
#include <gtest/gtest.h>

#include "core/events/event_spec.hpp"
#include "core/events/near_names.hpp"
#include "core/events/user_events.hpp"

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

std::string first_refused(const UserEventsFile& file) {
  if (file.refused.empty()) return "";
  const RefusedLine& line = file.refused[0];
  return std::to_string(line.number) + ":" + std::to_string(line.column) + ": " + line.why;
}

TEST(UserEventsFile, BadLinesAreReportedByLineAndColumn) {
  struct Case {
    const char* text;
    const char* part;
  };
  for (const Case& bad :
       {Case{"\nNOTHING,A,NOT_DERIVED,x\n", "2:1: a line begins with EVENT or CPU, not with \"NOTHING\""},
        Case{"EVENT,A,NOT_DERIVED\n", "1:9: an event needs"},
        Case{"  EVENT, A B,NOT_DERIVED,x\n", "1:10: this is not an event name"},
        Case{"EVENT,A,DERIVED_X,x\n", "1:9: unknown derived type"},
        Case{"EVENT,A,DERIVED_POSTFIX,N0|N1|+,x\n", "1:25: "},
        Case{"EVENT,A,NOT_DERIVED,\"x\n", "1:21: a quoted"}, Case{"\"\n", "1:1: a quoted"},
        Case{"CPU\n", "1:1: CPU needs"}, Case{"EVENT,A,NOT_DERIVED,x,LDESC\n", "1:23: a text is missing"}}) {
    const UserEventsFile file = parse_user_events(bad.text);
    EXPECT_TRUE(file.events.empty()) << bad.text;
    EXPECT_NE(first_refused(file).find(bad.part), std::string::npos) << first_refused(file);
  }
  EXPECT_TRUE(parse_user_events("# nothing\r\n\n").events.empty());
  EXPECT_EQ(first_refused(parse_user_events("# nothing\r\n\n")), "");
  std::string many;
  for (int i = 0; i < 51; ++i) many += "EVENT,E" + std::to_string(i) + ",NOT_DERIVED,x\n";
  EXPECT_EQ(first_refused(parse_user_events(many)), "51:7: more than 50 events");
}

std::vector<std::string> names_in(const std::string& text, const std::vector<std::string>& units) {
  const UserEventsFile file = parse_user_events(text, [&] { return units; });
  EXPECT_EQ(first_refused(file), "");
  std::vector<std::string> names;
  for (const UserEvent& event : file.events) names.push_back(event.name);
  return names;
}

// The form of PAPI's manual, of which the whole file was refused.
TEST(UserEventsFile, SectionsOfCpuLinesHoldForTheUnitsTheyName) {
  const std::string text =
      "EVENT,EVERYWHERE,NOT_DERIVED,x\n"
      "CPU,skx\nCPU,CLX\n"
      "EVENT,ON_SKX,DERIVED_INFIX,N0*2,x\n"
      "CPU,icx\n"
      "EVENT,ON_ICX,NOT_DERIVED,x\n"
      "CPU,amd64_fam19h*\n"
      "PRESET,ON_AMD,NOT_DERIVED,x,\n";
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_in(text, {"skx", "cpu"}), (Names{"EVERYWHERE", "ON_SKX"}));
  EXPECT_EQ(names_in(text, {"clx"}), (Names{"EVERYWHERE", "ON_SKX"}));
  EXPECT_EQ(names_in(text, {"amd64_fam19h_zen4"}), (Names{"EVERYWHERE", "ON_AMD"}));
  EXPECT_EQ(names_in(text, {}), Names{"EVERYWHERE"});
}

TEST(UserEventsFile, GoodLinesBesideABadOneCount) {
  const UserEventsFile file = parse_user_events(
      "EVENT,A,NOT_DERIVED,x\nEVENT,B,DERIVED_X,x\nEVENT,C,NOT_DERIVED,x\nEVENT,A,DERIVED_ADD,y,z\n");
  ASSERT_EQ(file.events.size(), 2u);
  EXPECT_EQ(file.events[0].terms, (std::vector<std::string>{"y", "z"})) << "the later definition";
  EXPECT_EQ(file.events[1].name, "C");
  ASSERT_EQ(file.refused.size(), 1u);
  EXPECT_EQ(file.refused[0].name, "B");
}

}  // namespace
