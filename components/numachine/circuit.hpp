// A hard configuration of a processor card: a counter circuit given as text, in place of the Master Configuration
// Controller.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Source: Lemieux's thesis, sections 4.3.1, 4.3.7 and 4.4: the circuits that decide what is counted are reprogrammed to
// collect new data. The language is ours (docs/reference/numachine.md has it).
namespace substrata::numachine {

// Thread-compatible.
class Circuit {
 public:
  enum Event : std::uint8_t { kPacket, kRequest, kResponse, kAccess };
  // What the circuit sees, in the order of their names in circuit.cpp.
  enum Signal : std::uint8_t {
    kAddress,
    kCommand,
    kPhase,
    kCycle,
    kLatency,
    kIndex,
    kMiss,
    kWrite,
    kSending,
    kPackets,
    kMissType,
    kResponseState,
    kSignals
  };
  using Signals = std::array<std::uint64_t, kSignals>;
  static constexpr unsigned kRegisters = 8;
  // What fits: the device is small.
  static constexpr std::size_t kMostActions = 64;
  static constexpr std::size_t kMostOperations = 1024;

  // What a circuit drives.
  class Outputs {
   public:
    virtual std::uint64_t sram_word(std::uint64_t word) const = 0;
    virtual std::uint64_t counter_value(std::uint64_t number) const = 0;
    virtual void write_sram(std::uint64_t word, std::uint64_t value, bool adds) = 0;
    virtual void write_counter(std::uint64_t number, std::uint64_t value, bool adds) = 0;
    virtual void raise_interrupt() = 0;

   protected:
    ~Outputs() = default;
  };

  // False with a message that says line and column: the text is no circuit, or does not fit.
  static bool compile(std::string_view text, Circuit* out, std::string& error);

  void drive(Event event, const Signals& signals, Outputs& outputs);
  bool empty() const noexcept { return statements_.empty(); }

 private:
  friend class CircuitParser;
  enum class Operator : std::uint8_t {
    kConstant,
    kSignal,
    kRegister,
    kSram,
    kCounter,
    kFloat,
    kNot,
    kInvert,
    kNegate,
    kMultiply,
    kDivide,
    kRest,
    kAdd,
    kSubtract,
    kShiftLeft,
    kShiftRight,
    kLess,
    kLessOrEqual,
    kGreater,
    kGreaterOrEqual,
    kEqual,
    kUnequal,
    kAnd,
    kExclusiveOr,
    kOr,
    kBoth,
    kEither
  };
  struct Operation {
    Operator what;
    std::uint64_t value;
  };
  struct Range {  // of operations_
    std::size_t first = 0, last = 0;
  };
  enum class Target : std::uint8_t { kSram, kCounter, kRegister, kInterrupt };
  struct Action {
    Target target;
    bool adds;
    Range place, value;
  };
  struct Statement {
    Event event;
    Range condition;  // empty: always
    std::size_t first_action, last_action;
  };
  static constexpr std::size_t kDepth = 64;  // of an expression

  std::uint64_t evaluate(const Range& range, const Signals& signals, const Outputs& outputs) const;
  static std::uint64_t apply(Operator what, std::uint64_t a, std::uint64_t b) noexcept;

  std::vector<Statement> statements_;
  std::vector<Action> actions_;
  std::vector<Operation> operations_;
  std::array<std::uint64_t, kRegisters> registers_{};
};

// Any number as the latency timer's compact format would have it with a longer exponent: even numbers below 32, then
// sixteen intervals for each power of two. SUPERMON compacted addresses so (section 2.3.1).
std::uint64_t compact(std::uint64_t value) noexcept;

}  // namespace substrata::numachine
