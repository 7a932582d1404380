// Rules that fire while a program runs: windows against sums made by hand, and rules over whole runs.
#include "myrinet/bottleneck.hpp"

#include <gtest/gtest.h>
#include <substrata/feed.h>
#include <substrata/result.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace substrata::myrinet::test {
namespace {

substrata_myrinet_rule rule(substrata_myrinet_latency latency, double ratio, uint64_t window_ns) {
  return {sizeof(substrata_myrinet_rule),
          SUBSTRATA_MYRINET_ALL,
          SUBSTRATA_MYRINET_ALL,
          latency,
          0,
          0,
          window_ns,
          ratio};
}

TEST(MyrinetBottleneck, AWindowFiresWhenItsPacketsAreSlowerThanIdleOnesByMoreThanTheRatio) {  // MY-43
  const IdleLatencies idle;
  constexpr uint64_t kWindow = 100'000;
  substrata_myrinet_rule limit = rule(SUBSTRATA_MYRINET_SOURCE, 2, kWindow);
  limit.least_packets = 3;
  limit.program = 1;
  Windows windows(limit, idle);
  struct Sum {
    uint64_t packets = 0;
    double ns = 0;
    double idle = 0;
  };
  std::map<std::pair<uint32_t, uint64_t>, Sum> sums;  // by node and window
  std::vector<std::pair<uint32_t, uint64_t>> fired;
  std::mt19937_64 random(3);
  uint64_t now = 1'000'000;
  for (int i = 0; i < 5000; ++i) {
    now += random() % 20'000;
    const auto node = static_cast<uint32_t>(random() % 3);
    substrata_transaction stage{};
    stage.kind = SUBSTRATA_PACKET;
    stage.state = random() % 4 == 0 ? SUBSTRATA_INJECTED : SUBSTRATA_FETCHED;
    stage.program = static_cast<uint16_t>(random() % 2);
    stage.size = static_cast<uint32_t>(random() % 4097);
    const auto ns = static_cast<uint64_t>(idle.of(0, stage.size) * static_cast<double>(random() % 40) / 10);
    stage.time = now * 1000;
    stage.start = (now - ns) * 1000;
    if (stage.state == SUBSTRATA_FETCHED && stage.program == 1) {
      Sum& sum = sums[{node, now / kWindow}];
      ++sum.packets;
      sum.ns += static_cast<double>(ns);
      sum.idle += idle.of(0, stage.size);
    }
    substrata_myrinet_firing firing{};
    if (!windows.take(node, stage, &firing)) continue;
    EXPECT_EQ(firing.node, node);
    const Sum& sum = sums[{node, firing.begin_ns / kWindow}];
    EXPECT_EQ(firing.packets, sum.packets);
    EXPECT_DOUBLE_EQ(firing.average_ns, sum.ns / static_cast<double>(sum.packets));
    EXPECT_DOUBLE_EQ(firing.ratio, sum.ns / sum.idle);
    fired.emplace_back(node, firing.begin_ns / kWindow);
  }
  std::vector<std::pair<uint32_t, uint64_t>> wanted;
  for (auto at = sums.begin(); at != sums.end(); ++at) {
    const auto following = std::next(at);
    const bool ended = following != sums.end() && following->first.first == at->first.first;
    if (ended && at->second.packets >= 3 && at->second.ns / at->second.idle > 2) wanted.push_back(at->first);
  }
  std::sort(fired.begin(), fired.end());
  EXPECT_EQ(fired, wanted);
  EXPECT_GT(wanted.size(), 20u);
}

TEST(MyrinetBottleneck, TheIdleLatenciesAreThoseOfFigure5) {  // MY-30
  const IdleLatencies idle;
  EXPECT_LT(idle.of(SUBSTRATA_MYRINET_SOURCE, 127), 11'000);
  EXPECT_LT(idle.of(SUBSTRATA_MYRINET_DEST, 127), 5'000);
  EXPECT_GT(idle.of(SUBSTRATA_MYRINET_SOURCE, 4096), idle.of(SUBSTRATA_MYRINET_SOURCE, 2048));
  const double step = idle.of(SUBSTRATA_MYRINET_SOURCE, 128) - idle.of(SUBSTRATA_MYRINET_SOURCE, 64);
  EXPECT_NEAR(idle.of(SUBSTRATA_MYRINET_SOURCE, 96), idle.of(SUBSTRATA_MYRINET_SOURCE, 64) + step / 2, 1);
}

struct Seen {
  bool running = false;
  uint64_t while_running = 0;
  substrata_myrinet_firing last{};
};

void note(void* owner, const substrata_myrinet_firing* firing) {
  auto& seen = *static_cast<Seen*>(owner);
  if (seen.running) ++seen.while_running;
  seen.last = *firing;
}

// How often the rule fires in the run, by its own count; *seen: what its function saw.
uint64_t fires(const substrata_myrinet_rule& wanted, const char* workload, uint32_t nodes, Seen* seen) {
  uint32_t number = 0;
  EXPECT_EQ(substrata_myrinet_watch(&wanted, note, seen, &number), 0) << substrata_myrinet_error();
  auto options = client::sized<substrata_run_options>();
  options.processes = nodes;
  auto result = client::sized<substrata_run_result>();
  seen->running = true;
  EXPECT_EQ(substrata_run("myrinet", workload, &options, &result), 0) << result.message;
  seen->running = false;
  uint64_t times = 0;
  auto last = client::sized<substrata_myrinet_firing>();
  EXPECT_EQ(substrata_myrinet_fired(number, &times, &last), 0);
  EXPECT_EQ(last.begin_ns, seen->last.begin_ns);
  EXPECT_EQ(substrata_myrinet_unwatch(number), 0);
  EXPECT_NE(substrata_myrinet_fired(number, &times, nullptr), 0);
  return times;
}

TEST(MyrinetBottleneck, ARuleFiresWhileABurstyProgramRunsAndNotInAQuietOne) {  // MY-43
  // fft asks everybody for pages at once; a ping-pong has one packet under way.
  const substrata_myrinet_rule limit = rule(SUBSTRATA_MYRINET_SOURCE, 1.5, 1'000'000);
  Seen bursty;
  const uint64_t times = fires(limit, "fft:points=4096", 8, &bursty);
  EXPECT_GT(times, 1u);
  EXPECT_EQ(bursty.while_running, times);
  EXPECT_GT(bursty.last.ratio, 1.5);
  EXPECT_LT(bursty.last.node, 8u);
  EXPECT_GT(bursty.last.average_ns, bursty.last.idle_ns);
  Seen quiet;
  EXPECT_EQ(fires(limit, "ping-pong:bytes=1000:rounds=200", 2, &quiet), 0u);
  EXPECT_EQ(quiet.while_running, 0u);
}

TEST(MyrinetBottleneck, RefusesRulesThatMeanNothing) {
  uint32_t number = 0;
  const auto refused = [&](const substrata_myrinet_rule& wrong) {
    return substrata_myrinet_watch(&wrong, nullptr, nullptr, &number) < 0 &&
           !std::string(substrata_myrinet_error()).empty();
  };
  const substrata_myrinet_rule right = rule(SUBSTRATA_MYRINET_NET, 2, 1000);
  using Rule = substrata_myrinet_rule;
  for (void (*spoil)(Rule&) : {+[](Rule& rule) { rule.struct_size = 0; },
                               +[](Rule& rule) { rule.latency = 4; }, +[](Rule& rule) { rule.window_ns = 0; },
                               +[](Rule& rule) { rule.ratio = 0; }, +[](Rule& rule) { rule.node = 256; }}) {
    Rule wrong = right;
    spoil(wrong);
    EXPECT_TRUE(refused(wrong));
  }
  std::vector<uint32_t> numbers;
  while (substrata_myrinet_watch(&right, nullptr, nullptr, &number) == 0) numbers.push_back(number);
  EXPECT_EQ(numbers.size(), 64u);
  for (const uint32_t one : numbers) EXPECT_EQ(substrata_myrinet_unwatch(one), 0);
  EXPECT_EQ(substrata_myrinet_unwatch(0), -1);
}

}  // namespace
}  // namespace substrata::myrinet::test
