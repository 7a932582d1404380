// The C++ interface of the Myrinet monitor, against the C one.
#include <gtest/gtest.h>
#include <substrata/feed.h>
#include <substrata/result.hpp>

#include <chrono>
#include <substrata/myrinet.hpp>
#include <vector>

namespace substrata::myrinet_monitor {
namespace {

using namespace std::chrono_literals;

void ping_pong() {
  auto options = client::sized<substrata_run_options>();
  options.processes = 2;
  ASSERT_EQ(substrata_run("myrinet", "ping-pong", &options, nullptr), 0) << substrata_feed_error();
}

TEST(MyrinetFace, TheDefaultShapeIsThePapersAndReportsItsMemory) {  // MY-3
  EXPECT_EQ(Shape{}.memory().value(), client::Bytes{183'776});
  const Result<client::Bytes> refused = Shape{.latency_bin = {-1ns, 1us, 1us, 1us}}.memory();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().sentence.find("-1 ns"), std::string::npos);
}

TEST(MyrinetFace, ARecordingEndsWithItsScope) {  // MY-7
  {
    Recording recording = Recording::start(Shape{}).value();
    ping_pong();
    EXPECT_FALSE(Recording::start(Shape{})) << "the shape cannot change while one is under way";
    Recording moved = std::move(recording);
    EXPECT_TRUE(moved.running());
  }
  const Packets once = recorded().value().packets;
  EXPECT_GT(once, Packets{0});
  ping_pong();
  EXPECT_EQ(recorded().value().packets, once) << "nothing is recorded behind the scope";
}

TEST(MyrinetFace, ASignatureIsTheCInterfacesWithUnits) {  // MY-9
  {
    Recording recording = Recording::start(Shape{}).value();
    ping_pong();
  }
  const std::vector<Point> points = signature(Axis::kSize, Node{0}).value();
  std::vector<substrata_myrinet_point> plain(128);
  std::uint32_t count = 0;
  ASSERT_EQ(substrata_myrinet_signature(0, SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_BY_SIZE, plain.data(),
                                        128, &count),
            0);
  ASSERT_EQ(points.size(), count);
  ASSERT_FALSE(points.empty());
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(points[i].first, plain[i].x);
    EXPECT_EQ(points[i].last + 1, plain[i].x_end);
    EXPECT_EQ(points[i].sent.count, static_cast<std::int64_t>(plain[i].sent));
    EXPECT_EQ(points[i].of(Latency::kNet).average.count(), plain[i].average_ns[SUBSTRATA_MYRINET_NET]);
    EXPECT_EQ(points[i].of(Latency::kDest).p99.count(), plain[i].p99_ns[SUBSTRATA_MYRINET_DEST]);
  }
  std::uint64_t in_bins = 0;
  for (const std::uint64_t bin : histogram(Shape{}, Latency::kSource, Axis::kSender, 0).value())
    in_bins += bin;
  std::int64_t sent = 0;
  for (const Point& point : points) sent += point.sent.count;
  EXPECT_EQ(static_cast<std::int64_t>(in_bins), sent);
  EXPECT_FALSE(signature(Axis::kSize, Node{8})) << "the shape has eight nodes";
}

void fft() {
  auto options = client::sized<substrata_run_options>();
  options.processes = 8;
  ASSERT_EQ(substrata_run("myrinet", "fft:points=4096", &options, nullptr), 0) << substrata_feed_error();
}

TEST(MyrinetFace, OperationsAreTheCInterfacesWithUnits) {  // MY-42
  {
    Recording recording = Recording::start(Shape{}).value();
    fft();
  }
  std::vector<substrata_myrinet_operation_point> plain(SUBSTRATA_MYRINET_OPERATION_KINDS);
  std::uint32_t count = 0;
  ASSERT_EQ(substrata_myrinet_operations(2, SUBSTRATA_MYRINET_ALL, plain.data(),
                                         SUBSTRATA_MYRINET_OPERATION_KINDS, &count),
            0);
  const std::vector<Operations> kinds = operations(Node{2}).value();
  ASSERT_EQ(kinds.size(), count);
  ASSERT_FALSE(kinds.empty());
  EXPECT_EQ(kinds[0].kind, OperationKind::kPageFetch);
  EXPECT_STREQ(name_of(kinds[0].kind), "page-fetch");
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    EXPECT_EQ(kinds[i].ended, plain[i].count);
    EXPECT_EQ(kinds[i].packets.count, static_cast<std::int64_t>(plain[i].packets));
    EXPECT_EQ(kinds[i].average.count(), plain[i].average_ns);
    EXPECT_EQ(kinds[i].p90.count(), plain[i].p90_ns);
    EXPECT_EQ(kinds[i].of(Latency::kNet).count(), plain[i].part_ns[SUBSTRATA_MYRINET_NET]);
    std::uint64_t in_bins = 0;
    for (const DurationBin& bin : histogram(kinds[i].kind, Node{2}).value()) in_bins += bin.count;
    EXPECT_EQ(in_bins, kinds[i].ended);
  }
  EXPECT_FALSE(operations(Node{8})) << "the shape has eight nodes";
}

TEST(MyrinetFace, AWatchFiresWhileItsScopeLastsAndMovesWithItsFunction) {  // MY-43
  std::uint64_t reported = 0;
  Firing last;
  {
    Watch first = Watch::start(Rule{.ratio = 1.5}, [&](const Firing& firing) {
                    ++reported;
                    last = firing;
                  }).value();
    const Watch watch = std::move(first);
    EXPECT_FALSE(first.running());
    EXPECT_FALSE(first.fired());
    EXPECT_EQ(watch.fired().value().times, 0u);
    EXPECT_FALSE(watch.fired().value().last);
    fft();
    const Fired fired = watch.fired().value();
    EXPECT_GT(fired.times, 1u);
    EXPECT_EQ(fired.times, reported);
    ASSERT_TRUE(fired.last);
    EXPECT_EQ(fired.last->begin, last.begin);
    EXPECT_EQ(fired.last->node, last.node);
    EXPECT_GT(last.ratio, 1.5);
    EXPECT_GT(last.average, last.idle);
    EXPECT_GT(last.packets, Packets{0});
  }
  const std::uint64_t until_the_end = reported;
  fft();
  EXPECT_EQ(reported, until_the_end) << "nothing fires behind the scope";
}

TEST(MyrinetFace, AWatchMayGoWithoutAFunctionAndIsRefusedWithAMessage) {  // MY-43
  Watch watch = Watch::start(Rule{.node = Node{3}, .ratio = 1.5}).value();
  fft();
  const Fired fired = watch.fired().value();
  EXPECT_GT(fired.times, 0u);
  EXPECT_EQ(fired.last.value().node, 3u);
  watch.stop();
  EXPECT_FALSE(watch.running());
  for (const Rule& wrong :
       {Rule{.ratio = 0}, Rule{.window = 0ns}, Rule{.window = -1ns}, Rule{.node = Node{256}}}) {
    const Result<Watch> refused = Watch::start(wrong);
    ASSERT_FALSE(refused);
    EXPECT_FALSE(refused.error().sentence.empty());
  }
}

TEST(MyrinetFace, AProgramIsCarriedAndItsPhasesDistinguished) {  // MY-21
  std::vector<Process> processes(2);
  processes[0].compute(2us).compute(3us).send(1, client::Bytes{100}).receive(1, 1);
  processes[1].receive(0, 1).send(0, client::Bytes{5000}, PacketType::kCollective, 1);
  EXPECT_EQ(processes[0].operations()[0].compute_ns, 5000u);
  const Carried ran = Carried::run(processes, {.phases = 2, .seed = 0, .parameters = ""}).value();
  EXPECT_EQ(ran.messages(), 2u);
  EXPECT_EQ(ran.unmatched(), 0u);
  EXPECT_GT(ran.simulated(), 5us);
  EXPECT_EQ(ran.counts().value().bytes_sent, client::Bytes{5100});
  EXPECT_EQ(ran.counts(Node{}, Phase{1}).value().sent, Packets{2});
  EXPECT_EQ(ran.counts(Node{0}, Phase{1}).value().received, Packets{2});
  const std::vector<Point> types = ran.signature(Axis::kType, Node{1}).value();
  ASSERT_EQ(types.size(), 2u);
  EXPECT_EQ(types[1].first, static_cast<std::uint32_t>(PacketType::kCollective));
  const Result<Carried> refused = Carried::run(std::vector<Process>(1));
  ASSERT_FALSE(refused);
  EXPECT_FALSE(refused.error().sentence.empty());
}

TEST(MyrinetFace, ACarriedCollectiveIsOneOperation) {  // MY-42
  std::vector<Process> processes(3);
  processes[0].send_collective(1, client::Bytes{100}, 3, 1).send_collective(2, client::Bytes{100}, 3, 1);
  processes[1].send_collective(2, client::Bytes{100}, 3, 1);
  const Carried ran = Carried::run(processes).value();
  const std::vector<Operations> all = ran.operations().value();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, OperationKind::kCollective);
  EXPECT_EQ(all[0].ended, 1u);
  EXPECT_EQ(all[0].packets, Packets{3});
}

}  // namespace
}  // namespace substrata::myrinet_monitor
