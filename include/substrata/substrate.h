// The interface between the portable layer and a substrate (a source of measured or modelled values): one
// table of plain function pointers, published by one entry point, never used by clients of the library.
//
// A substrate is one folder: every function of it sits in an unnamed namespace, the last lines are
//
//   constexpr substrata::SubstrateTable kTable{.name = "thermometer", ..., .detect = detect, ...};
//   }  // namespace
//   SUBSTRATA_PUBLISH(thermometer, kTable);
//
// and the entry point that this defines, substrata_entry_thermometer, is its only external symbol. Built-in
// substrates are listed by the build; others are shared objects `substrata-<name>.so` with the same entry
// point, found on SUBSTRATA_PLUGIN_PATH.
//
// RULES FOR EVERY SLOT
//   * noexcept; no std type crosses; no exception leaves.
//   * never prints, exits, aborts, changes signal handlers or the environment.
//   * a failed call has no effect; errors are Status values, never data.
//   * the layer owns order and life: open < attach < create_set < program < start < read* < stop <
//     destroy_set < detach < close; calls on one Set never overlap, calls on different sets may run in
//     parallel on different threads.
//   * read (and read_details, reset, write) may run often: no allocation, no lock, no blocking unless
//     kReadBlocks.
#ifndef SUBSTRATA_SUBSTRATE_H
#define SUBSTRATA_SUBSTRATE_H

#include <stddef.h>
#include <stdint.h>

namespace substrata {

// Bumped when a slot changes meaning or place. New slots are only appended, distinguished by struct_size.
inline constexpr uint32_t kSubstrateAbi = 1;

// What went wrong. The values are PAPI's error numbers, so that the C boundary maps by value.
enum class Code : int32_t {
  kOk = 0,
  kInvalid = -1,          // PAPI_EINVAL
  kNoMemory = -2,         // PAPI_ENOMEM
  kSystem = -3,           // PAPI_ESYS: os_error is its errno
  kComponent = -4,        // PAPI_ECMP: not supported by this substrate
  kCountersLost = -5,     // PAPI_ECLOST
  kBug = -6,              // PAPI_EBUG
  kNoEvent = -7,          // PAPI_ENOEVNT
  kConflict = -8,         // PAPI_ECNFLCT: events cannot be counted together
  kNotRunning = -9,       // PAPI_ENOTRUN
  kRunning = -10,         // PAPI_EISRUN
  kNoEventSet = -11,      // PAPI_ENOEVST
  kNotPreset = -12,       // PAPI_ENOTPRESET
  kNoCounter = -13,       // PAPI_ENOCNTR
  kMisc = -14,            // PAPI_EMISC
  kPermission = -15,      // PAPI_EPERM
  kNotInitialised = -16,  // PAPI_ENOINIT
  kNoComponent = -17,     // PAPI_ENOCMP
  kNoSupport = -18,       // PAPI_ENOSUPP
  kNotImplemented = -19,  // PAPI_ENOIMPL
  kBufferTooSmall = -20,  // PAPI_EBUF
  kInvalidDomain = -21,   // PAPI_EINVAL_DOM
  kAttribute = -22,       // PAPI_EATTR: a bad qualifier of an event name
  kTooMany = -23,         // PAPI_ECOUNT
  kCombination = -24,     // PAPI_ECOMBO
  kDisabled = -25,        // PAPI_ECMP_DISABLED
  kDelayedInit = -26,     // PAPI_EDELAY_INIT
};

// The result of a call. `note` is a message for a person (what was asked, what refused, what to do) or null;
// it stays valid until the next call into the same substrate on the same thread. Static strings are best.
struct Status {
  Code code = Code::kOk;
  int32_t os_error = 0;  // errno, where a system call refused
  const char* note = nullptr;
  constexpr bool ok() const noexcept { return code == Code::kOk; }
};
inline constexpr Status kSuccess{};

// Opaque to the layer; a substrate defines them as it likes (reinterpret_cast at its border) or leaves them
// null.
struct Device;  // process-wide state, between open and close
struct Thread;  // state of one measuring thread, between attach and detach
struct Set;     // what belongs to one eventset

// What kind of number an event gives.
enum class ValueKind : uint32_t {
  kCount,  // grows; the difference between start and read is reported
  kGauge,  // a level at the time of reading (temperature, power); start and reset do not change it
  kBin,    // one bin of a histogram, a count
};

// PAPI's PAPI_event_info_t.value_type: how the 64 bits are to be read.
enum class ValueType : uint32_t { kInt64 = 0, kUint64 = 1, kDouble = 2 };

enum EventFlags : uint32_t {
  kEventModelled = 1u << 0,  // comes from a model, not from hardware or the operating system
  kEventUnavailable =
      1u << 1,  // known by name, but does not open here (Event::why says the reason and the cure)
  kEventReadLocks = 1u << 2,    // its reading takes a lock, or memory: never to be read in a signal handler
  kEventScopeThread = 1u << 4,  // what the value covers
  kEventScopeProcess = 1u << 5,
  kEventScopeCore = 1u << 6,
  kEventScopePackage = 1u << 7,
  kEventScopeNode = 1u << 8,
};

// One event of a substrate's catalogue. Strings are owned by the substrate, valid until close.
struct Event {
  const char* name =
      nullptr;  // without the component prefix, unless the field's custom has one ("perf::TASK-CLOCK")
  const char* text = nullptr;  // one line
  const char* unit = nullptr;  // "", "ns", "mdegC", "bytes", ... never null for a listed event
  const char* why = nullptr;   // with kEventUnavailable: reason and cure
  ValueKind kind = ValueKind::kCount;
  ValueType type = ValueType::kInt64;
  uint32_t width_bits = 64;
  uint32_t flags = 0;
};

// What a preset is made of on this hardware. Formula as in PAPI: NOT_DERIVED, DERIVED_ADD, DERIVED_SUB,
// DERIVED_POSTFIX with "N0|N1|+|" text; terms are indices into the substrate's catalogue.
inline constexpr uint32_t kMaxRecipeTerms = 12;
struct Recipe {
  uint32_t term_count = 0;
  uint32_t terms[kMaxRecipeTerms] = {};
  char derived[32] = "NOT_DERIVED";
  char postfix[512] = "";
  char note[512] = "";
};

// Whom a set measures.
enum class Target : uint32_t { kSelf, kThreadOrProcess, kCpu };
enum Granularity : uint32_t {
  kGranularityThread = 1,
  kGranularityProcess = 2,
  kGranularityProcessGroup = 4,
  kGranularitySystem = 8,
  kGranularitySystemCpu = 16
};
enum Domain : uint32_t {
  kDomainUser = 1,
  kDomainKernel = 2,
  kDomainOther = 4,
  kDomainSupervisor = 8,
  kDomainAll = 15
};

// How a set is to measure; passed whole, so that a change is all or nothing.
struct Configuration {
  uint32_t struct_size = sizeof(Configuration);
  uint32_t domain = kDomainUser;
  uint32_t granularity = kGranularityThread;
  Target target = Target::kSelf;
  int64_t target_id = 0;   // pid/tid or CPU number
  uint32_t inherit = 0;    // children are counted too
  uint32_t multiplex = 0;  // the kernel may rotate the events; values are scaled and say so
  uint64_t multiplex_period_ns = 0;
};

// Restrictions of a value: the flags of ValueDetail.
enum ValueFlags : uint32_t {
  kValueScaled = 1u << 0,  // the counter ran only part of the time; the value is extrapolated
  kValueModelled = 1u << 1,
  kValueStale = 1u << 2,  // older than the source's refresh period
  // Overflows came that were not delivered, or so fast that the source may have held the counter back.
  kValueIncomplete = 1u << 3,
};
// A value with what qualifies it: when it was taken, how old it was then, how long it counted, and the flags.
struct ValueDetail {
  int64_t value = 0;
  int64_t time_ns = 0;     // CLOCK_MONOTONIC_RAW when the value was taken
  int64_t age_ns = 0;      // how old the number was then
  int64_t enabled_ns = 0;  // how long the event was wanted
  int64_t running_ns = 0;  // how long it was really counting
  uint32_t flags = 0;
};

// One overflow, as handed to a sink; possibly inside a signal handler.
struct Sample {
  uint64_t address = 0;     // where it happened (as asked for: program counter or data), 0 if unknown
  uint64_t event_mask = 0;  // bit i: the i-th event of the set overflowed
  void* context = nullptr;  // ucontext_t* of the signal, or null
};
// What arm's flags ask for.
enum SampleFlags : uint32_t {
  kSampleDataAddress = 1u << 0,  // samples carry the address of the data that the program accessed
};
struct SampleSink {
  void (*call)(void* owner, const Sample* sample) noexcept = nullptr;  // async-signal-safe
  void* owner = nullptr;
};

// What the layer offers to a substrate. Valid as long as the substrate is loaded.
struct Host {
  uint32_t struct_size = sizeof(Host);
  uint32_t abi = kSubstrateAbi;
  void* context = nullptr;
  // Monotonic nanoseconds of the layer's clock (a fake one in tests). Signal-safe.
  int64_t (*now_ns)(void* context) noexcept = nullptr;
  // An environment setting, read safely (never in a set-user-id program); null when absent.
  const char* (*setting)(void* context, const char* name) noexcept = nullptr;
  // Where "/" is: "" on a real machine, a recorded tree in tests. Every path into /sys or /proc starts with
  // it.
  const char* root = "";
  // A line for PAPI_DEBUG's log; dropped unless asked for.
  void (*log)(void* context, const char* line) noexcept = nullptr;
};

enum Traits : uint32_t {
  kProcessor = 1u << 0,   // has presets; the component PAPI calls the CPU component
  kReadBlocks = 1u << 1,  // read may block; Table::read_bound_ns says how long
  kKernelMultiplex = 1u << 2,
  kFastRead = 1u << 3,  // read works without a system call where the kernel allows it
  kCanAttach = 1u << 4,
  kCanBindCpu = 1u << 5,
  kCanInherit = 1u << 6,
  kHardwareInterrupt = 1u << 7,  // arm works on hardware or kernel overflow
  kModelled = 1u << 8,           // every value of this substrate comes from a model
  kOnRequest = 1u << 9,          // reported as disabled unless its setting asks for it
  kCounterUmasks = 1u << 10,     // event names take qualifiers
  kPrefixNeeded = 1u << 11,      // find_event takes any well-formed name: never to be asked for a bare one
  kSwitchesInSignal = 1u << 12,  // start and stop, too, may be called in a signal handler of the set's thread
  kDataAddresses = 1u << 13,     // arm knows kSampleDataAddress, and refuses it for events that have none
};

using DetectSlot = Status(const Host* host) noexcept;
using OpenSlot = Status(const Host* host, Device** out) noexcept;
using CloseSlot = void(Device*) noexcept;
using EventCountSlot = uint32_t(Device*) noexcept;
using EventAtSlot = Status(Device*, uint32_t index, Event* out) noexcept;
using FindEventSlot = Status(Device*, const char* name, uint32_t* index_out) noexcept;
using RecipeSlot = Status(Device*, const char* preset_name, Recipe* out) noexcept;
using AttachSlot = Status(Device*, Thread** out) noexcept;
using DetachSlot = void(Device*, Thread*) noexcept;
using CreateSetSlot = Status(Device*, Thread*, Set** out) noexcept;
using DestroySetSlot = void(Set*) noexcept;
using ProgramSlot = Status(Set*, const uint32_t* events, uint32_t count) noexcept;
using ConfigureSlot = Status(Set*, const Configuration*) noexcept;
using SetSlot = Status(Set*) noexcept;
using ReadSlot = Status(Set*, int64_t* values) noexcept;
using ReadDetailsSlot = Status(Set*, ValueDetail* details) noexcept;
using WriteSlot = Status(Set*, const int64_t* values) noexcept;
using ArmSlot = Status(Set*, uint32_t event_position, int64_t threshold, uint32_t flags,
                       const SampleSink*) noexcept;
using DisarmSlot = Status(Set*, uint32_t event_position) noexcept;
using HardwareCountersSlot = uint32_t(Device*) noexcept;
using FastReadsSlot = bool(Device*) noexcept;
using UnitsSlot = const char*(Device*) noexcept;
using DomainsSlot = uint32_t(Device*) noexcept;

// THE table. Data first, then slots. Slots marked * are required; the layer gives every other null slot a
// default.
struct SubstrateTable {
  uint32_t struct_size = sizeof(SubstrateTable);
  uint32_t abi = kSubstrateAbi;
  const char* name = nullptr;        // "perf_event": [a-z0-9_]+, at most 63 bytes
  const char* short_name = nullptr;  // "perf"; null: the name
  const char* summary = nullptr;     // one line
  const char* version = nullptr;
  uint32_t traits = 0;
  uint32_t max_events = 64;  // counters of one set
  uint32_t max_multiplexed = 64;
  uint32_t default_domain = kDomainAll;
  uint32_t domains = kDomainAll;
  uint32_t default_granularity = kGranularitySystem;
  uint32_t granularities = kGranularitySystem;
  int64_t read_bound_ns = 0;  // with kReadBlocks: how long a read may take
  // Prefixes an event name may carry besides "<name>:::", separated by commas ("perf::,perf_raw::"); null for
  // none.
  const char* prefixes = nullptr;

  // Is it here? Cheap, without lasting effect. Not ok: unavailable, the note says why and what to do.
  // Default: yes.
  DetectSlot* detect = nullptr;
  OpenSlot* open = nullptr;  // default: no state
  CloseSlot* close = nullptr;
  EventCountSlot* event_count =
      nullptr;  // *  dense: indices 0..count-1; may grow when find_event meets a qualifier
  EventAtSlot* event_at = nullptr;      // *
  FindEventSlot* find_event = nullptr;  // default: compares with every event's name
  RecipeSlot* recipe = nullptr;         // default: kNoEvent
  AttachSlot* attach = nullptr;         // default: no state
  DetachSlot* detach = nullptr;
  CreateSetSlot* create_set = nullptr;    // *
  DestroySetSlot* destroy_set = nullptr;  // *
  ProgramSlot* program = nullptr;         // *  the whole new list, in order; all or nothing; count may be 0
  ConfigureSlot* configure =
      nullptr;               // default: accepts the table's defaults, refuses others with kComponent
  SetSlot* start = nullptr;  // *  counting events begin at 0
  // *  values can still be read, they no longer change. Refused: they are lost; the set is stopped all the
  // same, and start is possible again
  SetSlot* stop = nullptr;
  ReadSlot* read = nullptr;                 // *  every value or none
  ReadDetailsSlot* read_details = nullptr;  // default: read, stamped by the host's clock
  SetSlot* reset = nullptr;                 // *  counting events back to 0, running or not
  WriteSlot* write = nullptr;               // default: kNoSupport
  ArmSlot* arm = nullptr;                   // default: kComponent; the layer then overflows by a timer
  DisarmSlot* disarm = nullptr;
  const void* reserved = nullptr;  // ignored; keeps the place of a slot that is gone
  // The names that its events may have, as shell patterns separated by commas ("*:rx:*,*:tx:*"), compared
  // with the name and with the name less its qualifiers. While the substrate is closed, a name without a
  // component is looked for here only if it matches: so a misspelt name opens nothing. Patterns without a
  // wildcard are suggested for misspelt names. Null: any name.
  const char* event_names = nullptr;
  // How many counters a set gets on this machine, 0 without any. Default: max_events.
  HardwareCountersSlot* hardware_counters = nullptr;
  // With kFastRead: do reads work without a system call on this machine? Default: yes.
  FastReadsSlot* fast_reads = nullptr;
  // The counter units of this machine whose events it has, as tables of events name them, separated by commas
  // ("amd64_fam19h_zen4"); the text lasts until close. Default: none.
  UnitsSlot* units = nullptr;
  // The values of this moment, from which the events count anew; every value or none. Default: read, then reset.
  ReadSlot* take = nullptr;
  // Which of `domains` this process may count on this machine. Default: all of them.
  DomainsSlot* countable_domains = nullptr;
};

// Copies the table into *out, no more than fits into the caller's, so that an older host and a newer
// substrate fit and the reverse. Returns 0, or the negative of the ABI the substrate was built for when the
// host cannot use it.
inline int32_t publish(const SubstrateTable& table, const Host* host, SubstrateTable* out) noexcept {
  if (host == nullptr || out == nullptr || host->abi != table.abi) return -static_cast<int32_t>(table.abi);
  const uint32_t size = out->struct_size < table.struct_size ? out->struct_size : table.struct_size;
  const unsigned char* from = reinterpret_cast<const unsigned char*>(&table);
  unsigned char* to = reinterpret_cast<unsigned char*>(out);
  for (uint32_t i = 0; i < size; ++i) to[i] = from[i];
  out->struct_size = size;
  return 0;
}

using EntryPoint = int32_t(const Host* host, SubstrateTable* out) noexcept;

}  // namespace substrata

// Defines the entry point of the substrate `name` (a plain word), exported in every build: it publishes
// `table`, an expression for a SubstrateTable. At global scope, once a substrate. Those of one library lie together,
// since all run when it is initialised, and each page of code that is touched first takes microseconds.
#define SUBSTRATA_PUBLISH(name, table)                                                                   \
  extern "C" __attribute__((visibility("default"), section(".text.startup.substrata")))                  \
  int32_t substrata_entry_##name(const substrata::Host* host, substrata::SubstrateTable* out) noexcept { \
    return substrata::publish(table, host, out);                                                         \
  }                                                                                                      \
  static_assert(true, "a semicolon follows")

#endif
