// Circuits of the processor card beside the Master Configuration Controller: phases set by reads, barrier and interrupt
// registers, the trace buffer, the watchdog, slow requests.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "numachine/processor_card.hpp"

namespace substrata::numachine::test {
namespace {

class Circuits : public testing::Test {
 protected:
  std::uint32_t word(std::uint32_t address) {
    std::uint32_t value = 0;
    EXPECT_EQ(card.read(address, &value), Answer::kDone) << address;
    return value;
  }
  void set(std::uint32_t address, std::uint32_t value) {
    EXPECT_EQ(card.write(address, value), Answer::kDone) << address;
  }
  ProcessorCard card;
};

// Section 3.3.1, footnote 2: a read changes the phase too, and its response is the one before
TEST_F(Circuits, AReadOfThePhasesAddressesSetsItAndGivesTheOneBefore) {
  set(kPhaseId, 5);
  EXPECT_EQ(word(kPhaseRead + 0x1234), 5u);
  EXPECT_EQ(word(kPhaseId), 0x1234u);
  EXPECT_EQ(card.write(kPhaseRead, 1), Answer::kReserved);
}

// Section 4.3.3
TEST_F(Circuits, TheBarrierRegisterGathersTheBitsOfAll) {
  for (unsigned cpu = 0; cpu < 4; ++cpu) {
    EXPECT_EQ(word(kBarrierRegister), (1U << cpu) - 1);
    set(kBarrierRegister, 1U << cpu);
  }
  EXPECT_EQ(word(kBarrierRegister), 0xfu) << "all have come";
  set(kBarrierRegisterClear, 0xf);
  EXPECT_EQ(word(kBarrierRegister), 0u);
}

TEST_F(Circuits, AWriteToAnInterruptRegisterInterruptsUntilItIsAcknowledged) {
  std::vector<std::uint8_t> calls;
  card.on_interrupt({[](void* owner, std::uint8_t pending) {
                       static_cast<std::vector<std::uint8_t>*>(owner)->push_back(pending);
                     },
                     &calls});
  set(kInterruptRegisters, 4);
  set(kInterruptRegisters + 1, 8);
  EXPECT_EQ(calls, (std::vector<std::uint8_t>{1U << 5, 1U << 5}));
  EXPECT_EQ(word(kInterruptRegisters), 4u);
  EXPECT_EQ(word(kInterruptRegisters + 1), 8u);
  set(kInterruptPending, 1U << 5);
  EXPECT_EQ(card.pending_interrupts(), 0);
  EXPECT_EQ(word(kInterruptRegisters), 0u);
}

// Section 5.2
TEST_F(Circuits, TheSramAsATraceBufferHoldsEachPacketWithItsCycle) {
  card.packet(kCommandRead, 0x77, true);
  card.at(5);
  set(kTraceBuffer, 1);
  card.at(100);
  card.request(kCommandRead, 0x12'00000040ULL);
  card.at(140);
  card.response(kCommandRead | kCommandResponse, 0x12'00000040ULL, MissType::kOther, 0, 9);
  EXPECT_EQ(word(kTracePosition), 8u);
  const std::uint32_t wanted[] = {100, 1U << 31 | kCommandRead,         0x12, 0x40,
                                  140, kCommandRead | kCommandResponse, 0x12, 0x40};
  for (std::uint32_t word = 0; word < 8; ++word) EXPECT_EQ(card.sram(word), wanted[word]) << word;
  set(kTraceBuffer, 0);
  card.packet(kCommandRead, 0x80, true);
  EXPECT_EQ(word(kTracePosition), 0u);
}

// Section 3.3.2: 64 lines; 10 misses of a line when the average is 1 exceed it by 9.
TEST_F(Circuits, TheWatchdogInterruptsForALineThatExceedsTheAverage) {
  card.set_cache_lines(64);
  set(kSramMode, static_cast<std::uint32_t>(SramEvent::kSecondaryMiss) << kEventShift);
  set(kSramEnable, 1);
  set(kWatchdog, 8);
  for (std::uint32_t line = 0; line < 64; ++line) card.secondary_access(line, false, true);
  for (int i = 0; i < 8; ++i) card.secondary_access(7, false, true);
  EXPECT_EQ(card.pending_interrupts(), 0) << "9 misses, 8 above the average of 72 by 64 lines";
  card.secondary_access(7, false, false);
  EXPECT_EQ(card.pending_interrupts(), 0) << "a hit";
  card.secondary_access(7, false, true);
  EXPECT_EQ(card.pending_interrupts(), 1U << 6);
  EXPECT_EQ(word(kWatchdogLine), 7u);
}

// Section 3.3.3: reactive to requests that take long
TEST_F(Circuits, ARequestBeyondTheThresholdInterruptsAndLeavesItsAddress) {
  set(kSlowRequest, 50);
  card.at(100);
  card.request(kCommandRead, 0x40);
  card.at(149);
  card.response(kCommandRead | kCommandResponse, 0x40, MissType::kOther, 0);
  EXPECT_EQ(card.pending_interrupts(), 0);
  card.at(200);
  card.request(kCommandRead, 0x3'00000080ULL);
  card.at(250);
  card.response(kCommandRead | kCommandResponse, 0x3'00000080ULL, MissType::kOther, 0);
  EXPECT_EQ(card.pending_interrupts(), 1U << 7);
  std::uint64_t address = 0;
  EXPECT_EQ(card.read_doubleword(kSlowAddress, &address), Answer::kDone);
  EXPECT_EQ(address, 0x3'00000080ULL);
  EXPECT_EQ(word(kSlowLatency), 50u);
}

// The default costs nothing and changes nothing.
TEST_F(Circuits, AreOffUntilTheirRegistersAreWritten) {
  set(kSramMode, static_cast<std::uint32_t>(SramEvent::kSecondaryMiss) << kEventShift);
  for (int i = 0; i < 1000; ++i) card.secondary_access(7, false, true);
  card.request(kCommandRead, 0x40);
  card.at(4000);
  card.response(kCommandRead | kCommandResponse, 0x40, MissType::kOther, 0);
  EXPECT_FALSE(card.enabled());
  EXPECT_EQ(card.pending_interrupts(), 0);
  for (const std::uint32_t one : card.sram()) ASSERT_EQ(one, 0u);
}

TEST_F(Circuits, CannotBeWrittenWhereTheyGiveResults) {
  for (const std::uint32_t address :
       {kTracePosition, kWatchdogLine, kSlowAddress, kSlowAddress + 1, kSlowLatency})
    EXPECT_EQ(card.write(address, 1), Answer::kReadOnly) << address;
}

}  // namespace
}  // namespace substrata::numachine::test
