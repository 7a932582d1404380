// What a composition's text says, once it is parsed: sub-modules, what they are built with, and who feeds whom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expression.hpp"
#include "module.hpp"

namespace substrata::owl {

inline constexpr uint32_t kNoRegister = ~0u;

enum class StageKind { kModule, kFilter, kMap, kTrigger };

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
  Expression condition;             // of filter and trigger
  Argument after;                   // of trigger: passes so many; 0: all that follow
  std::vector<std::pair<Field, Expression>> assignments;
  std::vector<uint32_t> next;
  bool to_ring = false;  // also, or only, to the ring
  bool fed = false;
  uint32_t first_metric = 0;
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
  std::vector<uint32_t> first;  // fed by the capsule
  Module module{};
};

struct SyntaxError {
  size_t at;
  std::string message;
};

// Throws SyntaxError.
std::unique_ptr<Composition> parse_composition(std::string_view text);

inline uint64_t value_of(const Argument& argument, const uint64_t* registers) noexcept {
  return argument.own_register == kNoRegister ? argument.number : registers[argument.own_register];
}

inline void fill_arguments(const Stage& stage, const uint64_t* registers, uint64_t* out) noexcept {
  for (size_t i = 0; i < stage.arguments.size(); ++i) out[i] = value_of(stage.arguments[i], registers);
}

// Fills in the functions by which a capsule runs it.
void make_runnable(Composition& composition) noexcept;

}  // namespace substrata::owl
