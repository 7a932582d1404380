// Many processors at once: what had each bus, held against what the queues' monitors made of it.
#include <gtest/gtest.h>
#include <substrata/feed.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "numachine/traffic.hpp"
#include "simulation.hpp"

namespace substrata::numachine::test {
namespace {

struct Grant {
  std::uint64_t asked, begun, packets;
  std::uint16_t phase;
};

// All grants of one station's bus, in the order in which the board published them.
class Board {
 public:
  explicit Board(std::uint32_t station) {
    EXPECT_EQ(observer_.try_create<&Board::take>(*this), 0);
    EXPECT_EQ(observer_.try_subscribe(("numachine.st" + std::to_string(station) + ".bus*").c_str()), 0);
  }
  std::vector<Grant> grants;

 private:
  void take(const substrata_transaction* batch, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const substrata_transaction& t = batch[i];
      grants.push_back(
          {t.start / Parameters::bus_ps, t.time / Parameters::bus_ps, low_of(t.detail), t.phase});
    }
  }
  client::feed::Observer observer_;
};

// The most that wait in one cycle, cycle by cycle.
std::uint64_t longest_queue(const std::vector<Grant>& grants) {
  std::map<std::uint64_t, std::int64_t> changes;
  for (const Grant& one : grants) {
    ++changes[one.asked];
    --changes[one.begun];
  }
  std::int64_t length = 0, longest = 0;
  for (const auto& [cycle, change] : changes) longest = std::max(longest, length += change);
  return static_cast<std::uint64_t>(longest);
}

class Contention : public testing::TestWithParam<const char*> {};

// Sections 3.3.3 and 5.2
TEST_P(Contention, ABusCarriesOneAtATimeAndItsQueueIsThatOfTheTrace) {
  {
    const Rack::Use use(Rack::instance());
    Rack::instance().reset();
  }
  std::vector<std::unique_ptr<Board>> boards;
  for (std::uint32_t station = 0; station < 4; ++station) boards.push_back(std::make_unique<Board>(station));
  Simulation run(GetParam(), 16, "bus_trace=1");
  std::uint64_t waiting = 0;
  for (std::uint32_t station = 0; station < 4; ++station) {
    const std::vector<Grant>& grants = boards[station]->grants;
    ASSERT_FALSE(grants.empty());
    std::uint64_t waited = 0, longest_wait = 0, carried = 0;
    std::map<std::uint16_t, std::uint64_t> by_phase;
    for (std::size_t i = 0; i < grants.size(); ++i) {
      const Grant& one = grants[i];
      if (i + 1 < grants.size()) {
        ASSERT_LE(one.begun + one.packets, grants[i + 1].begun) << "grant " << i << " of station " << station;
      }
      ASSERT_LE(one.asked, one.begun);
      waited += one.begun - one.asked;
      longest_wait = std::max(longest_wait, one.begun - one.asked);
      carried += one.packets;
      ++by_phase[one.phase];
    }
    const QueueMonitor& bus = Rack::instance().queues(station).bus;
    EXPECT_EQ(bus.waits().count, grants.size());
    EXPECT_EQ(bus.waits().total, waited);
    EXPECT_EQ(bus.waits().maximum, longest_wait);
    EXPECT_EQ(bus.services().total, carried);
    EXPECT_EQ(bus.longest(), longest_queue(grants));
    EXPECT_EQ(run.model().bus_busy(station), carried);
    for (std::uint16_t phase = 0; phase <= kTravellingPhase; ++phase)
      EXPECT_EQ(bus.waits(phase).count, by_phase[phase]) << phase;
    waiting += waited;
  }
  EXPECT_GT(waiting, 0u);
}

INSTANTIATE_TEST_SUITE_P(Programs, Contention,
                         testing::Values("radix:keys=4096:radix=64", "false-sharing:rounds=100",
                                         "producer-consumer:words=256:rounds=4", "ocean:n=34"));

}  // namespace
}  // namespace substrata::numachine::test
