// Counter circuits given as text: what they count, what they refuse, that they can be loaded while a machine runs.
#include "numachine/circuit.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "numachine/model.hpp"
#include "numachine/processor_card.hpp"

namespace substrata::numachine::test {
namespace {

class Configured : public testing::Test {
 protected:
  void SetUp() override {
    card.write(kCounterEnable, 1);
    card.write(kSramEnable, 1);
  }
  void load(const std::string& text) {
    Circuit circuit;
    std::string error;
    ASSERT_TRUE(Circuit::compile(text, &circuit, error)) << error;
    card.configure(std::move(circuit));
  }
  void read(std::uint64_t address, std::uint64_t begin, std::uint64_t end) {
    card.at(begin);
    card.request(kCommandRead | kCommandCacheLine, address);
    card.at(end);
    card.response(kCommandRead | kCommandCacheLine | kCommandResponse | kCommandData, address,
                  MissType::kInvalidation, kResponseRemote | kResponseValid, 9);
  }
  std::uint32_t counter(unsigned number) {
    std::uint32_t value = 0;
    card.read(kCounters + number, &value);
    return value;
  }
  ProcessorCard card;
};

std::string fault_of(const std::string& text) {
  Circuit circuit;
  std::string error;
  EXPECT_FALSE(Circuit::compile(text, &circuit, error)) << text;
  return error;
}

TEST_F(Configured, CountsWhatItsConditionsSelect) {
  load(
      "# remote reads, and their cycles\n"
      "on response if (response_state & 2) != 0 && (command & 1) != 0: counter[0] += 1; counter[1] += "
      "latency\n"
      "\n"
      "on packet if !sending: counter[2] += packets  # of a line nine\n");
  read(0x40, 10, 60);
  read(0x80, 100, 130);
  EXPECT_EQ(counter(0), 2u);
  EXPECT_EQ(counter(1), 80u);
  EXPECT_EQ(counter(2), 18u);
}

// Section 2.3.1: addresses relative to a fixed offset, in buckets whose width grows with the distance
TEST_F(Configured, MakesAHistogramOfDistancesFromAnArray) {
  load("on request if address >= 0x10000: sram[float((address - 0x10000) / 64)] += 1");
  for (const std::uint64_t line : {0, 2, 3, 31, 32, 33, 34, 1000, 1001}) read(0x10000 + line * 64, 0, 0);
  read(0xffc0, 0, 0);
  EXPECT_EQ(card.sram(0), 1u) << "line 0";
  EXPECT_EQ(card.sram(1), 2u) << "lines 2 and 3";
  EXPECT_EQ(card.sram(15), 1u) << "line 31";
  EXPECT_EQ(card.sram(16), 2u) << "lines 32 and 33";
  EXPECT_EQ(card.sram(17), 1u) << "line 34";
  // 1000 is 1.1111 0.1 * 2^9: exponent 5, mantissa 15; 992 to 1023 are one bucket.
  EXPECT_EQ(card.sram(5 << 4 | 15), 2u);
}

// ... and the differences of addresses that follow each other, with a register for the one before
TEST_F(Configured, MakesAHistogramOfDifferencesOfAddresses) {
  load("on request: sram[((address - r0) / 64) & 0xff] += 1; r0 = address");
  for (const std::uint64_t line : {10, 11, 12, 14, 15}) read(line * 64, 0, 0);
  EXPECT_EQ(card.sram(10), 1u) << "the first, from 0";
  EXPECT_EQ(card.sram(1), 3u);
  EXPECT_EQ(card.sram(2), 1u);
}

TEST(CompactNumbers, AgreeWithTheLatencyTimerWhereItEnds) {
  for (std::uint32_t cycles = 0; cycles < 4096; ++cycles)
    ASSERT_EQ(compact(cycles), compact_latency(cycles)) << cycles;
  EXPECT_EQ(compact(std::uint64_t{1} << 39), (35u << 4));
}

TEST_F(Configured, InterruptsWhenAWordReachesANumber) {
  load(
      "on access if miss: sram[index] += 1\n"
      "on access if miss && sram[index] == 3: interrupt\n");
  for (int i = 0; i < 2; ++i) card.secondary_access(7, false, true);
  card.secondary_access(8, false, true);
  card.secondary_access(7, false, false);
  EXPECT_EQ(card.pending_interrupts(), 0);
  card.secondary_access(7, true, true);
  EXPECT_EQ(card.pending_interrupts(), 1U << 4);
}

TEST_F(Configured, NeitherCountersNorSramMoveUnlessTheirMasterEnablesAllow) {
  load("on request: counter[0] += 1; sram[0] += 1");
  card.write(kCounterEnable, 0);
  read(0, 0, 1);
  EXPECT_EQ(counter(0), 0u);
  EXPECT_EQ(card.sram(0), 1u);
  card.write(kSramEnable, 0);
  card.write(kCounterEnable, 1);
  read(0, 2, 3);
  EXPECT_EQ(counter(0), 1u);
  EXPECT_EQ(card.sram(0), 1u);
}

// The registers of the Master Configuration Controller are there again afterwards
TEST_F(Configured, TakesTheMastersPlaceWhileItIsLoaded) {
  card.write(kCounterMode0, kCounterOn | kTransitions |
                                static_cast<std::uint32_t>(CounterEvent::kBusActivity) << kEventShift);
  read(0, 0, 10);
  EXPECT_EQ(counter(0), 2u);
  load("on access: counter[1] += 1");
  read(0, 20, 30);
  EXPECT_EQ(counter(0), 2u);
  load("# nothing\n");
  read(0, 40, 50);
  EXPECT_EQ(counter(0), 4u);
}

TEST_F(Configured, ArithmeticIsThatOfUnsignedNumbersWithoutFaults) {
  const std::vector<std::pair<std::string, std::uint32_t>> kExpressions = {{"2 + 3 * 4", 14},
                                                                           {"(2 + 3) * 4", 20},
                                                                           {"10 - 2 - 3", 5},
                                                                           {"1 << 4 | 3", 19},
                                                                           {"7 & 3 == 3", 1},
                                                                           {"~0 >> 60", 15},
                                                                           {"7 / 0 == ~0", 1},
                                                                           {"7 % 0", 7},
                                                                           {"1 << 64", 0},
                                                                           {"-1 == ~0", 1},
                                                                           {"!5 + !0", 1},
                                                                           {"3 > 2 && 2 >= 2 && 1 < 2", 1},
                                                                           {"0 || 5", 1},
                                                                           {"6 ^ 3", 5},
                                                                           {"0x10 != 16", 0},
                                                                           {"1 <= 0", 0},
                                                                           {"counter[1] + sram[2]", 0}};
  for (const auto& [text, wanted] : kExpressions) {
    load("on request: counter[0] = " + text);
    read(0, 0, 0);
    EXPECT_EQ(counter(0), wanted) << text;
  }
}

TEST(CircuitText, SayWhereTheyCannotBeRead) {
  EXPECT_EQ(fault_of("on request: counter[0] += 1\nat request: r0 = 1"),
            "line 2, column 1: a statement begins with 'on'");
  EXPECT_EQ(fault_of("on miss: r0 = 1"), "line 1, column 8: an event is packet, request, response or access");
  EXPECT_NE(fault_of("on request if tag: r0 = 1").find("line 1, column 15: "), std::string::npos);
  EXPECT_EQ(fault_of("on request: r8 = 1"),
            "line 1, column 15: an action is sram[...], counter[...], r0 to r7 or interrupt");
  EXPECT_EQ(fault_of("on request: r0 = 1 2"), "line 1, column 20: the line should end here");
  EXPECT_EQ(fault_of("on request: r0 = 99999999999999999999"),
            "line 1, column 18: a number of 64 bits should be here");
  EXPECT_EQ(fault_of("on request r0 = 1"), "line 1, column 12: ':' is missing here");
}

TEST(CircuitText, OfMoreThanTheDeviceHoldsAreRefused) {
  std::string many = "on request: r0 = 1";
  for (std::size_t i = 1; i < Circuit::kMostActions; ++i) many += "; r0 = 1";
  Circuit circuit;
  std::string error;
  EXPECT_TRUE(Circuit::compile(many, &circuit, error)) << error;
  EXPECT_NE(fault_of(many + "; r0 = 1").find("64 actions fit"), std::string::npos);
  std::string wide = "on request: r0 = 1";
  for (std::size_t i = 0; i < Circuit::kMostOperations; ++i) wide += " + 1";
  EXPECT_NE(fault_of(wide).find("1024 operations fit"), std::string::npos);
  EXPECT_NE(fault_of("on request: r0 = " + std::string(100, '(')).find("too deep"), std::string::npos);
  EXPECT_NE(fault_of("on request: r0 = " + std::string(100, '-') + "1").find("too deep"), std::string::npos);
}

// Section 4.3.1: reconfigured by the program while it runs
TEST(HardConfiguration, IsLoadedIntoARunningMachine) {
  const Rack::Use use(Rack::instance());
  Rack::instance().reset();
  ProcessorCard& card = Rack::instance().processor(0);
  card.write(kCounterEnable, 1);
  card.write(kSramEnable, 1);
  Parameters p;
  p.shape.stations = 2;
  Model model(p, 0);
  Time now = 0;
  const auto read = [&](std::uint64_t line) {
    while (!model.step(0, line * 64, 8, false, false, 0, now)) {
    }
  };
  read(0);
  Circuit circuit;
  std::string error;
  ASSERT_TRUE(Circuit::compile(
      "on response: counter[0] += 1; counter[1] += latency; sram[(address & 0xfffffff) >> 6] += 1", &circuit,
      error))
      << error;
  card.configure(std::move(circuit));
  read(1);
  read(2);
  EXPECT_EQ(card.counter(0).value(), 2u);
  EXPECT_EQ(card.counter(1).value(), 2u * 28) << "of a local read";
  EXPECT_EQ(card.sram(0), 0u);
  EXPECT_EQ(card.sram(1), 1u);
  EXPECT_EQ(card.sram(2), 1u);
  Rack::instance().reset();
}

}  // namespace
}  // namespace substrata::numachine::test
