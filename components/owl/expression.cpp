// Evaluates expressions, and knows the names of fields, kinds and states.
#include "expression.hpp"

#include <algorithm>
#include <bit>

namespace substrata::owl {
namespace {

constexpr std::string_view kFieldNames[] = {"time",      "start",  "address", "site", "detail",
                                            "initiator", "target", "size",    "kind", "state",
                                            "program",   "phase",  "flags"};

struct Constant {
  std::string_view name;
  uint64_t value;
};
constexpr Constant kConstants[] = {
    {"READ", SUBSTRATA_READ},
    {"WRITE", SUBSTRATA_WRITE},
    {"ATOMIC", SUBSTRATA_ATOMIC},
    {"FETCH", SUBSTRATA_FETCH},
    {"ENTER", SUBSTRATA_ENTER},
    {"EXIT", SUBSTRATA_EXIT},
    {"ALLOCATE", SUBSTRATA_ALLOCATE},
    {"FREE", SUBSTRATA_FREE},
    {"BRANCH", SUBSTRATA_BRANCH},
    {"PHASE_BEGIN", SUBSTRATA_PHASE_BEGIN},
    {"PHASE_END", SUBSTRATA_PHASE_END},
    {"INSTRUCTIONS", SUBSTRATA_INSTRUCTIONS},
    {"FILL", SUBSTRATA_FILL},
    {"WRITE_BACK", SUBSTRATA_WRITE_BACK},
    {"EVICT", SUBSTRATA_EVICT},
    {"INVALIDATE", SUBSTRATA_INVALIDATE},
    {"UPGRADE", SUBSTRATA_UPGRADE},
    {"READ_EXCLUSIVE", SUBSTRATA_READ_EXCLUSIVE},
    {"UPDATE", SUBSTRATA_UPDATE},
    {"INTERVENTION", SUBSTRATA_INTERVENTION},
    {"NACK", SUBSTRATA_NACK},
    {"RESPONSE", SUBSTRATA_RESPONSE},
    {"SEND", SUBSTRATA_SEND},
    {"RECEIVE", SUBSTRATA_RECEIVE},
    {"PACKET", SUBSTRATA_PACKET},
    {"COLLECTIVE", SUBSTRATA_COLLECTIVE},
    {"DMA", SUBSTRATA_DMA},
    {"CLOCK_SYNC", SUBSTRATA_CLOCK_SYNC},
    {"IO", SUBSTRATA_IO},
    {"PAGE_FAULT", SUBSTRATA_PAGE_FAULT},
    {"PAGE_FETCH", SUBSTRATA_PAGE_FETCH},
    {"PAGE_REPLY", SUBSTRATA_PAGE_REPLY},
    {"TWIN", SUBSTRATA_TWIN},
    {"DIFF", SUBSTRATA_DIFF},
    {"AUTOMATIC_UPDATE", SUBSTRATA_AUTOMATIC_UPDATE},
    {"PAGE_MIGRATE", SUBSTRATA_PAGE_MIGRATE},
    {"LOCK", SUBSTRATA_LOCK},
    {"UNLOCK", SUBSTRATA_UNLOCK},
    {"BARRIER", SUBSTRATA_BARRIER},
    {"WAIT", SUBSTRATA_WAIT},
    {"SAMPLE", SUBSTRATA_SAMPLE},
    {"COMMAND", SUBSTRATA_COMMAND},
    {"HIT", SUBSTRATA_HIT},
    {"MISS", SUBSTRATA_MISS},
    {"CLEAN", SUBSTRATA_CLEAN},
    {"DIRTY", SUBSTRATA_DIRTY},
    {"INVALID", SUBSTRATA_INVALID},
    {"SHARED", SUBSTRATA_SHARED},
    {"EXCLUSIVE", SUBSTRATA_EXCLUSIVE},
    {"MODIFIED", SUBSTRATA_MODIFIED},
    {"LOCAL_VALID", SUBSTRATA_LOCAL_VALID},
    {"LOCAL_INVALID", SUBSTRATA_LOCAL_INVALID},
    {"GLOBAL_VALID", SUBSTRATA_GLOBAL_VALID},
    {"GLOBAL_INVALID", SUBSTRATA_GLOBAL_INVALID},
    {"NOT_IN", SUBSTRATA_NOT_IN},
    {"QUEUED", SUBSTRATA_QUEUED},
    {"FETCHED", SUBSTRATA_FETCHED},
    {"INJECTED", SUBSTRATA_INJECTED},
    {"ARRIVED", SUBSTRATA_ARRIVED},
    {"DELIVERED", SUBSTRATA_DELIVERED},
    {"DROPPED", SUBSTRATA_DROPPED},
    {"CORRUPT", SUBSTRATA_CORRUPT},
    {"MISROUTED", SUBSTRATA_MISROUTED},
    {"GRANTED", SUBSTRATA_GRANTED},
    {"CANCELLED", SUBSTRATA_CANCELLED},
    {"RETRIED", SUBSTRATA_RETRIED},
};

uint64_t combine(Op op, uint64_t a, uint64_t b) noexcept {
  switch (op) {
    case Op::kMultiply:
      return a * b;
    case Op::kDivide:
      return b == 0 ? 0 : a / b;
    case Op::kRemainder:
      return b == 0 ? 0 : a % b;
    case Op::kAdd:
      return a + b;
    case Op::kSubtract:
      return a - b;
    case Op::kShiftLeft:
      return b > 63 ? 0 : a << b;
    case Op::kShiftRight:
      return b > 63 ? 0 : a >> b;
    case Op::kLess:
      return a < b ? 1 : 0;
    case Op::kLessEqual:
      return a <= b ? 1 : 0;
    case Op::kGreater:
      return a > b ? 1 : 0;
    case Op::kGreaterEqual:
      return a >= b ? 1 : 0;
    case Op::kEqual:
      return a == b ? 1 : 0;
    case Op::kUnequal:
      return a != b ? 1 : 0;
    case Op::kBitAnd:
      return a & b;
    case Op::kBitXor:
      return a ^ b;
    case Op::kBitOr:
      return a | b;
    case Op::kAnd:
      return a != 0 && b != 0 ? 1 : 0;
    case Op::kOr:
      return a != 0 || b != 0 ? 1 : 0;
    case Op::kMinimum:
      return std::min(a, b);
    case Op::kMaximum:
      return std::max(a, b);
    default:
      return 0;
  }
}

}  // namespace

Field field_named(std::string_view name) noexcept {
  const auto* const at = std::find(std::begin(kFieldNames), std::end(kFieldNames), name);
  return static_cast<Field>(at - std::begin(kFieldNames));
}

bool constant_named(std::string_view name, uint64_t* out) noexcept {
  for (const Constant& each : kConstants) {
    if (each.name != name) continue;
    *out = each.value;
    return true;
  }
  return false;
}

uint64_t get(const substrata_transaction& t, Field field) noexcept {
  switch (field) {
    case Field::kTime:
      return t.time;
    case Field::kStart:
      return t.start;
    case Field::kAddress:
      return t.address;
    case Field::kSite:
      return t.site;
    case Field::kDetail:
      return t.detail;
    case Field::kInitiator:
      return t.initiator;
    case Field::kTarget:
      return t.target;
    case Field::kSize:
      return t.size;
    case Field::kKind:
      return t.kind;
    case Field::kState:
      return t.state;
    case Field::kProgram:
      return t.program;
    case Field::kPhase:
      return t.phase;
    case Field::kFlags:
      return t.flags;
    default:
      return 0;
  }
}

void set(substrata_transaction& t, Field field, uint64_t value) noexcept {
  const auto word = static_cast<uint32_t>(value);
  const auto half = static_cast<uint16_t>(value);
  switch (field) {
    case Field::kTime:
      t.time = value;
      break;
    case Field::kStart:
      t.start = value;
      break;
    case Field::kAddress:
      t.address = value;
      break;
    case Field::kSite:
      t.site = value;
      break;
    case Field::kDetail:
      t.detail = value;
      break;
    case Field::kInitiator:
      t.initiator = word;
      break;
    case Field::kTarget:
      t.target = word;
      break;
    case Field::kSize:
      t.size = word;
      break;
    case Field::kKind:
      t.kind = half;
      break;
    case Field::kState:
      t.state = half;
      break;
    case Field::kProgram:
      t.program = half;
      break;
    case Field::kPhase:
      t.phase = half;
      break;
    case Field::kFlags:
      t.flags = half;
      break;
    default:
      break;
  }
}

uint64_t Expression::evaluate(const substrata_transaction& t, const uint64_t* registers) const noexcept {
  uint64_t stack[kDeepest];
  unsigned top = 0;
  for (const Instruction& each : code) {
    switch (each.op) {
      case Op::kNumber:
        stack[top++] = each.operand;
        break;
      case Op::kField:
        stack[top++] = get(t, static_cast<Field>(each.operand));
        break;
      case Op::kRegister:
        stack[top++] = registers[each.operand];
        break;
      case Op::kNot:
        stack[top - 1] = stack[top - 1] == 0 ? 1 : 0;
        break;
      case Op::kInvert:
        stack[top - 1] = ~stack[top - 1];
        break;
      case Op::kNegate:
        stack[top - 1] = 0 - stack[top - 1];
        break;
      case Op::kLog2:
        stack[top - 1] = stack[top - 1] == 0 ? 0 : static_cast<uint64_t>(std::bit_width(stack[top - 1])) - 1;
        break;
      default:
        --top;
        stack[top - 1] = combine(each.op, stack[top - 1], stack[top]);
        break;
    }
  }
  return top != 0 ? stack[0] : 0;
}

unsigned Expression::depth() const noexcept {
  unsigned deepest = 0;
  unsigned now = 0;
  for (const Instruction& each : code) {
    if (each.op <= Op::kRegister) {
      deepest = std::max(deepest, ++now);
    } else if (each.op > Op::kLog2) {
      --now;
    }
  }
  return deepest;
}

}  // namespace substrata::owl
