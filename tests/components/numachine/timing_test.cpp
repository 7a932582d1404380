// Single transactions on an idle machine, to the bus cycle: every latency and count is calculated by hand.
//
// A request takes its station's bus for 1 cycle and a FIFO for 2; a block's state is looked up in 4 and the block read
// or written in 12; a dirty line is given up in 8; on and off a ring take 3 each, a link 1; a line is 9 packets. A ring
// has five places, so that station 0's packets take one link to station 1, and four back. A retry comes after 16
// cycles.
#include <gtest/gtest.h>
#include <substrata/feed.hpp>

#include <cstdint>
#include <utility>
#include <vector>

#include "numachine/traffic.hpp"
#include "transactions.hpp"

namespace substrata::numachine::test {
namespace {

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

// Section 4.1: the network cache combines remote requests. The neighbour's, a cycle later, waits for the look-up of the
// first one's until 7 and is refused at 12; it goes again at 28, 52 and 76, and has the line, which came at 69, from
// the network cache.
TEST_F(Transactions, ANetworkCacheSendsOneRequestForAll) {
  const auto latencies = run({{0, 64, kRead, 0}, {1, 64, kRead, 1}});
  EXPECT_EQ(latencies[0], 69u);
  EXPECT_EQ(latencies[1], 76u + 1 + 2 + 4 + 12 + 9 - 1);
  EXPECT_EQ(model_->truth(1).nacks, 3u);
  EXPECT_EQ(model_->truth(1).network_cache_hits, 1u);
  EXPECT_EQ(Rack::instance().queues(0).link.waits().count, 1u) << "one request on the ring";
  EXPECT_EQ(Rack::instance().memory(1).queue.waits().count, 1u) << "and at the memory";
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

// The second one's upgrade, refused at 4, would go again 5000 cycles later, past the time-out: it had no ownership
// then, and when it begins again its copy is gone.
TEST_F(Transactions, AnUpgradeThatTimesOutIsAnUnsuccessfulOwnershipMiss) {
  begin_with_late_retries();
  latency(0, 0, kRead);
  latency(1, 0, kRead);
  run({{0, 0, kWrite, 0}, {1, 0, kWrite, 1}});
  const Truth& t = model_->truth(1);
  EXPECT_EQ(t.ownership_unsuccessful, 1u);
  EXPECT_EQ(t.bus_errors, 1u);
  EXPECT_EQ(t.misses[static_cast<unsigned>(MissType::kOwnershipSuccessful)], 0u);
  EXPECT_EQ(t.misses[static_cast<unsigned>(MissType::kOwnershipCancelled)], 0u);
  EXPECT_EQ(t.misses[static_cast<unsigned>(MissType::kInvalidation)], 1u);
  EXPECT_EQ(t.miss_cycles[static_cast<unsigned>(MissType::kInvalidation)], 1u + 2 + 4 + 1 + 8 + 9 + 9);
  EXPECT_EQ(t.stores, 1u) << "executed once";
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

// Section 3.3.2: of two updates a cycle apart the second, refused at 4, is overtaken by the first and sent again
// anyway: at 26 it has the bus, at 29 the block, and invalidates the other copy on the station.
TEST_F(Transactions, AnUpdateOvertakenByAnotherIsCancelledAndSentAgain) {
  Parameters p = two_stations();
  p.shape.update = true;
  begin(p);
  count(1, 0, CounterEvent::kOwnershipCancelled, true);
  count(1, 1, CounterEvent::kOwnershipSuccessful, true);
  count(1, 2, CounterEvent::kOwnershipCancelled, false);
  latency(0, 0, kRead);
  latency(1, 0, kRead);
  const auto latencies = run({{0, 0, kWrite, 0}, {1, 0, kWrite, 1}});
  EXPECT_EQ(latencies[0], 9u);
  EXPECT_EQ(latencies[1], 26u + 1 + 2 + 4 + 1 + 1 - 1);
  EXPECT_EQ(counted(1, 0), 1u);
  EXPECT_EQ(counted(1, 1), 0u);
  EXPECT_EQ(counted(1, 2), latencies[1]);
  EXPECT_EQ(latency(0, 0, kRead), 0u) << "it has both";
}

// The remote one's update is at its home at 17, when the neighbour's is done. Sent back with nothing done, it is at its
// processor at 33 and goes again: 1 + 2 + 4, the ring, the home's bus, 4, the other copy, the answer and the ring back.
TEST_F(Transactions, AnUpdateOvertakenOnTheWayTurnsBackAtItsHome) {
  Parameters p = two_stations();
  p.shape.update = true;
  begin(p);
  count(4, 0, CounterEvent::kNackRetry, false);
  count(4, 1, CounterEvent::kBusActivity, true);
  latency(0, 0, kRead);
  latency(4, 0, kRead);
  const std::uint64_t before = counted(4, 1);
  const auto latencies = run({{0, 0, kWrite, 0}, {4, 0, kWrite, 0}});
  EXPECT_EQ(latencies[0], 1u + 2 + 4 + 1 + (3 + 1 + 3) + 1 + 1);
  constexpr std::uint64_t kOut = 1 + 2 + 4 + (3 + 4 + 3) + 1 + 2 + 4, kBack = 1 + (3 + 1 + 3) + 1;
  EXPECT_EQ(latencies[1], kOut + kBack + kOut + 1 + kBack);
  EXPECT_EQ(counted(4, 0), 0u) << "nobody refused it";
  EXPECT_EQ(counted(4, 1) - before, 4u) << "sent, back, sent, acknowledged";
  EXPECT_EQ(model_->truth(4).misses[static_cast<unsigned>(MissType::kOwnershipCancelled)], 1u);
  EXPECT_EQ(model_->truth(0).misses[static_cast<unsigned>(MissType::kOwnershipCancelled)], 0u);
}

// Section 3.3.2: an upgrade of 8 bus cycles, 160 ns, of which 23 whole processor cycles pass while it computes
TEST_F(Transactions, WeakConsistencyHidesAWritesOwnershipBehindComputation) {
  for (const bool weak : {false, true}) {
    Parameters p = two_stations();
    p.weak_consistency = weak;
    begin(p);
    latency(0, 0, kRead);
    Time now = start_ * kCycle;
    while (!model_->step(0, 0, 8, true, false, 0, now)) {
    }
    const Time done = now;
    model_->compute(0, 100, now);
    EXPECT_EQ(now - done, (weak ? 100 - 23 : 100) * Parameters::processor_ps);
    EXPECT_EQ(model_->truth(0).miss_cycles[0], 8u) << "its latency is what it was";
  }
}

// Section 4.2: instructions have the upper half of the cache, and the same bytes are at the same home
TEST_F(Transactions, ASplitCacheKeepsInstructionsAndDataApart) {
  Parameters p = two_stations();
  p.shape.split = true;
  p.cache_bytes = 32 * 64;
  begin(p);
  const auto fetch = [this](std::uint64_t line) {
    const std::uint64_t before = miss_cycles(0);
    Time now = start_ * kCycle;
    while (!model_->step(0, line * 64, 8, false, true, 0, now)) {
    }
    start_ = now / kCycle + 1000;
    model_->settle(now);
    return miss_cycles(0) - before;
  };
  std::vector<std::uint64_t> addresses;
  model_->inform({.trigger = nullptr,
                  .handler =
                      [](void* owner, std::uint32_t, const substrata_transaction& response) {
                        static_cast<std::vector<std::uint64_t>*>(owner)->push_back(response.address);
                      },
                  .owner = &addresses});
  constexpr std::uint64_t kRemote = 1 + 2 + 4 + (3 + 1 + 3) + 1 + 2 + 4 + 12 + 9 + (3 + 4 + 8 + 3) + 9;
  EXPECT_EQ(latency(0, 64 + 20, kRead), kRemote);
  EXPECT_EQ(fetch(64 + 36), kRemote);
  EXPECT_EQ(latency(0, 64 + 20, kRead), 0u) << "16 lines of data, and not replaced by the instructions";
  EXPECT_EQ(fetch(64 + 36), 0u);
  EXPECT_EQ(latency(0, 64 + 36, kRead), kRemote) << "data of the same place, which it replaces";
  EXPECT_EQ(latency(0, 64 + 20, kRead), 28u) << "from the network cache";
  EXPECT_EQ(addresses, (std::vector<std::uint64_t>{84 * 64, 100 * 64, 100 * 64, 84 * 64}));
  EXPECT_EQ(model_->profile(0)[4], 3u);
  EXPECT_EQ(model_->profile(0)[16 + 4], 1u);
}

// Section 3.3.3. Three neighbours read at once: their requests have the bus one after the other, their lines are ready
// at 19, 35 and 51, so that the second waits 15 and the third 30 cycles for the memory.
TEST_F(Transactions, QueuesKnowWaitsServicesAndLengths) {
  ProcessorCard& card = Rack::instance().processor(2);
  card.write(kPhaseId, 0x13);
  run({{0, 0, kRead, 0}, {1, 1, kRead, 0}, {2, 2, kRead, 0}});
  const QueueMonitor& memory = Rack::instance().memory(0).queue;
  EXPECT_EQ(memory.waits().count, 3u);
  EXPECT_EQ(memory.waits().total, 15u + 30);
  EXPECT_EQ(memory.waits().maximum, 30u);
  EXPECT_EQ(memory.services().total, 3u * 16);
  EXPECT_EQ(memory.services().maximum, 16u);
  EXPECT_EQ(memory.longest(), 2u) << "from 5 to 19 the second and the third";
  EXPECT_EQ(memory.waits(3).total, 30u) << "four bits of the third one's phase";
  const QueueMonitor& bus = Rack::instance().queues(0).bus;
  EXPECT_EQ(bus.waits().count, 6u);
  EXPECT_EQ(bus.waits().total, 1u + 2);
  EXPECT_EQ(bus.longest(), 2u);
  EXPECT_EQ(bus.services().total, 3u * (1 + 9));
  EXPECT_EQ(bus.services().maximum, 9u);
}

TEST_F(Transactions, LinksAndNetworkCachesHaveQueuesToo) {
  Parameters p = two_stations();
  p.shape.stations = 3;
  begin(p);
  run({{0, 128, kRead, 0}, {1, 129, kRead, 0}, {4, 130, kRead, 1}});
  EXPECT_EQ(Rack::instance().queues(0).network_cache.waits().total, 3u) << "4 cycles each, a cycle apart";
  EXPECT_EQ(Rack::instance().queues(0).network_cache.services().total, 8u);
  EXPECT_EQ(Rack::instance().queues(0).link.waits().count, 3u) << "two requests, and a line that passes";
  EXPECT_EQ(Rack::instance().queues(0).link.services().total, 2u + 9);
  EXPECT_EQ(Rack::instance().queues(1).link.waits().total, 1u) << "the first one's packet is on it at 11";
  EXPECT_EQ(Rack::instance().queues(2).link.services().maximum, 9u) << "a line";
}

// What the board saw, in words.
class BusTrace {
 public:
  explicit BusTrace(const char* probe) {
    EXPECT_EQ(observer_.try_create<&BusTrace::take>(*this), 0);
    EXPECT_EQ(observer_.try_subscribe(probe), 0);
  }
  struct Seen {
    std::uint64_t cycle, waited, packets, command;
    std::uint32_t processor;
    bool operator==(const Seen&) const = default;
  };
  std::vector<Seen> all() {
    substrata_flush();
    return seen_;
  }

 private:
  void take(const substrata_transaction* batch, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const substrata_transaction& t = batch[i];
      seen_.push_back(
          {t.time / kCycle, (t.time - t.start) / kCycle, low_of(t.detail), high_of(t.detail), t.initiator});
    }
  }
  std::vector<Seen> seen_;
  client::feed::Observer observer_;
};

// Section 5.2. Two neighbours' reads of one station, in the order of grants
TEST_F(Transactions, ABusTraceHasEveryGrantOfTheBus) {
  Parameters p = two_stations();
  p.traces_buses = true;
  begin(p);
  BusTrace trace("numachine.st0.bus");
  run({{0, 0, kRead, 0}, {1, 1, kRead, 0}});
  constexpr std::uint64_t kAsk = kCommandRead | kCommandCacheLine,
                          kLine = kAsk | kCommandResponse | kCommandData;
  EXPECT_EQ(trace.all(),
            (std::vector<BusTrace::Seen>{
                {1, 0, 1, kAsk, 0}, {2, 1, 1, kAsk, 1}, {20, 0, 9, kLine, 0}, {36, 0, 9, kLine, 1}}));
}

// Section 4.3.3: an interrupt from another processor is a write that its card receives
TEST_F(Transactions, AnInterruptFromOutsideIsAPacketAndCostsAnException) {
  count(0, 0, CounterEvent::kBusActivity, true);
  count(0, 1, CounterEvent::kBusActivity, false);
  count(0, 2, CounterEvent::kInterruptRequest, true);
  Rack::instance().processor(0).write(kInterruptRegisters, 1);
  EXPECT_EQ(counted(0, 0), 1u);
  EXPECT_EQ(counted(0, 1), 2u);
  latency(0, 0, kRead);
  EXPECT_EQ(counted(0, 2), 1u);
  EXPECT_EQ(model_->truth(0).exceptions, 1u);
  EXPECT_EQ(last_, (1 + 28) * kCycle + (8 + 8) * Parameters::processor_ps);
}

}  // namespace
}  // namespace substrata::numachine::test
