// Events: names, codes, descriptions, enumeration.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/events/preset.hpp"
#include "papi/boundary.hpp"
#include "papi/event_names.hpp"

using namespace substrata;
using namespace substrata::capi;

namespace {

// Each generation numbers the enumerators its own way; nothing for a number that is none.
std::optional<Enumerate> enumerate_of(int modifier) noexcept {
  switch (modifier) {
    case PAPI_ENUM_EVENTS:
      return Enumerate::kEvents;
    case PAPI_ENUM_FIRST:
      return Enumerate::kFirst;
#ifndef PAPI_GENERATION_7_0
    case PAPI_PRESET_ENUM_FIRST_COMP:
      return Enumerate::kFirstOfComponent;
    case PAPI_PRESET_ENUM_CPU:
      return Enumerate::kPresetCpu;
    case PAPI_PRESET_ENUM_CPU_AVAIL:
      return Enumerate::kPresetCpuAvailable;
#endif
    case PAPI_PRESET_ENUM_AVAIL:
      return Enumerate::kPresetAvailable;
    case PAPI_PRESET_ENUM_MSC:
      return Enumerate::kPresetMisc;
    case PAPI_PRESET_ENUM_INS:
      return Enumerate::kPresetInstructions;
    case PAPI_PRESET_ENUM_IDL:
      return Enumerate::kPresetIdle;
    case PAPI_PRESET_ENUM_BR:
      return Enumerate::kPresetBranch;
    case PAPI_PRESET_ENUM_CND:
      return Enumerate::kPresetConditional;
    case PAPI_PRESET_ENUM_MEM:
      return Enumerate::kPresetMemory;
    case PAPI_PRESET_ENUM_CACH:
      return Enumerate::kPresetCache;
    case PAPI_PRESET_ENUM_L1:
      return Enumerate::kPresetL1;
    case PAPI_PRESET_ENUM_L2:
      return Enumerate::kPresetL2;
    case PAPI_PRESET_ENUM_L3:
      return Enumerate::kPresetL3;
    case PAPI_PRESET_ENUM_TLB:
      return Enumerate::kPresetTlb;
    case PAPI_PRESET_ENUM_FP:
      return Enumerate::kPresetFloat;
    case PAPI_NTV_ENUM_UMASKS:
      return Enumerate::kQualifiers;
    case PAPI_NTV_ENUM_UMASK_COMBOS:
      return Enumerate::kQualifierSets;
    case PAPI_NTV_ENUM_IARR:
    case PAPI_NTV_ENUM_DARR:
    case PAPI_NTV_ENUM_OPCM:
    case PAPI_NTV_ENUM_IEAR:
    case PAPI_NTV_ENUM_DEAR:
    case PAPI_NTV_ENUM_GROUPS:
      return Enumerate::kNoSubstrateHasThem;
    default:
      return std::nullopt;
  }
}

// Generation 7.0's classes are numbered one bit lower.
constexpr unsigned class_bits(uint32_t preset_bits) noexcept {
  return kGeneration70 ? preset_bits >> 1 : preset_bits;
}
static_assert(class_bits(kPresetFloat) == PAPI_PRESET_BIT_FP &&
              class_bits(kPresetMisc) == PAPI_PRESET_BIT_MSC);

int data_type_of(ValueType type) noexcept {
  switch (type) {
    case ValueType::kUint64:
      return PAPI_DATATYPE_UINT64;
    case ValueType::kDouble:
      return PAPI_DATATYPE_FP64;
    case ValueType::kInt64:
      break;
  }
  return PAPI_DATATYPE_INT64;
}

int location_of(uint32_t flags) noexcept {
  if ((flags & kEventScopePackage) != 0) return PAPI_LOCATION_PACKAGE;
  if ((flags & kEventScopeNode) != 0) return PAPI_LOCATION_UNCORE;
  return PAPI_LOCATION_CORE;
}

// The text with its end; the rest of the field stays as it is, for most of a description is unused.
template <size_t kSize>
void put_text(char (&field)[kSize], std::string_view text) noexcept {
  size_t length = std::min(text.size(), kSize - 1);
  // Of a length that it knows to be small GCC makes `rep movsq`, which takes longer to begin than most texts to copy.
  __asm__("" : "+r"(length));
  if (length != 0) std::memcpy(field, text.data(), length);
  field[length] = '\0';
}

// The texts that there are, and empty ones.
template <size_t kFields, size_t kSize>
void put_texts(char (&fields)[kFields][kSize], const std::vector<std::string>& texts) noexcept {
  const size_t count = std::min(texts.size(), kFields);
  for (size_t i = 0; i < count; ++i) put_text(fields[i], texts[i]);
  for (size_t i = count; i < kFields; ++i) fields[i][0] = '\0';
}

void fill(const EventInfo& from, PAPI_event_info_t* to) noexcept {
  to->event_code = from.code;
  put_text(to->symbol, from.name);
  put_text(to->short_descr, from.short_text);
  put_text(to->long_descr, from.text);
  to->component_index = from.component;
  put_text(to->units, from.unit);
  to->location = location_of(from.flags);
  to->data_type = data_type_of(from.type);
  const bool gauge = from.kind == ValueKind::kGauge;
  to->value_type = gauge ? PAPI_VALUETYPE_ABSOLUTE : PAPI_VALUETYPE_RUNNING_SUM;
  to->timescope = gauge ? PAPI_TIMESCOPE_POINT : PAPI_TIMESCOPE_SINCE_START;
  to->update_type = PAPI_UPDATETYPE_ARBITRARY;
  to->update_freq = 0;
  to->count = from.term_count;
  to->event_type = class_bits(from.preset_bits);
  put_text(to->derived, from.derived);
  put_text(to->postfix, from.formula);
  const size_t terms = std::min(from.term_codes.size(), from.term_names.size());
  for (size_t i = 0; i < PAPI_MAX_INFO_TERMS; ++i) to->code[i] = i < terms ? from.term_codes[i] : 0;
  put_texts(to->name, from.term_names);
  // Why an event cannot be used is worth more than an empty note.
  put_text(to->note, from.note.empty() ? from.why : from.note);
#ifndef PAPI_GENERATION_7_0
  to->num_quals = static_cast<int>(std::min<size_t>(PAPI_MAX_COMP_QUALS, from.qualifiers.size()));
  put_texts(to->quals, from.qualifiers);
  put_texts(to->quals_descrs, from.qualifier_texts);
#endif
}

Status not_a_preset(int code) noexcept {
  return refuse(Code::kNotPreset, "0x%x is not a preset of this interface", static_cast<unsigned>(code));
}

}  // namespace

CAPI int PAPI_event_name_to_code(const char* in, int* out) {
  return answered_quickly([&] {
    if (in == nullptr || out == nullptr)
      return answer(refuse(Code::kInvalid, "a name and a place for its code"));
    if (const Status up = library().require_initialised(); !up.ok()) return answer(up);
    const Result<uint32_t> code = library().catalogue().find(in);
    if (!code) return answer_for_name(code.status(), in);
    if (unknown_to_generation(static_cast<int>(*code)))
      return answer_for_name(refuse(Code::kNoEvent, "%s is not known to this interface", in), in);
    *out = static_cast<int>(*code);
    return PAPI_OK;
  });
}

CAPI int PAPI_event_code_to_name(int EventCode, char* out) {
  return answered_quickly([&] {
    if (out == nullptr) return answer(refuse(Code::kInvalid, "no place to put the name"));
    if (const Status up = library().require_initialised(); !up.ok()) return answer(up);
    if (EventCode == 0) return answer(refuse(Code::kNoEvent, "0 is not an event code"));
    if (unknown_to_generation(EventCode)) return answer(not_a_preset(EventCode));
    // The size every client provides; a longer name is cut rather than written past it.
    const Status named =
        library().catalogue().copy_name(static_cast<uint32_t>(EventCode), out, PAPI_MAX_STR_LEN);
    if (!named.ok()) {
      const bool seven_zero_native = kGeneration70 && named.code == Code::kNoComponent;
      return seven_zero_native ? answer(Code::kNoEvent) : answer(named);
    }
    return PAPI_OK;
  });
}

CAPI int PAPI_get_event_info(int EventCode, PAPI_event_info_t* info) {
  return answered_quickly([&] {
    if (info == nullptr) return answer(refuse(Code::kInvalid, "no place to put the description"));
    if (const Status up = library().require_initialised(); !up.ok()) return answer(up);
    if (EventCode == 0 || unknown_to_generation(EventCode)) return answer(not_a_preset(EventCode));
    const auto found = library().catalogue().info(static_cast<uint32_t>(EventCode));
    if (!found) return answer(found.status());
    fill(**found, info);
    return PAPI_OK;
  });
}

// Every enumeration ends with an error number: no refusal that PAPI_set_debug should print.
static int at_its_end(Code code) noexcept { return static_cast<int>(code); }

CAPI int PAPI_enum_event(int* EventCode, int modifier) {
  return answered([&] {
    if (EventCode == nullptr) return answer(refuse(Code::kInvalid, "no event code to start from"));
    if (const Status up = library().require_initialised(); !up.ok()) return answer(up);
    if (*EventCode >= 0 && (*EventCode & PAPI_NATIVE_MASK) == 0) {
      // PAPI looks for the native event of that number before it sees that the code names no kind of event.
      const auto numbered = static_cast<uint32_t>(*EventCode | PAPI_NATIVE_MASK);
      const Code code = library().catalogue().component_of(numbered) ? Code::kInvalid : Code::kNoComponent;
      return answer(refuse(code, "no event has the code 0x%x", *EventCode));
    }
    const std::optional<Enumerate> how = enumerate_of(modifier);
    if (!how) return answer(refuse(Code::kInvalid, "%d is not a way to enumerate", modifier));
    const Result<uint32_t> next = library().catalogue().next(static_cast<uint32_t>(*EventCode), *how);
    const bool at_end =
        next ? unknown_to_generation(static_cast<int>(*next)) : next.status().code == Code::kInvalid;
    // At the end of the presets 7.0 says that no event is left, 7.3 that the question makes no sense; both say the
    // former of the user's events.
    const bool none_left = IS_USER_DEFINED(*EventCode) || (kGeneration70 && IS_PRESET(*EventCode));
    if (at_end) return at_its_end(none_left ? Code::kNoEvent : Code::kInvalid);
    return answer_into(next, EventCode);
  });
}

CAPI int PAPI_enum_cmp_event(int* EventCode, int modifier, int cidx) {
  return answered([&] {
    if (EventCode == nullptr) return answer(refuse(Code::kInvalid, "no event code to start from"));
    if (const Status up = library().require_initialised(); !up.ok()) return answer(up);
    const std::optional<Enumerate> how = enumerate_of(modifier);
    const Result<uint32_t> next = library().catalogue().next_in_component(
        static_cast<uint32_t>(*EventCode), how.value_or(Enumerate::kFirst), cidx);
    if (!next && next.status().code == Code::kNoComponent) return answer(next.status());
    if (!how) return answer(refuse(Code::kInvalid, "%d is not a way to enumerate", modifier));
    const Code none_left = kGeneration70 && IS_PRESET(*EventCode) ? Code::kNoEvent : Code::kInvalid;
    if (next && unknown_to_generation(static_cast<int>(*next))) return at_its_end(none_left);
    if (!next && next.status().code == Code::kInvalid) return at_its_end(none_left);
    if (!next && next.status().code == Code::kNoEvent) return at_its_end(Code::kNoEvent);
    return answer_into(next, EventCode);
  });
}

CAPI int PAPI_query_event(int EventCode) {
  return answered([&] {
    if (const Status up = library().require_initialised(); !up.ok()) return answer(up);
    if (EventCode == 0) return answer(refuse(Code::kNoEvent, "0 is not an event code"));
    if (unknown_to_generation(EventCode)) return answer(not_a_preset(EventCode));
    return answer(library().catalogue().query(static_cast<uint32_t>(EventCode)));
  });
}

CAPI int PAPI_query_named_event(const char* EventName) {
  return answered([&] {
    if (EventName == nullptr) return answer(refuse(Code::kInvalid, "no event name given"));
    int code = 0;
    const int found = PAPI_event_name_to_code(EventName, &code);
    return found == PAPI_OK ? PAPI_query_event(code) : found;
  });
}

CAPI int PAPI_get_event_component(int EventCode) {
  return answered([&] {
    if (const Status up = library().require_initialised(); !up.ok()) return answer(up);
    const Result<int> component = library().catalogue().component_of(static_cast<uint32_t>(EventCode));
    if (!component && component.status().code == Code::kNoComponent) return answer(Code::kNoEvent);
    return answer(component);
  });
}
