// The NUMAchine monitors for C++: counters and handlers that end with their scope, cycles with their clock in
// the type, every refusal a message. Header-only over substrata/numachine.h.
//
//   namespace numachine = substrata::numachine_monitor;
//   numachine::Card card = numachine::Card::of(3).value();
//   auto latency = card.arm(0, numachine::cycles_of(numachine::Event::kRead)).value();
//   ...                                   // substrata_run("numachine", ...)
//   numachine::BusCycles waited = latency.read().value();
//
// What may be refused gives a Result, as in substrata/substrata.hpp. The cards are there once in a process,
// so two objects of one card see the same registers. Unless a class says otherwise every function may be
// called from any thread, as those of substrata/numachine.h.
#ifndef SUBSTRATA_NUMACHINE_HPP
#define SUBSTRATA_NUMACHINE_HPP

#include <substrata/numachine.h>
#include <substrata/result.hpp>
#include <substrata/substrata.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <ratio>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace substrata::numachine_monitor {

using client::Error;
using client::Result;

// Times of the model in the two clocks of a processor card: the bus at 50 MHz, the R4400 at 150 MHz.
using BusCycles = std::chrono::duration<std::uint64_t, std::ratio<1, 50'000'000>>;
using ProcessorCycles = std::chrono::duration<std::uint64_t, std::ratio<1, 150'000'000>>;
// How often something happened.
struct Occurrences {
  std::uint64_t count = 0;
  friend constexpr auto operator<=>(const Occurrences&, const Occurrences&) = default;
  friend constexpr Occurrences operator+(Occurrences a, Occurrences b) noexcept {
    return {a.count + b.count};
  }
};

using Object = substrata_numachine_object;
using Spike = substrata_numachine_spike;
using Known = substrata_numachine_truth;
using Wait = substrata_numachine_wait;
using Loss = substrata_numachine_loss;
using Page = substrata_numachine_page;
using Fifo = substrata_numachine_fifo;

namespace detail {
inline Error refusal(int code) { return {code, substrata_feed_error()}; }
inline Result<void> outcome(int code) {
  if (code != 0) return refusal(code);
  return {};
}
// All of a list that may grow while it is asked for.
template <class Element, class Read>
Result<std::vector<Element>> whole_list(const Read& read) {
  std::vector<Element> all;
  for (;;) {
    auto count = static_cast<std::uint32_t>(all.size());
    if (const int code = read(all.empty() ? nullptr : all.data(), &count); code != 0) return refusal(code);
    const bool complete = count <= all.size();
    all.resize(count);
    if (complete) return all;
  }
}
}  // namespace detail

// What a general-purpose counter can count (table 4.5, without pipeline status, which pipeline() selects).
enum class Event : std::uint8_t {
  kAlways = 0x1,
  kInterruptRequest = 0x3,
  kRead = 0x4,
  kReadExclusive = 0x5,
  kReadOrExclusive = 0x6,
  kOwnershipMiss = 0x7,
  kOwnershipMissCancelled = 0x8,
  kNackRetry = 0x9,
  kNacked = 0xa,
  kMostRecent = 0xb,
  kBusActivity = 0xc,
  kBusRequest = 0xd,
  kInvalidationHit = 0xe,  // estimated, as kInvalidationMiss
  kInvalidationMiss = 0xf
};

// A counter's mode register (GPCMx) together with the unit of what it then counts.
template <class Unit>
class Mode {
 public:
  constexpr explicit Mode(std::uint32_t bits) noexcept : bits_(bits) {}
  constexpr std::uint32_t bits() const noexcept { return bits_; }
  // Counts only while the watch registers match (figure 4.7); several conditions must hold together, of two of one
  // register the last. While sending and while receiving together: while either.
  constexpr Mode where_phase_matches() const noexcept { return compared(7, true); }
  constexpr Mode where_phase_differs() const noexcept { return compared(7, false); }
  constexpr Mode where_address_matches() const noexcept { return compared(5, true); }
  constexpr Mode where_address_differs() const noexcept { return compared(5, false); }
  constexpr Mode where_command_matches() const noexcept { return compared(3, true); }
  constexpr Mode where_command_differs() const noexcept { return compared(3, false); }
  constexpr Mode while_sending() const noexcept { return Mode(bits_ | kMasks | 1U << 1); }
  constexpr Mode while_receiving() const noexcept { return Mode(bits_ | kMasks | 1U << 0); }
  // Raises an interrupt when the counter passes 2^32.
  constexpr Mode interrupting() const noexcept { return Mode(bits_ | 1U << 15); }

 private:
  static constexpr std::uint32_t kMasks = 1U << 9;  // enables those below it
  // A comparison's enable bit; the bit below it inverts.
  constexpr Mode compared(unsigned enable, bool matches) const noexcept {
    const std::uint32_t invert = 1U << (enable - 1);
    const std::uint32_t enabled = bits_ | kMasks | 1U << enable;
    return Mode(matches ? enabled & ~invert : enabled | invert);
  }
  std::uint32_t bits_;
};

// For every cycle in which the event lasts.
constexpr Mode<BusCycles> cycles_of(Event event) noexcept {
  return Mode<BusCycles>(static_cast<std::uint32_t>(event) << 11 | 1U << 23);
}
// For every beginning of the event.
constexpr Mode<Occurrences> occurrences_of(Event event) noexcept {
  return Mode<Occurrences>(static_cast<std::uint32_t>(event) << 11 | 1U << 23 | 1U << 10);
}
// For the processor cycles in the pipeline states that PS[6..0] selects (tables 4.2 and 4.3). The hidden
// accumulator keeps up to three of them (section 4.3.2).
constexpr Mode<ProcessorCycles> pipeline(std::uint8_t ps) noexcept {
  return Mode<ProcessorCycles>(0x2U << 11 | 1U << 23 | (ps & 0x7fU) << 16);
}

// One of a card's four counters while it counts; the end of its life turns it off and leaves its count.
// Movable. Thread-compatible.
template <class Unit>
class [[nodiscard]] Counter {
 public:
  Counter(Counter&& other) noexcept
      : cpu_(other.cpu_), number_(other.number_), armed_(std::exchange(other.armed_, false)) {}
  Counter& operator=(Counter&& other) noexcept {
    if (this != &other) {
      end();
      cpu_ = other.cpu_;
      number_ = other.number_;
      armed_ = std::exchange(other.armed_, false);
    }
    return *this;
  }
  ~Counter() { end(); }

  // What was counted since it was armed, taken or preloaded.
  Result<Unit> read() const { return word(SUBSTRATA_NUMACHINE_COUNTERS); }
  // The same, and the counter restarts in the same cycle (section 4.3.3).
  Result<Unit> take() { return word(SUBSTRATA_NUMACHINE_COUNTERS_RESET); }
  // So that the interrupt comes after `steps` more counts.
  Result<void> preload(std::uint32_t steps) {
    return detail::outcome(
        substrata_numachine_write(cpu_, SUBSTRATA_NUMACHINE_COUNTERS + number_, std::uint32_t{0} - steps));
  }

 private:
  friend class Card;
  Counter(std::uint32_t cpu, unsigned number) noexcept : cpu_(cpu), number_(number), armed_(true) {}
  Result<Unit> word(std::uint32_t address) const {
    std::uint32_t value = 0;
    if (const int code = substrata_numachine_read(cpu_, address + number_, &value); code != 0)
      return detail::refusal(code);
    if constexpr (std::is_same_v<Unit, ProcessorCycles>) return Unit(std::uint64_t{value} * 4);
    return Unit{std::uint64_t{value}};
  }
  void end() noexcept {
    if (armed_) substrata_numachine_write(cpu_, SUBSTRATA_NUMACHINE_GPCM0 + number_, 0);
    armed_ = false;
  }
  std::uint32_t cpu_;
  unsigned number_;
  bool armed_;
};

// The monitor of one processor card. A value; copies are the same card.
class Card {
 public:
  static Result<Card> of(std::uint32_t processor) {
    std::uint32_t phase = 0;
    if (const int code = substrata_numachine_read(processor, SUBSTRATA_NUMACHINE_PR, &phase); code != 0)
      return detail::refusal(code);
    return Card(processor);
  }
  std::uint32_t processor() const noexcept { return cpu_; }

  Result<std::uint32_t> read(std::uint32_t address) const {
    std::uint32_t value = 0;
    if (const int code = substrata_numachine_read(cpu_, address, &value); code != 0)
      return detail::refusal(code);
    return value;
  }
  Result<void> write(std::uint32_t address, std::uint32_t value) const {
    return detail::outcome(substrata_numachine_write(cpu_, address, value));
  }
  Result<std::uint64_t> read_doubleword(std::uint32_t address) const {
    std::uint64_t value = 0;
    if (const int code = substrata_numachine_read_doubleword(cpu_, address, &value); code != 0)
      return detail::refusal(code);
    return value;
  }
  Result<void> write_doubleword(std::uint32_t address, std::uint64_t value) const {
    return detail::outcome(substrata_numachine_write_doubleword(cpu_, address, value));
  }

  // Counter 0 to 3 from 0 in that mode, with the counters' master enable on.
  template <class Unit>
  Result<Counter<Unit>> arm(unsigned number, Mode<Unit> mode) const {
    if (number > 3)
      return Error{PAPI_EINVAL,
                   "a processor card has the counters 0 to 3, " + std::to_string(number) + " was asked for"};
    for (const auto& [address, value] :
         {std::pair{SUBSTRATA_NUMACHINE_GPCM0 + number, 0U},
          std::pair{SUBSTRATA_NUMACHINE_COUNTERS + number, 0U},
          std::pair{SUBSTRATA_NUMACHINE_GPCM0 + number, mode.bits()},
          std::pair{static_cast<std::uint32_t>(SUBSTRATA_NUMACHINE_GPCE), 1U}}) {
      if (Result<void> written = write(address, value); !written) return written.error();
    }
    return Counter<Unit>(cpu_, number);
  }
  Result<BusCycles> timestamp() const {
    Result<std::uint64_t> both = read_doubleword(SUBSTRATA_NUMACHINE_TIMESTAMP);
    if (!both) return both.error();
    return BusCycles(*both);
  }

  Result<std::vector<std::uint32_t>> sram(std::uint32_t first = 0, std::uint32_t count = 65536) const {
    // The C call checks the range; no more memory is allocated than there are words.
    std::vector<std::uint32_t> words(count <= 65536 ? count : 0);
    if (const int code = substrata_numachine_read_sram(cpu_, first, count, words.data()); code != 0)
      return detail::refusal(code);
    return words;
  }
  Result<void> fill_sram(std::uint32_t first, std::uint32_t count, std::uint32_t value) const {
    return detail::outcome(substrata_numachine_fill_sram(cpu_, first, count, value));
  }
  // A counter circuit as text in place of the Master Configuration Controller (section 4.3.1); "": that one again.
  Result<void> configure(const std::string& circuit) const {
    return detail::outcome(substrata_numachine_configure(cpu_, circuit.c_str()));
  }

 private:
  explicit Card(std::uint32_t cpu) noexcept : cpu_(cpu) {}
  std::uint32_t cpu_;
};

// The same write to processors 0 to cpus-1 at one moment.
inline Result<void> broadcast(std::uint32_t cpus, std::uint32_t address, std::uint32_t value) {
  return detail::outcome(substrata_numachine_broadcast(cpus, address, value));
}
// Every card as it was at the first call.
inline Result<void> reset() { return detail::outcome(substrata_numachine_reset()); }

// The latencies of one of the compact timer's 128 values, both included.
struct Bucket {
  BusCycles first{};
  BusCycles last{};
};
inline Result<Bucket> bucket(std::uint32_t compact) {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  if (const int code = substrata_numachine_bucket(compact, &first, &last); code != 0)
    return detail::refusal(code);
  return Bucket{BusCycles(first), BusCycles(last)};
}

namespace detail {
inline void call_no_interrupt() noexcept { substrata_numachine_on_interrupt(nullptr, nullptr); }
inline void call_no_miss() noexcept { substrata_numachine_on_miss(nullptr, nullptr, nullptr); }

// A callee of the models: only the one made last is called, and `call_none` ends its calls.
template <class Callee, void (*call_none)() noexcept>
class Latest {
 public:
  explicit Latest(Callee callee) : callee_(std::make_unique<Callee>(std::move(callee))) {
    latest() = callee_.get();
  }
  Latest(Latest&&) noexcept = default;
  Latest& operator=(Latest&& other) noexcept {
    if (this != &other) {
      end();
      callee_ = std::move(other.callee_);
    }
    return *this;
  }
  ~Latest() { end(); }
  Callee* get() const noexcept { return callee_.get(); }

 private:
  static std::atomic<Callee*>& latest() {
    static std::atomic<Callee*> one{nullptr};
    return one;
  }
  void end() noexcept {
    Callee* own = callee_.get();
    if (own != nullptr && latest().compare_exchange_strong(own, nullptr)) call_none();
    callee_.reset();
  }
  std::unique_ptr<Callee> callee_;
};
}  // namespace detail

// Calls a function at every overflow interrupt while it lives. Only the one made last is called; when it
// ends, none is. The function must not throw. Movable.
class [[nodiscard]] Interrupts {
 public:
  using Function = std::function<void(std::uint32_t cpu, std::uint32_t pending)>;
  static Result<Interrupts> call(Function function) {
    Interrupts made(std::move(function));
    if (const int code = substrata_numachine_on_interrupt(
            [](void* owner, std::uint32_t cpu, std::uint32_t pending) {
              (*static_cast<Function*>(owner))(cpu, pending);
            },
            made.function_.get());
        code != 0) {
      return detail::refusal(code);
    }
    return made;
  }

 private:
  explicit Interrupts(Function function) : function_(std::move(function)) {}
  detail::Latest<Function, detail::call_no_interrupt> function_;
};

// Informing memory operations: calls `handler` at every miss response while `trigger` is active (no trigger:
// always), of machines that begin while it lives; it has to outlive them. Only the one made last is called.
// Neither may throw. Movable.
class [[nodiscard]] MissHandler {
 public:
  using Function = std::function<void(std::uint32_t cpu, const substrata_transaction& response)>;
  using Trigger = std::function<bool(std::uint32_t cpu, const substrata_transaction& response)>;
  static Result<MissHandler> call(Function handler, Trigger trigger = {}) {
    MissHandler made(Both{std::move(handler), std::move(trigger)});
    if (const int code = substrata_numachine_on_miss(
            [](void* owner, std::uint32_t cpu, const substrata_transaction* response) -> int {
              const Both& own = *static_cast<Both*>(owner);
              return !own.trigger || own.trigger(cpu, *response) ? 1 : 0;
            },
            [](void* owner, std::uint32_t cpu, const substrata_transaction* response) {
              static_cast<Both*>(owner)->handler(cpu, *response);
            },
            made.both_.get());
        code != 0) {
      return detail::refusal(code);
    }
    return made;
  }

 private:
  struct Both {
    Function handler;
    Trigger trigger;
  };
  explicit MissHandler(Both both) : both_(std::move(both)) {}
  detail::Latest<Both, detail::call_no_miss> both_;
};

// The machine around the live program or replay of this process, until the end of its life. Movable.
class [[nodiscard]] Following {
 public:
  // As options.parameters of substrata_follow: "processors=8".
  static Result<Following> begin(const std::string& parameters = {}) {
    auto options = client::sized<substrata_run_options>();
    options.parameters = parameters.c_str();
    substrata_following* machine = nullptr;
    if (const int code = substrata_follow("numachine", &options, &machine); code != 0)
      return detail::refusal(code);
    return Following(machine);
  }
  // Runs what the program did so far through the machine and ends it.
  void end() noexcept { machine_.reset(); }

 private:
  struct End {
    void operator()(substrata_following* machine) const noexcept { substrata_unfollow(machine); }
  };
  explicit Following(substrata_following* machine) noexcept : machine_(machine) {}
  std::unique_ptr<substrata_following, End> machine_;
};

// ---- a station's memory card

inline Result<std::array<Fifo, 4>> fifos(std::uint32_t station) {
  std::array<Fifo, 4> all{};
  if (const int code = substrata_numachine_fifos(station, all.data()); code != 0)
    return detail::refusal(code);
  return all;
}
// Of a station's memory, network cache, bus and outgoing link; of one phase of 16, or of all (section 3.3.3).
using Queue = substrata_numachine_queue;
struct Queues {
  Queue memory{}, network_cache{}, bus{}, link{};
};
inline Result<Queues> queues(std::uint32_t station, std::int32_t phase = -1) {
  Queue all[4] = {};
  if (const int code = substrata_numachine_queues(station, phase, all); code != 0)
    return detail::refusal(code);
  return Queues{all[0], all[1], all[2], all[3]};
}
// Rows LV, LI, GV, GI; columns read, read exclusive, update, write-back.
using StateHits = std::array<std::array<std::uint64_t, 4>, 4>;
inline Result<StateHits> state_hits(std::uint32_t station) {
  std::uint64_t table[4][4] = {};
  if (const int code = substrata_numachine_state_hits(station, table); code != 0)
    return detail::refusal(code);
  StateHits hits{};
  for (std::size_t state = 0; state < 4; ++state) {
    for (std::size_t type = 0; type < 4; ++type) hits[state][type] = table[state][type];
  }
  return hits;
}
// Most used first.
inline Result<std::vector<Page>> pages(std::uint32_t station) {
  return detail::whole_list<Page>(
      [station](Page* out, std::uint32_t* count) { return substrata_numachine_pages(station, out, count); });
}

// ---- findings of the last machine, as substrata/numachine.h has them

inline Result<std::vector<Object>> objects() {
  return detail::whole_list<Object>(substrata_numachine_objects);
}
inline Result<std::vector<Spike>> spikes() { return detail::whole_list<Spike>(substrata_numachine_spikes); }
// Of locks and barriers.
inline Result<std::vector<Wait>> waits() { return detail::whole_list<Wait>(substrata_numachine_waits); }
inline Result<Loss> lost(std::uint32_t cpu) {
  Loss loss{};
  if (const int code = substrata_numachine_lost(cpu, &loss); code != 0) return detail::refusal(code);
  return loss;
}
inline Result<std::vector<std::uint32_t>> profile(std::uint32_t cpu) {
  return detail::whole_list<std::uint32_t>([cpu](std::uint32_t* out, std::uint32_t* count) {
    return substrata_numachine_profile(cpu, out, count);
  });
}
inline Result<Known> known(std::uint32_t cpu) {
  Known truth{};
  if (const int code = substrata_numachine_known(cpu, &truth); code != 0) return detail::refusal(code);
  return truth;
}

}  // namespace substrata::numachine_monitor

#endif
