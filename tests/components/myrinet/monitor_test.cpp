// The substrate "myrinet" through its table and its C interface: workloads on the modelled cluster, counted.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <substrata/myrinet.h>
#include <substrata/substrate.h>
#include <substrata/feed.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "opened_myrinet.hpp"
#include "support/temporary_folder.hpp"

namespace substrata::myrinet::test {
namespace {

// Everything that passes at the interfaces, added up by plain code.
class Onlooker {
 public:
  Onlooker() {
    EXPECT_EQ(observer_.try_create<&Onlooker::look>(*this), 0);
    EXPECT_EQ(observer_.try_subscribe("myrinet.node*.lanai.*"), 0);
  }
  int64_t sum_ns(uint16_t state) { return sums_[state]; }
  int64_t count(uint16_t state) { return counts_[state]; }
  int64_t bytes(uint16_t state) { return bytes_[state]; }

 private:
  void look(const substrata_transaction* batch, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      sums_[batch[i].state] += static_cast<int64_t>(batch[i].time - batch[i].start) / 1000;
      bytes_[batch[i].state] += batch[i].size;
      ++counts_[batch[i].state];
    }
  }
  std::map<uint16_t, int64_t> sums_;
  std::map<uint16_t, int64_t> counts_;
  std::map<uint16_t, int64_t> bytes_;
  client::feed::Observer observer_;
};

TEST_F(Myrinet, AStreamThroughAllNodesKeepsItsBytesWhateverHappensToPackets) {  // MY-20, MY-22
  const char* const faults = "drop_ppm=40000:corrupt_ppm=40000:misroute_ppm=40000";
  const auto plain = run("pipeline:bytes=40000:window=3000:segment=1000", 4);
  const auto harmed = run("pipeline:bytes=40000:window=3000:segment=1000", 4, faults);
  EXPECT_GT(harmed.simulated_ticks, plain.simulated_ticks);
  // A smaller window at the reader, more waiting for credits.
  EXPECT_GT(run("pipeline:bytes=40000:window=500:segment=1000", 4).simulated_ticks, plain.simulated_ticks);
}

TEST_F(Myrinet, EveryEventIsModelled) {
  for (uint32_t i = 0; i < table_.event_count(device_); ++i) {
    Event event;
    ASSERT_TRUE(table_.event_at(device_, i, &event).ok());
    EXPECT_NE(event.flags & kEventModelled, 0u) << event.name;
    uint32_t index = ~0u;
    ASSERT_TRUE(find(event.name, &index).ok());
    EXPECT_EQ(index, i);
  }
}

TEST_F(Myrinet, RefusesQualifiersThatMeanNothing) {
  uint32_t index = 0;
  EXPECT_EQ(find("PACKETS_SENT:node=256", &index).code, Code::kAttribute);
  EXPECT_EQ(find("PACKETS_SENT:colour=3", &index).code, Code::kAttribute);
  EXPECT_EQ(find("SYNC_ROUNDS:node=3", &index).code, Code::kAttribute);
  EXPECT_EQ(find("CLOCK_ERROR_MAX:peer=3", &index).code, Code::kAttribute);
  EXPECT_EQ(find("PACKETS", &index).code, Code::kNoEvent);
}

TEST_F(Myrinet, CountsAndLatenciesAreThoseOfThePacketsThatPassed) {  // MY-1, MY-2
  Onlooker onlooker;
  Counting set(table_, device_,
               {"PACKETS_SENT", "PACKETS_RECEIVED", "BYTES_SENT", "BYTES_RECEIVED", "SOURCE_LATENCY_SUM",
                "LANAI_LATENCY_SUM", "NET_LATENCY_SUM", "DEST_LATENCY_SUM", "CHECKSUM_ERRORS", "DROPPED",
                "MISROUTED"});
  run(kSmall, 4);
  const std::vector<int64_t> values = set.read();
  EXPECT_GT(values[0], 100);
  EXPECT_EQ(values[0], onlooker.count(SUBSTRATA_INJECTED));
  EXPECT_EQ(values[1], onlooker.count(SUBSTRATA_DELIVERED));
  EXPECT_EQ(values[0], values[1]);
  EXPECT_EQ(values[2], onlooker.bytes(SUBSTRATA_INJECTED));
  EXPECT_EQ(values[3], onlooker.bytes(SUBSTRATA_DELIVERED));
  EXPECT_EQ(values[4], onlooker.sum_ns(SUBSTRATA_FETCHED));
  EXPECT_EQ(values[5], onlooker.sum_ns(SUBSTRATA_INJECTED));
  EXPECT_EQ(values[6], onlooker.sum_ns(SUBSTRATA_ARRIVED));
  EXPECT_EQ(values[7], onlooker.sum_ns(SUBSTRATA_DELIVERED));
  for (size_t i = 8; i < values.size(); ++i) EXPECT_EQ(values[i], 0);
}

TEST_F(Myrinet, QualifiersPartTheCounts) {
  std::vector<std::string> names = {"BYTES_SENT", "BYTES_RECEIVED"};
  for (int node = 0; node < 4; ++node) names.push_back("BYTES_SENT:node=" + std::to_string(node));
  for (int peer = 0; peer < 4; ++peer) names.push_back("BYTES_RECEIVED:peer=" + std::to_string(peer));
  for (int type = 0; type < 16; ++type) names.push_back("BYTES_SENT:type=" + std::to_string(type));
  names.push_back("BYTES_SENT:program=0");
  names.push_back("BYTES_SENT:program=1");
  names.push_back("BYTES_SENT:node=1:peer=2");
  names.push_back("BYTES_RECEIVED:node=2:peer=1");
  Counting set(table_, device_, names);
  run(kSmall, 4);
  const std::vector<int64_t> values = set.read();
  int64_t nodes = 0;
  int64_t types = 0;
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(values[2 + i], values[6 + i]) << "what a node sent is what the others received from it";
    nodes += values[2 + i];
  }
  for (size_t i = 0; i < 16; ++i) types += values[10 + i];
  EXPECT_EQ(nodes, values[0]);
  EXPECT_EQ(types, values[0]);
  EXPECT_EQ(values[26], values[0]);
  EXPECT_EQ(values[27], 0);
  EXPECT_GT(values[28], 0);
  EXPECT_EQ(values[28], values[29]);
}

// Without the monitor the interfaces' statistics were filled all the same.
TEST_F(Myrinet, WithoutMonitorNothingIsRecorded) {  // MY-1
  ASSERT_EQ(substrata_myrinet_start(), 0);
  run(kSmall, 4, "monitor=none");
  uint64_t packets = 1;
  uint64_t left_out = 0;
  ASSERT_EQ(substrata_myrinet_recorded(&packets, &left_out), 0);
  EXPECT_EQ(packets, 0u);
}

// Without the monitor the interfaces' statistics of operations were filled all the same.
TEST_F(Myrinet, WithoutMonitorNoOperationIsRecorded) {  // MY-1
  ASSERT_EQ(substrata_myrinet_start(), 0);
  run(kSmall, 4, "monitor=none");
  uint32_t count = 1;
  ASSERT_EQ(substrata_myrinet_operations(SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_ALL, nullptr, 0, &count),
            0);
  EXPECT_EQ(count, 0u);
}

// On-line: the receiving interface counts diffs by page and sender.
TEST_F(Myrinet, APageMovesToTheNodeThatChangesItAndTheResultStaysRight) {
  Counting set(table_, device_, {"PACKETS_SENT"});
  run("lu:n=64", 4, "homes=round-robin:verify=yes");
  const int64_t without = set.read()[0];
  run("lu:n=64", 4, "homes=round-robin:verify=yes:migrate=1");
  EXPECT_LT(set.read()[0] - without, without);
}

TEST_F(Myrinet, WithoutContentionAPacketOfAStreamIsAsQuickAsTheFirst) {
  ASSERT_EQ(substrata_myrinet_start(), 0);
  run("ping-pong:mode=stream:bytes=4000:rounds=40", 2, "contention=no");
  substrata_myrinet_point points[16];
  uint32_t count = 0;
  ASSERT_EQ(
      substrata_myrinet_signature(0, SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_BY_TYPE, points, 16, &count),
      0);
  for (uint32_t i = 0; i < count; ++i)
    if (points[i].x == SUBSTRATA_MYRINET_MESSAGE) {
      EXPECT_NEAR(points[i].deviation_ns[0], 0, 1e-3);
    }
}

TEST_F(Myrinet, TheHistogramsHoldEveryPacket) {  // MY-3, MY-9
  Counting set(table_, device_, {"PACKETS_SENT", "SOURCE_LATENCY_SUM", "PACKETS_SENT:node=2"});
  ASSERT_EQ(substrata_myrinet_start(), 0);
  run(kSmall, 4);
  const std::vector<int64_t> values = set.read();
  uint64_t packets = 0;
  uint64_t left_out = 1;
  ASSERT_EQ(substrata_myrinet_recorded(&packets, &left_out), 0);
  EXPECT_EQ(packets, static_cast<uint64_t>(values[0]));
  EXPECT_EQ(left_out, 0u);
  std::vector<substrata_myrinet_point> points(200);
  uint32_t count = 0;
  ASSERT_EQ(substrata_myrinet_signature(SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_ALL,
                                        SUBSTRATA_MYRINET_BY_SIZE, points.data(), 200, &count),
            0);
  double sum = 0;
  for (uint32_t i = 0; i < count; ++i) sum += points[i].average_ns[0] * static_cast<double>(points[i].sent);
  EXPECT_NEAR(sum, static_cast<double>(values[1]), 1);
  ASSERT_EQ(substrata_myrinet_signature(2, SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_BY_SENDER, points.data(),
                                        200, &count),
            0);
  uint64_t of_two = 0;
  for (uint32_t i = 0; i < count; ++i) of_two += points[i].x == 2 ? points[i].sent : 0;
  EXPECT_EQ(of_two, static_cast<uint64_t>(values[2]));
  std::vector<uint64_t> bins(64);
  EXPECT_EQ(substrata_myrinet_histogram(0, 0, SUBSTRATA_MYRINET_NET, SUBSTRATA_MYRINET_BY_SENDER, 1,
                                        bins.data(), 64),
            0);
  EXPECT_EQ(substrata_myrinet_histogram(0, 0, SUBSTRATA_MYRINET_NET, SUBSTRATA_MYRINET_BY_SENDER, 1,
                                        bins.data(), 63),
            -1);
  EXPECT_EQ(substrata_myrinet_histogram(8, 0, SUBSTRATA_MYRINET_NET, SUBSTRATA_MYRINET_BY_SENDER, 1,
                                        bins.data(), 64),
            -1);
  EXPECT_NE(std::string(substrata_myrinet_error()).find("node 8"), std::string::npos);
}

TEST_F(Myrinet, RecordsBetweenStartAndStopOnly) {  // MY-7
  uint64_t packets = 1;
  run(kSmall, 4);
  ASSERT_EQ(substrata_myrinet_recorded(&packets, nullptr), 0);
  EXPECT_EQ(packets, 0u);
  ASSERT_EQ(substrata_myrinet_start(), 0);
  ASSERT_EQ(substrata_myrinet_start(), 0);  // no error
  run(kSmall, 4);
  auto shape = client::sized<substrata_myrinet_shape>();
  ASSERT_EQ(substrata_myrinet_default_shape(&shape), 0);
  EXPECT_EQ(substrata_myrinet_configure(&shape), -10);  // while it records
  ASSERT_EQ(substrata_myrinet_stop(), 0);
  uint64_t once = 0;
  ASSERT_EQ(substrata_myrinet_recorded(&once, nullptr), 0);
  EXPECT_GT(once, 0u);
  run(kSmall, 4);
  ASSERT_EQ(substrata_myrinet_recorded(&packets, nullptr), 0);
  EXPECT_EQ(packets, once);
  ASSERT_EQ(substrata_myrinet_start(), 0);
  run(kSmall, 4);
  ASSERT_EQ(substrata_myrinet_recorded(&packets, nullptr), 0);
  EXPECT_EQ(packets, 2 * once);
  ASSERT_EQ(substrata_myrinet_clear(), 0);
  ASSERT_EQ(substrata_myrinet_recorded(&packets, nullptr), 0);
  EXPECT_EQ(packets, 0u);
}

TEST_F(Myrinet, TagsSeparateThePrograms) {  // MY-8
  auto shape = client::sized<substrata_myrinet_shape>();
  ASSERT_EQ(substrata_myrinet_default_shape(&shape), 0);
  shape.programs = 2;
  ASSERT_EQ(substrata_myrinet_configure(&shape), 0);
  ASSERT_EQ(substrata_myrinet_start(), 0);
  const auto by_size = [](uint32_t program) {
    std::vector<substrata_myrinet_point> points(200);
    uint32_t count = 0;
    EXPECT_EQ(substrata_myrinet_signature(SUBSTRATA_MYRINET_ALL, program, SUBSTRATA_MYRINET_BY_SIZE,
                                          points.data(), 200, &count),
              0);
    std::map<uint32_t, std::pair<uint64_t, double>> out;
    for (uint32_t i = 0; i < count; ++i) out[points[i].x] = {points[i].sent, points[i].average_ns[0]};
    return out;
  };
  run(kSmall, 4, nullptr, 0);
  const auto alone = by_size(0);
  EXPECT_TRUE(by_size(1).empty());
  run("ping-pong:bytes=600:rounds=20", 4, nullptr, 1);
  EXPECT_EQ(by_size(0), alone);
  EXPECT_EQ(by_size(1).at(577).first, 80u);
  run(kSmall, 4, nullptr, 2);  // no slot for a third
  uint64_t left_out = 0;
  ASSERT_EQ(substrata_myrinet_recorded(nullptr, &left_out), 0);
  EXPECT_GT(left_out, 0u);
  EXPECT_EQ(by_size(0), alone);
}

TEST_F(Myrinet, EachPageIsFollowedByAWordThatAnnouncesIt) {  // MY-20
  // Homes by block: none is asked for, so that all else of the protocol's type are these words.
  Counting set(table_, device_,
               {"PACKETS_SENT:type=2", "PACKETS_SENT:type=3", "PACKETS_SENT:type=7", "BYTES_SENT:type=3",
                "BYTES_SENT:type=7"});
  run(kSmall, 4, "homes=block:verify=yes");
  const std::vector<int64_t> values = set.read();
  EXPECT_GT(values[0], 0);
  EXPECT_EQ(values[1], values[0]);
  EXPECT_EQ(values[2], values[0]);
  EXPECT_EQ(values[3], 4096 * values[0]);
  EXPECT_EQ(values[4], 4 * values[0]);
}

TEST_F(Myrinet, FaultsAreCountedWhereTheyAreFoundAsManyAsWereMade) {  // MY-22
  Counting set(table_, device_,
               {"PACKETS_SENT", "PACKETS_RECEIVED", "CHECKSUM_ERRORS", "DROPPED", "MISROUTED", "BYTES_SENT",
                "BYTES_RECEIVED"});
  Onlooker onlooker;
  run("fft:points=4096", 4, "corrupt_ppm=50000:drop_ppm=40000:misroute_ppm=60000");
  const std::vector<int64_t> values = set.read();
  EXPECT_GT(values[2], 0);
  EXPECT_GT(values[3], 0);
  EXPECT_GT(values[4], 0);
  EXPECT_EQ(values[0], values[1] + values[2] + values[3] + values[4]);
  EXPECT_EQ(values[5], values[6] + onlooker.bytes(SUBSTRATA_CORRUPT) + onlooker.bytes(SUBSTRATA_DROPPED) +
                           onlooker.bytes(SUBSTRATA_MISROUTED));
  EXPECT_EQ(values[2], onlooker.count(SUBSTRATA_CORRUPT));
  EXPECT_EQ(values[3], onlooker.count(SUBSTRATA_DROPPED));
  EXPECT_EQ(values[4], onlooker.count(SUBSTRATA_MISROUTED));
}

TEST_F(Myrinet, ClockRoundsAreEvents) {  // MY-5
  Counting set(table_, device_, {"SYNC_ROUNDS", "CLOCK_ERROR_MAX:node=1"});
  run("ping-pong:bytes=64:rounds=200", 2, "clock=periodic:period_ms=1:drift_ppm=50");
  const std::vector<int64_t> values = set.read();
  EXPECT_GE(values[0], 2);
  EXPECT_GT(values[1], 0);
}

TEST_F(Myrinet, AReplayGivesTheSameCounts) {  // FE-8, MY-21
  const substrata::tests::TemporaryFolder folder;
  const std::string trace = folder.file("trace");
  const std::vector<std::string> names = {"PACKETS_SENT", "BYTES_RECEIVED", "NET_LATENCY_SUM",
                                          "DEST_LATENCY_SUM:node=1", "PACKETS_SENT:type=3"};
  std::vector<int64_t> live;
  {
    Counting set(table_, device_, names);
    run(kSmall, 4, nullptr, 0, trace.c_str());
    live = set.read();
  }
  EXPECT_GT(live[4], 0);
  {
    Counting set(table_, device_, names);
    ASSERT_EQ(substrata_replay(trace.c_str(), nullptr, nullptr), 0) << substrata_feed_error();
    EXPECT_EQ(set.read(), live);
  }
}

TEST_F(Myrinet, SharedMemoryIsWhatAProgramExpects) {  // FE-10, MY-20
  for (const char* workload : {"fft:points=1024", "radix:keys=4096:radix=64", "lu:n=48", "gauss:n=40"})
    run(workload, 4, "verify=yes");
  run("fft:points=1024", 4, "verify=yes:drop_ppm=20000:homes=block");
  run("ping-pong:bytes=10000:rounds=3", 3);
  run("fft:points=256", 1);
}

TEST_F(Myrinet, TwoRunsTakeTheSameTime) {
  EXPECT_EQ(run(kSmall, 8).simulated_ticks, run(kSmall, 8).simulated_ticks);
}

TEST_F(Myrinet, RefusesParametersItDoesNotKnow) {
  auto options = client::sized<substrata_run_options>();
  options.parameters = "wings=2";
  auto result = client::sized<substrata_run_result>();
  EXPECT_LT(substrata_run("myrinet", kSmall, &options, &result), 0);
  EXPECT_NE(std::string(result.message).find("wings"), std::string::npos) << result.message;
}

}  // namespace
}  // namespace substrata::myrinet::test
