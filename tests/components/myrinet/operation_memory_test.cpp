// What an interface keeps of operations, against sums made by hand.
#include <gtest/gtest.h>
#include <substrata/myrinet.h>
#include <substrata/result.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "myrinet/operations.hpp"
#include "myrinet/statistics.hpp"

namespace substrata::myrinet::test {
namespace {

TEST(MyrinetOperationBins, CoverAllDurationsWithoutGaps) {  // MY-42
  for (uint32_t bin = 0; bin + 1 < kOperationBins; ++bin) {
    const uint64_t begin = operation_bin_begin(bin);
    const uint64_t end = operation_bin_begin(bin + 1);
    ASSERT_LT(begin, end);
    EXPECT_EQ(operation_bin(begin), bin);
    EXPECT_EQ(operation_bin(end - 1), bin);
    if (bin != 0) {
      EXPECT_LE(4 * (end - begin), begin) << "a quarter at most";
    }
  }
  EXPECT_EQ(operation_bin(~uint64_t{0}), kOperationBins - 1);
  EXPECT_EQ(substrata_myrinet_operation_bin_ns(kOperationBins), 0u);
}

TEST(MyrinetOperationMemory, KeepsWhatASlowSumKeeps) {  // MY-42
  constexpr uint32_t kNodes = 4;
  OperationMemory memory(kNodes, 2);
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint64_t>> durations;  // node and kind, program 1
  std::map<std::pair<uint32_t, uint32_t>, std::array<int64_t, 2>> parts;     // packets, source
  std::mt19937_64 random(11);
  for (int i = 0; i < 20000; ++i) {
    const auto node = static_cast<uint32_t>(random() % kNodes);
    const auto peer = static_cast<uint32_t>((node + 1 + random() % (kNodes - 1)) % kNodes);
    const auto kind = static_cast<uint32_t>(random() % kOperationKinds);
    const uint64_t ns = random() % (uint64_t{1} << random() % 36);
    substrata_transaction seen{};
    seen.program = static_cast<uint16_t>(random() % 3);  // the last is beyond the shape
    seen.time = 1'000'000'000'000'000 + ns * 1000;
    seen.start = 1'000'000'000'000'000;
    seen.initiator = node;
    seen.target = peer;
    if (random() % 2 == 0) {
      seen.kind = SUBSTRATA_BARRIER;
      seen.site = operation_word(kind, static_cast<uint64_t>(i), false);
      if (seen.program == 1) durations[{node, kind}].push_back(ns);
    } else {
      const bool towards = random() % 2 == 0;
      seen.kind = SUBSTRATA_PACKET;
      seen.site = random() % 8 == 0 ? 0 : operation_word(kind, static_cast<uint64_t>(i), towards);
      seen.state = random() % 2 == 0 ? SUBSTRATA_FETCHED : SUBSTRATA_INJECTED;
      seen.size = 100;
      if (seen.program == 1 && seen.site != 0) {
        auto& part = parts[{towards ? peer : node, kind}];
        if (seen.state == SUBSTRATA_INJECTED) ++part[0];
        if (seen.state == SUBSTRATA_FETCHED) part[1] += static_cast<int64_t>(ns);
      }
    }
    memory.take(node, seen);
  }
  for (uint32_t node = 0; node < kNodes; ++node) {
    for (const substrata_myrinet_operation_point& point : operation_points(memory, node, 1)) {
      std::vector<uint64_t> all = durations[{node, point.kind}];
      ASSERT_FALSE(all.empty());
      std::sort(all.begin(), all.end());
      double sum = 0;
      double squared = 0;
      for (const uint64_t ns : all) {
        sum += static_cast<double>(ns);
        squared += static_cast<double>(ns) * static_cast<double>(ns);
      }
      const auto size = static_cast<double>(all.size());
      EXPECT_EQ(point.count, all.size());
      EXPECT_NEAR(point.average_ns, sum / size, 1e-9 * sum);
      const double deviation = std::sqrt(squared / size - sum / size * (sum / size));
      EXPECT_NEAR(point.deviation_ns, deviation, 1e-6 * deviation);
      EXPECT_EQ(point.longest_ns, static_cast<double>(all.back()));
      const auto above = [&](double share, double reported) {
        const auto exact = static_cast<double>(all[static_cast<size_t>(std::ceil(share * size)) - 1]);
        if (reported == point.longest_ns) return;
        EXPECT_GE(reported, exact);
        EXPECT_LE(reported, std::max(1000.0, 1.25 * exact + 1));
      };
      above(0.5, point.median_ns);
      above(0.9, point.p90_ns);
      above(0.99, point.p99_ns);
      EXPECT_EQ(point.packets, static_cast<uint64_t>(parts[std::pair(node, point.kind)][0]));
      EXPECT_EQ(point.bytes, 100 * point.packets);
      EXPECT_NEAR(point.part_ns[0] * size, static_cast<double>(parts[std::pair(node, point.kind)][1]),
                  1e-6 * sum + 1);
    }
  }
  memory.clear();
  EXPECT_TRUE(operation_points(memory, SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_ALL).empty());
}

TEST(MyrinetOperationMemory, IsAPartOfTheInterfacesMemory) {  // MY-42, MY-3
  auto shape = client::sized<substrata_myrinet_shape>();
  ASSERT_EQ(substrata_myrinet_default_shape(&shape), 0);
  uint64_t bytes = 0;
  ASSERT_EQ(substrata_myrinet_memory(&shape, &bytes), 0);
  EXPECT_EQ(OperationMemory::bytes(8, 1), 9600u);
  EXPECT_EQ(bytes, Shape{}.bytes() + 9600);
  EXPECT_LE(bytes, 180u * 1024) << "the paper's about 180 KB";
}

}  // namespace
}  // namespace substrata::myrinet::test
