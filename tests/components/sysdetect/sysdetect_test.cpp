// sysdetect: a component without events refuses every event and stays empty.
#include <gtest/gtest.h>
#include <substrata/substrate.h>

#include "entry_points.hpp"

namespace {

using namespace substrata;

// PA-31
TEST(Sysdetect, HasNoEventsAndRefusesToAddOrStartAny) {
  Host host;
  SubstrateTable table;
  ASSERT_EQ(substrata_entry_sysdetect(&host, &table), 0);
  EXPECT_STREQ(table.name, "sysdetect");
  EXPECT_EQ(table.event_count(nullptr), 0u);
  Event event;
  EXPECT_EQ(table.event_at(nullptr, 0, &event).code, Code::kNoEvent);
  uint32_t index = 7;
  EXPECT_EQ(table.find_event(nullptr, "anything", &index).code, Code::kNoEvent);
  EXPECT_EQ(index, 7u);
  Set* set = nullptr;
  ASSERT_TRUE(table.create_set(nullptr, nullptr, &set).ok());
  ASSERT_NE(set, nullptr);
  EXPECT_TRUE(table.program(set, nullptr, 0).ok());
  EXPECT_EQ(table.program(set, &index, 1).code, Code::kNoEvent);
  EXPECT_EQ(table.start(set).code, Code::kInvalid);
  EXPECT_EQ(table.stop(set).code, Code::kNotRunning);
  table.destroy_set(set);
}

}  // namespace
