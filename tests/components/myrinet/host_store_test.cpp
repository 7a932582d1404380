// Histograms and packet records in host memory: the same counts as on the interface, and what moving them
// costs.
#include <gtest/gtest.h>
#include <substrata/feed.h>
#include <substrata/myrinet.h>
#include <substrata/substrate.h>
#include <substrata/result.hpp>

#include <memory>
#include <string>
#include <vector>

#include "entry_points.hpp"
#include "myrinet/cluster.hpp"
#include "myrinet/host_store.hpp"
#include "support/opened_substrate.hpp"

namespace substrata::myrinet::test {
namespace {

// Keeps what the interfaces' monitors would keep, and when each message was there.
class Oracle final : public Delivery, public StageWatch {
 public:
  explicit Oracle(const Shape& shape) : memory(shape) {}
  void delivered(const Message&, Time, Time now) override { last = now; }
  void stage(uint32_t node, const substrata_transaction& stage) noexcept override {
    memory.take(node, stage);
    if (node == 0) stages_of_0.push_back(stage);
  }
  MonitorMemory memory;
  Time last = 0;
  std::vector<substrata_transaction> stages_of_0;
};

Message message(uint32_t from, uint32_t to, uint32_t bytes, uint8_t type = 0) {
  return {.from = from, .to = to, .bytes = bytes, .type = type};
}

// 2000 messages of all sizes between four nodes, some of them many packets long; one program.
void drive(Cluster& cluster, Time apart) {
  constexpr uint32_t kNodes = 4;
  uint64_t state = 3;
  Time now = 0;
  for (uint32_t i = 0; i < 2000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto drawn = static_cast<uint32_t>(state >> 33);
    const uint32_t from = drawn % kNodes;
    cluster.post(message(from, (from + 1 + drawn / 4 % (kNodes - 1)) % kNodes, drawn / 16 % 6000, drawn % 9),
                 now);
    now += apart;
    cluster.run_until(now);
  }
  cluster.run_out();
}

Shape four_nodes() {
  Shape shape;
  shape.nodes = 4;
  return shape;
}
ClusterParameters four() {
  ClusterParameters parameters;
  parameters.nodes = 4;
  return parameters;
}
HostLayout lines(uint32_t cache_lines) {
  HostLayout layout;
  layout.cache_lines = cache_lines;
  return layout;
}
substrata_myrinet_host_counts counts_of(const HostStore& store, uint32_t node = SUBSTRATA_MYRINET_ALL) {
  auto counts = client::sized<substrata_myrinet_host_counts>();
  store.counts(node, &counts);
  return counts;
}

// A run with histograms in host memory.
struct Driven {
  explicit Driven(const HostLayout& layout, Time apart = 100 * kMicrosecond,
                  const Shape& shape = four_nodes())
      : store(std::make_shared<HostStore>(shape, layout)), oracle(shape), cluster(four(), oracle, false) {
    store->record(true);
    cluster.watch(&oracle);
    cluster.keep_in(store);
    drive(cluster, apart);
    oracle.memory.settle();
  }
  std::shared_ptr<HostStore> store;
  Oracle oracle;
  Cluster cluster;
};

void expect_equal(HostStore& store, const MonitorMemory& wanted) {
  store.with_memory([&](const MonitorMemory* memory) {
    const Shape& shape = wanted.shape();
    EXPECT_EQ(memory->packets(), wanted.packets());
    EXPECT_EQ(memory->left_out(), wanted.left_out());
    for (uint32_t node = 0; node < shape.nodes; ++node) {
      const Statistics* const one = memory->of(node, 0);
      const Statistics* const other = wanted.of(node, 0);
      ASSERT_NE(one, nullptr);
      ASSERT_NE(other, nullptr);
      using Group = Statistics::Group;
      for (const Group group : {Group::kLength, Group::kPeer, Group::kType}) {
        const uint32_t rows = group == Group::kLength ? shape.length_bins
                              : group == Group::kPeer ? shape.nodes
                                                      : kTypes;
        for (uint32_t x = 0; x < rows; ++x) {
          for (uint32_t latency = 0; latency < kLatencies; ++latency) {
            for (uint32_t bin = 0; bin < shape.latency_bins; ++bin)
              ASSERT_EQ(one->count(group, x, latency, bin), other->count(group, x, latency, bin))
                  << "node " << node << " x " << x << " latency " << latency << " bin " << bin;
            ASSERT_EQ(one->sums(group, x, latency).ns, other->sums(group, x, latency).ns);
            ASSERT_EQ(one->sums(group, x, latency).squared_ns, other->sums(group, x, latency).squared_ns);
          }
        }
      }
      for (uint32_t length = 0; length < shape.length_bins; ++length) {
        for (uint32_t peer = 0; peer < shape.nodes; ++peer) {
          ASSERT_EQ(one->packets(false, length, peer), other->packets(false, length, peer));
          ASSERT_EQ(one->packets(true, length, peer), other->packets(true, length, peer));
        }
      }
    }
  });
}

TEST(MyrinetHostStore, ItsHistogramsAreThoseOnTheInterfaceBinByBin) {  // MY-41
  for (const uint32_t cache_lines : {4u, 37u, 1024u}) {
    Driven run(lines(cache_lines));
    expect_equal(*run.store, run.oracle.memory);
    const substrata_myrinet_host_counts counts = counts_of(*run.store);
    EXPECT_GT(counts.written_idle + counts.written_forced, 0u);
    EXPECT_EQ(counts.lines_in_use, 0u);  // the reader has fetched them
  }
}

TEST(MyrinetHostStore, ALargeCacheIsWrittenBackWhenTheInterfaceIsIdle) {  // MY-41
  Driven run(lines(1024));
  const substrata_myrinet_host_counts counts = counts_of(*run.store);
  EXPECT_GT(counts.written_idle, 0u);
  EXPECT_EQ(counts.written_forced, 0u);
  EXPECT_LE(counts.lines_in_use, 4 * 512u);  // half of each interface's lines wait for the next ones
}

TEST(MyrinetHostStore, AFullCacheHoldsUpPackets) {  // MY-41
  constexpr Time kApart = 10 * kMicrosecond;        // never idle
  Driven small(lines(4), kApart);
  Driven large(lines(8192), kApart);
  EXPECT_GT(counts_of(*small.store).written_forced, 0u);
  EXPECT_EQ(counts_of(*large.store).written_forced, 0u);
  EXPECT_GT(small.oracle.last, large.oracle.last);
  expect_equal(*small.store, small.oracle.memory);
}

// Node 1 answers node 0 by a message to node 2, as soon as it has what came.
class Answer final : public Delivery {
 public:
  Answer(const ClusterParameters& parameters, uint32_t cache_lines)
      : store_(std::make_shared<HostStore>(four_nodes(), lines(cache_lines))),
        cluster_(parameters, *this, false) {
    store_->record(true);
    cluster_.keep_in(store_);
    cluster_.post(message(0, 1, 64), 0);
    cluster_.run_out();
  }
  void delivered(const Message& came, Time, Time now) override {
    last = now;
    if (came.to != 1) return;
    forced = counts_of(*store_, 1).written_forced;  // by what came
    cluster_.post(message(1, 2, 64), now);
  }
  uint64_t forced = 0;
  Time last = 0;

 private:
  std::shared_ptr<HostStore> store_;
  Cluster cluster_;
};

TEST(MyrinetHostStore, OneTransferBelow128BytesTakes4Microseconds) {  // MY-41
  static_assert(HostStore::kLineBytes < 128);
  static_assert(HostStore::kRecordBytes * HostStore::kRecordsAtOnce < 128);
  const ClusterParameters parameters = four();
  const Answer alone(parameters, 1024);
  const Answer held_up(parameters, 4);
  EXPECT_EQ(alone.forced, 0u);
  ASSERT_GT(held_up.forced, 0u);
  const Time one = (held_up.last - alone.last) / held_up.forced;
  EXPECT_EQ(one * held_up.forced, held_up.last - alone.last);
  EXPECT_GE(one, 3'900'000u);  // section 6: about 4 us
  EXPECT_LE(one, 4'100'000u);
}

TEST(MyrinetHostStore, WithoutRecordingNothingIsKeptAndNothingCosts) {  // MY-7, MY-41
  Oracle with(four_nodes());
  Cluster cluster(four(), with, false);
  const auto store = std::make_shared<HostStore>(four_nodes(), lines(4));
  cluster.keep_in(store);
  drive(cluster, 50 * kMicrosecond);
  Oracle without(four_nodes());
  Cluster plain(four(), without, false);
  drive(plain, 50 * kMicrosecond);
  EXPECT_EQ(with.last, without.last);
  store->with_memory([](const MonitorMemory* memory) { EXPECT_EQ(memory->packets(), 0u); });
}

TEST(MyrinetHostStore, RecordsReportEachPacketAtBothEnds) {  // MY-41
  HostLayout layout = lines(1024);
  layout.trace_ring = 100'000;
  layout.trace_buffer = 64;
  Driven run(layout);
  uint64_t sent = 0;
  uint64_t received = 0;
  for (uint32_t node = 0; node < 4; ++node) {
    std::vector<substrata_myrinet_packet> records(20'000);
    records.resize(run.store->read_trace(node, records.data(), static_cast<uint32_t>(records.size())));
    for (const substrata_myrinet_packet& record : records) ++(record.received != 0 ? received : sent);
    if (node != 0) continue;
    // Each against the transactions of its node.
    std::vector<substrata_myrinet_packet> wanted;
    for (const substrata_transaction& stage : run.oracle.stages_of_0) {
      if (stage.state != SUBSTRATA_INJECTED && stage.state != SUBSTRATA_DELIVERED) continue;
      substrata_myrinet_packet one{};
      one.received = stage.state == SUBSTRATA_DELIVERED ? 1 : 0;
      for (const substrata_transaction& before : run.oracle.stages_of_0)
        if (before.detail == stage.detail && before.initiator == stage.initiator &&
            before.state == (one.received != 0 ? SUBSTRATA_ARRIVED : SUBSTRATA_FETCHED))
          one.first_ns = static_cast<int64_t>(before.time - before.start) / 1000;
      one.second_ns = static_cast<int32_t>((stage.time - stage.start) / 1000);
      one.time_ns = stage.time / 1000;
      one.detail = stage.detail;
      one.bytes = stage.size;
      one.peer = static_cast<uint16_t>(one.received != 0 ? stage.initiator : stage.target);
      wanted.push_back(one);
    }
    ASSERT_EQ(records.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_EQ(records[i].time_ns, wanted[i].time_ns) << i;
      ASSERT_EQ(records[i].detail, wanted[i].detail) << i;
      ASSERT_EQ(records[i].first_ns, wanted[i].first_ns) << i;
      ASSERT_EQ(records[i].second_ns, wanted[i].second_ns) << i;
      ASSERT_EQ(records[i].bytes, wanted[i].bytes) << i;
      ASSERT_EQ(records[i].peer, wanted[i].peer) << i;
      ASSERT_EQ(records[i].received, wanted[i].received) << i;
    }
  }
  EXPECT_EQ(sent, run.cluster.counts().sent);
  EXPECT_EQ(received, run.cluster.counts().received);
  EXPECT_EQ(counts_of(*run.store).trace_dropped, 0u);
}

TEST(MyrinetHostStore, EveryRecordIsReadOrCountedAsDropped) {  // MY-41
  HostLayout layout = lines(1024);
  layout.trace_ring = 50;
  layout.trace_buffer = 3;
  Driven run(layout);
  const substrata_myrinet_host_counts counts = counts_of(*run.store);
  EXPECT_GT(counts.trace_dropped, 0u);
  EXPECT_EQ(counts.trace_records, run.cluster.counts().sent + run.cluster.counts().received);
  uint64_t read = 0;
  for (uint32_t node = 0; node < 4; ++node) {
    substrata_myrinet_packet records[7];
    while (const uint32_t some = run.store->read_trace(node, records, 7)) read += some;
  }
  EXPECT_EQ(read + counts.trace_dropped, counts.trace_records);
}

// The commands, and workloads on the machine.
class MyrinetHostMemory : public tests::SubstrateTest<substrata_entry_myrinet> {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(SubstrateTest::SetUp());
    ASSERT_EQ(substrata_myrinet_stop(), 0);
    shape_.struct_size = sizeof shape_;
    ASSERT_EQ(substrata_myrinet_default_shape(&shape_), 0);
    store_.struct_size = sizeof store_;
  }
  void TearDown() override {
    EXPECT_EQ(substrata_myrinet_stop(), 0);
    ASSERT_EQ(substrata_myrinet_default_shape(&shape_), 0);
    EXPECT_EQ(substrata_myrinet_configure(&shape_), 0);
    SubstrateTest::TearDown();
  }
  void run(const char* parameters = nullptr) {
    auto options = client::sized<substrata_run_options>();
    options.processes = 8;
    options.parameters = parameters;
    auto result = client::sized<substrata_run_result>();
    ASSERT_EQ(substrata_run("myrinet", "fft:points=4096", &options, &result), 0) << result.message;
    ASSERT_EQ(result.correct, 1u) << result.message;
  }
  // The values of some events around a run.
  std::vector<int64_t> counted(const std::vector<std::string>& names, const char* parameters = nullptr) {
    tests::CountedSet set(table_, device_, events(names));
    set.start();
    run(parameters);
    std::vector<int64_t> values = set.read();
    set.stop();
    return values;
  }

  substrata_myrinet_shape shape_{};
  substrata_myrinet_host store_{};
};

TEST_F(MyrinetHostMemory, BinsFinerThanFitTheInterfaceArePossible) {  // MY-3, MY-41
  shape_.latency_bins = 2048;
  for (uint32_t& ns : shape_.latency_bin_ns) ns = 50;
  EXPECT_EQ(substrata_myrinet_configure(&shape_), -1);
  ASSERT_EQ(substrata_myrinet_configure_host(&shape_, &store_), 0) << substrata_myrinet_error();
  uint64_t interface_bytes = 0;
  uint64_t host_bytes = 0;
  uint64_t in_use = 0;
  ASSERT_EQ(substrata_myrinet_host_memory(&shape_, &store_, &interface_bytes, &host_bytes), 0);
  ASSERT_EQ(substrata_myrinet_memory(nullptr, &in_use), 0);
  EXPECT_EQ(in_use, interface_bytes);
  EXPECT_LE(interface_bytes, SUBSTRATA_MYRINET_SRAM_BYTES);
  EXPECT_GT(host_bytes, SUBSTRATA_MYRINET_SRAM_BYTES);
  ASSERT_EQ(substrata_myrinet_start(), 0);
  const std::vector<int64_t> values = counted({"PACKETS_RECEIVED", "DEST_LATENCY_SUM", "PACKETS_SENT"});
  ASSERT_EQ(substrata_myrinet_stop(), 0);
  uint64_t packets = 0;
  uint64_t left_out = 1;
  ASSERT_EQ(substrata_myrinet_recorded(&packets, &left_out), 0);
  EXPECT_EQ(static_cast<int64_t>(packets), values[2]);
  EXPECT_EQ(left_out, 0u);
  // The histograms of all lengths hold every packet, and their average is the events'.
  uint64_t received = 0;
  std::vector<uint64_t> bins(2048);
  for (uint32_t x = 0; x < shape_.length_bins; ++x) {
    ASSERT_EQ(
        substrata_myrinet_histogram(SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_DEST,
                                    SUBSTRATA_MYRINET_BY_SIZE, x, bins.data(), 2048),
        0);
    for (const uint64_t count : bins) received += count;
  }
  EXPECT_EQ(static_cast<int64_t>(received), values[0]);
  std::vector<substrata_myrinet_point> points(shape_.length_bins);
  uint32_t count = 0;
  ASSERT_EQ(substrata_myrinet_signature(SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_ALL,
                                        SUBSTRATA_MYRINET_BY_SIZE, points.data(), shape_.length_bins, &count),
            0);
  double sum = 0;
  for (uint32_t i = 0; i < count; ++i)
    sum += points[i].average_ns[SUBSTRATA_MYRINET_DEST] * static_cast<double>(points[i].received);
  EXPECT_NEAR(sum, static_cast<double>(values[1]), 1e-6 * sum);
  EXPECT_EQ(substrata_myrinet_clear(), 0);
  ASSERT_EQ(substrata_myrinet_recorded(&packets, nullptr), 0);
  EXPECT_EQ(packets, 0u);
}

TEST_F(MyrinetHostMemory, WhatDoesNotFitTheInterfaceIsRefusedWithItsBytes) {  // MY-3, MY-41
  store_.cache_lines = 20'000;
  uint64_t bytes = 0;
  ASSERT_EQ(substrata_myrinet_host_memory(&shape_, &store_, &bytes, nullptr), 0);
  ASSERT_GT(bytes, SUBSTRATA_MYRINET_SRAM_BYTES);
  EXPECT_EQ(substrata_myrinet_configure_host(&shape_, &store_), -1);
  const std::string message = substrata_myrinet_error();
  EXPECT_NE(message.find(std::to_string(bytes)), std::string::npos) << message;
  EXPECT_NE(message.find("1048576"), std::string::npos) << message;
  store_.cache_lines = 3;
  EXPECT_EQ(substrata_myrinet_configure_host(&shape_, &store_), -1);
  store_.cache_lines = 0;
  store_.trace_ring = 10;
  store_.trace_buffer = 2;
  EXPECT_EQ(substrata_myrinet_configure_host(&shape_, &store_), -1);
  auto counts = client::sized<substrata_myrinet_host_counts>();
  EXPECT_EQ(substrata_myrinet_host_counted(0, &counts), -1);  // none of them is in use
  substrata_myrinet_packet record{};
  uint32_t count = 0;
  EXPECT_EQ(substrata_myrinet_trace(0, &record, 1, &count), -1);
  store_.trace_buffer = 0;
  ASSERT_EQ(substrata_myrinet_configure_host(&shape_, &store_), 0);
  ASSERT_EQ(substrata_myrinet_start(), 0);
  EXPECT_EQ(substrata_myrinet_configure_host(&shape_, &store_), -10);
}

TEST_F(MyrinetHostMemory, EventsCountWhatTheInterfacesMove) {  // MY-41
  store_.cache_lines = 16;
  store_.trace_ring = 20;
  ASSERT_EQ(substrata_myrinet_configure_host(&shape_, &store_), 0);
  ASSERT_EQ(substrata_myrinet_start(), 0);
  const std::vector<int64_t> values =
      counted({"HISTOGRAM_WRITEBACKS", "HISTOGRAM_WRITEBACKS_FORCED", "TRACE_RECORDS", "TRACE_DROPPED",
               "PACKETS_SENT", "PACKETS_RECEIVED", "HISTOGRAM_WRITEBACKS:node=2"});
  auto counts = client::sized<substrata_myrinet_host_counts>();
  ASSERT_EQ(substrata_myrinet_host_counted(SUBSTRATA_MYRINET_ALL, &counts), 0);
  EXPECT_EQ(values[0], static_cast<int64_t>(counts.written_idle + counts.written_forced));
  EXPECT_EQ(values[1], static_cast<int64_t>(counts.written_forced));
  EXPECT_GT(values[1], 0);
  EXPECT_EQ(values[2], static_cast<int64_t>(counts.trace_records));
  EXPECT_EQ(values[2], values[4] + values[5]);
  EXPECT_EQ(values[3], static_cast<int64_t>(counts.trace_dropped));
  ASSERT_EQ(substrata_myrinet_host_counted(2, &counts), 0);
  EXPECT_EQ(values[6], static_cast<int64_t>(counts.written_idle + counts.written_forced));
  uint32_t read = 0;
  std::vector<substrata_myrinet_packet> records(200);
  ASSERT_EQ(substrata_myrinet_trace(2, records.data(), 200, &read), 0);
  EXPECT_EQ(read + counts.trace_dropped, counts.trace_records);
}

TEST_F(MyrinetHostMemory, AMachinesParameterAloneDoesItWithTheDefaultShape) {  // MY-41
  EXPECT_EQ(counted({"HISTOGRAM_WRITEBACKS"}, "histograms=interface")[0], 0);
  EXPECT_GT(counted({"HISTOGRAM_WRITEBACKS"}, "histograms=host")[0], 0);
}

}  // namespace
}  // namespace substrata::myrinet::test
