// The register file and the circuits of the NUMAchine processor card's monitor, bit by bit from the tables.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "numachine/invalidation_estimates.hpp"
#include "numachine/processor_card.hpp"

namespace substrata::numachine::test {
namespace {

std::uint32_t read(ProcessorCard& card, std::uint32_t address) {
  std::uint32_t value = 0xdeadbeef;
  EXPECT_EQ(card.read(address, &value), Answer::kDone) << "address " << address;
  return value;
}
void write(ProcessorCard& card, std::uint32_t address, std::uint32_t value) {
  EXPECT_EQ(card.write(address, value), Answer::kDone) << "address " << address;
}
std::uint32_t event(CounterEvent which) { return static_cast<std::uint32_t>(which) << kEventShift; }
std::uint32_t event(SramEvent which) { return static_cast<std::uint32_t>(which) << kEventShift; }
std::uint32_t mode(SramMode which) { return static_cast<std::uint32_t>(which) << kSramModeShift; }

// NU-1, table 4.4
TEST(RegisterFile, EveryBitOfTheTableIsKeptAndNoOther) {
  const std::pair<std::uint32_t, std::uint32_t> widths[] = {
      {0x0, 0xffff},   {0x1, 0xffff},   {0x2, 0x1fff},   {0x3, 0x1fff},   {0x4, 0xff},
      {0x5, ~0U},      {0x6, 0xff},     {0x7, ~0U},      {0x8, 0xffffff}, {0x9, 0xffffff},
      {0xa, 0xffffff}, {0xb, 0xffffff}, {0xc, 0x7fffff}, {0xe, 1},        {0xf, 1}};
  for (const auto& [address, bits] : widths) {
    for (unsigned bit = 0; bit < 32; ++bit) {
      ProcessorCard card;
      write(card, address, 1U << bit);
      EXPECT_EQ(read(card, address), bits & (1U << bit)) << "register " << address << " bit " << bit;
      for (const auto& [other, unused] : widths) {
        static_cast<void>(unused);
        if (other != address) {
          EXPECT_EQ(read(card, other), 0u) << address << " wrote " << other;
        }
      }
    }
  }
}

// NU-1
TEST(RegisterFile, ReservedAddressesAnswerWithAnErrorAndChangeNothing) {
  ProcessorCard card;
  std::uint32_t value = 77;
  for (const std::uint32_t address : {0xdU, 0x19U, 0x1eU, 0x1fU, 0x20U, 0x2dU, 0xffffU, kAddressEnd, ~0U}) {
    EXPECT_EQ(card.read(address, &value), Answer::kReserved) << address;
    EXPECT_EQ(card.write(address, 1), Answer::kReserved) << address;
  }
  EXPECT_EQ(value, 77u);
  EXPECT_EQ(card.write(kTimestamp, 1), Answer::kReadOnly);
  std::uint64_t wide = 77;
  EXPECT_EQ(card.write_doubleword(kSramMode, ~0ULL), Answer::kReserved);
  EXPECT_EQ(card.read_doubleword(kSramMode, &wide), Answer::kReserved);
  EXPECT_EQ(read(card, kSramMode), 0u);
  EXPECT_EQ(card.write_doubleword(5, 1), Answer::kMisaligned);
  EXPECT_EQ(card.read_doubleword(5, &wide), Answer::kMisaligned);
  EXPECT_EQ(wide, 77u);
}

// NU-1, section 4.4.3: "a single doubleword write in big-endian data-word order"
TEST(RegisterFile, ADoublewordHasItsUpperHalfAtTheLowerAddress) {
  ProcessorCard card;
  EXPECT_EQ(card.write_doubleword(kAddressWatchHigh, 0x00000012'34567890ULL), Answer::kDone);
  EXPECT_EQ(read(card, kAddressWatchHigh), 0x12u);
  EXPECT_EQ(read(card, kAddressWatchLow), 0x34567890u);
  std::uint64_t value = 0;
  EXPECT_EQ(card.read_doubleword(kAddressWatchHigh, &value), Answer::kDone);
  EXPECT_EQ(value, 0x12'34567890ULL);
  // Section 4.4.6: one doubleword write enables both kinds of counters.
  EXPECT_EQ(card.write_doubleword(kCounterEnable, 0x00000001'00000001ULL), Answer::kDone);
  EXPECT_EQ(read(card, kCounterEnable), 1u);
  EXPECT_EQ(read(card, kSramEnable), 1u);
  EXPECT_EQ(card.write_doubleword(kSram + 6, 0x11111111'22222222ULL), Answer::kDone);
  EXPECT_EQ(card.sram(6), 0x11111111u);
  EXPECT_EQ(card.sram(7), 0x22222222u);
}

// NU-5, table 4.1
TEST(BusAddressLayout, FieldsLieWhereTheTableSaysThem) {
  EXPECT_EQ(pack({.source_mask = 0xff}), 0xff00000000000000ULL);
  EXPECT_EQ(pack({.processor = 0xf}), 0x00f0000000000000ULL);
  EXPECT_EQ(pack({.phase = 0xf}), 0x000f000000000000ULL);
  EXPECT_EQ(pack({.destination_mask = 0xff}), 0x0000ff0000000000ULL);
  EXPECT_EQ(pack({.station = 0xf}), 0x000000f000000000ULL);
  EXPECT_EQ(pack({.magic = 0xf}), 0x0000000f00000000ULL);
  EXPECT_EQ(pack({.reserved = 0xf}), 0x00000000f0000000ULL);
  EXPECT_EQ(pack({.physical = 0x0fffffff}), 0x000000000fffffffULL);
  const BusAddress address{.source_mask = 0x12,
                           .processor = 3,
                           .phase = 4,
                           .destination_mask = 0x56,
                           .station = 7,
                           .magic = 8,
                           .reserved = 9,
                           .physical = 0xabcdef0};
  EXPECT_EQ(pack(address), 0x12345678'9abcdef0ULL);
  EXPECT_EQ(unpack(pack(address)), address);
}

// NU-2, section 4.3.3
TEST(Counters, WrapAtThirtyTwoBitsInterruptOnceEnabledAndResetOnReadAtTheSecondAddress) {
  ProcessorCard card;
  write(card, kCounterMode0 + 2, kCounterOn | event(CounterEvent::kAlways) | kOverflowInterrupt);
  write(card, kCounterMode0 + 1, kCounterOn | event(CounterEvent::kAlways));
  write(card, kCounterMode0 + 3, event(CounterEvent::kAlways));  // bit 23 clear: off
  write(card, kCounters + 2, static_cast<std::uint32_t>(-100));
  write(card, kCounters + 1, static_cast<std::uint32_t>(-100));
  card.at(50);
  EXPECT_EQ(read(card, kCounters + 2), static_cast<std::uint32_t>(-100)) << "the master enable is off";
  write(card, kCounterEnable, 1);
  card.at(149);
  EXPECT_EQ(read(card, kCounters + 2), ~0U);
  EXPECT_EQ(card.pending_interrupts(), 0);
  card.at(150);
  EXPECT_EQ(read(card, kCounters + 2), 0u);
  EXPECT_EQ(card.pending_interrupts(), 1U << 2) << "counter 1 has its interrupt masked";
  EXPECT_EQ(read(card, kInterruptPending), 1U << 2);
  write(card, kInterruptPending, 1U << 2);
  EXPECT_EQ(card.pending_interrupts(), 0);
  card.at(160);
  EXPECT_EQ(read(card, kCountersReset + 2), 10u);
  EXPECT_EQ(read(card, kCounters + 2), 0u);
  EXPECT_EQ(read(card, kCounters + 3), 0u);
  card.at(161);
  EXPECT_EQ(read(card, kCounters + 2), 1u);
}

// 3.4.1, item 20 of table 4.10
TEST(Counters, TheTimestampRunsAlwaysAndItsVariantResetsItself) {
  ProcessorCard card;
  card.at(0x1'0000'0005ULL);
  EXPECT_EQ(read(card, kTimestamp), 1u);
  EXPECT_EQ(read(card, kTimestamp + 1), 5u);
  std::uint64_t both = 0;
  EXPECT_EQ(card.read_doubleword(kTimestampReset, &both), Answer::kDone);
  EXPECT_EQ(both, 0x1'0000'0005ULL);
  card.at(0x1'0000'0007ULL);
  EXPECT_EQ(card.read_doubleword(kTimestamp, &both), Answer::kDone);
  EXPECT_EQ(both, 2u);
}

// NU-3, tables 2.3, 4.2, 4.3
TEST(PipelineStatus, SelectsTheStatesOfTheTables) {
  for (unsigned ps = 0; ps < 128; ++ps) {
    std::set<unsigned> wanted;
    if ((ps & 0x40) == 0) {
      if ((ps & 0xf) != 5) wanted.insert(ps & 0xf);
    } else if ((ps & 0x20) == 0) {
      if (ps & 1) wanted.insert({0x1, 0x4});
      if (ps & 2) wanted.insert({0x2, 0x3});
      if (ps & 4) wanted.insert({0x0, 0xc});
    } else {
      if (ps & 1) wanted.insert({0x9, 0xa});
      if (ps & 2) wanted.insert(0xb);
      if (ps & 4) wanted.insert({0x6, 0x8});
      if (ps & 8) wanted.insert({0xd, 0xe});
      if (ps & 16) wanted.insert({0x7, 0xf});
    }
    for (unsigned state = 0; state < 16; ++state) {
      EXPECT_EQ(counts_pipeline(ps, static_cast<Pipeline>(state)), wanted.count(state) == 1)
          << "PS " << ps << " state " << state;
    }
  }
}

// NU-3, section 4.3.2
TEST(PipelineStatus, TheCounterMovesOnceEveryFourEventsThroughTheHiddenAccumulator) {
  ProcessorCard card;
  write(card, kCounterMode0, kCounterOn | event(CounterEvent::kPipeline) | (0x1U << kPipelineShift));
  write(card, kCounterEnable, 1);
  for (unsigned i = 1; i <= 23; ++i) {
    card.pipeline(Pipeline::kLoad, 1);
    card.pipeline(Pipeline::kStore, 3);
    EXPECT_EQ(read(card, kCounters), i / 4);
  }
  card.pipeline(Pipeline::kLoad, 9);
  EXPECT_EQ(read(card, kCounters), 8u);
}

// NU-4, NU-5, figure 4.7: all 1024 settings of the lower ten bits on all values of the five signals
TEST(CountEnable, CombinesMasksAsTheCircuitDoes) {
  ProcessorCard card;
  write(card, kPhaseWatch, 5);
  write(card, kCommandFilter, 0x0ff0);
  write(card, kCommandWatch, 0x0120);
  write(card, kAddressFilterHigh, 0xf0);
  write(card, kAddressFilterLow, 0xffff0000);
  write(card, kAddressWatchHigh, 0x30);
  write(card, kAddressWatchLow, 0x12340000);
  for (std::uint32_t bits = 0; bits < 1024; ++bits) {
    for (unsigned signals = 0; signals < 32; ++signals) {
      const bool phase = signals & 1, address = signals & 2, command = signals & 4, sending = signals & 8,
                 receiving = signals & 16;
      write(card, kCounterEnable, 0);
      write(card, kPhaseId, phase ? 5 : 6);
      write(card, kCounterMode0, kCounterOn | event(CounterEvent::kAlways) | bits);
      write(card, kCounters, 0);
      const std::uint16_t cr = command ? 0x112f : 0x113f;
      const std::uint64_t ar = address ? 0xff3a1234ffffULL : 0xff4a1234ffffULL;
      // CR and AR are set by a packet of an earlier cycle; the directions belong to this one.
      write(card, kCounterEnable, 1);
      card.packet(cr, ar, true);
      card.at(card.now() + 1);
      write(card, kCounters, 0);
      if (sending) card.packet(cr, ar, true);
      if (receiving) card.packet(cr, ar, false);
      card.at(card.now() + 1);
      const bool counted = read(card, kCounters) != 0;
      bool wanted = true;
      if (bits & 0x200) {
        if (bits & 0x80) wanted = wanted && (phase ^ ((bits & 0x40) != 0));
        if (bits & 0x20) wanted = wanted && (address ^ ((bits & 0x10) != 0));
        if (bits & 0x08) wanted = wanted && (command ^ ((bits & 0x04) != 0));
        if (bits & 3) wanted = wanted && (((bits & 2) && sending) || ((bits & 1) && receiving));
        if (bits & 0x100) wanted = !wanted;
      }
      ASSERT_EQ(counted, wanted) << "mode bits " << bits << " signals " << signals;
    }
  }
}

// NU-4, section 4.4.4: OR by inversion of everything
TEST(CountEnable, InvertedComparisonsInsideAnInvertedWholeAreAnOr) {
  const std::uint32_t either =
      kEnableMasks | kInvertMasks | kEnablePhase | kInvertPhase | kEnableCommand | kInvertCommand;
  for (unsigned both = 0; both < 4; ++both) {
    ProcessorCard card;
    write(card, kPhaseId, both & 1 ? 0 : 1);
    write(card, kCommandFilter, 1);
    write(card, kCommandWatch, both & 2 ? 0 : 1);
    write(card, kCounterMode0, kCounterOn | event(CounterEvent::kAlways) | either);
    write(card, kCounterEnable, 1);
    card.at(1);
    EXPECT_EQ(read(card, kCounters), both != 0 ? 1u : 0u);
  }
}

// NU-7, section 4.4.5: the list as printed; it has 137 where 136 must stand, as 143-136 makes the bucket's
// width
TEST(LatencyTimer, CompactBucketsAreTheThesisList) {
  std::vector<LatencyBucket> wanted;
  const auto add = [&wanted](std::uint32_t from, std::uint32_t to, std::uint32_t width) {
    for (std::uint32_t first = from; first <= to; first += width)
      wanted.push_back({first, first + width - 1});
  };
  add(0, 62, 2);         // 0-1, 2-3, ..., 62-63
  add(64, 124, 4);       // 64-67, 68-71, ..., 124-127
  add(128, 248, 8);      // 128-135, 136-143, ..., 248-255
  add(256, 496, 16);     // 256-271, ..., 494-511 (printed; 496 makes sixteen)
  add(512, 992, 32);     // 512-543, ..., 992-1023
  add(1024, 1984, 64);   // 1024-1087, ..., 1984-2047
  add(2048, 3968, 128);  // 2048-2175, ..., 3968-4095
  ASSERT_EQ(wanted.size(), 128u);
  for (unsigned i = 0; i < 128; ++i) {
    const LatencyBucket bucket = latency_bucket(static_cast<std::uint8_t>(i));
    EXPECT_EQ(bucket.first, wanted[i].first) << i;
    EXPECT_EQ(bucket.last, wanted[i].last) << i;
    // The pseudocode of section 4.3.6, in sixteenths.
    const std::uint32_t exponent = i >> 4;
    const std::uint32_t mantissa = i & 15;
    const std::uint32_t sixteenths =
        exponent == 0 ? mantissa * 32 : (16 + mantissa) * 32 * (1U << (exponent - 1));
    EXPECT_EQ(bucket.first, sixteenths / 16);
  }
  for (std::uint32_t time = 0; time < 4096; ++time) {
    const LatencyBucket bucket = latency_bucket(compact_latency(time));
    EXPECT_LE(bucket.first, time);
    EXPECT_GE(bucket.last, time);
  }
  EXPECT_EQ(compact_latency(5000), 127) << "the timer stops at 4095";
}

// NU-6, NU-8, tables 4.7 to 4.9, figure 4.9
TEST(SramAddress, ComesFromTheSourcesTheModeSelects) {
  const std::uint16_t phase = 0xa5c3;
  const std::uint64_t address = 0x96'05a00000ULL;  // AR[39..32] 0x96, AR[26..19] 0xb4
  const std::uint32_t from_address = 0x96b4;
  const std::uint8_t rsr = 0x15;
  for (std::uint32_t mux = 0; mux < 32; ++mux) {
    for (unsigned which = 0; which < 4; ++which) {
      ProcessorCard card;
      write(card, kPhaseId, phase);
      write(card, kSramMode, (mux << 15) | (which << kSramModeShift));
      card.secondary_access(0x1234, false, false);
      card.request(kCommandRead, address);
      card.at(0x155);
      card.response(kCommandRead | kCommandResponse, address, MissType::kInvalidation, rsr);
      std::uint32_t wanted = 0;
      wanted |= (mux & 8 ? std::uint32_t{rsr} << 11 : mux & 4 ? phase : from_address) & 0xf800U;
      wanted |= (mux & 2 ? phase : from_address) & 0x07f0U;
      wanted |= (mux & 1 ? phase : from_address) & 0x000fU;
      if (mux & 16) wanted = (wanted & ~3U) | 2U;
      if (which == 0) wanted = 0x1234;
      if (which == 1) wanted = (0x155U << 4) | (wanted & 15U);
      if (which == 3) wanted = (wanted & 0xf80fU) | (std::uint32_t{compact_latency(0x155)} << 4);
      ASSERT_EQ(card.sram_address(), wanted) << "mux " << mux << " mode " << which;
    }
  }
}

// NU-6, table 4.6
TEST(Sram, CountsSecondaryCacheEventsByLine) {
  for (unsigned selected = 0; selected < 16; ++selected) {
    ProcessorCard card;
    write(card, kSramMode, (selected << kEventShift) | mode(SramMode::kSecondaryCache));
    write(card, kSramEnable, 1);
    card.secondary_access(7, false, false);
    card.secondary_access(7, true, false);
    card.secondary_access(7, true, true);
    card.secondary_access(9, false, true);
    const std::uint32_t wanted[16] = {0, 0, 3, 1, 2, 1};
    EXPECT_EQ(card.sram(7), wanted[selected]) << selected;
  }
}

// NU-2, item 11 of table 4.10
TEST(Sram, APreloadedWordInterruptsWhenItPassesZero) {
  ProcessorCard card;
  std::vector<std::uint8_t> calls;
  card.on_interrupt({[](void* owner, std::uint8_t pending) {
                       static_cast<std::vector<std::uint8_t>*>(owner)->push_back(pending);
                     },
                     &calls});
  write(card, kSramMode, event(SramEvent::kSecondaryMiss) | kSramOverflowInterrupt);
  write(card, kSramEnable, 1);
  write(card, kSram + 40, static_cast<std::uint32_t>(-3));
  card.secondary_access(40, false, true);
  card.secondary_access(40, false, true);
  EXPECT_TRUE(calls.empty());
  card.secondary_access(40, false, true);
  EXPECT_EQ(calls, std::vector<std::uint8_t>{16});
  EXPECT_EQ(card.sram(40), 0u);
}

// Section 4.4.5: without the receiving mask the request is counted too, before RSR has arrived
TEST(Sram, TheReceivingMaskKeepsRequestsOut) {
  for (const bool masked : {true, false}) {
    ProcessorCard card;
    write(card, kSramMode,
          event(SramEvent::kTransaction) | kTransitions | mode(SramMode::kConfigured) | kMuxResponse |
              kMuxMiss | (masked ? kEnableMasks | kReceivingMask : 0U));
    write(card, kSramEnable, 1);
    card.request(kCommandRead, 0);
    card.at(40);
    card.response(kCommandRead | kCommandResponse, 0, MissType::kOther, 0x1f);
    EXPECT_EQ(card.sram((0x1fU << 11) | 3U), 1u);
    std::uint64_t sum = 0;
    for (const std::uint32_t word : card.sram()) sum += word;
    EXPECT_EQ(sum, masked ? 1u : 2u);
  }
}

// Section 4.4.5: Address Mode may count access latency, by bit 10 as for the counters (4.4.4)
TEST(Sram, AddressModeCountsTheLatencyOfEachRegionWithoutTransitions) {
  ProcessorCard card;
  write(card, kSramMode, event(SramEvent::kTransaction) | mode(SramMode::kConfigured));
  write(card, kSramEnable, 1);
  constexpr std::uint64_t kRegion = std::uint64_t{5} << 19;  // AR[26..19] is 5
  card.at(100);
  card.request(kCommandRead, kRegion);
  card.at(140);
  card.response(kCommandRead | kCommandResponse, kRegion, MissType::kOther, 0);
  card.at(150);
  card.request(kCommandRead, 0);
  card.at(157);
  card.response(kCommandRead | kCommandResponse, 0, MissType::kOther, 0);
  card.at(1000);
  EXPECT_EQ(card.sram(5), 40u);
  EXPECT_EQ(card.sram(0), 7u);
}

// Table 4.6, event 1 with the latency timer as the address: each cycle falls on the time it finds
TEST(Sram, CountsEachCycleAtTheLatencyItFinds) {
  ProcessorCard card;
  write(card, kSramMode, event(SramEvent::kAlways) | mode(SramMode::kLatency));
  card.at(10);
  write(card, kSramEnable, 1);
  card.request(kCommandRead, 0);
  card.at(15);
  card.response(kCommandRead | kCommandResponse, 0, MissType::kOther, 0);
  write(card, kSramEnable, 0);
  for (std::uint32_t latency = 0; latency < 8; ++latency)
    EXPECT_EQ(card.sram(latency << 4), latency < 5 ? 1u : 0u) << latency;
}

// Table 4.5, event C: utilisation in cycles, transactions by transitions
TEST(Counters, ALineIsOneTransactionAndNineCyclesOfTheBus) {
  ProcessorCard card;
  write(card, kCounterMode0, kCounterOn | event(CounterEvent::kBusActivity));
  write(card, kCounterMode0 + 1, kCounterOn | event(CounterEvent::kBusActivity) | kTransitions);
  write(card, kCounterEnable, 1);
  card.at(10);
  card.request(kCommandRead, 0);
  card.at(40);
  card.response(kCommandRead | kCommandResponse | kCommandData, 0, MissType::kOther, 0, 9);
  card.packet(kCommandWriteBack, 64, true, 9);
  card.at(100);
  EXPECT_EQ(read(card, kCounters), 1u + 9u + 9u);
  EXPECT_EQ(read(card, kCounters + 1), 3u);
}

// Items 22 and 23 of table 4.10
TEST(Sram, CountsAndTimesBasicBlocksByProfilingStores) {
  ProcessorCard card;
  write(card, kSramEnable, 1);
  for (unsigned i = 0; i < 5; ++i) write(card, kProfilingStore + 0x1234, 99);
  EXPECT_EQ(card.sram(0x1234), 5u);
  EXPECT_EQ(read(card, kPhaseId), 0x1234u) << "the store is a change of PhaseID";
  write(card, kSramAccumulate + 0x2000, 30);
  write(card, kSramAccumulate + 0x2000, 12);
  EXPECT_EQ(card.sram(0x2000), 42u);
  write(card, kSramEnable, 0);
  write(card, kSramAccumulate + 0x2000, 12);
  EXPECT_EQ(card.sram(0x2000), 42u) << "the master enable holds for these too";
}

// NU-9, figure 4.8a
TEST(InvalidationHitMachine, CountsAValidLineThatBecomesInvalidBeforeAnotherIsAccessed) {
  InvalidationHitEstimate machine;
  EXPECT_FALSE(machine.made_invalid(3));
  machine.external_invalidate(3);
  machine.access(4, true);  // another line: it still waits for the probe
  machine.access(3, true);
  EXPECT_TRUE(machine.made_invalid(3));
  EXPECT_FALSE(machine.made_invalid(3)) << "it is idle again";
  machine.external_invalidate(3);
  machine.access(3, false);
  EXPECT_FALSE(machine.made_invalid(3)) << "the line was not valid";
  machine.external_invalidate(3);
  machine.access(3, true);
  machine.access(5, true);
  EXPECT_FALSE(machine.made_invalid(3)) << "two misses in the window: the under-count of the thesis";
}

// NU-9, figure 4.8b
TEST(InvalidationMissMachine, CountsAReadOfTheLineWhoseInvalidStateWasRead) {
  InvalidationMissEstimate machine;
  EXPECT_FALSE(machine.read(3));
  machine.access(3, false);
  machine.write();
  EXPECT_TRUE(machine.read(3)) << "a write in between may be older than the miss";
  EXPECT_FALSE(machine.read(3));
  machine.access(3, false);
  EXPECT_FALSE(machine.read(4));
  EXPECT_FALSE(machine.read(3)) << "it was reset";
  machine.access(3, false);
  machine.uncached_read();
  EXPECT_FALSE(machine.read(3));
  machine.access(3, true);
  EXPECT_FALSE(machine.read(3));
}

}  // namespace
}  // namespace substrata::numachine::test
