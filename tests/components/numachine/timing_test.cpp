// Single transactions on an idle machine, to the bus cycle: every latency and count is calculated by hand.
//
// A request takes its station's bus for 1 cycle and a FIFO for 2; a block's state is looked up in 4 and the block read
// or written in 12; a dirty line is given up in 8; on and off a ring take 3 each, a link 1; a line is 9 packets. A ring
// has five places, so that station 0's packets take one link to station 1, and four back. A retry comes after 16
// cycles.
#include <gtest/gtest.h>
#include <substrata/feed.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "numachine/model.hpp"
#include "numachine/traffic.hpp"

namespace substrata::numachine::test {
namespace {

constexpr Time kCycle = Parameters::bus_ps;

// Two stations; page 0 (lines 0 to 63) is at home on station 0 with processors 0 to 3, page 1 on station 1.
class Transactions : public testing::Test {
 protected:
  struct Access {
    std::uint32_t cpu;
    std::uint64_t line;
    bool write;
    std::uint64_t begins;  // bus cycles; its request goes out a cycle later
  };

  static Parameters two_stations() {
    Parameters p;
    p.shape.stations = 2;
    return p;
  }
  void SetUp() override {
    Rack::instance().reset();
    begin(two_stations());
  }
  void TearDown() override {
    model_.reset();
    Rack::instance().on_interrupt(nullptr, nullptr);
    Rack::instance().reset();
  }
  void begin(const Parameters& p) {
    model_.reset();
    model_ = std::make_unique<Model>(p, 0);
  }
  void count(std::uint32_t cpu, unsigned counter, CounterEvent event, bool transitions) {
    ProcessorCard& card = Rack::instance().processor(cpu);
    card.write(kCounterMode0 + counter, kCounterOn | static_cast<std::uint32_t>(event) << kEventShift |
                                            (transitions ? kTransitions : 0U));
    card.write(kCounterEnable, 1);
  }
  std::uint64_t counted(std::uint32_t cpu, unsigned counter) {
    std::uint32_t value = 0;
    Rack::instance().processor(cpu).read(kCounters + counter, &value);
    return value;
  }
  // In the order of time; gives when each was done, in bus cycles after its request.
  std::vector<std::uint64_t> run(const std::vector<Access>& accesses) {
    std::vector<Time> now;
    std::vector<std::uint64_t> before;
    std::vector<bool> done(accesses.size());
    for (const Access& one : accesses) {
      now.push_back((start_ + one.begins) * kCycle);
      before.push_back(miss_cycles(one.cpu));
    }
    for (std::size_t left = accesses.size(); left != 0;) {
      std::size_t next = accesses.size();
      for (std::size_t i = 0; i < accesses.size(); ++i) {
        if (!done[i] && (next == accesses.size() || now[i] < now[next])) next = i;
      }
      const Access& one = accesses[next];
      done[next] = model_->step(one.cpu, one.line * 64, 8, one.write, false, 0, now[next]);
      left -= done[next] ? 1 : 0;
    }
    last_ = *std::max_element(now.begin(), now.end());
    start_ = last_ / kCycle + 1000;
    model_->settle(last_ + 500 * kCycle);
    std::vector<std::uint64_t> latencies;
    for (std::size_t i = 0; i < accesses.size(); ++i)
      latencies.push_back(miss_cycles(accesses[i].cpu) - before[i]);
    return latencies;
  }
  std::uint64_t latency(std::uint32_t cpu, std::uint64_t line, bool write) {
    return run({{cpu, line, write, 0}})[0];
  }
  std::uint64_t miss_cycles(std::uint32_t cpu) {
    const auto& all = model_->truth(cpu).miss_cycles;
    return std::accumulate(std::begin(all), std::end(all), std::uint64_t{0});
  }

  const Rack::Use use_{Rack::instance()};
  std::unique_ptr<Model> model_;
  std::uint64_t start_ = 0;  // of the next accesses
  Time last_ = 0;            // the end of the last ones
};

constexpr bool kRead = false;
constexpr bool kWrite = true;

TEST_F(Transactions, ALocalReadTakes28Cycles) {
  EXPECT_EQ(latency(0, 0, kRead), 1u + 2 + 4 + 12 + 9);
  EXPECT_EQ(latency(0, 1, kWrite), 1u + 2 + 4 + 12 + 9) << "a read exclusive of what no one has";
}

TEST_F(Transactions, AnUpgradeIsAcknowledgedAfterTheOtherCopiesAreInvalidated) {
  latency(0, 0, kRead);
  EXPECT_EQ(latency(0, 0, kWrite), 1u + 2 + 4 + 1) << "no other copy";
  latency(0, 1, kRead);
  latency(1, 1, kRead);
  EXPECT_EQ(latency(0, 1, kWrite), 1u + 2 + 4 + 1 + 1) << "a copy on the same station";
  latency(0, 2, kRead);
  latency(4, 2, kRead);
  EXPECT_EQ(latency(0, 2, kWrite), 1u + 2 + 4 + 1 + (3 + 1 + 3) + 1 + 1) << "over both buses and the ring";
}

TEST_F(Transactions, ADirtyLineOfANeighbourIsTakenByAnIntervention) {
  latency(1, 0, kWrite);
  EXPECT_EQ(latency(0, 0, kRead), 1u + 2 + 4 + 1 + 8 + 9 + 9);
}

// Section 4.2: memory and ring interface are on the station's bus
TEST_F(Transactions, ARemoteReadTakesTheHomesBusBothWays) {
  constexpr std::uint64_t kThere = 1 + 2 + 4 + (3 + 1 + 3) + 1 + 2;
  constexpr std::uint64_t kBack = 9 + (3 + 4 + 8 + 3) + 9;
  EXPECT_EQ(latency(0, 64, kRead), kThere + 4 + 12 + kBack);
  EXPECT_EQ(latency(0, 65, kWrite), kThere + 4 + 12 + kBack);
}

TEST_F(Transactions, ANetworkCacheServesItsStation) {
  latency(0, 64, kRead);
  EXPECT_EQ(latency(1, 64, kRead), 1u + 2 + 4 + 12 + 9);
  latency(0, 65, kWrite);
  EXPECT_EQ(latency(1, 65, kRead), 1u + 2 + 4 + 1 + 8 + 9) << "dirty at a neighbour";
}

TEST_F(Transactions, ALineDirtyOnAnotherStationComesFromThere) {
  latency(4, 0, kWrite);
  EXPECT_EQ(latency(0, 0, kRead), 1u + 2 + 4 + 1 + (3 + 1 + 3) + 4 + 1 + 8 + 9 + (3 + 4 + 8 + 3) + 9);
}

TEST_F(Transactions, AnUpdateReachesEveryCopyBeforeItIsAcknowledged) {
  Parameters p = two_stations();
  p.shape.update = true;
  begin(p);
  latency(0, 0, kRead);
  latency(1, 0, kRead);
  EXPECT_EQ(latency(0, 0, kWrite), 1u + 2 + 4 + 1 + 1);
}

// Section 4.1: a program chooses the strategy for its types of data
TEST_F(Transactions, UpdateTheDataThatHaveTheOtherProtocol) {
  Parameters p = two_stations();
  p.other_first = 0;
  p.other_lines = 64;
  begin(p);
  for (const std::uint64_t line : {0, 128}) {
    latency(0, line, kRead);
    latency(1, line, kRead);
    latency(0, line, kWrite);
  }
  EXPECT_EQ(model_->truth(0).updates, 1u);
  EXPECT_EQ(model_->truth(0).upgrades, 1u);
  EXPECT_EQ(latency(1, 0, kRead), 0u) << "its copy was updated";
  EXPECT_GT(latency(1, 128, kRead), 0u) << "its copy was invalidated";
  EXPECT_EQ(model_->truth(1).misses[static_cast<unsigned>(MissType::kInvalidation)], 1u);
}

// Processor 0 fetches what is dirty on station 1, which locks the block for 64 cycles; processor 1 asks for it 10
// cycles later. Refused after 1 + 2 + 4 + 1 cycles, it asks again 16 later, at 34, and is refused at 42. At 58 the bus
// carries the line to processor 0 until 64; then it takes 1 + 2 + 4 + 12 + 9, to 92.
class Refused : public Transactions {
 protected:
  void SetUp() override {
    Transactions::SetUp();
    latency(4, 0, kWrite);
  }
  std::vector<std::uint64_t> two_requests() { return run({{0, 0, kRead, 0}, {1, 0, kRead, 10}}); }
};

TEST_F(Refused, ARequestIsRetriedUntilTheBlockIsFree) {
  EXPECT_EQ(two_requests(), (std::vector<std::uint64_t>{64, 92 - 10}));
  EXPECT_EQ(model_->truth(1).nacks, 2u);
}

// Table 4.5, events 9 and A: from the first retry, not from the refusal 16 cycles before
TEST_F(Refused, RetriesAreTimedFromTheFirst) {
  count(1, 0, CounterEvent::kNackRetry, false);
  count(1, 1, CounterEvent::kNackCycles, false);
  count(1, 2, CounterEvent::kNackCycles, true);
  two_requests();
  EXPECT_EQ(counted(1, 0), 2u);
  EXPECT_EQ(counted(1, 1), 92u - 34);
  EXPECT_EQ(counted(1, 2), 1u);
  EXPECT_EQ(model_->truth(1).nack_cycles, 92u - 34);
}

// Table 4.5, event D: a request that waits is up longer than one that does not
TEST_F(Refused, ABusRequestIsUpUntilItsGrant) {
  count(1, 0, CounterEvent::kBusRequest, false);
  count(1, 1, CounterEvent::kBusRequest, true);
  two_requests();
  EXPECT_EQ(counted(1, 1), 3u);
  EXPECT_EQ(counted(1, 0), 1u + 1 + (64 - 58 + 1));
}

// Table 4.5, event C: a line occupies the external agent's bus for its nine packets
TEST_F(Refused, BusActivityIsInCyclesOrTransactions) {
  for (const std::uint32_t cpu : {1U, 4U}) {
    count(cpu, 0, CounterEvent::kBusActivity, false);
    count(cpu, 1, CounterEvent::kBusActivity, true);
  }
  two_requests();
  EXPECT_EQ(counted(1, 0), 1u + 2 + 2 + 9) << "request, two refusals, two retries, the line";
  EXPECT_EQ(counted(1, 1), 6u);
  EXPECT_EQ(counted(4, 0), 1u + 9) << "the intervention, and the line it takes";
  EXPECT_EQ(counted(4, 1), 2u);
}

// Sections 4.3.6 and 4.4.4
TEST_F(Refused, ATimeOutIsABusErrorAndTheInstructionBeginsAgain) {
  Parameters p = two_stations();
  p.retry_cycles = 5000;
  begin(p);
  latency(4, 0, kWrite);
  run({{0, 0, kRead, 0}, {1, 0, kRead, 10}});
  const Truth& t = model_->truth(1);
  EXPECT_EQ(t.exceptions, 1u);
  EXPECT_EQ(t.loads, 1u) << "executed once";
  EXPECT_EQ(t.misses[static_cast<unsigned>(MissType::kOther)], 1u);
  EXPECT_EQ(miss_cycles(1), 1u + 2 + 4 + 12 + 9) << "the second time";
}

// Two neighbours upgrade a cycle apart. The second, refused at 4 as the block is looked up, comes again at 26 and finds
// at 29 that its copy is gone: cancelled, it goes on as a read exclusive of what is dirty at the first.
TEST_F(Transactions, ACancelledUpgradeGoesOnAsAReadExclusive) {
  count(1, 0, CounterEvent::kOwnershipCancelled, false);
  count(1, 1, CounterEvent::kReadExclusive, false);
  count(1, 2, CounterEvent::kReadExclusive, true);
  latency(0, 0, kRead);
  latency(1, 0, kRead);
  const auto latencies = run({{0, 0, kWrite, 0}, {1, 0, kWrite, 1}});
  EXPECT_EQ(latencies[0], 9u);
  EXPECT_EQ(latencies[1], 29u + 4 + 1 + 8 + 9 + 9 - 1);
  EXPECT_EQ(counted(1, 0), latencies[1]);
  EXPECT_EQ(counted(1, 1), 4u + 1 + 8 + 9 + 9);
  EXPECT_EQ(counted(1, 2), 1u);
}

// The dirty line leaves with the request that takes its place, at 3; it is on the bus until 12 and in the FIFO from 14
// until the memory has read the other block, at 19. Appendix A.
TEST_F(Transactions, AWriteBackGoesThroughTheMemorysFifoAndTakesItsTime) {
  Parameters p = two_stations();
  p.cache_bytes = 1024;
  begin(p);
  latency(0, 0, kWrite);
  MemoryCard& card = Rack::instance().memory(0);
  card.reset();
  EXPECT_EQ(latency(0, 16, kRead), 28u);
  EXPECT_EQ(card.incoming.transactions.accumulated_by_cycle(), 1u + (19 + 1 - 14));
  EXPECT_EQ(card.incoming.packets.accumulated_by_cycle(), 1u + 9 * (19 + 1 - 14));
  EXPECT_EQ(card.hits(BlockState::kLocalInvalid, RequestType::kWriteBack), 1u);
}

// The answer to the second processor waits in the outgoing FIFO for the first one's line.
TEST_F(Transactions, AnAnswerStaysInTheOutgoingFifoUntilTheBusTakesIt) {
  latency(1, 1, kRead);
  MemoryCard& card = Rack::instance().memory(0);
  card.reset();
  // The line is ready at 19 and on the bus until 28; the upgrade, at the memory from 19 to 23, is answered then.
  const auto latencies = run({{0, 0, kRead, 0}, {1, 1, kWrite, 1}});
  EXPECT_EQ(latencies[0], 28u);
  EXPECT_EQ(latencies[1], 28u + 1 - 1);
  EXPECT_EQ(card.outgoing.transactions.accumulated_by_cycle(), 1u + (28 + 1 - 23));
  EXPECT_EQ(card.incoming.transactions.accumulated_by_cycle(), 1u + (19 + 1 - 4));
}

// What a memory publishes of its requests: bus cycles waited for it, and for links of the rings.
class QueueWaits {
 public:
  QueueWaits() {
    EXPECT_EQ(observer_.try_create<&QueueWaits::take>(*this), 0);
    EXPECT_EQ(observer_.try_subscribe("numachine.st2.memory"), 0);
  }
  std::vector<std::pair<std::uint64_t, std::uint64_t>> all() {
    substrata_flush();
    return waits_;
  }

 private:
  void take(const substrata_transaction* batch, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      waits_.emplace_back(low_of(batch[i].detail), high_of(batch[i].detail));
  }
  std::vector<std::pair<std::uint64_t, std::uint64_t>> waits_;
  client::feed::Observer observer_;
};

// Stations 0 and 1 ask station 2. The first one's request is on the link between 1 and 2 at 11, when the second one's
// wants it; at the memory it begins at 18 and takes 16, and the second one is there at 19.
TEST_F(Transactions, AWaitForALinkOnTheWayToTheMemoryCounts) {
  Parameters p = two_stations();
  p.shape.stations = 3;
  begin(p);
  QueueWaits waits;
  run({{0, 128, kRead, 0}, {4, 130, kRead, 1}});
  EXPECT_EQ(waits.all(), (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 0}, {34 - 19, 1}}));
}

// Item 4 of table 4.10: an interrupt that its handler acknowledges at once kills the pipeline all the same
TEST_F(Transactions, AnAcknowledgedInterruptCostsTheProcessorTime) {
  Rack::instance().on_interrupt(
      [](void*, std::uint32_t cpu, std::uint32_t pending) {
        Rack::instance().processor(cpu).write(kInterruptPending, pending);
      },
      nullptr);
  ProcessorCard& card = Rack::instance().processor(0);
  card.write(kCounters, 0xffffffffU);
  card.write(kCounterMode0, kCounterOn | kOverflowInterrupt | kTransitions |
                                static_cast<std::uint32_t>(CounterEvent::kRead) << kEventShift);
  card.write(kCounterEnable, 1);
  latency(0, 0, kRead);
  EXPECT_EQ(model_->truth(0).exceptions, 1u);
  EXPECT_EQ(last_, (1 + 28) * kCycle + (8 + 8) * Parameters::processor_ps);
}

// Item 8 of table 4.10, section 3.3.1: a miss handler of ten cycles
TEST_F(Transactions, AMissHandlerTakesTenProcessorCycles) {
  model_->inform({.trigger = nullptr,
                  .handler = [](void*, std::uint32_t, const substrata_transaction&) {},
                  .owner = nullptr});
  latency(0, 0, kRead);
  EXPECT_EQ(last_, (1 + 28) * kCycle + 10 * Parameters::processor_ps);
}

// Section 4.4.1: what the program writes into the register is what its transactions carry, four bits to the memory
TEST_F(Transactions, CarryThePhaseThatTheProgramWroteIntoItsRegister) {
  std::vector<std::uint16_t> phases;
  model_->inform({.trigger = nullptr,
                  .handler =
                      [](void* owner, std::uint32_t, const substrata_transaction& response) {
                        static_cast<std::vector<std::uint16_t>*>(owner)->push_back(response.phase);
                      },
                  .owner = &phases});
  ProcessorCard& card = Rack::instance().processor(0);
  card.write(kPhaseId, 0x25);
  latency(0, 0, kRead);
  card.write(kSramEnable, 1);
  card.write(kProfilingStore + 0x1237, 0);
  latency(0, 1, kRead);
  EXPECT_EQ(phases, (std::vector<std::uint16_t>{0x25, 0x1237}));
}

TEST_F(Transactions, CarryFourBitsOfTheirPhaseToTheMemory) {
  Rack::instance().processor(0).write(kPhaseId, 0x25);
  latency(0, 0, kRead);
  const MemoryCard& card = Rack::instance().memory(0);
  EXPECT_EQ(card.hits(BlockState::kLocalValid, RequestType::kRead, 5), 1u);
  EXPECT_EQ(card.hits(BlockState::kLocalValid, RequestType::kRead), 1u);
}

}  // namespace
}  // namespace substrata::numachine::test
