// The C++ interface of the feed: what its objects begin, they end; what is refused says why.
#include <gtest/gtest.h>
#include <unistd.h>
#include <substrata/feed.hpp>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace face = substrata::client::feed;
using substrata::client::Failure;
using substrata::client::Result;

constexpr face::Source kSource = face::Source::generated("face", "made by the test");

face::Publisher publisher(const char* point) { return kSource.publisher(point, "in the test").value(); }

substrata_transaction at(std::uint64_t time) {
  substrata_transaction transaction{};
  transaction.time = time;
  transaction.kind = SUBSTRATA_READ;
  return transaction;
}

// What an observer made of a lambda has seen.
struct Times {
  std::vector<std::uint64_t> seen;
  face::Observer observer(const char* patterns) {
    face::Observer made = face::Observer::create([this](const substrata_transaction* batch, size_t count) {
                            for (size_t i = 0; i < count; ++i) seen.push_back(batch[i].time);
                          }).value();
    made.subscribe(patterns).value();
    return made;
  }
};

// A trace file of this test's process.
struct File {
  const std::string name = testing::TempDir() + "feed-face-" + std::to_string(getpid()) + ".trace";
  ~File() { std::remove(name.c_str()); }
};

TEST(FeedFace, APublishedTransactionReachesAnObserver) {
  const face::Publisher out = publisher("face.reach");
  Times times;
  const face::Observer in = times.observer("face.reach");
  out.publish(at(7));
  face::flush();
  EXPECT_EQ(times.seen, std::vector<std::uint64_t>{7});
}

TEST(FeedFace, AnObserverEndsWithItsScope) {
  const face::Publisher out = publisher("face.scope");
  Times times;
  { const face::Observer in = times.observer("face.scope"); }
  EXPECT_FALSE(out.observed());
}

TEST(FeedFace, AMovedObserverGoesOnObserving) {
  const face::Publisher out = publisher("face.moved");
  Times times;
  face::Observer second;
  {
    face::Observer first = times.observer("face.moved");
    second = std::move(first);
  }
  out.publish(at(3));
  face::flush();
  EXPECT_EQ(times.seen, std::vector<std::uint64_t>{3});
}

TEST(FeedFace, AMemberFunctionObserves) {
  struct Counting {
    size_t count = 0;
    void take(const substrata_transaction*, size_t more) { count += more; }
  } counting;
  const face::Publisher out = publisher("face.member");
  face::Observer in;
  ASSERT_EQ(in.try_create<&Counting::take>(counting), 0);
  ASSERT_EQ(in.try_subscribe("face.member"), 0);
  out.publish(at(1));
  out.publish(at(2));
  face::flush();
  EXPECT_EQ(counting.count, 2u);
}

TEST(FeedFace, APublisherDeliversWhatItHoldsWhenItEnds) {
  Times times;
  const face::Observer in = times.observer("face.end*");
  { publisher("face.end").publish(at(5)); }
  EXPECT_EQ(times.seen, std::vector<std::uint64_t>{5});
}

TEST(FeedFace, ASourceIsRegisteredWithItsTime) {
  ASSERT_EQ(face::Source::simulated("face-machine", "a machine").try_add(), 0);
  for (std::uint32_t i = 0; i < substrata_source_count(); ++i) {
    auto info = substrata::client::sized<substrata_source_info>();
    ASSERT_EQ(substrata_source_at(i, &info), 0);
    if (std::string(info.name) == "face-machine") {
      EXPECT_EQ(info.ticks_per_second, 1'000'000'000'000u);
    }
  }
}

TEST(FeedFace, ARefusalHasTheFeedsNumberAndItsMessage) {
  const Result<std::uint32_t> refused = kSource.probe("not a name");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, -1);
  EXPECT_NE(refused.error().sentence.find("not a name"), std::string::npos) << refused.error().sentence;
}

TEST(FeedFace, TheValueOfARefusalThrows) {
  EXPECT_THROW(static_cast<void>(face::Following::begin("no-such-machine").value()), Failure);
}

TEST(FeedFace, ATraceHoldsWhatWasRecordedUntilTheRecorderStopped) {
  const File file;
  const char* const path = file.name.c_str();
  const face::Publisher out = publisher("face.trace");
  face::Recorder recorder = face::Recorder::start(path, "face.trace").value();
  for (std::uint64_t i = 0; i < 10; ++i) out.publish(at(i));
  EXPECT_EQ(recorder.stop().value().transactions, 10u);
  const face::Trace trace = face::Trace::open(path).value();
  EXPECT_EQ(trace.describe().value().probes, 1u);
  EXPECT_STREQ(trace.probe(0).value().name, "face.trace");
  trace.seek(4).value();
  EXPECT_EQ(trace.next().value().front().time, 4u);
}

TEST(FeedFace, AReplayGivesItsSummary) {
  const File file;
  const char* const path = file.name.c_str();
  {
    const face::Publisher out = publisher("face.replay");
    const face::Recorder recorder = face::Recorder::start(path, "face.replay").value();
    out.publish(at(1));
    recorder.flush().value();
  }
  Times times;
  const face::Observer in = times.observer("face.replay");
  EXPECT_EQ(face::replay(path).value().transactions, 1u);
  EXPECT_EQ(times.seen, std::vector<std::uint64_t>{1});
}

// A machine that counts its followings.
int followings = 0;
int run_nothing(const char*, const substrata_run_options*, substrata_run_result* result) {
  result->correct = 1;
  return 0;
}
void* follow_nothing(const substrata_run_options*, substrata_run_result*) { return &++followings; }
void unfollow_nothing(void*) { --followings; }
substrata_machine& counting_machine() {
  static substrata_machine machine = [] {
    auto made = substrata::client::sized<substrata_machine>();
    made.name = "zero";
    made.run = run_nothing;
    made.follow = follow_nothing;
    made.unfollow = unfollow_nothing;
    return made;
  }();
  static const int added = substrata_machine_add(&machine);
  EXPECT_EQ(added, 0);
  return machine;
}

TEST(FeedFace, AFollowingEndsWithItsScope) {
  const char* const machine = counting_machine().name;
  {
    const face::Following following = face::Following::begin(machine).value();
    EXPECT_EQ(followings, 1);
  }
  EXPECT_EQ(followings, 0);
}

}  // namespace
