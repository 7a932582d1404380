// The conformance suite: what every substrate's table must do, asked of each built-in one through its entry
// point.
#include <gtest/gtest.h>
#include <substrata/substrate.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "core/registry/built_in.hpp"

namespace substrata {
namespace {

// How many events of a long catalogue are looked at one by one.
constexpr uint32_t kMostEvents = 60;

Host real_host() {
  Host host;
  host.now_ns = [](void*) noexcept -> int64_t {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  };
  host.setting = [](void*, const char* name) noexcept -> const char* { return std::getenv(name); };
  host.log = [](void*, const char*) noexcept {};
  // Where "/" is: a tree of files with what this machine may lack. What is asked for must then be there.
  if (const char* root = std::getenv("CONFORMANCE_ROOT"); root != nullptr) host.root = root;
  return host;
}

// A set with one thread's state, taken down in order.
struct ScratchSet {
  const SubstrateTable& table;
  Device* device;
  Thread* thread = nullptr;
  Set* set = nullptr;
  bool attached = false;
  Status made;

  ScratchSet(const SubstrateTable& of, Device* on) : table(of), device(on) {
    if (table.attach != nullptr) {
      made = table.attach(device, &thread);
      attached = made.ok();
    }
    if (made.ok()) made = table.create_set(device, thread, &set);
  }
  ~ScratchSet() {
    if (made.ok()) table.destroy_set(set);
    if (attached && table.detach != nullptr) table.detach(device, thread);
  }
  ScratchSet(const ScratchSet&) = delete;
  ScratchSet& operator=(const ScratchSet&) = delete;
};

class Conformance : public testing::TestWithParam<const BuiltIn*> {
 protected:
  void SetUp() override {
    ASSERT_EQ(GetParam()->entry(&host_, &table_), 0);
    if (table_.detect != nullptr) detected_ = table_.detect(&host_);
    ASSERT_TRUE(detected_.ok() || host_.root[0] == '\0') << (detected_.note ? detected_.note : "");
  }
  void TearDown() override {
    programmed_.reset();
    close_device();
  }

  // Opens the device, or skips the test with the substrate's own reason.
  void open_or_skip() {
    if (!detected_.ok())
      GTEST_SKIP() << table_.name << " is not here: " << (detected_.note ? detected_.note : "");
    if (table_.open != nullptr) {
      const Status status = table_.open(&host_, &device_);
      if (!status.ok()) GTEST_SKIP() << table_.name << " does not open: " << (status.note ? status.note : "");
    }
    open_ = true;
  }
  void close_device() {
    programmed_.reset();
    if (open_ && table_.close != nullptr) table_.close(device_);
    open_ = false;
    device_ = nullptr;
  }
  std::vector<uint32_t> available_events() {
    std::vector<uint32_t> found;
    const uint32_t count = table_.event_count(device_);
    for (uint32_t i = 0; i < count && i < kMostEvents; ++i) {
      Event event;
      if (table_.event_at(device_, i, &event).ok() && (event.flags & kEventUnavailable) == 0)
        found.push_back(i);
    }
    return found;
  }
  std::vector<Event> listed_events() {
    std::vector<Event> all(std::min(table_.event_count(device_), kMostEvents));
    for (uint32_t i = 0; i < all.size(); ++i) EXPECT_TRUE(table_.event_at(device_, i, &all[i]).ok()) << i;
    return all;
  }
  // The first event that opens, in a set of its own.
  void program_one_event_or_skip() {
    open_or_skip();
    if (IsSkipped()) return;
    const std::vector<uint32_t> events = available_events();
    if (events.empty()) GTEST_SKIP() << table_.name << " has no event that opens here";
    first_event_ = events[0];
    programmed_.emplace(table_, device_);
    ASSERT_TRUE(programmed_->made.ok());
    ASSERT_TRUE(table_.program(programmed_->set, &first_event_, 1).ok());
  }

  Host host_ = real_host();
  SubstrateTable table_;
  Status detected_ = kSuccess;
  Device* device_ = nullptr;
  bool open_ = false;
  uint32_t first_event_ = 0;
  std::optional<ScratchSet> programmed_;
};

TEST_P(Conformance, PublishesItsNameAndEveryRequiredSlot) {  // PA-1
  EXPECT_STREQ(table_.name, GetParam()->name);
  for (const char* c = table_.name; *c != '\0'; ++c)
    EXPECT_TRUE(std::islower(*c) || std::isdigit(*c) || *c == '_') << table_.name;
  EXPECT_LT(std::strlen(table_.name), 64u);
  ASSERT_NE(table_.summary, nullptr);
  ASSERT_NE(table_.version, nullptr);
  EXPECT_NE(table_.event_count, nullptr);
  EXPECT_NE(table_.event_at, nullptr);
  EXPECT_NE(table_.create_set, nullptr);
  EXPECT_NE(table_.destroy_set, nullptr);
  EXPECT_NE(table_.program, nullptr);
  EXPECT_NE(table_.start, nullptr);
  EXPECT_NE(table_.stop, nullptr);
  EXPECT_NE(table_.read, nullptr);
  EXPECT_NE(table_.reset, nullptr);
  EXPECT_EQ(table_.arm == nullptr, table_.disarm == nullptr) << "arm and disarm come together";
  EXPECT_EQ(table_.attach == nullptr, table_.detach == nullptr) << "attach and detach come together";
}

TEST_P(Conformance, CopiesNoMoreOfTheTableThanTheHostHasSpaceFor) {
  struct {
    SubstrateTable table;
    unsigned char beyond[64];
  } area;
  std::memset(static_cast<void*>(&area), 0x5a, sizeof area);
  area.table.struct_size = 64;
  ASSERT_EQ(GetParam()->entry(&host_, &area.table), 0);
  EXPECT_EQ(area.table.struct_size, 64u);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&area);
  for (size_t i = 64; i < sizeof area; ++i) ASSERT_EQ(bytes[i], 0x5a) << "byte " << i;
}

TEST_P(Conformance, RefusesAHostOfAnotherAbi) {
  Host foreign = host_;
  foreign.abi = kSubstrateAbi + 1;
  SubstrateTable table;
  EXPECT_LT(GetParam()->entry(&foreign, &table), 0);
  EXPECT_EQ(table.name, nullptr);
}

TEST_P(Conformance, GivesAMessageWhenItIsNotHere) {  // PA-6
  if (detected_.ok()) GTEST_SKIP() << table_.name << " is here";
  ASSERT_NE(detected_.note, nullptr);
  EXPECT_GT(std::strlen(detected_.note), 20u) << detected_.note;
}

TEST_P(Conformance, OpensAgainAfterClose) {
  open_or_skip();
  if (IsSkipped()) return;
  const uint32_t count = table_.event_count(device_);
  close_device();
  open_or_skip();
  if (IsSkipped()) return;
  EXPECT_EQ(table_.event_count(device_), count);
}

TEST_P(Conformance, EachEventHasANameATextAndAUnit) {
  open_or_skip();
  if (IsSkipped()) return;
  for (const Event& event : listed_events()) {
    ASSERT_NE(event.name, nullptr);
    EXPECT_NE(event.name[0], '\0');
    EXPECT_NE(event.text, nullptr) << event.name;
    EXPECT_NE(event.unit, nullptr) << event.name;
  }
}

TEST_P(Conformance, AnUnavailableEventSaysWhy) {  // PA-23
  open_or_skip();
  if (IsSkipped()) return;
  for (const Event& event : listed_events()) {
    if ((event.flags & kEventUnavailable) == 0) continue;
    ASSERT_NE(event.why, nullptr) << event.name;
    EXPECT_GT(std::strlen(event.why), 10u) << event.name;
  }
}

TEST_P(Conformance, AModelledSubstrateFlagsEachEvent) {  // CO-9
  if ((table_.traits & kModelled) == 0) GTEST_SKIP() << table_.name << " measures";
  open_or_skip();
  if (IsSkipped()) return;
  for (const Event& event : listed_events()) {
    EXPECT_NE(event.flags & kEventModelled, 0u) << event.name;
  }
}

TEST_P(Conformance, FindsEachEventByItsName) {  // PA-3
  open_or_skip();
  if (IsSkipped()) return;
  if (table_.find_event == nullptr) GTEST_SKIP() << "the layer compares names itself";
  const std::vector<Event> events = listed_events();
  for (uint32_t i = 0; i < events.size(); ++i) {
    uint32_t found = UINT32_MAX;
    ASSERT_TRUE(table_.find_event(device_, events[i].name, &found).ok()) << events[i].name;
    EXPECT_EQ(found, i) << events[i].name;
  }
}

TEST_P(Conformance, AnUnknownNameIsRefusedAndTheIndexUntouched) {
  open_or_skip();
  if (IsSkipped()) return;
  if (table_.find_event == nullptr) GTEST_SKIP() << "the layer compares names itself";
  uint32_t found = 0xabcdef;
  EXPECT_FALSE(table_.find_event(device_, "no.such/event of any kind", &found).ok());
  EXPECT_EQ(found, 0xabcdefu);
}

TEST_P(Conformance, AnIndexBeyondTheCatalogueIsRefused) {
  open_or_skip();
  if (IsSkipped()) return;
  Event event;
  EXPECT_FALSE(table_.event_at(device_, table_.event_count(device_), &event).ok());
  EXPECT_FALSE(table_.event_at(device_, UINT32_MAX, &event).ok());
}

TEST_P(Conformance, ASetThatWasNeverProgrammedIsDestroyed) {
  open_or_skip();
  if (IsSkipped()) return;
  ScratchSet scratch(table_, device_);
  EXPECT_TRUE(scratch.made.ok()) << (scratch.made.note ? scratch.made.note : "");
}

TEST_P(Conformance, CountsStartAtZeroAndAReadFillsEveryValue) {
  open_or_skip();
  if (IsSkipped()) return;
  const std::vector<uint32_t> events = available_events();
  if (events.empty()) GTEST_SKIP() << table_.name << " has no event that opens here";
  constexpr int64_t kUnwritten = 0x7ead7ead7ead7eadLL;
  for (const uint32_t event : events) {
    ScratchSet scratch(table_, device_);
    ASSERT_TRUE(scratch.made.ok());
    ASSERT_TRUE(table_.program(scratch.set, &event, 1).ok()) << event;
    const Status started = table_.start(scratch.set);
    ASSERT_TRUE(started.ok()) << event << " " << (started.note ? started.note : "");
    int64_t values[2] = {kUnwritten, kUnwritten};
    const Status read = table_.read(scratch.set, values);
    if (read.ok()) {
      EXPECT_NE(values[0], kUnwritten) << event;
    }
    EXPECT_EQ(values[1], kUnwritten) << "read wrote beyond its event";
    EXPECT_TRUE(table_.stop(scratch.set).ok()) << event;
  }
}

TEST_P(Conformance, AStoppedSetKeepsItsValues) {
  open_or_skip();
  if (IsSkipped()) return;
  for (const uint32_t index : available_events()) {
    Event event;
    ASSERT_TRUE(table_.event_at(device_, index, &event).ok());
    if (event.kind == ValueKind::kGauge) continue;
    ScratchSet scratch(table_, device_);
    ASSERT_TRUE(scratch.made.ok());
    ASSERT_TRUE(table_.program(scratch.set, &index, 1).ok());
    ASSERT_TRUE(table_.start(scratch.set).ok());
    ASSERT_TRUE(table_.stop(scratch.set).ok());
    int64_t first = -1;
    int64_t second = -2;
    ASSERT_TRUE(table_.read(scratch.set, &first).ok()) << index;
    ASSERT_TRUE(table_.read(scratch.set, &second).ok()) << index;
    EXPECT_EQ(first, second) << index;
  }
}

TEST_P(Conformance, AListWithAnUnknownEventChangesNothing) {
  program_one_event_or_skip();
  if (IsSkipped() || HasFatalFailure()) return;
  const ScratchSet& scratch = *programmed_;
  const uint32_t bad[2] = {first_event_, UINT32_MAX};
  EXPECT_FALSE(table_.program(scratch.set, bad, 2).ok());
  ASSERT_TRUE(table_.start(scratch.set).ok());
  int64_t values[2] = {0, 77};
  EXPECT_TRUE(table_.read(scratch.set, values).ok());
  EXPECT_EQ(values[1], 77) << "the refused list took hold";
  EXPECT_TRUE(table_.stop(scratch.set).ok());
}

TEST_P(Conformance, AProgrammedListCanBeReplacedByAnEmptyOne) {
  program_one_event_or_skip();
  if (IsSkipped() || HasFatalFailure()) return;
  const ScratchSet& scratch = *programmed_;
  EXPECT_TRUE(table_.program(scratch.set, nullptr, 0).ok());
  EXPECT_TRUE(table_.program(scratch.set, &first_event_, 1).ok());
}

TEST_P(Conformance, CanBeStartedAndStoppedManyTimes) {
  program_one_event_or_skip();
  if (IsSkipped() || HasFatalFailure()) return;
  const ScratchSet& scratch = *programmed_;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(table_.start(scratch.set).ok());
    ASSERT_TRUE(table_.reset(scratch.set).ok());
    ASSERT_TRUE(table_.stop(scratch.set).ok());
  }
}

std::vector<const BuiltIn*> every_built_in() {
  std::vector<const BuiltIn*> all;
  for (const BuiltIn* item = built_in_substrates(); item->name != nullptr; ++item) all.push_back(item);
  return all;
}

INSTANTIATE_TEST_SUITE_P(BuiltIn, Conformance, testing::ValuesIn(every_built_in()),
                         [](const auto& tested) { return std::string(tested.param->name); });

}  // namespace
}  // namespace substrata
