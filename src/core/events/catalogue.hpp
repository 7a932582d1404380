// Every event of every substrate in one code space: names to codes, codes to descriptions, enumeration.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/fork_lock.hpp"
#include "base/result.hpp"
#include "base/visibility.hpp"
#include "core/events/derived.hpp"
#include "core/events/event_code.hpp"
#include "core/events/found_names.hpp"
#include "core/events/listing.hpp"
#include "core/events/native_codes.hpp"
#include "core/events/preset_recipes.hpp"
#include "core/events/user_events.hpp"
#include "core/registry/registry.hpp"

namespace substrata {

// What PAPI_enum_event can be asked; the C boundary maps each generation's numbers to these.
enum class Enumerate {
  kEvents,            // the next event
  kFirst,             // the first one
  kFirstOfComponent,  // presets: the first one the component has (7.3's PRESET_ENUM_FIRST_COMP)
  kPresetAvailable,   // presets: the next one that opens here
  kPresetMisc,
  kPresetInstructions,
  kPresetIdle,
  kPresetBranch,
  kPresetConditional,
  kPresetMemory,
  kPresetCache,
  kPresetL1,
  kPresetL2,
  kPresetL3,
  kPresetTlb,
  kPresetFloat,
  kPresetCpu,           // as kEvents: every preset is a processor's
  kPresetCpuAvailable,  // as kPresetAvailable
  kQualifiers,          // native: the next qualified form of the same event (NTV_ENUM_UMASKS)
  kQualifierSets,       // native: combinations; the same list here (NTV_ENUM_UMASK_COMBOS)
  kNoSubstrateHasThem,  // IARR, DARR, OPCM, IEAR, DEAR, GROUPS: nothing follows
};

struct EventSpec;

// What an event is made of, ready for an eventset.
struct Composition {
  uint32_t code = 0;
  int component = -1;
  std::vector<uint32_t> natives;  // indices in the component's catalogue, in the order of the formula's terms
  Formula formula;
  bool modelled = false;  // a term comes from a model
};

// Everything one can know of an event. Owned strings, so that it outlives the substrate.
struct EventInfo {
  uint32_t code = 0;
  int component = -1;
  std::string name;  // full, as PAPI_event_code_to_name gives it
  std::string short_text;
  std::string text;
  std::string unit;
  std::string why;  // unavailable: reason and cure
  ValueKind kind = ValueKind::kCount;
  ValueType type = ValueType::kInt64;
  uint32_t width_bits = 64;
  uint32_t flags = 0;  // EventFlags
  // Presets and user events:
  uint32_t preset_bits = 0;  // PresetBits
  uint32_t term_count = 0;   // 0: not available here (PAPI_event_info_t.count); native events: 1
  std::string derived;       // "NOT_DERIVED", ...
  std::string formula;       // postfix or infix text
  std::string note;
  std::vector<uint32_t> term_codes;
  std::vector<std::string> term_names;
  // Native events that take qualifiers: each name and what it means.
  std::vector<std::string> qualifiers;
  std::vector<std::string> qualifier_texts;
};

// Thread-safe. Codes stay valid until clear().
class Catalogue {
 public:
  explicit Catalogue(Registry& registry) : registry_(registry), presets_(registry) {}

  // Forgets codes, presets' answers and user events (library shutdown).
  void clear();

  // Any spelling: preset, user event, "<component>:::<event>", a listed prefix ("perf::..."), a bare event
  // name. Refusals: kNoComponent for an unknown "<component>:::", kNoEvent otherwise, with near names, which
  // come from open components and from descriptions. (Generation 7.0 answers PAPI_ECMP for a bare unknown
  // name, and ENOEVNT for an unknown component; the C boundary does that.)
  // Opens the component that the name states by "<component>:::" or a listed prefix, else those whose events
  // can have such a name (SubstrateTable::event_names).
  SUBSTRATA_PRIVATE_API Result<uint32_t> find(std::string_view name);
  // The same, ready for an eventset. Also the refusals of compose().
  Result<Composition> resolve(std::string_view name);
  // kNotPreset for an unknown preset, kNoComponent for an unknown native code, kNoEvent for code 0 and the
  // like.
  Result<std::string> name_of(uint32_t code);
  // The same into `capacity` bytes, cut to fit and ended by a zero.
  SUBSTRATA_PRIVATE_API Status copy_name(uint32_t code, char* to, size_t capacity);
  SUBSTRATA_PRIVATE_API Result<std::shared_ptr<const EventInfo>> info(uint32_t code);
  // Ok when the event exists and opens here.  kNotPreset: no such preset; kNoEvent: not available (the note
  // says why); kNoComponent: unknown native code.
  SUBSTRATA_PRIVATE_API Status query(uint32_t code);
  // The component of an event; presets and code 0 belong to the processor component (0 when there is none).
  SUBSTRATA_PRIVATE_API Result<int> component_of(uint32_t code);
  // How the values of an event are to be taken: only a native event may be a gauge.
  Result<ValueKind> value_kind(uint32_t code);
  // What to program for an event. kNoEvent when it is not available here.
  Result<Composition> compose(uint32_t code);

  // PAPI_enum_cmp_event: the code that follows `code` within one component. Only events that open here are
  // listed. kInvalid at the end or for a modifier that makes no sense there, kNoComponent for a bad
  // component.
  SUBSTRATA_PRIVATE_API Result<uint32_t> next_in_component(uint32_t code, Enumerate how, int component);
  // PAPI_enum_event: presets, user events, or all components one after the other.
  SUBSTRATA_PRIVATE_API Result<uint32_t> next(uint32_t code, Enumerate how);

  // How many native events of a component open here; how many presets it forms here.
  SUBSTRATA_PRIVATE_API uint32_t native_count(int component);
  SUBSTRATA_PRIVATE_API uint32_t preset_count(int component);

  // What becomes of a file of user-defined events with bad lines.
  enum class BadLines { kRefuseFile, kLeaveOut };
  // Replaces the user-defined events. kInvalid with file and line of the first bad line, or kSystem when the
  // file cannot be read. The name of an event that was left out is answered with its line and what is wrong
  // there.
  Status load_user_events(const std::string& path, BadLines bad_lines);

 private:
  struct Found {
    uint32_t code = 0;
    NativeEvent native;  // component -1: a preset or user event
  };
  struct Native {
    Component* component = nullptr;
    int number = 0;  // the component's
    Event event;     // as it describes it
  };
  Result<Native> native_at(uint32_t code);
  Result<Found> look_up(std::string_view name);
  Result<EventInfo> make_info(uint32_t code);
  bool stays(uint32_t code, int component);
  Result<NativeEvent> find_in(const EventSpec& spec);
  Result<NativeEvent> find_bare(const EventSpec& spec);
  // `reason`: the substrate's, reported where no name is near.
  Status unknown(std::string_view name, Component* only, std::string_view reason = {});

  Result<Composition> resolve_name(std::string_view name, int depth);
  Result<Composition> compose_code(uint32_t code, int depth);
  Result<Composition> compose_native(uint32_t code, NativeEvent event);
  Result<Composition> compose_preset(uint32_t code);
  Result<Composition> compose_user_event(uint32_t code, int depth);

  Result<uint32_t> next_preset(uint32_t code, Enumerate how, int component);
  Result<uint32_t> next_native(uint32_t code, Enumerate how, Component& component);
  Result<uint32_t> next_user(uint32_t code, Enumerate how);
  int processor();

  Registry& registry_;
  ForkLock lock_;
  // The codes of names that were found, the names of codes, and what was said of codes, of events that stay as they are
  // until clear().
  FoundNames found_names_;
  std::unordered_map<uint32_t, std::string> known_names_;
  std::unordered_map<uint32_t, std::shared_ptr<const EventInfo>> known_infos_;
  NativeCodes codes_;
  PresetRecipes presets_;
  Listing listing_;
  std::vector<UserEvent> user_events_;
  std::map<std::string, std::string, std::less<>> refused_user_events_;  // name and why
};

}  // namespace substrata
