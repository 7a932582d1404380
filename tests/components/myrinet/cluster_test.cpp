// The cluster model: the way of packets, their order, faults, and what the monitor costs.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "myrinet/cluster.hpp"

namespace substrata::myrinet::test {
namespace {

struct Arrived {
  Message message;
  Time posted;
  Time now;
};

class Collector final : public Delivery {
 public:
  void delivered(const Message& message, Time posted, Time now) override {
    all.push_back({message, posted, now});
  }
  std::vector<Arrived> all;
};

Message message(uint32_t from, uint32_t to, uint32_t bytes, uint64_t cookie = 0) {
  return {.from = from, .to = to, .bytes = bytes, .cookie = cookie};
}

// Arrival of a single message in an idle cluster.
Time alone(const ClusterParameters& parameters, uint32_t bytes) {
  Collector collector;
  Cluster cluster(parameters, collector, false);
  cluster.post(message(0, 1, bytes), 0);
  cluster.run_out();
  EXPECT_EQ(collector.all.size(), 1u);
  return collector.all.at(0).now;
}

TEST(MyrinetCluster, APacketAloneTakesTheSumOfItsStages) {  // MY-2, MY-20
  const ClusterParameters p;
  const Time sending = p.poll + p.on_request + p.source_setup + 100 * p.dma_byte;
  const Time insertion = p.poll + p.on_fetched + p.stamp_sending + p.clock_upkeep;
  const Time network = p.switch_latency + p.link_byte * (100 + p.header_bytes + p.stamp_bytes) + p.reception;
  const Time delivery =
      p.poll + p.on_arrived + p.strip_receiving + p.clock_upkeep + p.dest_setup + 100 * p.dma_byte;
  EXPECT_EQ(alone(p, 100), sending + insertion + network + delivery);
}

TEST(MyrinetCluster, ALongMessageTravelsInPacketsOf4096Bytes) {  // MY-4
  Collector collector;
  Cluster cluster(ClusterParameters{}, collector, false);
  cluster.post(message(0, 1, 10'000), 0);
  cluster.post(message(1, 0, 4096), 0);
  cluster.post(message(2, 0, 0), 0);
  cluster.run_out();
  EXPECT_EQ(collector.all.size(), 3u);
  EXPECT_EQ(cluster.counts().sent, 3u + 1u + 1u);
  EXPECT_EQ(cluster.counts().bytes_received, 14'096u);
}

TEST(MyrinetCluster, TheMonitorsPartsEachCostTime) {  // MY-32
  ClusterParameters without;
  without.monitor = {false, false, false};
  ClusterParameters sending = without;
  sending.monitor.sending = true;
  ClusterParameters receiving = without;
  receiving.monitor.receiving = true;
  EXPECT_LT(alone(without, 64), alone(sending, 64));
  EXPECT_LT(alone(without, 64), alone(receiving, 64));
  EXPECT_LT(alone(receiving, 64), alone(ClusterParameters{}, 64));
}

TEST(MyrinetCluster, ABusyMemorySlowsTheDma) {  // MY-20
  ClusterParameters parameters;
  Collector collector;
  Cluster cluster(parameters, collector, false);
  cluster.memory_busy(0, 0, kSecond);
  cluster.post(message(0, 1, 4096), 0);
  cluster.run_out();
  const Time dma = parameters.source_setup + 4096 * parameters.dma_byte;
  EXPECT_EQ(collector.all.at(0).now, alone(parameters, 4096) + dma);  // twice as long
}

TEST(MyrinetCluster, AMemoryBusyForAMomentSlowsTheDmaForThatMoment) {
  ClusterParameters parameters;
  Collector collector;
  Cluster cluster(parameters, collector, false);
  const Time begin = parameters.poll + parameters.on_request + 5 * kMicrosecond;
  cluster.memory_busy(0, begin, begin + 4 * kMicrosecond);
  cluster.post(message(0, 1, 4096), 0);
  cluster.run_out();
  EXPECT_EQ(collector.all.at(0).now, alone(parameters, 4096) + 2 * kMicrosecond);
}

TEST(MyrinetCluster, AFullQueueHoldsTheHostBack) {  // MY-20
  ClusterParameters parameters;
  parameters.queue_entries = 2;
  Collector collector;
  Cluster cluster(parameters, collector, false);
  EXPECT_EQ(cluster.free_entry(0, 64, 0), 0u);
  EXPECT_EQ(cluster.free_entry(0, 64, 0), 0u);
  const Time third = cluster.free_entry(0, 64, 0);
  EXPECT_GT(third, 0u);
  EXPECT_GT(cluster.free_entry(0, 64, third), third);
  EXPECT_EQ(cluster.free_entry(1, 64, 0), 0u);  // another node's queue
}

// The host reckoned with an interface without monitor: it posted more than the queue holds.
TEST(MyrinetCluster, TheHostNeverHasMoreInTheQueueThanItHolds) {  // MY-20
  ClusterParameters parameters;
  struct Queue final : StageWatch {
    std::vector<Time> taken;
    void stage(std::uint32_t, const substrata_transaction& seen) noexcept override {
      if (seen.state == SUBSTRATA_INJECTED) taken.push_back(seen.time);
    }
  } queue;
  Collector collector;
  Cluster cluster(parameters, collector, false);
  cluster.watch(&queue);
  std::vector<Time> posted;
  Time now = 0;
  for (int i = 0; i < 1000; ++i) posted.push_back(now = cluster.send(message(0, 1, 4), now));
  cluster.run_out();
  ASSERT_EQ(queue.taken.size(), posted.size());
  // Those in the queue, and a few that the interface has at hand.
  const size_t most = parameters.queue_entries + 8;
  for (size_t i = most; i < posted.size(); ++i) ASSERT_GE(posted[i], queue.taken[i - most]) << i;
}

// The clock's part of the monitor cost nothing where it was the only one.
TEST(MyrinetCluster, KeepingTheClockAloneTakesTheProcessorTime) {  // MY-5
  const auto way = [](bool clock) {
    ClusterParameters parameters;
    parameters.monitor = {false, false, clock};
    Collector collector;
    Cluster cluster(parameters, collector, false);
    cluster.post(message(0, 1, 4), 0);
    cluster.run_out();
    return collector.all.at(0).now;
  };
  EXPECT_EQ(way(true) - way(false), 2 * ClusterParameters{}.clock_upkeep);
}

TEST(MyrinetCluster, ManySendersToOneNodeWaitForItsPort) {  // MY-20
  ClusterParameters parameters;
  Collector collector;
  Cluster cluster(parameters, collector, false);
  for (uint32_t from = 1; from < parameters.nodes; ++from) cluster.post(message(from, 0, 4096), 0);
  cluster.run_out();
  ASSERT_EQ(collector.all.size(), parameters.nodes - 1);
  const Time length = parameters.link_byte * 4096;
  for (size_t i = 1; i < collector.all.size(); ++i)
    EXPECT_GE(collector.all[i].now, collector.all[i - 1].now + length);
}

// When the message from 2 to 3 arrives, behind one from 2 to 0 that meets as many others at node 0.
Time behind(const ClusterParameters& parameters, uint32_t others) {
  Collector collector;
  Cluster cluster(parameters, collector, false);
  for (uint32_t i = 0; i < others; ++i) cluster.post(message(4 + i, 0, 4096), 0);
  cluster.post(message(2, 0, 4096), kMicrosecond);
  cluster.post(message(2, 3, 64, 77), kMicrosecond);
  cluster.run_out();
  EXPECT_EQ(collector.all.size(), others + 2u);
  for (const Arrived& arrived : collector.all)
    if (arrived.message.cookie == 77) return arrived.now;
  return 0;
}

TEST(MyrinetCluster, AWormThatIsStoppedHoldsUpWhatFollowsItToAnywhere) {  // MY-20
  const ClusterParameters parameters;
  const Time free_way = behind(parameters, 0);
  const Time length = parameters.link_byte * 4096;
  // Two ahead of it at the port: their lengths pass first, but for what the slack buffer takes.
  EXPECT_GT(behind(parameters, 2), free_way + 2 * length - 10 * kMicrosecond);
}

TEST(MyrinetCluster, OneReceiveBufferMakesSendersWaitForTheDma) {  // MY-20
  const auto last = [](uint32_t buffers) {
    ClusterParameters parameters;
    parameters.receive_buffers = buffers;
    Collector collector;
    Cluster cluster(parameters, collector, false);
    for (uint32_t from = 1; from < parameters.nodes; ++from) cluster.post(message(from, 0, 4096), 0);
    cluster.run_out();
    EXPECT_EQ(collector.all.size(), parameters.nodes - 1);
    return collector.all.back().now;
  };
  const ClusterParameters parameters;
  // Reception and DMA one after the other, not one beside the other.
  EXPECT_GE(last(1), last(2) + (parameters.nodes - 3) * parameters.link_byte * 4096);
  EXPECT_EQ(last(8), last(16));
}

struct Faults {
  uint32_t corrupt;
  uint32_t drop;
  uint32_t misroute;
};

class MyrinetFaults : public testing::TestWithParam<Faults> {};

// Random messages between random nodes: everything comes, whole, in the order of its pair.
TEST_P(MyrinetFaults, NothingIsLostAndPairsKeepTheirOrder) {  // MY-22
  ClusterParameters parameters;
  parameters.nodes = 5;
  parameters.corrupt_ppm = GetParam().corrupt;
  parameters.drop_ppm = GetParam().drop;
  parameters.misroute_ppm = GetParam().misroute;
  parameters.seed = 11;
  Collector collector;
  Cluster cluster(parameters, collector, false);
  std::mt19937_64 random(3);
  constexpr uint64_t kMessages = 2000;
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < kMessages; ++i) {
    const auto from = static_cast<uint32_t>(random() % 5);
    const auto to = static_cast<uint32_t>((from + 1 + random() % 4) % 5);
    const auto length = static_cast<uint32_t>(random() % 9000);
    bytes += length;
    cluster.post(message(from, to, length, i), i * 20 * kMicrosecond);
  }
  cluster.run_out();
  ASSERT_EQ(collector.all.size(), kMessages);
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> last;
  for (const Arrived& arrived : collector.all) {
    const auto [known, is_new] = last.try_emplace({arrived.message.from, arrived.message.to}, 0);
    EXPECT_TRUE(is_new || known->second < arrived.message.cookie);
    known->second = arrived.message.cookie;
    EXPECT_GT(arrived.now, arrived.posted);
  }
  const ClusterCounts& counts = cluster.counts();
  EXPECT_EQ(counts.bytes_received, bytes);
  EXPECT_EQ(counts.sent, counts.received + counts.corrupt + counts.dropped + counts.misrouted);
  EXPECT_EQ(counts.corrupt != 0, GetParam().corrupt != 0);
  EXPECT_EQ(counts.dropped != 0, GetParam().drop != 0);
  EXPECT_EQ(counts.misrouted != 0, GetParam().misroute != 0);
}

INSTANTIATE_TEST_SUITE_P(Rates, MyrinetFaults,
                         testing::Values(Faults{0, 0, 0}, Faults{20'000, 0, 0}, Faults{0, 20'000, 0},
                                         Faults{0, 0, 20'000}, Faults{50'000, 100'000, 50'000}));

TEST(MyrinetCluster, TwoRunsAreTheSame) {
  const auto run = [] {
    ClusterParameters parameters;
    parameters.corrupt_ppm = 10'000;
    Collector collector;
    Cluster cluster(parameters, collector, false);
    for (uint32_t i = 0; i < 500; ++i)
      cluster.post(message(i % 8, (i * 3 + 1) % 8 == i % 8 ? (i + 1) % 8 : (i * 3 + 1) % 8, i * 7, i),
                   i * kMicrosecond);
    cluster.run_out();
    std::vector<Time> times;
    for (const Arrived& arrived : collector.all) times.push_back(arrived.now);
    return times;
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace substrata::myrinet::test
