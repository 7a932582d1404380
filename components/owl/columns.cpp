// The loops of columns: loads of fields, operators, look-ups.
#include "owl/columns.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "owl/table.hpp"

namespace substrata::owl {
namespace {

// The value as the bits of a double, where as many bytes are a floating-point number.
uint64_t real_of(const Transaction& t) noexcept {
  if (!has_value(t) || (t.size != sizeof(float) && t.size < sizeof(double)))
    return std::bit_cast<uint64_t>(std::numeric_limits<double>::quiet_NaN());
  return t.size == sizeof(float)
             ? std::bit_cast<uint64_t>(double{std::bit_cast<float>(static_cast<uint32_t>(t.detail))})
             : t.detail;
}

template <typename Get>
void load(uint64_t* out, const View& view, const Get& get) noexcept {
  if (view.selected == nullptr) {
    for (size_t i = 0; i < view.count; ++i) out[i] = get(view.batch[i]);
  } else {
    for (size_t i = 0; i < view.count; ++i) out[i] = get(view.batch[view.selected[i]]);
  }
}

void load_field(uint64_t* out, const View& view, Field field, ObjectNames* objects) noexcept {
  using T = Transaction;
  switch (field) {
    case Field::kTime:
      return load(out, view, [](const T& t) { return t.time; });
    case Field::kStart:
      return load(out, view, [](const T& t) { return t.start; });
    case Field::kAddress:
      return load(out, view, [](const T& t) { return t.address; });
    case Field::kSite:
      return load(out, view, [](const T& t) { return t.site; });
    case Field::kDetail:
      return load(out, view, [](const T& t) { return t.detail; });
    case Field::kInitiator:
    case Field::kThread:
      return load(out, view, [](const T& t) { return t.initiator; });
    case Field::kTarget:
      return load(out, view, [](const T& t) { return t.target; });
    case Field::kSize:
      return load(out, view, [](const T& t) { return t.size; });
    case Field::kKind:
      return load(out, view, [](const T& t) { return t.kind; });
    case Field::kState:
      return load(out, view, [](const T& t) { return t.state; });
    case Field::kProgram:
      return load(out, view, [](const T& t) { return t.program; });
    case Field::kPhase:
      return load(out, view, [](const T& t) { return t.phase; });
    case Field::kFlags:
      return load(out, view, [](const T& t) { return t.flags; });
    case Field::kProbe:
      return load(out, view, [](const T& t) { return t.probe; });
    case Field::kTook:
      return load(out, view,
                  [](const T& t) { return t.start != 0 && t.start <= t.time ? t.time - t.start : 0; });
    case Field::kPage:
      return load(out, view, [](const T& t) { return t.address & ~uint64_t{4095}; });
    case Field::kObject:
      return load(out, view,
                  [&](const T& t) { return objects != nullptr ? objects->at(t.address) : uint64_t{0}; });
    case Field::kValue:
      return load(out, view, [](const T& t) { return has_value(t) ? t.detail : uint64_t{0}; });
    case Field::kValued:
      return load(out, view, [](const T& t) { return uint64_t{has_value(t)}; });
    case Field::kReal:
      return load(out, view, real_of);
    case Field::kFields:
      break;
  }
  std::fill_n(out, view.count, 0);
}

// a[i] = a[i] OP b(i)
template <typename Right>
void combine(Op op, uint64_t* a, const Right& b, size_t count) noexcept {
  const auto each = [&](const auto& f) {
    for (size_t i = 0; i < count; ++i) a[i] = f(a[i], b(i));
  };
  using U = uint64_t;
  switch (op) {
    case Op::kMultiply:
      return each([](U x, U y) { return x * y; });
    case Op::kDivide:
      return each([](U x, U y) { return y == 0 ? 0 : x / y; });
    case Op::kRemainder:
      return each([](U x, U y) { return y == 0 ? 0 : x % y; });
    case Op::kAdd:
      return each([](U x, U y) { return x + y; });
    case Op::kSubtract:
      return each([](U x, U y) { return x - y; });
    case Op::kShiftLeft:
      return each([](U x, U y) { return y > 63 ? 0 : x << y; });
    case Op::kShiftRight:
      return each([](U x, U y) { return y > 63 ? 0 : x >> y; });
    case Op::kLess:
      return each([](U x, U y) { return U{x < y}; });
    case Op::kLessEqual:
      return each([](U x, U y) { return U{x <= y}; });
    case Op::kGreater:
      return each([](U x, U y) { return U{x > y}; });
    case Op::kGreaterEqual:
      return each([](U x, U y) { return U{x >= y}; });
    case Op::kEqual:
      return each([](U x, U y) { return U{x == y}; });
    case Op::kUnequal:
      return each([](U x, U y) { return U{x != y}; });
    case Op::kBitAnd:
      return each([](U x, U y) { return x & y; });
    case Op::kBitXor:
      return each([](U x, U y) { return x ^ y; });
    case Op::kBitOr:
      return each([](U x, U y) { return x | y; });
    case Op::kAnd:
      return each([](U x, U y) { return U{x != 0} & U{y != 0}; });
    case Op::kOr:
      return each([](U x, U y) { return U{(x | y) != 0}; });
    case Op::kMinimum:
      return each([](U x, U y) { return std::min(x, y); });
    case Op::kMaximum:
      return each([](U x, U y) { return std::max(x, y); });
    default:
      return;
  }
}

template <typename Function>
void change(uint64_t* a, size_t count, const Function& f) noexcept {
  for (size_t i = 0; i < count; ++i) a[i] = f(a[i]);
}

// The keys of transaction i lie in `keys` columns that begin at `first`; the value goes where its first key was.
void look_up(uint64_t* first, uint32_t keys, size_t count, const Table* state) noexcept {
  uint64_t key[kMostKeys];
  for (size_t i = 0; i < count; ++i) {
    for (uint32_t k = 0; k < keys; ++k) key[k] = first[k * kColumn + i];
    const uint64_t* const found = state->find(key);
    first[i] = found != nullptr ? *found : 0;
  }
}

uint64_t read_packet(const unsigned char* packet, uint64_t operand) noexcept {
  uint64_t value = 0;
  if (packet != nullptr) std::memcpy(&value, packet + static_cast<uint32_t>(operand), operand >> 32);
  return value;
}

}  // namespace

const uint64_t* Columns::evaluate(const Expression& expression, const View& view,
                                  const Surroundings& around) noexcept {
  const size_t count = view.count;
  uint64_t* top = stack_.data();  // behind the last column
  const Instruction* const end = expression.code.data() + expression.code.size();
  for (const Instruction* at = expression.code.data(); at != end; ++at) {
    switch (at->op) {
      case Op::kNumber:
      case Op::kRegister: {
        const uint64_t value = at->op == Op::kNumber ? at->operand : around.registers[at->operand];
        // What stands for all transactions needs no column where an operator follows.
        if (at + 1 != end && top != stack_.data() && (at + 1)->op > Op::kLog2 && (at + 1)->op < Op::kLast) {
          ++at;
          combine(
              at->op, top - kColumn, [value](size_t) { return value; }, count);
        } else {
          std::fill_n(top, count, value);
          top += kColumn;
        }
        break;
      }
      case Op::kField:
        load_field(top, view, static_cast<Field>(at->operand), around.objects);
        top += kColumn;
        break;
      case Op::kPacket:
        std::fill_n(top, count, read_packet(around.packet, at->operand));
        top += kColumn;
        break;
      case Op::kLast: {
        const auto keys = static_cast<uint32_t>(at->operand >> 32);
        top -= keys * kColumn;
        look_up(top, keys, count, around.states[static_cast<uint32_t>(at->operand)]);
        top += kColumn;
        break;
      }
      case Op::kNot:
        change(top - kColumn, count, [](uint64_t x) { return uint64_t{x == 0}; });
        break;
      case Op::kInvert:
        change(top - kColumn, count, [](uint64_t x) { return ~x; });
        break;
      case Op::kNegate:
        change(top - kColumn, count, [](uint64_t x) { return 0 - x; });
        break;
      case Op::kLog2:
        change(top - kColumn, count,
               [](uint64_t x) { return x == 0 ? 0 : static_cast<uint64_t>(std::bit_width(x)) - 1; });
        break;
      default:
        top -= kColumn;
        combine(
            at->op, top - kColumn, [top](size_t i) { return top[i]; }, count);
        break;
    }
  }
  return stack_.data();
}

}  // namespace substrata::owl
