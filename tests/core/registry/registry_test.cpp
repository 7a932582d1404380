// Building tables from entry points, and the list of substrates (PA-1, PA-6, PA-40).
#include "core/registry/registry.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <string>

#include "core/registry/table_builder.hpp"
#include "support/smallest_substrate.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace substrata;

uint32_t count(Device*) noexcept { return 2; }
Status at(Device*, uint32_t index, Event* out) noexcept {
  out->name = index == 0 ? "first" : "second";
  return kSuccess;
}
constexpr SubstrateTable kGood = [] {
  SubstrateTable table = smallest::table("good");
  table.summary = table.version = nullptr;
  table.event_count = count;
  table.event_at = at;
  return table;
}();

// What the next entry point publishes.
SubstrateTable published;
int32_t entry(const Host* host, SubstrateTable* out) noexcept { return publish(published, host, out); }

Result<SubstrateTable> build(const SubstrateTable& table) {
  published = table;
  return build_table(entry, Host{}, "test");
}

TEST(TableBuilder, EmptyOptionalSlotsGetDefaults) {  // PA-1
  const Result<SubstrateTable> table = build(kGood);
  ASSERT_TRUE(table.has_value()) << table.error().note;
  EXPECT_STREQ(table->short_name, "good");
  EXPECT_STREQ(table->summary, "");
  EXPECT_TRUE(table->detect(nullptr).ok());
  Device* device = reinterpret_cast<Device*>(1);
  EXPECT_TRUE(table->open(nullptr, &device).ok());
  EXPECT_EQ(device, nullptr);
  Thread* thread = reinterpret_cast<Thread*>(1);
  EXPECT_TRUE(table->attach(nullptr, &thread).ok());
  EXPECT_EQ(table->write(nullptr, nullptr).code, Code::kNoSupport);
  EXPECT_TRUE(table->fast_reads(nullptr));
  EXPECT_EQ(table->hardware_counters, nullptr) << "a fact the core acts on";
  EXPECT_EQ(table->arm, nullptr) << "a fact the core acts on";
}

uint32_t eleven(Device*) noexcept { return 11; }
bool slow(Device*) noexcept { return false; }

TEST(TableBuilder, APlugInFromBeforeASlotGetsItsDefault) {
  SubstrateTable older = kGood;
  older.hardware_counters = eleven;
  older.fast_reads = slow;
  older.struct_size = offsetof(SubstrateTable, hardware_counters);
  const Result<SubstrateTable> table = build(older);
  ASSERT_TRUE(table.has_value()) << table.error().note;
  EXPECT_EQ(table->hardware_counters, nullptr) << "what lies beyond its size is not the plug-in's";
  EXPECT_TRUE(table->fast_reads(nullptr));
}

TEST(TableBuilder, EveryRequiredSlotIsMissed) {
  const auto refuses = [](auto change, const char* part) {
    SubstrateTable table = kGood;
    change(table);
    const Result<SubstrateTable> built = build(table);
    ASSERT_FALSE(built.has_value()) << part;
    EXPECT_NE(std::string(built.error().note).find(part), std::string::npos) << built.error().note;
  };
  refuses([](SubstrateTable& t) { t.event_count = nullptr; }, "slot event_count");
  refuses([](SubstrateTable& t) { t.event_at = nullptr; }, "slot event_at");
  refuses([](SubstrateTable& t) { t.create_set = nullptr; }, "slot create_set");
  refuses([](SubstrateTable& t) { t.destroy_set = nullptr; }, "slot destroy_set");
  refuses([](SubstrateTable& t) { t.program = nullptr; }, "slot program");
  refuses([](SubstrateTable& t) { t.start = nullptr; }, "slot start");
  refuses([](SubstrateTable& t) { t.stop = nullptr; }, "slot stop");
  refuses([](SubstrateTable& t) { t.read = nullptr; }, "slot read");
  refuses([](SubstrateTable& t) { t.reset = nullptr; }, "slot reset");
  refuses([](SubstrateTable& t) { t.name = nullptr; }, "name of a substrate");
  refuses([](SubstrateTable& t) { t.name = ""; }, "name of a substrate");
  refuses([](SubstrateTable& t) { t.name = "Bad Name"; }, "\"Bad Name\"");
  refuses(
      [](SubstrateTable& t) { t.name = "a234567890123456789012345678901234567890123456789012345678901234"; },
      "name of a substrate");
  refuses([](SubstrateTable& t) { t.abi = 77; }, "version 77");
  refuses([](SubstrateTable& t) { t.struct_size = 64; }, "64 bytes");
  refuses([](SubstrateTable& t) { t.traits = kReadBlocks; }, "how long");
  refuses([](SubstrateTable& t) { t.close = [](Device*) noexcept {}; }, "close without open");
  refuses([](SubstrateTable& t) { t.disarm = [](Set*, uint32_t) noexcept { return kSuccess; }; },
          "only one of arm");
  refuses([](SubstrateTable& t) { t.domains = kDomainUser; }, "default domain");
  EXPECT_FALSE(build_table(nullptr, Host{}, "test").has_value());
}

TEST(TableBuilder, TableOfAnOlderSubstrateIsTakenUpToItsEnd) {
  SubstrateTable older = kGood;
  older.struct_size = offsetof(SubstrateTable, arm);
  const Result<SubstrateTable> table = build(older);
  ASSERT_TRUE(table.has_value()) << table.error().note;
  EXPECT_EQ(table->arm, nullptr);
}

TEST(ComponentCatalogue, NamesAreComparedWhereThereIsNoSearch) {
  const Host host;
  const Result<SubstrateTable> table = build(kGood);
  ASSERT_TRUE(table.has_value());
  Component component(0, *table, &host, SharedLibrary(), "built-in");
  EXPECT_FALSE(component.asked());
  EXPECT_EQ(component.find_event("second").value_or(9u), 1u);
  EXPECT_TRUE(component.asked());
  EXPECT_EQ(component.find_event("third").error().code, Code::kNoEvent);
  EXPECT_EQ(component.full_name("first"), "good:::first");
  Event event;
  EXPECT_EQ(component.event_at(2, &event).code, Code::kNoEvent);
  EXPECT_STREQ(event.name, nullptr);
  ASSERT_TRUE(component.event_at(1, &event).ok());
  EXPECT_STREQ(event.unit, "");
}

int counted;
uint32_t count_slowly(Device*) noexcept {
  ++counted;
  return 2;
}
Status find_second(Device*, const char*, uint32_t* index) noexcept {
  *index = 1;
  return kSuccess;
}

// perf_event lists every form of every event for it.
TEST(ComponentCatalogue, WhatItsOwnSearchFoundIsDescribedWithoutCountingItsEvents) {
  const Host host;
  SubstrateTable searches = kGood;
  searches.event_count = count_slowly;
  searches.find_event = find_second;
  Component component(0, *build(searches), &host, SharedLibrary(), "built-in");
  ASSERT_EQ(component.find_event("second").value_or(9u), 1u);
  counted = 0;
  Event event;
  ASSERT_TRUE(component.event_at(1, &event).ok());
  EXPECT_STREQ(event.name, "second");
  EXPECT_EQ(counted, 0);
  EXPECT_EQ(component.event_at(2, &event).code, Code::kNoEvent);
  EXPECT_EQ(counted, 1);
}

TEST(ComponentLife, UserMayDisableBeforeOpeningOnly) {
  const Host host;
  Component component(0, *build(kGood), &host, SharedLibrary(), "built-in");
  component.disable("by the test");
  EXPECT_EQ(component.ensure_open().code, Code::kDisabled);
  EXPECT_EQ(component.disabled(), 1);
  EXPECT_EQ(component.disabled_reason(), "by the test");
  EXPECT_EQ(component.event_count(), 0u);
  component.close();
  EXPECT_TRUE(component.ensure_open().ok());
  component.disable("too late");
  EXPECT_EQ(component.disabled(), 0);
}

class PlugInPath : public testing::Test {
 protected:
  void TearDown() override {
    unsetenv("SUBSTRATA_PLUGIN_PATH");
    unsetenv("PAPI_DISABLE_COMPONENTS");
  }
  const substrata::tests::TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
  std::string file_;
};

constexpr BuiltIn kNone[] = {{nullptr, nullptr}};
constexpr BuiltIn kTwice[] = {{"good", entry}, {"good", entry}, {nullptr, nullptr}};

TEST_F(PlugInPath, IsOffUnlessSetAndEveryRefusalIsAMessage) {  // PA-40
  file_ = folder_ + "/substrata-broken.so";
  std::FILE* file = std::fopen(file_.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs("this is no shared object\n", file);
  std::fclose(file);
  {
    Registry registry;
    registry.set_built_in(kNone);
    EXPECT_EQ(registry.count(), 0);
    EXPECT_TRUE(registry.refusals().empty());
  }
  setenv("SUBSTRATA_PLUGIN_PATH", (folder_ + ":/nonexistent_folder").c_str(), 1);
  Registry registry;
  registry.set_built_in(kNone);
  EXPECT_EQ(registry.count(), 0);
  const std::vector<std::string> refusals = registry.refusals();
  ASSERT_EQ(refusals.size(), 2u);
  EXPECT_NE(refusals[0].find("cannot be loaded"), std::string::npos) << refusals[0];
  EXPECT_NE(refusals[1].find("/nonexistent_folder: cannot be opened"), std::string::npos) << refusals[1];
}

TEST_F(PlugInPath, DisablingByEnvironmentIsAppliedAndLiftedAtClose) {  // PA-15
  published = kGood;
  setenv("PAPI_DISABLE_COMPONENTS", "nosuch,good", 1);
  Registry registry;
  registry.set_built_in(kTwice);
  ASSERT_EQ(registry.count(), 1) << "the second of one name is refused";
  EXPECT_EQ(registry.refusals().size(), 1u);
  EXPECT_EQ(registry.at(0)->disabled(), 1);
  EXPECT_EQ(registry.find("good"), registry.at(0));
  EXPECT_EQ(registry.at(-1), nullptr);
  EXPECT_EQ(registry.at(1), nullptr);
  EXPECT_EQ(registry.disable(9).code, Code::kNoComponent);
  unsetenv("PAPI_DISABLE_COMPONENTS");
  registry.close_all();
  EXPECT_EQ(registry.count(), 1);
  EXPECT_EQ(registry.at(0)->disabled(), 0);
}

}  // namespace
