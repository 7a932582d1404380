// Evaluates expressions, and knows the names of fields, kinds and states.
#include "owl/expression.hpp"

#include <substrata/values.h>

#include <algorithm>
#include <bit>

namespace substrata::owl {
namespace {

constexpr FieldName kFieldNames[] = {
    {"time", Field::kTime, Shown::kNumber},        {"start", Field::kStart, Shown::kNumber},
    {"address", Field::kAddress, Shown::kAddress}, {"site", Field::kSite, Shown::kAddress},
    {"detail", Field::kDetail, Shown::kNumber},    {"initiator", Field::kInitiator, Shown::kNumber},
    {"target", Field::kTarget, Shown::kNumber},    {"size", Field::kSize, Shown::kNumber},
    {"kind", Field::kKind, Shown::kKind},          {"state", Field::kState, Shown::kState},
    {"program", Field::kProgram, Shown::kNumber},  {"phase", Field::kPhase, Shown::kNumber},
    {"flags", Field::kFlags, Shown::kNumber},      {"probe", Field::kProbe, Shown::kProbe},
    {"thread", Field::kThread, Shown::kNumber},    {"took", Field::kTook, Shown::kNumber},
    {"page", Field::kPage, Shown::kAddress},       {"object", Field::kObject, Shown::kObject},
    {"region", Field::kPhase, Shown::kRegion},     {"line", Field::kSite, Shown::kLine},
    {"function", Field::kSite, Shown::kFunction},  {"value", Field::kValue, Shown::kNumber},
    {"valued", Field::kValued, Shown::kNumber},    {"call", Field::kDetail, Shown::kCall},
    {"real", Field::kReal, Shown::kReal},
};

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
    {"SYSTEM_CALL", SUBSTRATA_SYSTEM_CALL},
    {"TRACEPOINT", SUBSTRATA_TRACEPOINT},
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
constexpr const Constant* kFirstState = std::find_if(std::begin(kConstants), std::end(kConstants),
                                                     [](const Constant& each) { return each.name == "HIT"; });

}  // namespace

std::span<const FieldName> field_names() noexcept { return kFieldNames; }

const FieldName* find_field(std::string_view name) noexcept {
  for (const FieldName& each : kFieldNames)
    if (each.name == name) return &each;
  return nullptr;
}

bool constant_named(std::string_view name, uint64_t* out, Field* of) noexcept {
  for (const Constant& each : kConstants) {
    if (each.name != name) continue;
    *out = each.value;
    *of = &each < kFirstState ? Field::kKind : Field::kState;
    return true;
  }
  return false;
}

bool constant_named(std::string_view name, uint64_t* out) noexcept {
  Field of{};
  return constant_named(name, out, &of);
}

std::string constant_name(Field of, uint64_t value) {
  const bool kind = of == Field::kKind;
  const Constant* const end = kind ? kFirstState : std::end(kConstants);
  for (const Constant* each = kind ? std::begin(kConstants) : kFirstState; each != end; ++each) {
    if (each->value != value) continue;
    std::string name(each->name);
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return name;
  }
  return {};
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

unsigned Expression::depth() const noexcept {
  unsigned deepest = 0;
  unsigned now = 0;
  for (const Instruction& each : code) {
    if (each.op <= Op::kRegister || each.op == Op::kPacket) {
      deepest = std::max(deepest, ++now);
    } else if (each.op == Op::kLast) {
      now -= static_cast<unsigned>(each.operand >> 32) - 1;
    } else if (each.op > Op::kLog2) {
      --now;
    }
  }
  return deepest;
}

}  // namespace substrata::owl
