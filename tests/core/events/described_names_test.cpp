// The built-in substrates on this machine: the names of their events are as their tables describe them.
#include <gtest/gtest.h>

#include <string>

#include "core/events/event_spec.hpp"
#include "core/eventset/library.hpp"

namespace {

using namespace substrata;

class BuiltInNames : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(Library::instance().initialise().ok()); }
  void TearDown() override { Library::instance().shutdown(); }
  Registry& registry() { return Library::instance().registry(); }
};

TEST_F(BuiltInNames, EveryListedEventHasANameThatItsTableDescribes) {
  for (int i = 0; i < registry().count(); ++i) {
    Component& component = *registry().at(i);
    const uint32_t count = component.event_count();
    for (uint32_t index = 0; index < count; ++index) {
      Event event;
      ASSERT_TRUE(component.event_at(index, &event).ok());
      const EventSpec spec = parse_event_spec(event.name);
      EXPECT_TRUE(component.may_have(spec.event) || component.may_have(spec.plain))
          << component.name() << ": " << event.name;
    }
  }
}

TEST_F(BuiltInNames, NamesDescribedInFullAreFound) {
  for (int i = 0; i < registry().count(); ++i) {
    Component& component = *registry().at(i);
    if (!component.ensure_open().ok()) continue;
    for (const std::string& name : component.known_events())
      EXPECT_TRUE(component.find_event(name.c_str()).has_value()) << component.name() << ": " << name;
  }
}

TEST_F(BuiltInNames, MisspeltNameAsksNoComponentButTheProcessor) {
  for (const char* name : {"NO_SUCH_EVENT", "CYCELS", "PACKETS_SNET", "cycles per second"})
    EXPECT_EQ(Library::instance().catalogue().find(name).error().code, Code::kNoEvent) << name;
  for (int i = 0; i < registry().count(); ++i) {
    const Component& component = *registry().at(i);
    EXPECT_TRUE(!component.asked() || component.has(kProcessor)) << component.name();
  }
}

TEST_F(BuiltInNames, MisspeltPresetAsksNoComponent) {
  EXPECT_EQ(Library::instance().catalogue().find("PAPI_TOT_CYCS").error().code, Code::kNoEvent);
  for (int i = 0; i < registry().count(); ++i)
    EXPECT_FALSE(registry().at(i)->asked()) << registry().at(i)->name();
}

}  // namespace
