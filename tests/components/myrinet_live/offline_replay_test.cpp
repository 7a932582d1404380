// A logged program run again on the cluster: what is sent arrives or is counted as lost, and a process that
// receives waits.
#include <gtest/gtest.h>
#include <substrata/myrinet.h>
#include <substrata/result.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace {

using Operation = substrata_myrinet_operation;

Operation operation_with(uint32_t peer, uint64_t compute_ns) {
  Operation one{};
  one.compute_ns = compute_ns;
  one.peer = peer;
  return one;
}
Operation send(uint32_t to, uint64_t bytes, uint64_t compute_ns = 0, uint16_t phase = 0) {
  Operation one = operation_with(to, compute_ns);
  one.bytes = bytes;
  one.phase = phase;
  one.type = SUBSTRATA_MYRINET_MESSAGE;
  return one;
}
Operation receive(uint32_t from, uint32_t number, uint64_t compute_ns = 0) {
  Operation one = operation_with(from, compute_ns);
  one.number = number;
  one.receives = 1;
  return one;
}

struct Carried {
  explicit Carried(const std::vector<std::vector<Operation>>& programs, const char* parameters = nullptr,
                   uint32_t phases = 1, uint64_t seed = 1) {
    std::vector<const Operation*> begins;
    std::vector<size_t> counts;
    for (const auto& program : programs) {
      begins.push_back(program.data());
      counts.push_back(program.size());
    }
    auto options = substrata::client::sized<substrata_myrinet_carry_options>();
    options.nodes = static_cast<uint32_t>(programs.size());
    options.phases = phases;
    options.parameters = parameters;
    options.seed = seed;
    status = substrata_myrinet_carry(begins.data(), counts.data(), &options, &carried);
    if (status != 0) error = substrata_myrinet_error();
  }
  Carried(const Carried&) = delete;
  Carried& operator=(const Carried&) = delete;
  ~Carried() { substrata_myrinet_carried_free(carried); }
  substrata_myrinet_counts counts(uint32_t node = SUBSTRATA_MYRINET_ALL,
                                  uint32_t phase = SUBSTRATA_MYRINET_ALL) const {
    auto out = substrata::client::sized<substrata_myrinet_counts>();
    EXPECT_EQ(substrata_myrinet_carried_counts(carried, node, phase, &out), 0);
    return out;
  }
  struct substrata_myrinet_outcome outcome() const {
    struct substrata_myrinet_outcome out {};
    out.struct_size = sizeof out;
    EXPECT_EQ(substrata_myrinet_carried_outcome(carried, &out), 0);
    return out;
  }
  std::vector<substrata_myrinet_point> signature(uint32_t node, uint32_t phase) const {
    uint32_t count = 0;
    EXPECT_EQ(substrata_myrinet_carried_signature(carried, node, phase, SUBSTRATA_MYRINET_BY_SIZE, nullptr, 0,
                                                  &count),
              0);
    std::vector<substrata_myrinet_point> points(count);
    EXPECT_EQ(substrata_myrinet_carried_signature(carried, node, phase, SUBSTRATA_MYRINET_BY_SIZE,
                                                  points.data(), count, &count),
              0);
    return points;
  }
  std::vector<substrata_myrinet_operation_point> operations(uint32_t node = SUBSTRATA_MYRINET_ALL) const {
    std::vector<substrata_myrinet_operation_point> points(SUBSTRATA_MYRINET_OPERATION_KINDS);
    uint32_t count = 0;
    EXPECT_EQ(substrata_myrinet_carried_operations(carried, node, SUBSTRATA_MYRINET_ALL, points.data(),
                                                   SUBSTRATA_MYRINET_OPERATION_KINDS, &count),
              0);
    points.resize(count);
    return points;
  }
  substrata_myrinet_carried* carried = nullptr;
  int status = 0;
  std::string error;
};

// Rounds of random messages; every third one is waited for.
std::vector<std::vector<Operation>> random_programs(uint32_t nodes, int messages, uint64_t* bytes,
                                                    uint64_t* packets) {
  std::mt19937 random(7);
  std::vector<std::vector<Operation>> programs(nodes);
  std::vector<uint32_t> number(size_t{nodes} * nodes);
  for (int i = 0; i < messages; ++i) {
    const uint32_t from = static_cast<uint32_t>(random() % nodes);
    const uint32_t to = (from + 1 + static_cast<uint32_t>(random() % (nodes - 1))) % nodes;
    const uint64_t size = random() % 20'000;
    programs[from].push_back(send(to, size, random() % 50'000, static_cast<uint16_t>(random() % 3)));
    const uint32_t n = ++number[size_t{from} * nodes + to];
    if (i % 3 == 0) programs[to].push_back(receive(from, n, random() % 1000));
    *bytes += size;
    *packets += size == 0 ? 1 : (size + 4095) / 4096;
  }
  return programs;
}

TEST(MyrinetOfflineReplay, WhatIsSentIsReceivedPacketByPacketAndByteByByte) {  // MY-21
  uint64_t bytes = 0;
  uint64_t packets = 0;
  const Carried ran(random_programs(5, 2000, &bytes, &packets), nullptr, 3);
  ASSERT_EQ(ran.status, 0) << ran.error;
  const substrata_myrinet_counts all = ran.counts();
  EXPECT_EQ(all.packets_sent, packets);
  EXPECT_EQ(all.packets_received, packets);
  EXPECT_EQ(all.bytes_sent, bytes);
  EXPECT_EQ(all.bytes_received, bytes);
  EXPECT_EQ(all.bytes_lost, 0u);
  EXPECT_EQ(ran.outcome().messages, 2000u);
  EXPECT_EQ(ran.outcome().unmatched, 0u);
  // Nodes and phases are parts of the whole, in the counts and in the signatures.
  uint64_t parts = 0;
  uint64_t points = 0;
  for (uint32_t node = 0; node < 5; ++node)
    for (uint32_t phase = 0; phase < 3; ++phase) {
      parts += ran.counts(node, phase).packets_sent;
      for (const substrata_myrinet_point& point : ran.signature(node, phase)) points += point.sent;
    }
  EXPECT_EQ(parts, packets);
  EXPECT_EQ(points, packets);
}

TEST(MyrinetOfflineReplay, TheHistogramsHoldEveryPacketOnce) {
  const Carried run({{send(1, 100), send(1, 9000)}, {receive(0, 1), receive(0, 2)}});
  ASSERT_EQ(run.status, 0) << run.error;
  for (int latency = 0; latency < SUBSTRATA_MYRINET_LATENCIES; ++latency) {
    uint64_t all = 0;
    uint64_t counts[64];
    for (uint32_t length = 0; length < 128; ++length) {
      ASSERT_EQ(substrata_myrinet_carried_histogram(run.carried, SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_ALL,
                                                    static_cast<substrata_myrinet_latency>(latency),
                                                    SUBSTRATA_MYRINET_BY_SIZE, length, counts, 64),
                0)
          << substrata_myrinet_error();
      for (const uint64_t count : counts) all += count;
    }
    EXPECT_EQ(all, 1u + 3u) << latency;  // 9000 bytes are three packets
  }
}

TEST(MyrinetOfflineReplay, AHistogramThatDoesNotExistIsRefused) {
  const Carried run({{send(1, 100)}, {receive(0, 1)}});
  ASSERT_EQ(run.status, 0) << run.error;
  uint64_t counts[64];
  const auto histogram = [&](uint32_t node, uint32_t x, uint32_t space) {
    return substrata_myrinet_carried_histogram(run.carried, node, 0, SUBSTRATA_MYRINET_NET,
                                               SUBSTRATA_MYRINET_BY_SIZE, x, counts, space);
  };
  EXPECT_EQ(histogram(0, 0, 64), 0);
  EXPECT_NE(histogram(2, 0, 64), 0);
  EXPECT_NE(histogram(0, 128, 64), 0);
  EXPECT_NE(histogram(0, 0, 63), 0);
}

TEST(MyrinetOfflineReplay, WithFaultsEveryAttemptIsReceivedOrCountedAsLost) {  // MY-22
  uint64_t bytes = 0;
  uint64_t packets = 0;
  const Carried ran(random_programs(4, 2000, &bytes, &packets),
                    "corrupt_ppm=20000:drop_ppm=30000:misroute_ppm=10000", 3);
  ASSERT_EQ(ran.status, 0) << ran.error;
  const substrata_myrinet_counts all = ran.counts();
  EXPECT_GT(all.checksum_errors, 0u);
  EXPECT_GT(all.dropped, 0u);
  EXPECT_GT(all.misrouted, 0u);
  EXPECT_EQ(all.packets_sent, all.packets_received + all.checksum_errors + all.dropped + all.misrouted);
  EXPECT_EQ(all.bytes_sent, all.bytes_received + all.bytes_lost);
  EXPECT_EQ(all.packets_received, packets);
  EXPECT_EQ(all.bytes_received, bytes);
  EXPECT_EQ(ran.outcome().unmatched, 0u);
}

TEST(MyrinetOfflineReplay, AProcessThatReceivesWaitsForItsMessage) {  // MY-21
  const Carried one_way({{send(1, 64)}, {}});
  const Carried there_and_back({{send(1, 64), receive(1, 1)}, {receive(0, 1), send(0, 64)}});
  const Carried late({{send(1, 64, 5'000'000)}, {receive(0, 1), send(0, 64)}});
  const uint64_t once = one_way.outcome().simulated_ns;
  EXPECT_GT(once, 10'000u);
  EXPECT_GE(there_and_back.outcome().simulated_ns, 2 * once);
  EXPECT_GE(late.outcome().simulated_ns, 5'000'000 + 2 * once);
}

TEST(MyrinetOfflineReplay, WhoSendsFasterThanTheNetworkWaits) {  // MY-20
  // Without waiting the second node would have computed its millisecond and be done when the others still
  // send.
  std::vector<Operation> flood(200, send(1, 4096));
  const Carried ran({flood, {send(2, 4, 1'000'000)}, {}});
  ASSERT_EQ(ran.status, 0) << ran.error;
  double longest = 0;
  for (const substrata_myrinet_point& point : ran.signature(0, SUBSTRATA_MYRINET_ALL))
    longest = std::max(longest, point.p99_ns[SUBSTRATA_MYRINET_SOURCE]);
  // 32 entries of about 42 us each are before a packet at most; 200 would be 8 ms.
  EXPECT_LT(longest, 3'000'000);
  EXPECT_GT(ran.outcome().simulated_ns, 200u * 30'000u);
}

TEST(MyrinetOfflineReplay, AReceiveOfWhatNobodySentIsGivenUpWhenNothingElseGoesOn) {  // MY-21
  const Carried ran({{receive(1, 3), send(1, 100)}, {send(0, 10), receive(0, 1), receive(0, 2)}});
  ASSERT_EQ(ran.status, 0) << ran.error;
  EXPECT_EQ(ran.outcome().unmatched, 2u);
  EXPECT_EQ(ran.counts().packets_received, 2u);
}

Operation in_collective(uint32_t to, uint64_t bytes, uint32_t group, uint32_t number,
                        uint64_t compute_ns = 0) {
  Operation one = send(to, bytes, compute_ns);
  one.type = SUBSTRATA_MYRINET_COLLECTIVE;
  one.group = group;
  one.number = number;
  return one;
}

TEST(MyrinetOfflineReplay, ACollectiveIsOneOperationOfTheNodeThatSendsFirst) {  // MY-42
  // A broadcast by a tree of four nodes, begun by node 2.
  const Carried run({{receive(2, 1)},
                     {receive(3, 1)},
                     {in_collective(0, 5000, 9, 4), in_collective(3, 5000, 9, 4)},
                     {receive(2, 1, 70'000), in_collective(1, 5000, 9, 4)}});
  ASSERT_EQ(run.status, 0) << run.error;
  const std::vector<substrata_myrinet_operation_point> all = run.operations();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_STREQ(substrata_myrinet_operation_name(all[0].kind), "collective");
  EXPECT_EQ(all[0].count, 1u);
  EXPECT_EQ(all[0].packets, 6u);
  EXPECT_EQ(all[0].bytes, 15'000u);
  EXPECT_EQ(all[0].longest_ns, static_cast<double>(run.outcome().simulated_ns));
  EXPECT_GT(all[0].longest_ns, 70'000) << "the wait of the node that passes it on is a part of it";
  EXPECT_EQ(run.operations(2)[0].count, 1u);
  EXPECT_EQ(run.operations(3)[0].count, 0u);
  EXPECT_EQ(run.operations(3)[0].packets, 2u) << "its own packets of it";
}

TEST(MyrinetOfflineReplay, CollectivesThatOverlapAreKeptApart) {  // MY-42
  // Each of 50 of them, in two groups with the same numbers, sends from every node to the next.
  std::vector<std::vector<Operation>> programs(4);
  for (uint32_t number = 1; number <= 25; ++number)
    for (uint32_t node = 0; node < 4; ++node)
      for (const uint32_t group : {7u, 8u})
        programs[node].push_back(in_collective((node + 1) % 4, 100 * number, group, number, 1000));
  const Carried run(programs);
  ASSERT_EQ(run.status, 0) << run.error;
  const std::vector<substrata_myrinet_operation_point> all = run.operations();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].count, 50u);
  EXPECT_EQ(all[0].packets, 200u);
  EXPECT_LT(all[0].longest_ns, static_cast<double>(run.outcome().simulated_ns));
}

TEST(MyrinetOfflineReplay, WithFaultsEachCollectiveEndsOnce) {  // MY-42
  std::vector<std::vector<Operation>> programs(4);
  for (uint32_t number = 1; number <= 100; ++number)
    for (uint32_t node = 0; node < 4; ++node)
      programs[node].push_back(in_collective((node + 1) % 4, 3000, 1, number, 1000));
  const Carried run(programs, "drop_ppm=100000:corrupt_ppm=100000");
  ASSERT_EQ(run.status, 0) << run.error;
  EXPECT_EQ(run.operations()[0].count, 100u);
}

TEST(MyrinetOfflineReplay, MessagesOfAnUnknownCollectiveBelongToNone) {  // MY-42
  const Carried run({{in_collective(1, 5000, 0, 0)}, {receive(0, 1)}});
  ASSERT_EQ(run.status, 0) << run.error;
  EXPECT_TRUE(run.operations().empty());
}

TEST(MyrinetOfflineReplay, TheLargestClusterCarriesEveryMessage) {  // MY-20
  constexpr uint32_t kNodes = 256;
  std::vector<std::vector<Operation>> programs(kNodes);
  for (uint32_t node = 0; node < kNodes; ++node)
    for (const uint32_t further : {1u, 16u, 255u}) {
      programs[node].push_back(send((node + further) % kNodes, 5000));
      programs[node].push_back(receive((node + kNodes - further) % kNodes, 1));
    }
  const Carried run(programs);
  ASSERT_EQ(run.status, 0) << run.error;
  EXPECT_EQ(run.outcome().messages, 3u * kNodes);
  EXPECT_EQ(run.outcome().unmatched, 0u);
  for (uint32_t node = 0; node < kNodes; ++node) ASSERT_EQ(run.counts(node).packets_received, 6u) << node;
}

TEST(MyrinetOfflineReplay, TheOutcomeDependsOnTheSeedAlone) {  // MY-22
  uint64_t bytes = 0;
  uint64_t packets = 0;
  const auto programs = random_programs(4, 300, &bytes, &packets);
  const Carried first(programs, "drop_ppm=50000", 3, 11);
  const Carried again(programs, "drop_ppm=50000", 3, 11);
  const Carried other(programs, "drop_ppm=50000", 3, 12);
  EXPECT_EQ(first.outcome().simulated_ns, again.outcome().simulated_ns);
  EXPECT_EQ(first.counts().dropped, again.counts().dropped);
  EXPECT_NE(first.outcome().simulated_ns, other.outcome().simulated_ns);
}

TEST(MyrinetOfflineReplay, WhatCannotBeCarriedIsRefusedWithAMessage) {
  const auto refused = [](const std::vector<std::vector<Operation>>& programs, const char* parameters,
                          uint32_t phases) {
    const Carried ran(programs, parameters, phases);
    EXPECT_LT(ran.status, 0);
    return ran.error;
  };
  EXPECT_NE(refused({{send(0, 1)}, {}}, nullptr, 1).find("operation 0 of node 0"), std::string::npos);
  EXPECT_NE(refused({{}, {send(2, 1)}}, nullptr, 1).find("node 2"), std::string::npos);
  EXPECT_NE(refused({{send(1, 1, 0, 4)}, {}}, nullptr, 2).find("phase 4"), std::string::npos);
  EXPECT_NE(refused(std::vector<std::vector<Operation>>(2), "speed=1", 1).find("speed"), std::string::npos);
  EXPECT_NE(refused(std::vector<std::vector<Operation>>(1), nullptr, 1).find("1 nodes"), std::string::npos);
  EXPECT_NE(refused(std::vector<std::vector<Operation>>(256), nullptr, 64).find("MiB"), std::string::npos);
}

TEST(MyrinetOfflineReplay, NothingToCarryIsAnEmptyCluster) {
  const Carried ran(std::vector<std::vector<Operation>>(2));
  ASSERT_EQ(ran.status, 0) << ran.error;
  EXPECT_EQ(ran.counts().packets_sent, 0u);
  EXPECT_TRUE(ran.signature(SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_ALL).empty());
}

}  // namespace
