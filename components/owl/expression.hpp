// Expressions over the fields of a transaction, as a row of instructions for a small stack.
#pragma once

#include <substrata/feed.h>

#include <cstdint>
#include <span>
#include <string>
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
  kProbe,  // from here on none that a map can change
  kThread,
  kTook,
  kPage,
  kObject,
  kValue,
  kValued,
  kReal,
  kFields
};
inline constexpr Field kLastAssignable = Field::kFlags;
// How a value is shown as a key.
enum class Shown : uint8_t {
  kNumber,
  kAddress,
  kKind,
  kState,
  kProbe,
  kObject,
  kRegion,
  kLine,
  kFunction,
  kCall,
  kReal
};

struct FieldName {
  std::string_view name;
  Field field;
  Shown shown;
};
std::span<const FieldName> field_names() noexcept;
// Null: there is no such field.
const FieldName* find_field(std::string_view name) noexcept;
// What does not fit into the field is cut off.
void set(substrata_transaction& t, Field field, uint64_t value) noexcept;
// The numbers of kinds and states by their name in feed.h without its prefix ("READ", "HIT").
bool constant_named(std::string_view name, uint64_t* out) noexcept;
// The same, and whose: Field::kKind or Field::kState.
bool constant_named(std::string_view name, uint64_t* out, Field* of) noexcept;
// The name of a kind or state in small letters; empty: it has none.
std::string constant_name(Field of, uint64_t value);

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
  kMaximum,
  kLast,   // operand: number of a state, in the upper half how many keys it takes from the stack
  kPacket  // operand: offset in a packet, in the upper half the bytes
};
struct Instruction {
  Op op;
  uint64_t operand;
};

constexpr uint64_t halves(uint64_t low, uint64_t high) noexcept { return low | high << 32; }

// 64-bit unsigned arithmetic that wraps; division by 0 gives 0, shifts by 64 and more give 0, log2 of 0 is 0.
class Expression {
 public:
  static constexpr unsigned kDeepest = 32;
  std::vector<Instruction> code;
  // Values on the stack at most.
  unsigned depth() const noexcept;
};

}  // namespace substrata::owl
