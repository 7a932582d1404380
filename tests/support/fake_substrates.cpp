// The tables of the fake substrates.
#include "support/fake_substrates.hpp"

#include <cstring>
#include <new>

#include "base/table_of.hpp"

namespace fake {
namespace {

using namespace substrata;

struct FakeSet {
  uint32_t events[8] = {};
  uint32_t count = 0;
  int64_t begin = 0, end = 0;
  bool running = false;
  std::atomic<int> inside{0};
};
FakeSet* of(Set* set) { return reinterpret_cast<FakeSet*>(set); }

struct Inside {
  explicit Inside(FakeSet* s) : set(s) {
    if (set->inside.fetch_add(1) != 0) ++calls.overlaps;
  }
  ~Inside() { set->inside.fetch_sub(1); }
  FakeSet* set;
};

Status refuse_detect(const Host*) noexcept {
  ++calls.detects;
  return {Code::kNoSupport, 0, "there is no such device; plug one in"};
}

constexpr Event kAlpha[] = {
    {.name = "alpha::CYCLES", .text = "Cycles.", .unit = "cycles", .flags = kEventScopeThread},
    {.name = "alpha::INSTRUCTIONS", .text = "Instructions.", .unit = ""},
    {.name = "alpha::BROKEN", .text = "Cannot be programmed.", .unit = ""},
    {.name = "alpha::HIDDEN",
     .text = "Not here.",
     .unit = "",
     .why = "this processor lacks it; use another",
     .flags = kEventUnavailable},
    {.name = "alpha::CYCLES:u", .text = "Cycles in user mode.", .unit = "cycles"},
    {.name = "alpha::LOADS", .text = "Loads.", .unit = ""}};
constexpr Event kBeta[] = {{.name = "a", .text = "First.", .unit = ""},
                           {.name = "b", .text = "Second.", .unit = ""},
                           {.name = "c", .text = "Third.", .unit = "", .flags = kEventModelled}};

struct Ticking {
  static Status create_set(Device*, Thread*, Set** out) noexcept {
    auto* set = new (std::nothrow) FakeSet;
    if (set == nullptr) return {Code::kNoMemory, 0, "no memory"};
    ++calls.creates;
    *out = reinterpret_cast<Set*>(set);
    return kSuccess;
  }
  static void destroy_set(Set* set) noexcept {
    ++calls.destroys;
    delete of(set);
  }
  static Status program(Set* set, const uint32_t* events, uint32_t count) noexcept {
    const Inside inside(of(set));
    for (uint32_t i = 0; i < count; ++i) of(set)->events[i] = events[i];
    of(set)->count = count;
    return kSuccess;
  }
  static Status start(Set* set) noexcept {
    const Inside inside(of(set));
    ++calls.starts;
    of(set)->running = true;
    of(set)->begin = ticks.load();
    return kSuccess;
  }
  static Status stop(Set* set) noexcept {
    const Inside inside(of(set));
    ++calls.stops;
    of(set)->running = false;
    of(set)->end = ticks.load();
    return kSuccess;
  }
  static Status read(Set* set, int64_t* values) noexcept {
    const Inside inside(of(set));
    if (calls.read_fails) return {Code::kCountersLost, 0, "the counter was lost"};
    const FakeSet& s = *of(set);
    const int64_t now = s.running ? ticks.load() : s.end;
    for (uint32_t i = 0; i < s.count; ++i) values[i] = (now - s.begin) * (s.events[i] + 1);
    return kSuccess;
  }
  static Status reset(Set* set) noexcept {
    const Inside inside(of(set));
    of(set)->begin = of(set)->end = ticks.load();
    return kSuccess;
  }
};

struct Opened {
  static Status detect(const Host*) noexcept {
    ++calls.detects;
    return kSuccess;
  }
  static Status open(const Host*, Device** out) noexcept {
    ++calls.opens;
    *out = nullptr;
    return kSuccess;
  }
  static void close(Device*) noexcept { ++calls.closes; }
};

struct Beta : Ticking {
  static uint32_t event_count(Device*) noexcept { return 3; }
  static Status event_at(Device*, uint32_t index, Event* out) noexcept {
    *out = kBeta[index];
    return kSuccess;
  }
};

struct Alpha : Ticking, Opened {
  static Status attach(Device*, Thread** out) noexcept {
    ++calls.attaches;
    *out = nullptr;
    return kSuccess;
  }
  static void detach(Device*, Thread*) noexcept { ++calls.detaches; }
  static uint32_t event_count(Device*) noexcept { return 6; }
  static Status event_at(Device*, uint32_t index, Event* out) noexcept {
    ++calls.described;
    *out = kAlpha[index];
    return kSuccess;
  }
  static Status recipe(Device*, const char* preset, Recipe* out) noexcept {
    struct Known {
      const char* preset;
      const char* derived;
      const char* formula;
      uint32_t count;
      uint32_t terms[2];
    };
    constexpr Known kKnown[] = {{"PAPI_TOT_CYC", "NOT_DERIVED", "", 1, {0}},
                                {"PAPI_TOT_INS", "NOT_DERIVED", "", 1, {1}},
                                {"PAPI_LST_INS", "DERIVED_ADD", "", 2, {0, 1}},
                                {"PAPI_BR_INS", "DERIVED_POSTFIX", "N1|N0|-|10|*|", 2, {0, 1}},
                                {"PAPI_FP_OPS", "DERIVED_INFIX", "(N1 - N0) * 0.5", 2, {0, 1}},
                                {"PAPI_LD_INS", "NOT_DERIVED", "", 1, {2}},
                                {"PAPI_SR_INS", "DERIVED_NONSENSE", "", 1, {1}}};
    for (const Known& known : kKnown) {
      if (std::strcmp(known.preset, preset) != 0) continue;
      out->term_count = known.count;
      for (uint32_t i = 0; i < known.count; ++i) out->terms[i] = known.terms[i];
      std::strcpy(out->derived, known.derived);
      std::strcpy(out->postfix, known.formula);
      return kSuccess;
    }
    return {Code::kNoEvent, 0, "this processor has no way to count it"};
  }
  static Status program(Set* set, const uint32_t* events, uint32_t count) noexcept {
    for (uint32_t i = 0; i < count; ++i) {
      if (events[i] == 2) return {Code::kNoEvent, 0, "BROKEN does not open"};
    }
    return Ticking::program(set, events, count);
  }
  static Status read_details(Set* set, ValueDetail* out) noexcept {
    int64_t values[8] = {};
    if (const Status status = read(set, values); !status.ok()) return status;
    for (uint32_t i = 0; i < of(set)->count; ++i) {
      out[i] = ValueDetail{};
      out[i].value = values[i];
      out[i].age_ns = 10 * (of(set)->events[i] + 1);
      out[i].flags = of(set)->events[i] == 1 ? static_cast<uint32_t>(kValueScaled) : 0u;
    }
    return kSuccess;
  }
};

struct Delta : Beta, Opened {
  static Status configure(Set* set, const Configuration*) noexcept {
    const Inside inside(of(set));
    if (calls.configure_fails) return {Code::kPermission, 1, "not allowed"};
    return kSuccess;
  }
  static Status arm(Set* set, uint32_t position, int64_t, uint32_t, const SampleSink* sink) noexcept {
    ++calls.armed;
    // A real one would call from a signal; calling at once shows that the sink arrives whole.
    const Sample sample{.address = 0x1234, .event_mask = 1ull << position, .context = nullptr};
    if (of(set)->count > position) sink->call(sink->owner, &sample);
    return kSuccess;
  }
  static Status disarm(Set*, uint32_t) noexcept {
    --calls.armed;
    return kSuccess;
  }
};

constexpr SubstrateTable kBetaTable =
    table_of<Beta>({.name = "beta", .max_events = 2, .event_names = "a,b,c"});
constexpr SubstrateTable kAlphaTable =
    table_of<Alpha>({.name = "alpha",
                     .summary = "A fake processor",
                     .version = "1",
                     .traits = kProcessor | kCounterUmasks,
                     .prefixes = "alpha::",
                     .event_names = "CYCLES,INSTRUCTIONS,BROKEN,HIDDEN,LOADS"});
constexpr SubstrateTable kGoneTable = [] {
  SubstrateTable table = kBetaTable;
  table.name = "gone";
  table.max_events = SubstrateTable{}.max_events;
  table.detect = refuse_detect;
  return table;
}();
constexpr SubstrateTable kDeltaTable =
    table_of<Delta>({.name = "delta",
                     .traits = kKernelMultiplex | kCanAttach | kCanBindCpu | kCanInherit,
                     .max_events = 1,
                     .default_domain = kDomainUser,
                     .granularities = kGranularityThread | kGranularitySystem,
                     .event_names = "a,b,c"});

int32_t alpha(const Host* host, SubstrateTable* out) noexcept { return publish(kAlphaTable, host, out); }
int32_t beta(const Host* host, SubstrateTable* out) noexcept { return publish(kBetaTable, host, out); }
int32_t gone(const Host* host, SubstrateTable* out) noexcept { return publish(kGoneTable, host, out); }
int32_t delta(const Host* host, SubstrateTable* out) noexcept { return publish(kDeltaTable, host, out); }

constexpr BuiltIn kSubstrates[] = {
    {"alpha", alpha}, {"beta", beta}, {"gone", gone}, {"delta", delta}, {nullptr, nullptr}};

}  // namespace

const BuiltIn* substrates() { return kSubstrates; }

void LibraryTest::SetUp() {
  Library::instance().use_built_in(kSubstrates);
  calls.read_fails = false;
  calls.configure_fails = false;
  ASSERT_TRUE(Library::instance().initialise().ok());
}

void LibraryTest::TearDown() {
  Library::instance().shutdown();
  EXPECT_EQ(calls.creates, calls.destroys) << "a set was not destroyed";
  EXPECT_EQ(calls.opens, calls.closes) << "a device was not closed";
  EXPECT_EQ(calls.attaches, calls.detaches) << "a thread was not detached";
  EXPECT_EQ(calls.overlaps, 0) << "two calls met on one set";
}

uint32_t code(const char* name) {
  const Result<uint32_t> found = Library::instance().catalogue().find(name);
  EXPECT_TRUE(found.has_value()) << name << ": " << (found ? "" : found.error().note);
  return found.value_or(0u);
}

int set_of(std::initializer_list<const char*> names) {
  const int handle = create_event_set().value_or(-1);
  for (const char* name : names) {
    const Status status = add_named_event(handle, name);
    EXPECT_TRUE(status.ok()) << name << ": " << status.note;
  }
  return handle;
}

}  // namespace fake
