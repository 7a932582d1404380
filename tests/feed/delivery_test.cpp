// Probe points, publishers, observers: what is published arrives, once, in order, whatever threads do.
#include <substrata/result.hpp>

#include <atomic>
#include <thread>

#include "feed_fixture.hpp"

extern "C" int feed_header_publishes_from_c(substrata_publisher* publisher);

namespace substrata::feed::test {
namespace {

// FE-1
TEST(Transaction, IsOneCacheLineAndItsAbiIsReported) {
  EXPECT_EQ(sizeof(substrata_transaction), 64u);
  EXPECT_EQ(substrata_feed_abi(), static_cast<uint32_t>(SUBSTRATA_FEED_ABI));
}

// FE-1
TEST(Transaction, IsPublishedFromPlainC) {
  const uint32_t number = probe("c.client");
  Publishing from(number);
  EXPECT_EQ(feed_header_publishes_from_c(from.get()), 0) << "nobody watches";
  Collector to("c.client");
  EXPECT_EQ(feed_header_publishes_from_c(from.get()), 2);
  substrata_flush();
  ASSERT_EQ(to.seen.size(), 2u);
  EXPECT_EQ(to.seen[1].address, 64u);
  EXPECT_EQ(to.seen[1].probe, number);
}

// FE-2
TEST(ProbePoint, OfOneNameIsOneAndIsListedWithItsSource) {
  const uint32_t number = probe("listed.here");
  EXPECT_EQ(probe("listed.here"), number);
  const substrata_probe_info info = probe_info(number);
  EXPECT_STREQ(info.name, "listed.here");
  EXPECT_STREQ(info.source, "test");
  EXPECT_EQ(info.number, number);
  EXPECT_GT(substrata_probe_count(), number);
  uint32_t found = 0;
  EXPECT_EQ(substrata_probe_find("listed.here", &found), 0);
  EXPECT_EQ(found, number);
  EXPECT_EQ(substrata_probe_find("listed.there", &found), -7);
  EXPECT_NE(std::string(substrata_feed_error()).find("listed.there"), std::string::npos);
}

// FE-2
TEST(ProbePoint, WithABadNameOrNoSourceIsRefusedWithAMessage) {
  auto wanted = client::sized<substrata_probe_info>();
  wanted.source = "no-such-source";
  wanted.name = "fine.name";
  uint32_t number = 0;
  EXPECT_EQ(substrata_probe_add(&wanted, &number), -7);
  EXPECT_NE(std::string(substrata_feed_error()).find("no-such-source"), std::string::npos);
  for (const char* name : {"", "with space", "comma,name", "star*"}) {
    wanted.name = name;
    EXPECT_EQ(substrata_probe_add(&wanted, &number), -1) << name;
  }
  EXPECT_EQ(substrata_probe_add(nullptr, &number), -1);
  substrata_publisher* publisher = nullptr;
  EXPECT_EQ(substrata_publisher_open(60000, 0, &publisher), -1);
  EXPECT_EQ(publisher, nullptr);
}

// FE-2
TEST(Source, IsListedAndLearnsThatItIsNotAvailable) {
  auto info = client::sized<substrata_source_info>();
  info.name = "absent";
  info.summary = "never there";
  info.why_not = "no such device; buy one";
  ASSERT_EQ(substrata_source_add(&info), 0);
  bool found = false;
  for (uint32_t i = 0; i < substrata_source_count(); ++i) {
    auto listed = client::sized<substrata_source_info>();
    ASSERT_EQ(substrata_source_at(i, &listed), 0);
    if (std::string(listed.name) != "absent") continue;
    found = true;
    EXPECT_STREQ(listed.why_not, "no such device; buy one");
  }
  EXPECT_TRUE(found);
  auto beyond = client::sized<substrata_source_info>();
  EXPECT_EQ(substrata_source_at(substrata_source_count(), &beyond), -1);
}

// FE-2
TEST(Publisher, UnobservedKeepsNothingAndGivesNoSlot) {
  const uint32_t number = probe("unwatched");
  Publishing from(number);
  EXPECT_EQ(substrata_reserve(from.get()), nullptr);
  from.send(1);
  Collector to("unwatched");
  substrata_flush();
  EXPECT_TRUE(to.seen.empty());
  EXPECT_NE(substrata_reserve(from.get()), nullptr);
}

// FE-2
TEST(Publisher, EpochGrowsWithTheFirstObserverAndAfterTheLast) {
  const uint32_t number = probe("epoch");
  Publishing from(number);
  uint64_t epoch = 7;
  substrata_publisher_epoch(from.get(), &epoch);
  {
    Collector first("epoch");
    EXPECT_EQ(epoch, 8u);
    Collector second("epoch");
    EXPECT_EQ(epoch, 8u);
  }
  EXPECT_EQ(epoch, 9u);
}

// FE-3
TEST(Publisher, RunsItsFullRingThroughEveryObserver) {
  const uint32_t number = probe("full.ring");
  Publishing from(number, 4);
  Collector first("full.ring");
  Collector second("full.ring");
  for (uint64_t i = 0; i < 9; ++i) from.send(i);
  EXPECT_EQ(first.batches, (std::vector<size_t>{4, 4}));
  substrata_flush();
  EXPECT_EQ(first.batches, (std::vector<size_t>{4, 4, 1}));
  ASSERT_EQ(second.seen.size(), 9u);
  for (uint64_t i = 0; i < 9; ++i) EXPECT_EQ(second.seen[i].time, i);
  EXPECT_EQ(probe_info(number).delivered, 9u);
  EXPECT_EQ(probe_info(number).observers, 2u);
  EXPECT_EQ(probe_info(number).publishers, 1u);
}

// FE-3
TEST(Publisher, DeliversTheRestWhenItCloses) {
  const uint32_t number = probe("closing");
  Collector to("closing");
  {
    Publishing from(number);
    from.send(1);
    from.send(2);
  }
  EXPECT_EQ(to.seen.size(), 2u);
  EXPECT_EQ(probe_info(number).publishers, 0u);
}

// FE-3
TEST(Publisher, PublishesAnArrayAsOneBatchAfterWhatItsRingHolds) {
  const uint32_t number = probe("array");
  Publishing from(number, 4);
  Collector to("array");
  from.send(0);
  std::vector<substrata_transaction> array(100);
  for (size_t i = 0; i < array.size(); ++i) {
    array[i].time = i + 1;
    array[i].probe = static_cast<uint16_t>(number);
  }
  substrata_publish_all(from.get(), array.data(), array.size());
  from.send(101);
  substrata_flush();
  EXPECT_EQ(to.batches, (std::vector<size_t>{1, 100, 1}));
  for (uint64_t i = 0; i < to.seen.size(); ++i) EXPECT_EQ(to.seen[i].time, i);
}

// FE-2
TEST(Subscription, CatchesProbePointsToComeByPattern) {
  Collector to("later.cpu?.acc*,other.*");
  Publishing one(probe("later.cpu3.accesses"));
  Publishing two(probe("later.cpu12.accesses"));
  Publishing three(probe("other.thing"));
  one.send(1);
  two.send(2);
  three.send(3);
  substrata_flush();
  ASSERT_EQ(to.seen.size(), 2u);
  EXPECT_EQ(to.seen[0].time + to.seen[1].time, 4u);
}

// FE-2
TEST(Subscription, ToAPlainNameThatDoesNotExistIsRefused) {
  Collector to;
  EXPECT_EQ(substrata_subscribe(to.get(), "nowhere.at.all"), -7);
  EXPECT_NE(std::string(substrata_feed_error()).find("nowhere.at.all"), std::string::npos);
  EXPECT_EQ(substrata_subscribe(to.get(), ""), -1);
  EXPECT_EQ(substrata_subscribe(nullptr, "*"), -1);
}

// FE-2
TEST(Subscription, TwiceToOneProbePointDeliversOnce) {
  Publishing from(probe("twice"));
  Collector to("twice");
  EXPECT_EQ(substrata_subscribe(to.get(), "twi*"), 0);
  from.send(1);
  substrata_flush();
  EXPECT_EQ(to.seen.size(), 1u);
}

// FE-3
TEST(Subscription, BeginsAndEndsExactlyBetweenTransactions) {
  Publishing from(probe("exact"));
  Collector always("exact");
  from.send(1);
  Collector late("exact");
  from.send(2);
  EXPECT_EQ(substrata_unsubscribe(late.get(), "exact"), 0);
  from.send(3);
  substrata_flush();
  EXPECT_EQ(always.seen.size(), 3u);
  ASSERT_EQ(late.seen.size(), 1u);
  EXPECT_EQ(late.seen[0].time, 2u);
}

// A model: every transaction that it sees goes out again at the next probe point.
struct Relay {
  explicit Relay(const char* from, substrata_publisher* to) : out(to) {
    EXPECT_EQ(substrata_observer_create(pass, this, 0, &observer), 0);
    EXPECT_EQ(substrata_subscribe(observer, from), 0);
  }
  ~Relay() { substrata_observer_destroy(observer); }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  static void pass(void* owner, const substrata_transaction* batch, size_t count) {
    for (size_t i = 0; i < count; ++i) substrata_publish(static_cast<Relay*>(owner)->out, batch + i);
  }
  substrata_publisher* out;
  substrata_observer* observer = nullptr;
};

// FE-3
TEST(Flush, MovesWhatModelsInARowPublish) {
  // Registered against the direction of the flow.
  Publishing last(probe("row.3"), 8);
  Publishing middle(probe("row.2"), 8);
  Publishing first(probe("row.1"), 8);
  Collector to("row.3");
  Relay one("row.1", middle.get());
  Relay two("row.2", last.get());
  for (uint64_t i = 0; i < 1000; ++i) first.send(i);
  substrata_flush();
  ASSERT_EQ(to.seen.size(), 1000u);
  for (uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(to.seen[i].time, i);
}

// FE-3
TEST(Publisher, InACircleOfModelsIsRefusedAndCounted) {
  const uint32_t number = probe("circle");
  Publishing from(number, 4);
  Relay relay("circle", from.get());
  for (uint64_t i = 0; i < 8; ++i) from.send(i);
  substrata_flush();
  const substrata_probe_info info = probe_info(number);
  EXPECT_GT(info.refused, 0u);
}

// FE-3
TEST(Subscription, FromInsideACallbackTakesEffectWithTheNextBatch) {
  struct Recruiter {
    Collector recruited;
    bool asked = false;
  } recruiter;
  Publishing from(probe("recruit"), 4);
  substrata_observer* observer = nullptr;
  const auto recruit = [](void* owner, const substrata_transaction*, size_t) {
    auto& self = *static_cast<Recruiter*>(owner);
    if (!self.asked) {
      EXPECT_EQ(substrata_subscribe(self.recruited.get(), "recruit"), 0);
    }
    self.asked = true;
    substrata_flush();  // nothing, here
  };
  ASSERT_EQ(substrata_observer_create(recruit, &recruiter, 0, &observer), 0);
  ASSERT_EQ(substrata_subscribe(observer, "recruit"), 0);
  for (uint64_t i = 0; i < 9; ++i) from.send(i);
  substrata_flush();
  ASSERT_EQ(recruiter.recruited.seen.size(), 5u);
  EXPECT_EQ(recruiter.recruited.seen[0].time, 4u);
  substrata_observer_destroy(observer);
}

// FE-3
TEST(Feed, LosesNothingAndKeepsOrderWithManyThreadsAndReaders) {
  constexpr uint64_t kThreads = 4;
  constexpr uint64_t kEach = 20000;
  const uint32_t number = probe("threads");
  Collector to("threads");  // not concurrent: its vector needs no lock
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done.load(std::memory_order_acquire)) substrata_flush();
  });
  std::vector<std::thread> threads;
  for (uint64_t id = 0; id < kThreads; ++id) {
    threads.emplace_back([&, id] {
      Publishing from(number, 64);
      for (uint64_t i = 0; i < kEach; ++i) from.send(i, id);
    });
  }
  for (std::thread& thread : threads) thread.join();
  done.store(true, std::memory_order_release);
  reader.join();
  substrata_flush();
  ASSERT_EQ(to.seen.size(), kThreads * kEach);
  uint64_t next[kThreads] = {};
  for (const substrata_transaction& t : to.seen) EXPECT_EQ(t.time, next[t.address]++);
}

// FE-3
TEST(Feed, CountsEveryTransactionWhileObserversComeAndGo) {
  constexpr uint64_t kEach = 20000;
  const uint32_t number = probe("come.and.go");
  Collector always("come.and.go");
  std::thread publisher([&] {
    Publishing from(number, 32);
    for (uint64_t i = 0; i < kEach; ++i) from.send(i);
  });
  for (int i = 0; i < 200; ++i) {
    Collector guest("come.and.go");
    substrata_flush();
    substrata_unsubscribe(guest.get(), nullptr);
    for (size_t k = 1; k < guest.seen.size(); ++k) ASSERT_EQ(guest.seen[k].time, guest.seen[k - 1].time + 1);
  }
  publisher.join();
  substrata_flush();
  ASSERT_EQ(always.seen.size(), kEach);
  for (uint64_t i = 0; i < kEach; ++i) ASSERT_EQ(always.seen[i].time, i);
}

// FE-3
TEST(Observer, ThatAllowsItRunsInSeveralThreadsAndMissesNothing) {
  static std::atomic<uint64_t> sum;
  sum = 0;
  const uint32_t number = probe("concurrent");
  substrata_observer* observer = nullptr;
  const auto add = [](void*, const substrata_transaction* batch, size_t count) {
    for (size_t i = 0; i < count; ++i) sum.fetch_add(batch[i].time, std::memory_order_relaxed);
  };
  ASSERT_EQ(substrata_observer_create(add, nullptr, SUBSTRATA_OBSERVER_CONCURRENT, &observer), 0);
  ASSERT_EQ(substrata_subscribe(observer, "concurrent"), 0);
  std::vector<std::thread> threads;
  for (int id = 0; id < 3; ++id) {
    threads.emplace_back([&] {
      Publishing from(number, 16);
      for (uint64_t i = 1; i <= 1000; ++i) from.send(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum.load(), 3u * 500500u);
  substrata_observer_destroy(observer);
  EXPECT_EQ(substrata_observer_create(nullptr, nullptr, 0, &observer), -1);
  EXPECT_EQ(substrata_observer_create(add, nullptr, 0x80, &observer), -1);
}

// FE-5
TEST(Phase, IsTheThreadsOwnAndBeginsWithTheNewest) {
  const uint16_t fft = substrata_region("fft");
  EXPECT_NE(fft, 0);
  EXPECT_EQ(substrata_region("fft"), fft);
  EXPECT_NE(substrata_region("hpl"), fft);
  EXPECT_STREQ(substrata_region_name(fft), "fft");
  EXPECT_EQ(substrata_region_name(0), nullptr);
  EXPECT_EQ(substrata_region(nullptr), 0);
  substrata_set_phase(fft);
  std::thread([&] {
    const uint16_t* const* const place = substrata_phase_place();
    EXPECT_EQ(**place, fft);
    EXPECT_EQ(substrata_phase(), fft);
    EXPECT_EQ(substrata_set_phase(9), fft);
    EXPECT_EQ(substrata_phase(), 9);
    EXPECT_EQ(**place, 9);
  }).join();
  EXPECT_EQ(substrata_phase(), fft);
  substrata_set_phase(0);
}

int run_three(const char* workload, const substrata_run_options* options, substrata_run_result* result) {
  if (std::string(workload) == "count:bad") {
    std::snprintf(result->message, sizeof result->message, "count has no parameter 'bad'");
    return -1;
  }
  Publishing from(probe("toy.out"));
  for (uint64_t i = 0; i < options->processes; ++i) from.send(i + options->seed);
  result->correct = 1;
  return 0;
}

// FE-9
TEST(Run, FindsMachineAndWorkloadByNameAndReportsWhatIsThere) {
  static auto machine = client::sized<substrata_machine>();
  machine.default_processes = 3;
  machine.max_processes = 8;
  machine.name = "toy";
  machine.summary = "a machine of the test";
  machine.run = run_three;
  static auto workload = client::sized<substrata_workload>();
  workload.name = "count";
  ASSERT_EQ(substrata_machine_add(&machine), 0);
  ASSERT_EQ(substrata_workload_add(&workload), 0);
  EXPECT_EQ(substrata_machine_add(&machine), -8);
  EXPECT_STREQ(substrata_machine_at(0)->name, "toy");
  EXPECT_STREQ(substrata_workload_at(0)->name, "count");
  EXPECT_EQ(substrata_workload_at(1), nullptr);
  probe("toy.out");
  Collector to("toy.*");
  auto result = client::sized<substrata_run_result>();
  ASSERT_EQ(substrata_run("toy", "count:to=3", nullptr, &result), 0);
  EXPECT_EQ(result.correct, 1u);
  EXPECT_EQ(to.seen.size(), 3u);
  EXPECT_EQ(substrata_run("tiy", "count", nullptr, nullptr), -7);
  EXPECT_NE(std::string(substrata_feed_error()).find("toy"), std::string::npos);
  EXPECT_EQ(substrata_run("toy", "cuont", nullptr, nullptr), -7);
  EXPECT_EQ(substrata_run("toy", "count:bad", nullptr, nullptr), -1);
  EXPECT_STREQ(substrata_feed_error(), "count has no parameter 'bad'");
  auto options = client::sized<substrata_run_options>();
  options.processes = 9;
  EXPECT_EQ(substrata_run("toy", "count", &options, nullptr), -1);
  substrata_following* following = nullptr;
  EXPECT_EQ(substrata_follow("toy", nullptr, &following), -18);
  EXPECT_EQ(substrata_follow("tiy", nullptr, &following), -7);
}

}  // namespace
}  // namespace substrata::feed::test
