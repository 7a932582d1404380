// Expressions over the fields of a transaction, as a row of instructions for a small stack.
#pragma once

#include <substrata/feed.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace substrata::owl {

enum class Field : uint8_t {
  kTime,
  kStart,
  kAddress,
  kSite,
  kDetail,
  kInitiator,
  kTarget,
  kSize,
  kKind,
  kState,
  kProgram,
  kPhase,
  kFlags,
  kFields
};
// kFields: there is no such field.
Field field_named(std::string_view name) noexcept;
uint64_t get(const substrata_transaction& t, Field field) noexcept;
// What does not fit into the field is cut off.
void set(substrata_transaction& t, Field field, uint64_t value) noexcept;
// The numbers of kinds and states by their name in feed.h without its prefix ("READ", "HIT").
bool constant_named(std::string_view name, uint64_t* out) noexcept;

enum class Op : uint8_t {
  kNumber,
  kField,
  kRegister,
  kNot,
  kInvert,
  kNegate,
  kLog2,
  kMultiply,
  kDivide,
  kRemainder,
  kAdd,
  kSubtract,
  kShiftLeft,
  kShiftRight,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kUnequal,
  kBitAnd,
  kBitXor,
  kBitOr,
  kAnd,
  kOr,
  kMinimum,
  kMaximum
};
struct Instruction {
  Op op;
  uint64_t operand;
};

// 64-bit unsigned arithmetic that wraps; division by 0 gives 0, shifts by 64 and more give 0, log2 of 0 is 0.
class Expression {
 public:
  static constexpr unsigned kDeepest = 32;
  std::vector<Instruction> code;
  uint64_t evaluate(const substrata_transaction& t, const uint64_t* registers) const noexcept;
  // Values on the stack at most.
  unsigned depth() const noexcept;
};

}  // namespace substrata::owl
