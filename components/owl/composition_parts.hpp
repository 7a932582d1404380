// What a composition's text says, once it is parsed: sub-modules, what they are built with, and who feeds whom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "owl/expression.hpp"
#include "owl/module.hpp"

namespace substrata::owl {

inline constexpr uint32_t kNoRegister = ~0u;
inline constexpr uint32_t kStateRows = 1 << 20;

enum class StageKind {
  kModule,
  kFilter,
  kMap,
  kTrigger,
  kTable,    // count, sum(...) by keys
  kSet,      // a state's row
  kSignal,   // to the capsule's subscriber
  kKill,     // a signal of the operating system
  kMark,     // into the recording
  kGate,     // passes while it is armed
  kArm,      // and what arms and disarms it
  kPackets,  // packets as transactions
};

enum class Aggregate : uint8_t { kCount, kSum, kAverage, kMinimum, kMaximum, kHistogram, kQuantiles };

inline constexpr uint32_t kPowers = 65;      // of two, with 0
inline constexpr uint32_t kQuantiles = 496;  // sixteen numbers, then eight parts of each power of two

constexpr uint32_t words_of(Aggregate kind) noexcept {
  return kind == Aggregate::kAverage     ? 2
         : kind == Aggregate::kHistogram ? kPowers
         : kind == Aggregate::kQuantiles ? kQuantiles
                                         : 1;
}

// A column of a table: a key, or what is computed for each combination of keys.
struct KeyColumn {
  std::string text;  // as it was written
  Shown shown = Shown::kNumber;
  Expression value;
};
struct ValueColumn {
  std::string text;
  Aggregate kind = Aggregate::kCount;
  Expression value;
};

// A table begins anew after so many transactions, or so much time; the number of the period is then its first key.
struct Period {
  uint64_t transactions = 0;
  uint64_t ns = 0;
  bool is_set() const noexcept { return transactions != 0 || ns != 0; }
};

struct State {
  std::string name;
  uint32_t keys = 0;
  size_t at = 0;  // where the text has it first
  bool set = false;
};

// A value for a register of a sub-module: a number, or a register of the composition.
struct Argument {
  uint64_t number = 0;
  uint32_t own_register = kNoRegister;
};

struct Stage {
  std::string label;  // name in metrics
  size_t at = 0;      // where the text defines it
  StageKind kind = StageKind::kModule;
  const Module* module = nullptr;
  std::vector<Argument> arguments;  // one for each register of the module
  Expression condition;             // of filter and trigger; the value of set; the reason of signal
  Argument after;                   // of trigger: passes so many; 0: all that follow
  std::vector<KeyColumn> keys;      // of a table, and of set
  std::vector<ValueColumn> values;  // of a table
  Period every;                     // of a table
  uint32_t rows = 0;                // of a table, at most, before it writes them back
  uint32_t words = 0;               // of a row, without its keys
  uint32_t other = 0;               // of set: its state; of arm: its gate; of kill: the signal
  bool on = false;                  // of arm: arms; of a gate: armed at first; of kill: the thread alone
  std::string text;                 // of mark
  std::vector<std::pair<Field, Expression>> assignments;
  std::vector<uint32_t> next;
  bool to_ring = false;   // also, or only, to the ring
  bool is_quiet = false;  // nothing of it goes to the ring of itself
  bool fed = false;
  uint32_t first_metric = 0;
};

// What they reserve in memory; it is touched as rows are made. For each row there are two slots or more of four bytes.
inline uint64_t reserved_by(const Stage& table) noexcept {
  return uint64_t{table.rows} * 8 * (table.keys.size() + table.words + 3);
}
inline uint64_t reserved_by(const State& state) noexcept {
  return uint64_t{kStateRows} * 8 * (state.keys + 2);
}

// Where transactions come in: all, or those of probe points that a pattern names.
struct Input {
  std::string pattern;
  uint32_t stage;
};

// A whole composition; immutable once checked, and kept for ever once added.
struct Composition {
  std::string name;
  std::string summary;
  std::string packets;
  std::vector<std::pair<std::string, std::string>> register_texts;
  std::vector<Register> registers;
  std::vector<std::string> metric_names;
  std::vector<Metric> metrics;
  std::vector<Stage> stages;
  std::vector<State> states;
  std::vector<Input> inputs;  // fed by the capsule
  std::string probes;         // of a query: all its patterns
  Module module{};
};

struct SyntaxError {
  size_t at;
  std::string message;
};

// Throws SyntaxError.
std::unique_ptr<Composition> parse_composition(std::string_view text);
// "PROBES: chain; PROBES: chain", named so.
std::unique_ptr<Composition> parse_query(std::string_view text, std::string name);

inline uint64_t value_of(const Argument& argument, const uint64_t* registers) noexcept {
  return argument.own_register == kNoRegister ? argument.number : registers[argument.own_register];
}

inline void fill_arguments(const Stage& stage, const uint64_t* registers, uint64_t* out) noexcept {
  for (size_t i = 0; i < stage.arguments.size(); ++i) out[i] = value_of(stage.arguments[i], registers);
}

// Fills in the functions by which a capsule runs it.
void make_runnable(Composition& composition) noexcept;

}  // namespace substrata::owl
