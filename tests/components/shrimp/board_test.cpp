// The board against an oracle that knows nothing of its code: selections, histograms, edges, traces,
// interrupts.
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <set>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "shrimp/board.hpp"
#include "support/sanitized.hpp"

namespace {

using namespace substrata::shrimp;

constexpr uint64_t kFull = (uint64_t{1} << 40) - 1;

// Section 3.3, word by word, on a list of names: L0 to L4, S0 to S2, N0, N1, T, C.
std::string rule_broken(const std::vector<std::string>& chosen) {
  if (chosen.size() != 5) return "five";
  std::vector<int> latency;
  int senders = 0;
  for (const std::string& name : chosen) {
    if (name[0] == 'L') latency.push_back(name[1] - '0');
    if (name[0] == 'N') ++senders;
  }
  for (size_t i = 1; i < latency.size(); ++i) {
    if (latency[i] != latency[i - 1] + 1) return "contiguous";
  }
  if (senders == 1) return "whole";
  return {};
}

const std::vector<std::string> kNames = {"L0", "L1", "L2", "L3", "L4", "S0",
                                         "S1", "S2", "N0", "N1", "T",  "C"};

std::vector<std::string> names_of(uint32_t nibbles) {
  std::vector<std::string> chosen;
  for (size_t i = 0; i < kNames.size(); ++i) {
    if ((nibbles >> i & 1) != 0) chosen.push_back(kNames[i]);
  }
  return chosen;
}

std::vector<uint32_t> legal_selections() {
  std::vector<uint32_t> all;
  for (uint32_t nibbles = 0; nibbles < 1u << 12; ++nibbles) {
    if (names_of(nibbles).size() == 5 && rule_broken(names_of(nibbles)).empty()) all.push_back(nibbles);
  }
  return all;
}

// Registers as the oracle keeps them.
struct Settings {
  uint64_t shift = 0;
  uint64_t minimum = 0;
  uint64_t maximum = (uint64_t{1} << 44) - 1;
  uint64_t category = 0;
};

uint64_t oracle_latency(const Arrival& packet, const Settings& settings) {
  const uint64_t modulus = uint64_t{1} << 44;
  uint64_t ticks = (packet.received % modulus + modulus - packet.stamped % modulus) % modulus;
  for (uint64_t i = 0; i < settings.shift; ++i) ticks /= 2;
  if (ticks < settings.minimum) return 0;
  if (ticks > settings.maximum) return 1048575;
  return ticks % 1048576;
}

const std::vector<std::string> kSenderLastNames = {"L0", "L1", "L2", "L3", "L4", "S0",
                                                   "S1", "S2", "T",  "C",  "N0", "N1"};

std::vector<std::string> in_order(const std::vector<std::string>& chosen,
                                  const std::vector<std::string>& order) {
  std::vector<std::string> out;
  for (const std::string& name : order)
    if (std::find(chosen.begin(), chosen.end(), name) != chosen.end()) out.push_back(name);
  return out;
}

uint32_t oracle_address(uint32_t nibbles, const Arrival& packet, const Settings& settings,
                        const std::vector<std::string>& order = kNames) {
  const uint64_t latency = oracle_latency(packet, settings);
  uint32_t address = 0;
  uint32_t weight = 1;
  for (const std::string& name : in_order(names_of(nibbles), order)) {
    uint64_t value = 0;
    if (name[0] == 'L') value = latency;
    if (name[0] == 'S') value = packet.size % 4096;
    if (name[0] == 'N') value = packet.sender;
    if (name[0] == 'T') value = packet.tag;
    if (name[0] == 'C') value = settings.category;
    const int nibble = name.size() > 1 ? name[1] - '0' : 0;
    for (int i = 0; i < nibble; ++i) value /= 16;
    address += static_cast<uint32_t>(value % 16) * weight;
    weight *= 16;
  }
  return address;
}

void give(Board& board, const Arrival& packet) {
  const uint64_t variables = board.variables(packet);
  const uint64_t clock = packet.received;
  ASSERT_EQ(board.record(&variables, &clock, 1, false).taken, 1u);
}

Arrival random_packet(std::mt19937_64& random) {
  Arrival packet;
  packet.received = random() & ((uint64_t{1} << 44) - 1);
  // Latencies of all magnitudes, some of them through the wrap of the clock.
  const uint64_t latency = random() & ((uint64_t{1} << (random() % 45)) - 1);
  packet.stamped = (packet.received - latency) & ((uint64_t{1} << 44) - 1);
  packet.size = static_cast<uint32_t>(random() % 8192);
  packet.sender = static_cast<uint8_t>(random());
  packet.tag = random() % 16;
  return packet;
}

TEST(Multiplexer, TakesTheHundredAndNinetyLegalSelectionsAndNamesTheRuleForTheOthers) {  // SH-3
  int of_five = 0;
  int legal = 0;
  Board board;
  for (uint32_t nibbles = 0; nibbles < 1u << 12; ++nibbles) {
    const std::vector<std::string> chosen = names_of(nibbles);
    const std::string rule = rule_broken(chosen);
    const uint64_t before = board.read(Register::kMultiplexer);
    const char* refused = board.write(Register::kMultiplexer, nibbles);
    if (chosen.size() == 5) ++of_five;
    if (rule.empty()) {
      ++legal;
      EXPECT_EQ(refused, nullptr) << nibbles;
      EXPECT_EQ(board.selection().nibbles(), nibbles);
    } else {
      ASSERT_NE(refused, nullptr) << nibbles;
      EXPECT_NE(std::string(refused).find(rule), std::string::npos) << refused << " instead of " << rule;
      EXPECT_EQ(board.read(Register::kMultiplexer), before) << "changed by a refusal";
    }
  }
  EXPECT_EQ(of_five, 792);
  EXPECT_EQ(legal, 190);
  EXPECT_NE(board.write(Register::kMultiplexer, 1u << 12 | 0xf), nullptr);
}

// How many nibbles reach each of the five fields of the address, as the addresses themselves show it.
std::vector<size_t> inputs_of(uint32_t variant) {
  std::array<std::set<unsigned>, kChosen> inputs;
  for (uint32_t nibbles = 0; nibbles < 1u << kNibbles; ++nibbles) {
    if (Selection::objection(nibbles | variant) != nullptr) continue;
    const Selection selection(nibbles | variant);
    for (unsigned i = 0; i < kNibbles; ++i)
      for (unsigned place = 0; place < kChosen; ++place)
        if (selection.address(uint64_t{0xf} << (4 * i)) == 0xfu << (4 * place)) inputs[place].insert(i);
  }
  std::vector<size_t> numbers;
  for (const std::set<unsigned>& of_place : inputs) numbers.push_back(of_place.size());
  return numbers;
}

TEST(Multiplexer, NeedsNoMoreThanEightInputsAtAnyPlace) {  // SH-3
  EXPECT_EQ(inputs_of(0), (std::vector<size_t>{8, 8, 8, 8, 7}));
}

// Section 3.3: none needs more than 8, and two have 7.
TEST(Multiplexer, NeedsThePapersInputsWithTheSenderLast) {  // SH-3
  EXPECT_EQ(inputs_of(Selection::kSenderLast), (std::vector<size_t>{8, 8, 8, 7, 7}));
}

TEST(Multiplexer, WithoutItsRestrictionsTakesAllSevenHundredAndNinetyTwo) {  // SH-3
  int legal = 0;
  for (uint32_t nibbles = 0; nibbles < 1u << kNibbles; ++nibbles)
    if (Selection::objection(nibbles | Selection::kUnrestricted) == nullptr) ++legal;
  EXPECT_EQ(legal, 792);
  EXPECT_EQ(inputs_of(Selection::kUnrestricted), (std::vector<size_t>{8, 8, 8, 8, 8}));
}

TEST(Multiplexer, WithTheSenderLastAddressesAsTheOracleDoes) {  // SH-3
  std::mt19937_64 random(42);
  for (uint32_t nibbles = 0; nibbles < 1u << kNibbles; ++nibbles) {
    const uint32_t variant = Selection::kSenderLast | Selection::kUnrestricted;
    if (Selection::objection(nibbles | variant) != nullptr) continue;
    Board board;
    ASSERT_EQ(board.write(Register::kMultiplexer, nibbles | variant), nullptr);
    for (int i = 0; i < 20; ++i) {
      const Arrival packet = random_packet(random);
      const uint32_t address = board.selection().address(board.variables(packet));
      ASSERT_EQ(address, oracle_address(nibbles, packet, {}, kSenderLastNames)) << nibbles;
      ASSERT_EQ(board.selection().address(board.selection().variables(address)), address) << nibbles;
    }
  }
}

TEST(Histogram, EqualsTheOracleForEachSelection) {  // SH-2, SH-3, SH-5
  constexpr int kPackets = substrata::tests::kSanitized ? 300 : 3000;
  constexpr size_t kEach = substrata::tests::kSanitized ? 10 : 1;
  std::mt19937_64 random(1996);
  const std::vector<uint32_t> legal = legal_selections();
  std::vector<uint64_t> words(1 << 20);
  for (size_t which = 0; which < legal.size(); which += kEach) {
    const uint32_t nibbles = legal[which];
    Board board;
    ASSERT_EQ(board.write(Register::kMultiplexer, nibbles), nullptr);
    Settings settings;
    settings.shift = random() % 30;
    settings.minimum = random() % 64;
    settings.maximum = settings.minimum + random() % (1u << 18);
    settings.category = random() % 16;
    ASSERT_EQ(board.write(Register::kLatencyShift, settings.shift), nullptr);
    ASSERT_EQ(board.write(Register::kLatencyMinimum, settings.minimum), nullptr);
    ASSERT_EQ(board.write(Register::kLatencyMaximum, settings.maximum), nullptr);
    ASSERT_EQ(board.write(Register::kCategory, settings.category), nullptr);
    std::map<uint32_t, uint64_t> expected;
    for (int i = 0; i < kPackets; ++i) {
      const Arrival packet = random_packet(random);
      ++expected[oracle_address(nibbles, packet, settings)];
      give(board, packet);
    }
    ASSERT_EQ(board.words(), words.size());
    ASSERT_EQ(board.read(0, board.words(), words.data()), nullptr);
    uint64_t sum = 0;
    for (const uint64_t word : words) sum += word;
    EXPECT_EQ(sum, static_cast<uint64_t>(kPackets));
    for (const auto& [address, count] : expected)
      ASSERT_EQ(words[address], count) << nibbles << " " << address;
  }
}

TEST(Multiplexer, SaysOfEachSelectionWhetherItsAddressIsTheChosenBitsPushedTogether) {
  std::mt19937_64 random(11);
  size_t in_order = 0;
  size_t others = 0;
  for (uint32_t nibbles = 0; nibbles < 1u << (kNibbles + 2); ++nibbles) {
    for (unsigned jumper = 0; jumper < kFirstSignal + kSignals; ++jumper) {
      if (Selection::objection(nibbles, jumper) != nullptr) continue;
      const Selection selection(nibbles, jumper);
      bool same = true;
      for (int i = 0; i < 20; ++i) {
        const uint64_t packed = random();
        uint32_t pushed = 0;
        unsigned place = 0;
        for (unsigned bit = 0; bit < 64; ++bit)
          if ((selection.mask() >> bit & 1) != 0)
            pushed |= static_cast<uint32_t>(packed >> bit & 1) << place++;
        same = same && pushed == selection.address(packed);
      }
      ASSERT_EQ(selection.in_order(), same) << nibbles << " " << jumper;
      ++(same ? in_order : others);
    }
  }
  EXPECT_GT(in_order, 190u);
  EXPECT_GT(others, 190u);
}

// What a board that takes its addresses out by one instruction and one that does not have seen and given.
TEST(Histogram, IsTheSameWhetherTheProcessorExtractsAddressesOrNot) {
  if (!Board::can_extract()) GTEST_SKIP() << "this processor has no quick instruction for it";
  constexpr int kRounds = substrata::tests::kSanitized ? 40 : 400;
  std::mt19937_64 random(27);
  const std::vector<uint32_t> legal = legal_selections();
  uint64_t interrupts = 0;
  for (int round = 0; round < kRounds; ++round) {
    Board with(true);
    Board without(false);
    const uint32_t nibbles =
        legal[random() % legal.size()] | (random() % 4 == 0 ? Selection::kSenderLast : 0);
    const uint64_t jumper = random() % 3 == 0 ? kFirstSignal + random() % kSignals : uint64_t{kNibbles};
    const uint64_t threshold = random() % 4 == 0 ? kWordMost : random() % 6;
    const uint64_t trigger = random() % 4 == 0 ? 1 : 0;
    for (Board* const board : {&with, &without}) {
      ASSERT_EQ(board->write(Register::kMultiplexer, nibbles), nullptr);
      ASSERT_EQ(board->write(Register::kJumper, jumper), nullptr);
      ASSERT_EQ(board->write(Register::kThreshold, threshold), nullptr);
      ASSERT_EQ(board->write(Register::kTrigger, trigger), nullptr);
      ASSERT_EQ(board->initialise(0, 4, kWordMost), nullptr);
    }
    std::set<uint32_t> addresses;
    for (int part = 0; part < 8; ++part) {
      std::vector<uint64_t> variables(random() % 200 + 1);
      // Few different ones, so that words pass the threshold.
      const uint64_t few = random() % 2 == 0 ? 0x1111111111111111u : ~uint64_t{0};
      for (uint64_t& one : variables) {
        one = random() & few;
        addresses.insert(with.selection().address(one));
      }
      const bool stop = random() % 2 == 0;
      const Board::Recorded a = with.record(variables.data(), variables.data(), variables.size(), stop);
      const Board::Recorded b = without.record(variables.data(), variables.data(), variables.size(), stop);
      ASSERT_EQ(a.taken, b.taken);
      ASSERT_EQ(a.traced, b.traced);
      ASSERT_EQ(a.lost, b.lost);
      ASSERT_EQ(a.interrupts, b.interrupts);
      ASSERT_EQ(with.tracing(), without.tracing());
      ASSERT_EQ(with.trace_length(), without.trace_length());
      interrupts += a.interrupts;
    }
    for (const uint32_t address : addresses) ASSERT_EQ(with.word(address), without.word(address)) << address;
    ASSERT_EQ(with.waiting_interrupts(), without.waiting_interrupts());
    ASSERT_EQ(with.queue_overflowed(), without.queue_overflowed());
    uint32_t one = 0;
    uint32_t other = 0;
    while (with.next_interrupt(&one)) {
      ASSERT_TRUE(without.next_interrupt(&other));
      ASSERT_EQ(one, other);
    }
  }
  EXPECT_GT(interrupts, 1000u);
}

TEST(Histogram, AnAddressLeadsBackToTheVariablesThatWereChosen) {
  std::mt19937_64 random(7);
  for (const uint32_t nibbles : legal_selections()) {
    const Selection selection(nibbles);
    const auto address = static_cast<uint32_t>(random() & 0xfffff);
    EXPECT_EQ(selection.address(selection.variables(address)), address);
    EXPECT_EQ(selection.variables(address) & ~selection.mask(), 0u);
  }
}

struct LatencyCase {
  uint64_t received, stamped, shift, minimum, maximum;
  uint32_t latency;
};

TEST(Latency, ClampShiftAndWrapHoldAtTheirEdges) {  // SH-2
  constexpr uint64_t kTop = (uint64_t{1} << 44) - 1;
  const LatencyCase cases[] = {
      {100, 40, 0, 0, kTop, 60},
      {40, 40, 0, 0, kTop, 0},
      {0, kTop, 0, 0, kTop, 1},               // the clock wrapped between
      {5, kTop - 4, 0, 0, kTop, 10},          //
      {0xfffff, 0, 0, 0, kTop, 0xfffff},      // the last one that fits
      {0x100000, 0, 0, 0, kTop, 0},           // low 20 bits only, by default
      {0x100000, 0, 1, 0, kTop, 0x80000},     // a shift brings it back
      {0x1fffff, 0, 1, 0, kTop, 0xfffff},     //
      {49, 0, 0, 50, 100, 0},                 // below the minimum
      {50, 0, 0, 50, 100, 50},                // at it
      {100, 0, 0, 50, 100, 100},              // at the maximum
      {101, 0, 0, 50, 100, 0xfffff},          // above it
      {203, 0, 1, 50, 100, 0xfffff},          // 101 after the shift
      {201, 0, 1, 50, 100, 100},              // 100 after the shift
      {kTop, 0, 43, 0, kTop, 1},              // the highest bit alone
      {0x100000, 0, 0, 0, 0xfffff, 0xfffff},  // 21 bits are above a maximum of 20
  };
  for (const LatencyCase& one : cases) {
    Board board;
    ASSERT_EQ(board.write(Register::kLatencyShift, one.shift), nullptr);
    ASSERT_EQ(board.write(Register::kLatencyMinimum, one.minimum), nullptr);
    ASSERT_EQ(board.write(Register::kLatencyMaximum, one.maximum), nullptr);
    const Arrival packet{.received = one.received, .stamped = one.stamped};
    EXPECT_EQ(unpack(board.variables(packet)).latency, one.latency)
        << one.received << " - " << one.stamped << " >> " << one.shift;
  }
}

TEST(Histogram, ASizeBeyondTwelveBitsKeepsItsLowOnes) {
  Board board;
  EXPECT_EQ(unpack(board.variables({.size = 4095})).size, 4095);
  EXPECT_EQ(unpack(board.variables({.size = 4096 + 17})).size, 17);
}

TEST(Histogram, WordsHaveFortyBits) {  // SH-4
  Board board;
  ASSERT_EQ(board.initialise(0, 1, kFull), nullptr);
  EXPECT_NE(board.initialise(0, 1, kFull + 1), nullptr);
  give(board, {});
  EXPECT_EQ(board.word(0), 0u) << "2^40 is 0 in forty bits";
  uint32_t address = 1;
  EXPECT_TRUE(board.next_interrupt(&address))
      << "a full word interrupts although the threshold has no more bits";
  EXPECT_EQ(address, 0u);
}

TEST(Histogram, TheExtensionAddsFourAddressBits) {  // SH-4
  Board board;
  ASSERT_EQ(board.write(Register::kMultiplexer, 0x1f), nullptr);  // the latency whole
  EXPECT_EQ(board.words(), 1u << 20);
  EXPECT_NE(board.write(Register::kJumper, 3), nullptr) << "a nibble that is selected already";
  ASSERT_EQ(board.write(Register::kJumper, kTagNibble), nullptr);
  EXPECT_EQ(board.words(), 1u << 24);
  give(board, {.received = 5, .tag = 9});
  EXPECT_EQ(board.word(9u << 20 | 5), 1u);
  EXPECT_NE(board.write(Register::kMultiplexer, 1u << kTagNibble | 0xf), nullptr);
  uint64_t word = 0;
  EXPECT_EQ(board.read((1u << 24) - 1, 1, &word), nullptr);
  EXPECT_NE(board.read(1u << 24, 1, &word), nullptr);
  ASSERT_EQ(board.write(Register::kJumper, Selection::kNoJumper), nullptr);
  EXPECT_NE(board.read(1u << 20, 1, &word), nullptr);
}

// Section 3.3: the jumpers may be connected to signals of the network interface.
TEST(Histogram, TheExtensionCountsBySignalsOfTheInterface) {  // SH-4
  for (unsigned signal = 0; signal < kSignals; ++signal) {
    Board board;
    ASSERT_EQ(board.write(Register::kJumper, kFirstSignal + signal), nullptr);
    const auto value = static_cast<uint16_t>(5 + signal);
    const Arrival packet{.size = 0x10, .sender = 2, .signals = static_cast<uint16_t>(value << (4 * signal))};
    give(board, packet);
    EXPECT_EQ(board.word(uint32_t{value} << 20 | 2u << 12 | 0x10), 1u) << signal;
  }
}

TEST(Threshold, InterruptsOnEachIncrementAboveIt) {  // SH-6
  Board board;
  ASSERT_EQ(board.write(Register::kThreshold, 3), nullptr);
  uint32_t address = 0;
  for (int i = 0; i < 3; ++i) {
    give(board, {.size = 8, .sender = 2});
    EXPECT_EQ(board.waiting_interrupts(), 0u);
  }
  give(board, {.size = 8, .sender = 2});
  give(board, {.size = 8, .sender = 2});
  give(board, {.size = 8, .sender = 1});
  EXPECT_EQ(board.waiting_interrupts(), 2u);
  ASSERT_TRUE(board.next_interrupt(&address));
  EXPECT_EQ(address, 2u << 12 | 8);
  ASSERT_TRUE(board.next_interrupt(&address));
  EXPECT_FALSE(board.next_interrupt(&address));
  EXPECT_FALSE(board.queue_overflowed());
}

TEST(Threshold, AFullQueueRaisesTheFlagAndKeepsTheOldest) {  // SH-6, footnote 1
  Board board;
  ASSERT_EQ(board.write(Register::kThreshold, 0), nullptr);
  for (uint32_t i = 0; i < kInterruptQueue; ++i) give(board, {.size = i});
  EXPECT_FALSE(board.queue_overflowed());
  give(board, {.size = 99});
  EXPECT_TRUE(board.queue_overflowed());
  EXPECT_FALSE(board.queue_overflowed()) << "reading clears it";
  uint32_t address = 77;
  for (uint32_t i = 0; i < kInterruptQueue; ++i) {
    ASSERT_TRUE(board.next_interrupt(&address));
    EXPECT_EQ(address, i);
  }
  EXPECT_FALSE(board.next_interrupt(&address));
}

TEST(Threshold, InitialValuesGiveEachBinItsOwn) {  // SH-7
  Board board;
  constexpr uint64_t kOwn[] = {0, 1, 2, 5, 17};
  for (uint32_t i = 0; i < 5; ++i) ASSERT_EQ(board.initialise(i, 1, kFull - kOwn[i]), nullptr);
  for (uint32_t i = 0; i < 5; ++i) {
    for (uint64_t n = 0; n < kOwn[i]; ++n) {
      give(board, {.size = i});
      ASSERT_EQ(board.waiting_interrupts(), 0u) << "bin " << i << " after " << n + 1;
    }
    give(board, {.size = i});
    uint32_t address = 77;
    ASSERT_TRUE(board.next_interrupt(&address)) << "bin " << i;
    EXPECT_EQ(address, i);
  }
}

TEST(Trace, HoldsTheSelectedBitsAndTwentyOfTheClock) {  // SH-5
  Board board;
  ASSERT_EQ(board.write(Register::kMode, 1), nullptr);
  std::mt19937_64 random(5);
  std::vector<Arrival> given;
  for (int i = 0; i < 1000; ++i) {
    given.push_back(random_packet(random));
    give(board, given.back());
  }
  ASSERT_EQ(board.trace_length(), 1000u);
  const uint32_t nibbles = board.selection().nibbles();
  for (uint32_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(board.trace_entry(i) >> 20, oracle_address(nibbles, given[i], Settings{}));
    EXPECT_EQ(board.trace_entry(i) & 0xfffff, given[i].received % 1048576);
  }
}

TEST(Trace, AFullOneStopsOrWrapsAndWhatIsLostIsCounted) {  // SH-5
  for (const bool wrap : {false, true}) {
    Board board;
    ASSERT_EQ(board.write(Register::kMode, 1), nullptr);
    ASSERT_EQ(board.write(Register::kTraceLimit, 110), nullptr);
    ASSERT_EQ(board.write(Register::kTraceBase, 100), nullptr);
    ASSERT_EQ(board.write(Register::kTraceWrap, wrap ? 1 : 0), nullptr);
    uint32_t lost = 0;
    for (uint32_t i = 0; i < 25; ++i) {
      const Arrival packet{.received = i};
      const uint64_t variables = board.variables(packet);
      lost += board.record(&variables, &packet.received, 1, false).lost;
    }
    EXPECT_EQ(lost, 15u);
    ASSERT_EQ(board.trace_length(), 10u);
    for (uint32_t i = 0; i < 10; ++i) EXPECT_EQ(board.trace_entry(i) & 0xfffff, wrap ? 15 + i : i);
    EXPECT_EQ(board.word(99), 0u);
    EXPECT_EQ(board.word(110), 0u);
  }
}

TEST(Trace, AThresholdEventSwitchesToItByItself) {  // SH-8
  Board board;
  ASSERT_EQ(board.write(Register::kTrigger, 1), nullptr);
  ASSERT_EQ(board.write(Register::kThreshold, 2), nullptr);
  ASSERT_EQ(board.write(Register::kTraceBase, 0x80000), nullptr);
  std::vector<uint64_t> variables;
  std::vector<uint64_t> clocks;
  for (uint32_t i = 0; i < 10; ++i) {
    variables.push_back(board.variables({.size = 40}));
    clocks.push_back(i);
  }
  size_t taken = 0;
  while (taken < 10) taken += board.record(&variables[taken], &clocks[taken], 10 - taken, false).taken;
  EXPECT_EQ(board.word(40), 3u) << "the third packet is above the threshold and still counted";
  ASSERT_EQ(board.trace_length(), 7u);
  EXPECT_EQ(board.trace_entry(0) & 0xfffff, 3u);
  EXPECT_EQ(board.read(Register::kMode), 1u);
}

TEST(Commands, AnIllegalValueIsRefusedAndNothingChanges) {  // SH-9
  const std::pair<Register, uint64_t> wrong[] = {
      {Register::kRun, 2},
      {Register::kMode, 2},
      {Register::kLatencyShift, 44},
      {Register::kLatencyMinimum, uint64_t{1} << 44},
      {Register::kLatencyMaximum, uint64_t{1} << 44},
      {Register::kCategory, 16},
      {Register::kThreshold, kFull + 1},
      {Register::kTrigger, 2},
      {Register::kTraceBase, 1u << 20},
      {Register::kTraceLimit, (1u << 20) + 1},
      {Register::kTraceWrap, 2},
      {Register::kJumper, 16},
      {Register::kSource, 2},
  };
  Board board;
  for (const auto& [which, value] : wrong) {
    const uint64_t before = board.read(which);
    EXPECT_NE(board.write(which, value), nullptr) << static_cast<uint32_t>(which);
    EXPECT_EQ(board.read(which), before);
  }
  EXPECT_NE(board.write(static_cast<Register>(99), 0), nullptr);
  EXPECT_NE(board.set_tag(0, 16), nullptr);  // SH-10
  EXPECT_NE(board.set_tag(Board::kPages, 1), nullptr);
}

TEST(Commands, AStoppedMonitorTakesNothingIn) {  // SH-9
  Board board;
  ASSERT_EQ(board.write(Register::kRun, 0), nullptr);
  give(board, {.size = 1});
  EXPECT_EQ(board.word(1), 0u);
  ASSERT_EQ(board.write(Register::kRun, 1), nullptr);
  give(board, {.size = 1});
  EXPECT_EQ(board.word(1), 1u);
}

}  // namespace
