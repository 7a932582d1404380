// The processor card's interval counting against a slow oracle that looks at every bus cycle on its own.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "numachine/processor_card.hpp"

namespace substrata::numachine::test {
namespace {

// Everything that is true in one bus cycle.
struct Cycle {
  std::uint16_t levels = 0;  // events of table 4.5 that are asserted
  bool sending = false;
  bool receiving = false;
  std::uint16_t command = 0;
  std::uint64_t address = 0;
  std::uint16_t phase = 0;
  std::uint32_t packets = 0;  // of the transaction that passes
  std::array<std::uint32_t, 3> charge = {0, 0,
                                         0};  // of events 7, 8 and D, whose length is known at their end
  std::vector<std::pair<unsigned, unsigned>> pipeline;  // state, cycles
  bool acknowledge = false;  // the interrupt registers are cleared at the end of this cycle
};

struct Configuration {
  std::array<std::uint32_t, 4> modes{};
  std::array<std::uint32_t, 4> preload{};
  std::uint16_t phase_watch = 0, command_watch = 0, command_filter = 0;
  std::uint64_t address_watch = 0, address_filter = 0;
};

// Cycle by cycle, each rule written out once more.
std::array<std::uint32_t, 4> oracle(const Configuration& c, const std::vector<Cycle>& cycles,
                                    unsigned* pending) {
  std::array<std::uint32_t, 4> counters = c.preload;
  std::array<unsigned, 4> hidden{};
  std::uint16_t before = 0;
  *pending = 0;
  for (const Cycle& now : cycles) {
    const auto levels = static_cast<std::uint16_t>(now.levels | (*pending != 0 ? 1U << 3 : 0U));
    unsigned raised = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const std::uint32_t m = c.modes[i];
      if (((m >> 23) & 1) == 0) continue;
      const unsigned event = (m >> 11) & 15;
      const bool edge = ((levels >> event) & 1) != 0 && ((before >> event) & 1) == 0;
      std::uint64_t count = 0;
      if (event == 0xb && edge) counters[i] = 0;
      if (event == 1) {
        count = (m >> 10) & 1 ? 0 : 1;
      } else if (event == 7 || event == 8 || event == 0xd) {
        const std::uint32_t length = now.charge[event == 0xd ? 2 : event - 7];
        count = (m >> 10) & 1 ? length != 0 : length;
      } else if (event == 0xc) {
        count = (m >> 10) & 1 ? now.packets != 0 : now.packets;
      } else if (event == 2) {
        // below
      } else if (event != 0) {
        count = (m >> 10) & 1 ? edge : (levels >> event) & 1;
      }
      bool enable = true;
      if ((m >> 9) & 1) {
        const bool p = now.phase == c.phase_watch;
        const bool a = (now.address & c.address_filter) == c.address_watch;
        const bool r = (now.command & c.command_filter) == c.command_watch;
        if ((m >> 7) & 1) enable &= p != (((m >> 6) & 1) != 0);
        if ((m >> 5) & 1) enable &= a != (((m >> 4) & 1) != 0);
        if ((m >> 3) & 1) enable &= r != (((m >> 2) & 1) != 0);
        if (m & 3) enable &= ((m & 2) != 0 && now.sending) || ((m & 1) != 0 && now.receiving);
        enable ^= ((m >> 8) & 1) != 0;
      }
      if (!enable) continue;
      if (event == 2) {
        for (const auto& [state, times] : now.pipeline) {
          if (!counts_pipeline((m >> 16) & 0x7f, static_cast<Pipeline>(state))) continue;
          for (unsigned k = 0; k < times; ++k) {
            if (++hidden[i] == 4) {
              hidden[i] = 0;
              if (++counters[i] == 0 && ((m >> 15) & 1)) raised |= 1U << i;
            }
          }
        }
      }
      for (std::uint64_t k = 0; k < count; ++k) {
        if (++counters[i] == 0 && ((m >> 15) & 1)) raised |= 1U << i;
      }
    }
    before = levels;
    *pending |= raised;
    if (now.acknowledge) *pending = 0;
  }
  return counters;
}

// NU-2 to NU-5: every counter of every mode equal, on random signals
TEST(ProcessorCardOracle, EveryCounterOfEveryModeIsEqualOnRandomTraces) {
  std::mt19937_64 random(20251);
  const auto pick = [&random](std::uint64_t n) { return random() % n; };
  for (unsigned trial = 0; trial < 1500; ++trial) {
    Configuration c;
    for (unsigned i = 0; i < 4; ++i) {
      // Every event with both senses of bit 10 comes up as the first counter's in turn.
      const std::uint64_t event = i == 0 ? trial % 16 : pick(16);
      const std::uint64_t transitions = i == 0 ? (trial / 16) % 2 : pick(2);
      c.modes[i] = static_cast<std::uint32_t>((random() & 0x3ff) | transitions << 10 | event << 11 |
                                              pick(2) << 15 | (random() & 0x7f) << 16 | 1U << 23);
      if (pick(3) == 0) c.modes[i] &= ~kEnableMasks;
      c.preload[i] = pick(2) == 0 ? 0 : static_cast<std::uint32_t>(-static_cast<std::int64_t>(pick(60)));
    }
    c.phase_watch = static_cast<std::uint16_t>(pick(2));
    c.command_filter = 3;
    c.command_watch = static_cast<std::uint16_t>(pick(4));
    c.address_filter = 0xff'00000001ULL;
    c.address_watch = pick(2);
    // The signals of 400 cycles, changing now and then.
    std::vector<Cycle> cycles(400);
    Cycle state;
    for (Cycle& now : cycles) {
      state.sending = state.receiving = state.acknowledge = false;
      state.packets = 0;
      state.charge = {0, 0, 0};
      state.pipeline.clear();
      std::uint16_t pulses = 0;
      if (pick(5) == 0) {
        constexpr unsigned kLevels[] = {4, 5, 6, 0xa, 0xb, 0xf};
        state.levels ^= static_cast<std::uint16_t>(1U << kLevels[pick(6)]);
        if (pick(3) == 0) pulses |= static_cast<std::uint16_t>(1U << (pick(2) == 0 ? 9 : 0xe));
        if (pick(3) == 0) {
          state.sending = pick(2) == 0;
          state.receiving = !state.sending;
          state.command = static_cast<std::uint16_t>(pick(4));
          state.address = pick(2) | (pick(2) == 0 ? 0 : 0x10'00000000ULL);
          state.packets = pick(2) == 0 ? 1 : 9;
        }
        if (pick(4) == 0) state.phase = static_cast<std::uint16_t>(pick(2));
        if (pick(3) == 0) state.charge[pick(3)] = static_cast<std::uint32_t>(1 + pick(50));
        state.acknowledge = pick(8) == 0;
      }
      if (pick(4) == 0)
        state.pipeline.emplace_back(static_cast<unsigned>(pick(16)), static_cast<unsigned>(1 + pick(6)));
      now = state;
      now.levels |= pulses;
    }
    unsigned wanted_pending = 0;
    const auto wanted = oracle(c, cycles, &wanted_pending);

    ProcessorCard card;
    card.write(kPhaseWatch, c.phase_watch);
    card.write(kCommandWatch, c.command_watch);
    card.write(kCommandFilter, c.command_filter);
    card.write_doubleword(kAddressWatchHigh, c.address_watch);
    card.write_doubleword(kAddressFilterHigh, c.address_filter);
    for (unsigned i = 0; i < 4; ++i) {
      card.write(kCounterMode0 + i, c.modes[i]);
      card.write(kCounters + i, c.preload[i]);
    }
    card.write(kCounterEnable, 1);
    constexpr std::uint16_t kPulses = 1U << 9 | 1U << 0xe;
    Cycle last;
    bool clear = false;
    for (std::size_t cycle = 0; cycle < cycles.size(); ++cycle) {
      const Cycle& now = cycles[cycle];
      const bool quiet = !clear && now.levels == (last.levels & ~kPulses) && !now.sending && !now.receiving &&
                         now.phase == last.phase && now.charge == std::array<std::uint32_t, 3>{} &&
                         now.pipeline.empty() && (now.levels & kPulses) == 0;
      if (!quiet) {
        card.at(cycle);
        if (clear) card.write(kInterruptPending, 0x1f);
        clear = false;
        card.set_phase(now.phase);
        if (now.sending || now.receiving) card.packet(now.command, now.address, now.sending, now.packets);
        for (unsigned event = 3; event < 16; ++event) {
          const auto which = static_cast<CounterEvent>(event);
          const bool on = ((now.levels >> event) & 1) != 0;
          if (((kPulses >> event) & 1) != 0) {
            if (on) card.pulse(which);
          } else if (event != 3) {
            on ? card.raise(which) : card.lower(which);
          }
        }
        constexpr CounterEvent kCharged[] = {CounterEvent::kOwnershipSuccessful,
                                             CounterEvent::kOwnershipCancelled, CounterEvent::kBusRequest};
        for (unsigned which = 0; which < 3; ++which) {
          if (now.charge[which] != 0) card.charge(kCharged[which], now.charge[which]);
        }
        for (const auto& [state_number, times] : now.pipeline)
          card.pipeline(static_cast<Pipeline>(state_number), times);
      }
      clear = clear || now.acknowledge;
      last = now;
    }
    card.at(cycles.size());
    if (clear) card.write(kInterruptPending, 0x1f);
    for (unsigned i = 0; i < 4; ++i) {
      std::uint32_t value = 0;
      ASSERT_EQ(card.read(kCounters + i, &value), Answer::kDone);
      ASSERT_EQ(value, wanted[i]) << "trial " << trial << " counter " << i << " mode " << std::hex
                                  << c.modes[i];
    }
    ASSERT_EQ(card.pending_interrupts(), wanted_pending) << "trial " << trial;
  }
}

}  // namespace
}  // namespace substrata::numachine::test
