// The substrate's events over capsules.
#include <substrata/substrate.h>

#include <optional>

#include "entry_points.hpp"
#include "feeding.hpp"
#include "support/opened_substrate.hpp"

namespace substrata::owl::test {
namespace {

class Owl : public tests::SubstrateTest<substrata_entry_owl> {
 protected:
  void TearDown() override {
    set_.reset();
    SubstrateTest::TearDown();
  }
  void program(const std::vector<std::string>& names) { set_.emplace(table_, device_, events(names)); }
  std::vector<int64_t> read() { return set_->read(); }
  std::optional<tests::CountedSet> set_;
};

TEST_F(Owl, ANameIsEnoughToAttachAndTheSetRunsTheCapsule) {
  Feed feed("owl.test.byname");
  program({"owl.test.byname.counter.TRANSACTIONS", "owl.test.byname.counter.EVENTS_SEEN"});
  feed.access(1);
  EXPECT_EQ(read(), (std::vector<int64_t>{0, 0}));
  set_->start();
  for (int i = 0; i < 1000; ++i) feed.access(2);
  EXPECT_EQ(read(), (std::vector<int64_t>{1000, 1000}));
  set_->reset();
  feed.access(3);
  set_->stop();
  feed.access(4);
  EXPECT_EQ(read(), (std::vector<int64_t>{1, 1}));
  const int64_t written[] = {10, 20};
  set_->start();
  ASSERT_TRUE(table_.write(set_->get(), written).ok());
  feed.access(5);
  EXPECT_EQ(read(), (std::vector<int64_t>{11, 21}));
  set_->stop();
}

TEST_F(Owl, WhatALiveProbePointCountsIsNotCalledModelled) {  // OW-20
  using client::feed::Source;
  const Source live{.name = "owl-live"};
  const Source scaled{.name = "owl-scaled", .time_base = SUBSTRATA_TIME_VIRTUAL};
  const Source machine = Source::simulated("owl-machine", "made by a test");
  ASSERT_TRUE(live.probe("owllive.faults"));
  ASSERT_TRUE(live.probe("owlboth.live"));
  ASSERT_TRUE(scaled.probe("owlscaled.send"));
  ASSERT_TRUE(machine.probe("owlmachine.bus"));
  ASSERT_TRUE(machine.probe("owlboth.machine"));
  const auto modelled = [&](const std::string& name) {
    Event described{};
    EXPECT_TRUE(table_.event_at(device_, event(name), &described).ok()) << name;
    return (described.flags & kEventModelled) != 0;
  };
  EXPECT_FALSE(modelled("owllive.faults.counter.TRANSACTIONS"));
  EXPECT_FALSE(modelled("owllive.*.counter.EVENTS_SEEN"));
  EXPECT_TRUE(modelled("owlmachine.bus.counter.TRANSACTIONS"));
  EXPECT_TRUE(modelled("owlboth.*.counter.TRANSACTIONS"));
  EXPECT_TRUE(modelled("owlscaled.send.counter.TRANSACTIONS"));
  EXPECT_TRUE(modelled("owll*.faults.counter.TRANSACTIONS")) << "a machine's could be among them later";
  EXPECT_TRUE(modelled("EVENTS_SEEN"));
  EXPECT_TRUE(modelled("owllater.faults.counter.TRANSACTIONS"));
  ASSERT_TRUE(live.probe("owllater.faults"));
  EXPECT_FALSE(modelled("owllater.faults.counter.TRANSACTIONS"));
}

TEST_F(Owl, UnknownNamesAreRefusedAndTheCatalogueGrowsWithCapsules) {
  uint32_t index = 0;
  for (const char* name : {"NO_SUCH", "owl.test.x.nomodule.COUNT", "owl.test.x.counter.NO_METRIC",
                           "counter.TRANSACTIONS", "."}) {
    const Status status = table_.find_event(nullptr, name, &index);
    EXPECT_EQ(status.code, Code::kNoEvent) << name;
    EXPECT_NE(status.note, nullptr);
  }
  const uint32_t before = table_.event_count(nullptr);
  const TestCapsule capsule("owl.test.grows*", "histogram", "", 4096, "growing");
  EXPECT_GT(table_.event_count(nullptr), before);
  Event event_description;
  ASSERT_TRUE(table_.event_at(nullptr, event("growing.histogram.COUNTERS_USED"), &event_description).ok());
  EXPECT_EQ(event_description.kind, ValueKind::kGauge);
  EXPECT_NE(event_description.flags & kEventModelled, 0u);
}

TEST_F(Owl, EventsKeepTheirLastValuesWhenTheCapsuleGoesAndGoOnWhenItComesBack) {
  Feed feed("owl.test.comesback");
  {
    TestCapsule capsule(feed.name(), "counter");
    program({"owl.test.comesback.counter.TRANSACTIONS"});
    set_->start();
    for (int i = 0; i < 10; ++i) feed.access(1);
    EXPECT_EQ(read()[0], 10);
  }
  for (int i = 0; i < 10; ++i) feed.access(1);
  EXPECT_EQ(read()[0], 10);
  set_->stop();
  {
    TestCapsule capsule(feed.name(), "counter");
    set_->start();
    for (int i = 0; i < 5; ++i) feed.access(1);
    EXPECT_EQ(read()[0], 5);
    set_->stop();
  }
}

TEST_F(Owl, OverflowOnPacketsInjectedCallsOnceForEachThreshold) {
  Feed feed("owl.test.overflow");
  TestCapsule capsule(feed.name(), "sampler", "period=1");
  program({"owl.test.overflow.sampler.SAMPLES", "owl.test.overflow.sampler.PACKETS_INJECTED"});
  int calls = 0;
  const SampleSink sink{[](void* owner, const Sample* sample) noexcept {
                          EXPECT_EQ(sample->event_mask, 2u);
                          ++*static_cast<int*>(owner);
                        },
                        &calls};
  ASSERT_TRUE(table_.arm(set_->get(), 1, 100, 0, &sink).ok());
  set_->start();
  for (int i = 0; i < 1050; ++i) feed.access(1);
  set_->stop();
  EXPECT_EQ(calls, 10);
  for (int i = 0; i < 500; ++i) feed.access(1);
  substrata_flush();
  EXPECT_EQ(calls, 10);
  EXPECT_FALSE(table_.arm(set_->get(), 5, 100, 0, &sink).ok());
  ASSERT_TRUE(table_.disarm(set_->get(), 1).ok());
}

TEST_F(Owl, TheRingOfACapsuleThatANameAttachedStandsInItsPacketsText) {
  Feed feed("owl.test.named");
  const char* const name = "owl.test.named.sampler.PACKETS_INJECTED";
  Event described{};
  ASSERT_TRUE(table_.event_at(device_, event(name), &described).ok());
  const std::string text = described.text;
  const size_t ring = text.find(" Its ring: ");
  ASSERT_NE(ring, std::string::npos) << text;
  substrata_owl_reader* reader = nullptr;
  ASSERT_EQ(substrata_owl_reader_open(text.substr(ring + 11).c_str(), 0, &reader), 0)
      << substrata_owl_error();
  ASSERT_EQ(substrata_owl_reader_write_register(reader, "period", 10), 0) << substrata_owl_error();
  program({name});
  set_->start();
  for (uint64_t i = 0; i < 1000; ++i) feed.access(i);
  set_->stop();
  const int64_t packets = read()[0];
  EXPECT_GE(packets, 99);
  std::vector<unsigned char> data(SUBSTRATA_OWL_MOST_PACKET);
  substrata_owl_packet packet{};
  int64_t found = 0;
  for (; substrata_owl_reader_peek(reader, &packet, data.data(), data.size()) == 1; ++found)
    substrata_owl_reader_consume(reader);
  EXPECT_EQ(found, packets);
  substrata_owl_reader_close(reader);
}

}  // namespace
}  // namespace substrata::owl::test
