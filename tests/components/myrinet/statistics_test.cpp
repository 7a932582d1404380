// The firmware's statistics: their size, and their histograms and signatures against brute force.
#include <gtest/gtest.h>
#include <substrata/myrinet.h>
#include <substrata/result.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "myrinet/operations.hpp"
#include "myrinet/recorder.hpp"

namespace substrata::myrinet::test {
namespace {

TEST(MyrinetMemory, TheDefaultTakesAbout180KilobytesOfTheInterface) {  // MY-3
  const Shape shape;
  EXPECT_EQ(shape.objection(), "");
  EXPECT_EQ(Statistics(shape).bytes(), shape.bytes());  // what is really held
  EXPECT_GE(shape.bytes(), 170'000u);
  EXPECT_LE(shape.bytes(), 190'000u);
  uint64_t bytes = 0;
  EXPECT_EQ(substrata_myrinet_memory(nullptr, &bytes), 0);
  EXPECT_EQ(bytes, shape.bytes() + OperationMemory::bytes(shape.nodes, shape.programs));
}

TEST(MyrinetMemory, EveryShapeHoldsWhatItsAccountSays) {  // MY-3
  Shape shape;
  shape.nodes = 3;
  shape.programs = 2;
  shape.length_bins = 5;
  shape.latency_bins = 7;
  EXPECT_EQ(Statistics(shape).bytes() * shape.programs, shape.bytes());
}

TEST(MyrinetMemory, AShapeThatDoesNotFitIsRefusedWithItsBytes) {  // MY-3
  auto shape = client::sized<substrata_myrinet_shape>();
  ASSERT_EQ(substrata_myrinet_default_shape(&shape), 0);
  shape.latency_bins = 1024;
  uint64_t bytes = 0;
  ASSERT_EQ(substrata_myrinet_memory(&shape, &bytes), 0);
  ASSERT_GT(bytes, SUBSTRATA_MYRINET_SRAM_BYTES);
  EXPECT_EQ(substrata_myrinet_configure(&shape), -1);
  const std::string message = substrata_myrinet_error();
  EXPECT_NE(message.find(std::to_string(bytes)), std::string::npos) << message;
  EXPECT_NE(message.find("1048576"), std::string::npos) << message;
  uint64_t still = 0;
  ASSERT_EQ(substrata_myrinet_memory(nullptr, &still), 0);
  EXPECT_EQ(still, Shape{}.bytes() + OperationMemory::bytes(8, 1));  // a failed call has no effect
}

TEST(MyrinetMemory, ShapesThatMakeNoSenseAreRefused) {
  substrata_myrinet_shape shape{};
  EXPECT_EQ(substrata_myrinet_default_shape(&shape), -1);  // struct_size
  shape.struct_size = sizeof shape;
  ASSERT_EQ(substrata_myrinet_default_shape(&shape), 0);
  shape.nodes = 1;
  EXPECT_EQ(substrata_myrinet_configure(&shape), -1);
  EXPECT_NE(std::string(substrata_myrinet_error()).find("nodes"), std::string::npos);
  ASSERT_EQ(substrata_myrinet_default_shape(&shape), 0);
  shape.latency_bin_ns[2] = 0;
  EXPECT_EQ(substrata_myrinet_configure(&shape), -1);
}

TEST(MyrinetDivider, GivesWhatADivisionGives) {  // MY-3
  std::mt19937_64 random(11);
  for (const uint32_t by : {1u, 2u, 3u, 7u, 32u, 777u, 1000u, 2000u, 65'536u, 999'999'937u, 1'000'000'000u}) {
    const Divider divider(by);
    EXPECT_EQ(divider.of_one_less(0), 0u);
    const auto check = [&](uint32_t number) {
      ASSERT_EQ(divider.of_one_less(uint64_t{number} + 1), number / by) << number << " by " << by;
    };
    for (uint64_t number = 0; number <= UINT32_MAX; number += uint64_t{by} * (1 + random() % 65'536)) {
      check(static_cast<uint32_t>(number));  // a multiple
      if (number != 0) check(static_cast<uint32_t>(number - 1));
    }
    check(UINT32_MAX);
    for (int i = 0; i < 10'000; ++i) check(static_cast<uint32_t>(random()));
  }
}

// One stage of a packet as the oracle keeps it.
struct Kept {
  uint32_t node;
  uint32_t latency;
  uint32_t sender;
  uint32_t receiver;
  uint32_t bytes;
  uint32_t type;
  uint32_t program;
  int64_t ns;
};

uint32_t x_of(const Kept& kept, substrata_myrinet_axis axis, const Shape& shape) {
  switch (axis) {
    case SUBSTRATA_MYRINET_BY_SIZE: {
      uint32_t bin = 0;
      while (bin + 1 < shape.length_bins && kept.bytes > (bin + 1) * shape.length_bin_bytes) ++bin;
      return bin;
    }
    case SUBSTRATA_MYRINET_BY_SENDER:
      return kept.sender;
    case SUBSTRATA_MYRINET_BY_RECEIVER:
      return kept.receiver;
    case SUBSTRATA_MYRINET_BY_TYPE:
      return kept.type;
  }
  return 0;
}

class MyrinetOracle : public testing::Test {
 protected:
  void SetUp() override {
    std::mt19937_64 random(7);
    const uint16_t states[] = {SUBSTRATA_FETCHED, SUBSTRATA_INJECTED, SUBSTRATA_ARRIVED, SUBSTRATA_DELIVERED};
    for (int i = 0; i < 3000; ++i) {
      Kept kept{};
      kept.sender = static_cast<uint32_t>(random() % shape_.nodes);
      kept.receiver = static_cast<uint32_t>(random() % shape_.nodes);
      kept.latency = static_cast<uint32_t>(random() % 4);
      kept.node = kept.latency < 2 ? kept.sender : kept.receiver;
      kept.bytes = static_cast<uint32_t>(random() % 5000);  // beyond the last bin as well
      kept.type = static_cast<uint32_t>(random() % kTypes);
      kept.program = static_cast<uint32_t>(random() % shape_.programs);
      // Net latencies may come out negative: two clocks.
      kept.ns = static_cast<int64_t>(random() % 200'000) - (kept.latency == 2 ? 2000 : 0);
      kept_.push_back(kept);
      substrata_transaction stage{};
      stage.kind = SUBSTRATA_PACKET;
      stage.state = states[kept.latency];
      stage.start = 1'000'000'000;
      stage.time = stage.start + static_cast<uint64_t>(kept.ns * 1000);
      stage.initiator = kept.sender;
      stage.target = kept.receiver;
      stage.size = kept.bytes;
      stage.detail = uint64_t{kept.type} << kTypeShift | static_cast<uint64_t>(i);
      stage.program = static_cast<uint16_t>(kept.program);
      memory_.take(kept.node, stage);
    }
    memory_.settle();
  }
  static Shape shape() {
    Shape made;
    made.nodes = 4;
    made.programs = 2;
    return made;
  }
  const Shape shape_ = shape();
  MonitorMemory memory_{shape_};
  std::vector<Kept> kept_;
};

constexpr substrata_myrinet_axis kAxes[] = {SUBSTRATA_MYRINET_BY_SIZE, SUBSTRATA_MYRINET_BY_SENDER,
                                            SUBSTRATA_MYRINET_BY_RECEIVER, SUBSTRATA_MYRINET_BY_TYPE};

TEST_F(MyrinetOracle, HistogramsHoldEachLatencyInItsBin) {  // MY-3
  for (const substrata_myrinet_axis axis : kAxes) {
    for (const uint32_t node : {uint32_t{SUBSTRATA_MYRINET_ALL}, 2u}) {
      for (uint32_t latency = 0; latency < kLatencies; ++latency) {
        std::map<uint32_t, std::vector<uint64_t>> wanted;
        for (const Kept& kept : kept_) {
          if (kept.latency != latency || (node != SUBSTRATA_MYRINET_ALL && kept.node != node)) continue;
          std::vector<uint64_t>& bins = wanted[x_of(kept, axis, shape_)];
          bins.resize(shape_.latency_bins);
          const int64_t bin = std::max<int64_t>(0, kept.ns) / (latency == 2 ? 2000 : 1000);
          ++bins[std::min<size_t>(static_cast<size_t>(bin), shape_.latency_bins - 1)];
        }
        for (const auto& [x, bins] : wanted)
          EXPECT_EQ(histogram(memory_, node, SUBSTRATA_MYRINET_ALL, latency, axis, x), bins)
              << "axis " << axis << " node " << node << " latency " << latency << " x " << x;
      }
    }
  }
}

TEST_F(MyrinetOracle, SumsAreThoseOfAddingOneStageAfterTheOther) {  // MY-40
  for (uint32_t type = 0; type < kTypes; ++type) {
    LatencySums wanted;
    for (const Kept& kept : kept_) {
      if (kept.node != 1 || kept.program != 0 || kept.latency != SUBSTRATA_MYRINET_NET || kept.type != type)
        continue;
      ++wanted.packets;
      wanted.ns += kept.ns;
      wanted.squared_ns += static_cast<double>(kept.ns) * static_cast<double>(kept.ns);
    }
    const LatencySums sums = memory_.of(1, 0)->sums(Statistics::Group::kType, type, SUBSTRATA_MYRINET_NET);
    EXPECT_EQ(sums.packets, wanted.packets);
    EXPECT_EQ(sums.ns, wanted.ns);
    EXPECT_EQ(sums.squared_ns, wanted.squared_ns);  // to the last bit
  }
}

TEST_F(MyrinetOracle, TheLongestInALastBinIsKeptForEachLengthPeerAndType) {  // MY-40
  using Group = Statistics::Group;
  const Shape& shape = memory_.shape();
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, Group, uint32_t>, uint64_t> wanted;
  for (const Kept& kept : kept_) {
    if (shape.latency_bin(kept.latency, kept.ns) + 1 != shape.latency_bins) continue;
    const uint32_t peer = kept.latency < 2 ? kept.receiver : kept.sender;
    const std::pair<Group, uint32_t> rows[] = {{Group::kLength, x_of(kept, SUBSTRATA_MYRINET_BY_SIZE, shape)},
                                               {Group::kPeer, peer},
                                               {Group::kType, kept.type}};
    for (const auto& [group, x] : rows) {
      uint64_t& longest = wanted[{kept.node, kept.program, kept.latency, group, x}];
      longest = std::max(longest, static_cast<uint64_t>(kept.ns));
    }
  }
  for (uint32_t node = 0; node < shape.nodes; ++node)
    for (uint32_t program = 0; program < shape.programs; ++program)
      for (uint32_t latency = 0; latency < kLatencies; ++latency)
        for (const auto& [group, rows] :
             {std::pair{Group::kLength, shape.length_bins}, std::pair{Group::kPeer, shape.nodes},
              std::pair{Group::kType, kTypes}})
          for (uint32_t x = 0; x < rows; ++x) {
            const auto found = wanted.find({node, program, latency, group, x});
            const uint64_t longest = memory_.of(node, program)->longest(group, x, latency);
            if (found == wanted.end()) {
              EXPECT_EQ(longest, 0u);
            } else {
              EXPECT_GT(longest, found->second);
              EXPECT_LE(longest, found->second * 5 / 4 + 250);
            }
          }
}

TEST_F(MyrinetOracle, SignaturesGiveAveragesDeviationsAndCounts) {  // MY-9, MY-40
  for (const substrata_myrinet_axis axis : kAxes) {
    for (const uint32_t program : {uint32_t{SUBSTRATA_MYRINET_ALL}, 1u}) {
      const auto points = signature(memory_, SUBSTRATA_MYRINET_ALL, program, axis);
      uint64_t sent = 0;
      for (const substrata_myrinet_point& point : points) {
        sent += point.sent;
        const uint32_t x = axis == SUBSTRATA_MYRINET_BY_SIZE ? point.x / shape_.length_bin_bytes : point.x;
        for (uint32_t latency = 0; latency < kLatencies; ++latency) {
          std::vector<double> values;
          for (const Kept& kept : kept_)
            if (kept.latency == latency && x_of(kept, axis, shape_) == x &&
                (program == SUBSTRATA_MYRINET_ALL || kept.program == program))
              values.push_back(static_cast<double>(kept.ns));
          if (latency == 0) {
            EXPECT_EQ(point.sent, values.size());
          }
          if (latency == 3) {
            EXPECT_EQ(point.received, values.size());
          }
          if (values.empty()) continue;
          double mean = 0;
          for (const double value : values) mean += value / static_cast<double>(values.size());
          double variance = 0;
          for (const double value : values)
            variance += (value - mean) * (value - mean) / static_cast<double>(values.size());
          EXPECT_NEAR(point.average_ns[latency], mean, 1e-3);
          EXPECT_NEAR(point.deviation_ns[latency], std::sqrt(variance), 1.0);
          std::sort(values.begin(), values.end());
          const double bin = latency == 2 ? 2000 : 1000;
          const double median = std::max(0.0, values[(values.size() + 1) / 2 - 1]);
          const double last = bin * (shape_.latency_bins - 1);
          if (median < last) {
            EXPECT_EQ(point.median_ns[latency], (std::floor(median / bin) + 1) * bin);
          } else {
            EXPECT_GT(point.median_ns[latency], last);
            EXPECT_LE(point.median_ns[latency], 1.25 * values.back());
          }
        }
      }
      const auto wanted = std::count_if(kept_.begin(), kept_.end(), [program](const Kept& kept) {
        return kept.latency == 0 && (program == SUBSTRATA_MYRINET_ALL || kept.program == program);
      });
      EXPECT_EQ(sent, static_cast<uint64_t>(wanted));
    }
  }
}

// A packet that waited 241 us had a median of 64 us: the end of the last bin, as if there were nothing beyond it.
TEST(MyrinetPercentiles, DoNotStopAtTheLastBin) {  // MY-40
  MonitorMemory memory{Shape{}};
  substrata_transaction stage{};
  stage.kind = SUBSTRATA_PACKET;
  stage.state = SUBSTRATA_FETCHED;
  stage.target = 1;
  for (uint64_t us = 101; us <= 300; ++us) {
    stage.time = us * 1'000'000;
    memory.take(0, stage);
  }
  memory.settle();
  const auto points =
      signature(memory, SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_BY_SIZE);
  ASSERT_EQ(points.size(), 1u);
  EXPECT_GT(points[0].median_ns[0], 101'000);
  EXPECT_LT(points[0].median_ns[0], 300'000);
  EXPECT_GE(points[0].p99_ns[0], 298'000);
  EXPECT_LE(points[0].p99_ns[0], 1.25 * 298'000);
}

TEST_F(MyrinetOracle, LengthsAreCountedByPeer) {  // MY-3
  for (uint32_t node = 0; node < shape_.nodes; ++node) {
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> sent;
    for (const Kept& kept : kept_)
      if (kept.latency == 0 && kept.node == node && kept.program == 0)
        ++sent[{shape_.length_bin(kept.bytes), kept.receiver}];
    for (const auto& [key, count] : sent)
      EXPECT_EQ(memory_.of(node, 0)->packets(false, key.first, key.second), count);
  }
}

TEST_F(MyrinetOracle, WhatHasNoSpaceIsCountedAsLeftOut) {
  substrata_transaction stage{};
  stage.kind = SUBSTRATA_PACKET;
  stage.state = SUBSTRATA_FETCHED;
  stage.program = 2;
  memory_.take(0, stage);
  stage.program = 0;
  stage.target = 4;
  memory_.take(0, stage);
  EXPECT_EQ(memory_.left_out(), 2u);
  memory_.clear();
  EXPECT_EQ(memory_.left_out(), 0u);
  EXPECT_TRUE(
      signature(memory_, SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_BY_SIZE).empty());
}

}  // namespace
}  // namespace substrata::myrinet::test
