// The memory probe's runtime: binds access sites to objects, keeps the heap's map, publishes to the feed, and
// writes the summary when the program ends. The hooks call it only when a site meets a new object.
#include <malloc.h>
#include <pthread.h>
#include <substrata/feed.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "filter.hpp"
#include "interface.h"
#include "records.h"
#include "symbols.hpp"

namespace substrata::access_tracer {
namespace {

// A place of memory with a name: a variable, the heap objects of one allocation site, a stack, or what nobody
// named.
struct Object {
  std::string name;
  const char* kind;
  uint64_t bytes = 0;        // of a variable, or allocated in all at a heap site
  uint64_t allocations = 0;  // of a heap site
};

struct Tally {
  uint64_t accesses = 0;
  uint64_t bytes = 0;
};

// One site's accesses to one object.
struct SiteKey {
  uintptr_t pc;
  uint32_t object;
  uint32_t kind;
  bool operator==(const SiteKey&) const = default;
};
struct SiteHash {
  size_t operator()(const SiteKey& key) const {
    return (key.pc * 0x9e3779b97f4a7c15u) ^ (uint64_t{key.object} << 20) ^ key.kind;
  }
};
using Tallies = std::unordered_map<SiteKey, Tally, SiteHash>;

// One thread that accessed memory. Made at its first access, kept until the program ends.
struct ThreadState {
  substrata_memory_thread table{};  // the only part the hooks touch
  uintptr_t stack_low = 0;
  uintptr_t stack_size = 0;
  substrata_publisher* publisher = nullptr;
  bool in_bursts = false;  // not every access is published
  uint64_t burst_position = 0;
  Tallies moved;  // counts of sites that have been bound to something else since
  // Records for a sink, from `given` to the table's `next`. The thread writes them without the mutex and
  // begins at the front again with it.
  std::mutex giving;
  std::unique_ptr<uint64_t[]> records;
  uint64_t* given = nullptr;
  uint64_t taking = 0;  // which sink they are for
  substrata_access_sink sink{};
  bool one_by_one = false;  // the hooks write none, as observers of the feed want them too
};

constexpr uintptr_t kPage = 4096;
// Records that a thread gathers for a sink: much more than a call costs, much less than a core's first
// cache.
constexpr size_t kRecords = 1024;

// Is this thread giving records away right now? What the sink's own calls access is left out.
thread_local bool giving_here = false;

// The last records of a thread go with it.
struct LastRecords {
  ThreadState* state = nullptr;
  ~LastRecords();
};
thread_local LastRecords last_records;

// Process-wide state; made at the first constructor of an instrumented file and never destroyed, since
// threads may run on while the program ends. Thread-safe by its lock; the hooks' tables belong to their
// threads.
class Runtime {
 public:
  static Runtime& instance() {
    static Runtime* runtime = new Runtime;
    return *runtime;
  }

  void begin(volatile uint64_t* salt, substrata_memory_thread* first) {
    salt_ = salt;
    first_ = first;
    pthread_atfork(nullptr, nullptr, [] { instance().after_fork_in_child(); });
  }

  substrata_memory_thread* attach() {
    auto* state = new ThreadState;
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      void* low = nullptr;
      size_t size = 0;
      pthread_attr_getstack(&attributes, &low, &size);
      pthread_attr_destroy(&attributes);
      state->stack_low = reinterpret_cast<uintptr_t>(low);
      state->stack_size = size;
    }
    state->table.runtime = state;
    const std::lock_guard guard(lock_);
    state->table.number = static_cast<uint32_t>(threads_.size());
    threads_.push_back(state);
    state->table.phase = substrata_phase_place();
    open_publisher(*state);
    last_records.state = state;
    return &state->table;
  }

  void bind(substrata_memory_thread* table, uintptr_t pc, uintptr_t address, unsigned kind, unsigned size) {
    auto& state = *static_cast<ThreadState*>(table->runtime);
    Watchers watchers;
    {
      const std::lock_guard guard(lock_);
      watchers = bind_locked(state, pc, address, kind, size);
    }
    // Without the lock: whoever watches may run a whole model.
    if (!join(state, watchers)) table->sites[substrata_memory_slot(pc)].key = 0;
    if (watchers.wanted) send(state, pc, address, kind, size, true);
  }

  // An access of one instruction, whose site is bound.
  static void publish(substrata_memory_thread* table, uintptr_t address, unsigned kind, uint32_t size) {
    auto& state = *static_cast<ThreadState*>(table->runtime);
    if (table->last != nullptr) put_access(state, 0, address, kind, size, true);
    if (state.in_bursts) [[unlikely]] {
      publish_in_bursts(state, address, kind, size);
    } else if (state.publisher != nullptr) {
      put(state, 0, address, kind, size);
    }
  }

  [[gnu::noinline]] static void publish_in_bursts(ThreadState& state, uintptr_t address, unsigned kind,
                                                  uint32_t size) {
    instance().send_in_bursts(state, 0, address, kind, size);
  }

  void range(substrata_memory_thread* table, uintptr_t pc, uintptr_t address, unsigned kind, uint64_t size) {
    auto& state = *static_cast<ThreadState*>(table->runtime);
    Watchers watchers;
    {
      const std::lock_guard guard(lock_);
      const Place place = locate(address);
      Tally& tally = state.moved[{pc, place.object, kind}];
      ++tally.accesses;
      tally.bytes += size;
      watchers = watchers_of(state, takes(pc, place.object, address));
    }
    join(state, watchers);
    if (watchers.wanted) send(state, pc, address, kind, size, false);
  }

  void barrier_made(uintptr_t barrier, unsigned threads) {
    const std::lock_guard guard(lock_);
    barriers_[barrier] = {threads, 0};
  }
  // Called before the thread waits, so every arrival of one opening is counted before the first of the next.
  void barrier(substrata_memory_thread* table, uintptr_t pc, uintptr_t barrier) {
    auto& state = *static_cast<ThreadState*>(table->runtime);
    uint32_t threads = 0;
    uint64_t opening = 0;
    Watchers watchers;
    {
      const std::lock_guard guard(lock_);
      const auto known = barriers_.find(barrier);
      if (known == barriers_.end()) return;  // made where the wrappers did not compile
      threads = known->second.threads;
      opening = known->second.arrivals++ / threads;
      watchers = watchers_of(state, true);
    }
    if (join(state, watchers) && table->last != nullptr && threads > 1) {
      put_phase(state);
      put_number(state, SUBSTRATA_RECORD_NUMBER, opening);
      put_number(state, SUBSTRATA_RECORD_SIZE, threads);
      put_number(state, SUBSTRATA_RECORD_BARRIER, barrier);
      give_own(state);  // the others wait for this one, in a model too
    }
    if (state.publisher == nullptr) return;
    substrata_transaction* slot = substrata_reserve(state.publisher);
    if (slot == nullptr) return;
    *slot = {};
    slot->time = ++state.table.sequence;
    slot->address = barrier;
    slot->detail = opening;
    slot->site = pc;
    slot->initiator = state.table.number;
    slot->size = threads;
    slot->kind = SUBSTRATA_BARRIER;
    slot->phase = substrata_phase();
    substrata_commit(state.publisher);
  }

  void allocated(void* memory, size_t size, uintptr_t site) {
    if (memory == nullptr) return;
    const std::lock_guard guard(lock_);
    const uint32_t object = heap_object(site);
    objects_[object].bytes += size;
    ++objects_[object].allocations;
    heap_[reinterpret_cast<uintptr_t>(memory)] = {size, object};
    forget_bindings();  // what lay here before may be bound as "elsewhere"
  }
  void freed(void* memory) {
    if (memory == nullptr) return;
    const std::lock_guard guard(lock_);
    if (heap_.erase(reinterpret_cast<uintptr_t>(memory)) != 0) forget_bindings();
  }

  int set_sink(const substrata_access_sink* sink) {
    std::vector<ThreadState*> threads;
    {
      const std::lock_guard guard(lock_);
      if (sink != nullptr && (sink_.take != nullptr || burst_.on != 0)) return -1;
      sink_ = sink != nullptr ? *sink : substrata_access_sink{};
      taking_.store(sink != nullptr ? ++sinks_ : 0);
      threads = threads_;
      forget_bindings();
    }
    if (sink != nullptr) return 0;
    for (ThreadState* state : threads) {
      const std::lock_guard guard(state->giving);
      give(*state);
      state->sink = {};
    }
    return 0;
  }
  void hand_over() {
    std::vector<ThreadState*> threads;
    {
      const std::lock_guard guard(lock_);
      threads = threads_;
    }
    for (ThreadState* state : threads) {
      const std::lock_guard guard(state->giving);
      give(*state);
    }
  }
  // The thread's records so far, and its room is empty again; called by itself.
  static void give_own(ThreadState& state) {
    if (giving_here) return;
    giving_here = true;
    {
      const std::lock_guard guard(state.giving);
      give(state);
      state.given = state.records.get();
      __atomic_store_n(&state.table.next, state.given, __ATOMIC_RELEASE);
      if (state.one_by_one) state.table.last = state.given;
    }
    giving_here = false;
  }

  // The name of what lies at an address. Gives up at once while another thread is in here: the caller may
  // hold what that one waits for.
  bool name_at(uintptr_t address, char* out, size_t room, uintptr_t* low, uintptr_t* length) {
    const std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard.owns_lock()) return false;
    const Place place = locate(address);
    std::snprintf(out, room, "%s", objects_[place.object].name.c_str());
    // What nobody named may have named objects beside it.
    *low = place.object != elsewhere_ ? place.low : address;
    *length = place.object != elsewhere_ ? place.length : 1;
    return true;
  }

  void end() {
    const std::lock_guard guard(lock_);
    if (recorder_ != nullptr) {
      substrata_record_stop(recorder_, nullptr);
      recorder_ = nullptr;
    }
    const char* path = std::getenv("SUBSTRATA_MEMORY_SUMMARY");
    if (path == nullptr || path[0] == '\0') return;
    std::string name = path;
    if (const size_t at = name.find("%p"); at != std::string::npos)
      name.replace(at, 2, std::to_string(getpid()));
    else if (forked_)
      return;  // the parent's file is the parent's
    write_summary(name);
  }

 private:
  struct Place {
    uintptr_t low;
    uintptr_t length;
    uint32_t object;
  };
  struct HeapBlock {
    size_t size;
    uint32_t object;
  };
  struct Barrier {
    uint32_t threads;
    uint64_t arrivals;
  };
  // Who is interested in a thread's accesses, and in one of them.
  struct Watchers {
    substrata_access_sink sink{};
    uint64_t taking = 0;    // the sink's number; 0: there is none
    bool observed = false;  // through the feed
    bool wanted = false;    // that access: somebody is there, and the filter lets it through
  };

  Runtime() {
    if (const char* text = std::getenv("SUBSTRATA_MEMORY_FILTER")) complain(parse_filter(text, filter_));
    if (const char* text = std::getenv("SUBSTRATA_MEMORY_SAMPLE")) complain(parse_burst(text, burst_));
    substrata_source_info source{};
    source.struct_size = sizeof source;
    source.kind = SUBSTRATA_SOURCE_LIVE;
    source.name = "memory-probe";
    source.summary = "Memory accesses of this program, seen by the compiler's instrumentation";
    source.time_base = SUBSTRATA_TIME_NONE;
    has_feed_ = substrata_source_add(&source) == 0;
    if (const char* path = std::getenv("SUBSTRATA_MEMORY_TRACE"); path != nullptr && path[0] != '\0') {
      if (substrata_record_start(path, "mem.cpu*.accesses", nullptr, &recorder_) != 0)
        complain(substrata_feed_error());
    }
  }

  // A setting that cannot be obeyed was asked for by the user: told on standard error, once, and ignored.
  static void complain(const std::string& sentence) {
    if (!sentence.empty()) std::fprintf(stderr, "substrata memory probe: %s\n", sentence.c_str());
  }

  const Symbols& symbols() {
    if (symbols_ == nullptr) symbols_ = std::make_unique<Symbols>();
    return *symbols_;
  }

  void open_publisher(ThreadState& state) {
    if (!has_feed_) return;
    const std::string name = "mem.cpu" + std::to_string(state.table.number) + ".accesses";
    substrata_probe_info probe{};
    probe.struct_size = sizeof probe;
    probe.name = name.c_str();
    probe.text = "Memory accesses of one thread of the program; the initiator is the thread's number";
    probe.source = "memory-probe";
    uint32_t number = 0;
    if (substrata_probe_add(&probe, &number) != 0) return;
    // Large enough that deliveries do not count, small enough to stay in half of a core's first cache.
    if (substrata_publisher_open(number, 256, &state.publisher) != 0) return;
    state.in_bursts = burst_.on != 0;
    state.table.direct = state.in_bursts ? nullptr : state.publisher;
    substrata_publisher_epoch(state.publisher, const_cast<uint64_t*>(salt_));
  }

  // With the lock: the site's new object, and who wants to know of the access.
  Watchers bind_locked(ThreadState& state, uintptr_t pc, uintptr_t address, unsigned kind, unsigned size) {
    substrata_memory_site& site = state.table.sites[substrata_memory_slot(pc)];
    move_away(state, site);
    // Before the question whether anybody watches: an observer that comes after it makes the key stale.
    const uint64_t key = pc ^ __atomic_load_n(salt_, __ATOMIC_ACQUIRE);
    if (kind == SUBSTRATA_MEMORY_CALL) {
      site = {.key = key,
              .low = 0,
              .length = UINTPTR_MAX,
              .count = 1,
              .extent = UINTPTR_MAX,
              .pc = pc,
              .object = call_object(),
              .kind = static_cast<uint8_t>(kind),
              .size = 0,
              .reserved = {},
              .padding = 0};
      return watchers_of(state, false);
    }
    const Place place = locate(address);
    const Watchers watchers = watchers_of(state, takes(pc, place.object, address));
    site = {.key = key,
            .low = place.low,
            .length = watchers.wanted ? 0 : place.length,
            .count = 1,
            .extent = place.length,
            .pc = pc,
            .object = place.object,
            .kind = static_cast<uint8_t>(kind),
            .size = static_cast<uint8_t>(size),
            .reserved = {},
            .padding = 0};
    return watchers;
  }
  Watchers watchers_of(const ThreadState& state, bool taken) const {
    Watchers watchers{.sink = sink_, .taking = taking_.load()};
    watchers.observed = state.publisher != nullptr && substrata_observed(state.publisher);
    watchers.wanted = taken && (watchers.taking != 0 || watchers.observed);
    return watchers;
  }

  static uint64_t* end_of(const ThreadState& state) { return state.records.get() + kRecords; }
  // The thread's accesses go to those from now on. False: not yet, as it is giving records away.
  bool join(ThreadState& state, const Watchers& watchers) {
    substrata_memory_thread& table = state.table;
    if (state.taking != watchers.taking) {
      if (giving_here) return false;
      const std::lock_guard guard(state.giving);
      // Who has ended meanwhile waits for this lock, or had it before.
      state.taking = taking_.load() == watchers.taking ? watchers.taking : 0;
      state.sink = state.taking != 0 ? watchers.sink : substrata_access_sink{};
      if (state.taking != 0 && state.records == nullptr) state.records.reset(new uint64_t[kRecords]);
      state.given = state.taking != 0 ? state.records.get() : nullptr;
      table.taken_phase = 0;
      __atomic_store_n(&table.next, state.given, __ATOMIC_RELEASE);
    }
    state.one_by_one = state.taking != 0 && watchers.observed;
    table.last = state.one_by_one ? table.next : state.taking != 0 ? end_of(state) : nullptr;
    return true;
  }
  // With the state's mutex: the sink gets what it has not got yet.
  static void give(ThreadState& state) {
    uint64_t* const next = __atomic_load_n(&state.table.next, __ATOMIC_ACQUIRE);
    if (state.sink.take != nullptr && next != state.given)
      state.sink.take(state.sink.owner, state.table.number, state.given,
                      static_cast<size_t>(next - state.given));
    state.given = next;
  }
  static void put_record(ThreadState& state, uint64_t record) {
    substrata_memory_thread& table = state.table;
    if (table.next == end_of(state)) {
      if (giving_here) return;
      give_own(state);
    }
    *table.next = record;
    __atomic_store_n(&table.next, table.next + 1, __ATOMIC_RELEASE);
    if (state.one_by_one) table.last = table.next;
  }
  static void put_number(ThreadState& state, unsigned what, uint64_t number) {
    if (const uint64_t upper = number >> 48; upper != 0)
      put_record(state, substrata_record(SUBSTRATA_RECORD_UPPER, 1, upper));
    put_record(state, substrata_record(what, 1, number));
  }
  static void put_phase(ThreadState& state) {
    const uint16_t phase = __atomic_load_n(*state.table.phase, __ATOMIC_RELAXED);
    if (phase == state.table.taken_phase) return;
    state.table.taken_phase = phase;
    put_number(state, SUBSTRATA_RECORD_PHASE, phase);
  }
  // One instruction's size is a power of two.
  static void put_access(ThreadState& state, uintptr_t pc, uintptr_t address, unsigned kind, uint32_t size,
                         bool one_instruction) {
    const bool read = kind == SUBSTRATA_MEMORY_READ;
    put_phase(state);
    if (pc != 0) put_number(state, SUBSTRATA_RECORD_NUMBER, pc);
    if (one_instruction && substrata_record_is_plain(address, size)) {
      put_record(state,
                 substrata_record(read ? SUBSTRATA_RECORD_READ : SUBSTRATA_RECORD_WRITE, size, address));
      return;
    }
    if (size > 256) put_number(state, SUBSTRATA_RECORD_SIZE, size);
    if (const uint64_t upper = address >> 48; upper != 0)
      put_record(state, substrata_record(SUBSTRATA_RECORD_UPPER, 1, upper));
    put_record(state, substrata_record(read ? SUBSTRATA_RECORD_ANY_READ : SUBSTRATA_RECORD_ANY_WRITE, size,
                                       address));
  }

  void send(ThreadState& state, uintptr_t pc, uintptr_t address, unsigned kind, uint64_t size,
            bool one_instruction) {
    if (state.table.last != nullptr) {
      uint64_t left = size;
      for (uintptr_t at = address; left > 0;) {
        const auto part = static_cast<uint32_t>(std::min<uint64_t>(left, UINT32_MAX));
        put_access(state, pc, at, kind, part, one_instruction);
        at += part;
        left -= part;
      }
    }
    send_in_bursts(state, pc, address, kind, size);
  }
  // Through the feed; in bursts if that was asked for.
  void send_in_bursts(ThreadState& state, uintptr_t pc, uintptr_t address, unsigned kind, uint64_t size) {
    if (state.publisher == nullptr) return;
    if (burst_.on != 0) {
      const uint64_t position = state.burst_position++ % (burst_.on + burst_.off);
      if (position >= burst_.on) return;
    }
    while (size > 0) {
      const auto part = static_cast<uint32_t>(std::min<uint64_t>(size, UINT32_MAX));
      if (!put(state, pc, address, kind, part)) return;
      address += part;
      size -= part;
    }
  }
  // False: nobody watches any more.
  static bool put(ThreadState& state, uintptr_t pc, uintptr_t address, unsigned kind, uint32_t size) {
    substrata_transaction* slot = substrata_reserve(state.publisher);
    if (slot == nullptr) return false;
    substrata_memory_fill(slot, &state.table, pc, address, kind, size);
    substrata_commit(state.publisher);
    return true;
  }

  // Every site must look its object up again.
  void forget_bindings() { __atomic_fetch_add(salt_, 0x9e3779b97f4a7c15u, __ATOMIC_RELEASE); }

  static void move_away(ThreadState& state, substrata_memory_site& site) {
    if (site.count == 0) return;
    Tally& tally = state.moved[{site.pc, site.object, site.kind}];
    tally.accesses += site.count;
    tally.bytes += site.count * site.size;
    site.count = 0;
  }

  uint32_t add_object(std::string name, const char* kind, uint64_t bytes) {
    objects_.push_back({std::move(name), kind, bytes});
    return static_cast<uint32_t>(objects_.size() - 1);
  }
  uint32_t call_object() {
    if (call_object_ == UINT32_MAX) call_object_ = add_object("(calls)", "call", 0);
    return call_object_;
  }
  uint32_t heap_object(uintptr_t site) {
    const auto [at, is_new] = heap_sites_.try_emplace(site, 0u);
    if (is_new) at->second = add_object("heap of " + place_name(site), "heap", 0);
    return at->second;
  }

  std::string function_name(uintptr_t pc) {
    const Symbol* symbol = symbols().function_at(pc - 1);
    return symbol != nullptr ? symbol->name : "(unknown)";
  }
  std::string place_name(uintptr_t pc) {
    const Symbol* symbol = symbols().function_at(pc - 1);
    char text[40];
    std::snprintf(text, sizeof text, "+0x%zx",
                  static_cast<size_t>(pc - (symbol != nullptr ? symbol->low : 0)));
    return (symbol != nullptr ? symbol->name : "") + text;
  }

  Place locate(uintptr_t address) {
    if (auto next = heap_.upper_bound(address); next != heap_.begin()) {
      --next;
      if (address - next->first < next->second.size)
        return {next->first, next->second.size, next->second.object};
    }
    if (const Symbol* variable = symbols().variable_at(address)) {
      const auto [at, is_new] = variables_.try_emplace(variable->low, 0u);
      if (is_new) at->second = add_object(variable->name, "variable", variable->size);
      return {variable->low, variable->size, at->second};
    }
    for (const ThreadState* thread : threads_) {
      if (address - thread->stack_low >= thread->stack_size) continue;
      const auto [at, is_new] = stacks_.try_emplace(thread->table.number, 0u);
      if (is_new)
        at->second = add_object("stack of thread " + std::to_string(thread->table.number), "stack", 0);
      return {thread->stack_low, thread->stack_size, at->second};
    }
    if (elsewhere_ == UINT32_MAX) elsewhere_ = add_object("(elsewhere)", "other", 0);
    return {address & ~(kPage - 1), kPage, elsewhere_};
  }

  bool takes(uintptr_t pc, uint32_t object, uintptr_t address) {
    if (!filter_.functions.empty() && !filter_.takes_function(function_name(pc))) return false;
    return filter_.takes_object(objects_[object].name) && filter_.takes_address(address);
  }

  // In a child process: its own counts, its own file if the name asks for one. Other threads are not there.
  void after_fork_in_child() {
    new (&lock_) std::mutex;
    forked_ = true;
    for (ThreadState* state : threads_) {
      state->moved.clear();
      for (auto& site : state->table.sites) site.count = 0;
      state->publisher = state->table.direct = nullptr;
      new (&state->giving) std::mutex;
      state->sink = {};
      state->taking = 0;
      state->one_by_one = false;
      state->given = state->table.next = state->table.last = nullptr;
    }
    sink_ = {};
    taking_.store(0);
    recorder_ = nullptr;
    forget_bindings();
  }

  void write_summary(const std::string& path) {
    struct Sum {
      uint64_t reads = 0, writes = 0, atomics = 0, calls = 0, read_bytes = 0, written_bytes = 0;
      void add(uint32_t kind, const Tally& tally) {
        if (kind == SUBSTRATA_MEMORY_READ) {
          reads += tally.accesses;
          read_bytes += tally.bytes;
        } else if (kind == SUBSTRATA_MEMORY_WRITE) {
          writes += tally.accesses;
          written_bytes += tally.bytes;
        } else if (kind == SUBSTRATA_MEMORY_ATOMIC) {
          atomics += tally.accesses;
        } else {
          calls += tally.accesses;
        }
      }
      uint64_t accesses() const { return reads + writes + atomics; }
    };
    Sum all;
    std::map<std::string, Sum> functions;
    std::vector<Sum> objects(objects_.size());
    for (ThreadState* state : threads_) {
      Tallies counts = state->moved;
      for (const auto& site : state->table.sites) {
        const uint64_t count = __atomic_load_n(&site.count, __ATOMIC_RELAXED);
        if (count == 0) continue;
        Tally& tally = counts[{site.pc, site.object, site.kind}];
        tally.accesses += count;
        tally.bytes += count * site.size;
      }
      for (const auto& [key, tally] : counts) {
        all.add(key.kind, tally);
        functions[function_name(key.pc)].add(key.kind, tally);
        objects[key.object].add(key.kind, tally);
      }
    }
    using Json = nlohmann::ordered_json;
    Json by_function = Json::array();
    std::vector<std::pair<std::string, Sum>> sorted(functions.begin(), functions.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second.accesses() > b.second.accesses(); });
    for (const auto& [name, sum] : sorted)
      by_function.push_back({{"name", name},
                             {"calls", sum.calls},
                             {"reads", sum.reads},
                             {"writes", sum.writes},
                             {"atomics", sum.atomics}});
    Json by_object = Json::array();
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < objects_.size(); ++i)
      if (objects[i].accesses() != 0) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return objects[a].accesses() > objects[b].accesses(); });
    for (const uint32_t i : order)
      by_object.push_back({{"name", objects_[i].name},
                           {"kind", objects_[i].kind},
                           {"bytes", objects_[i].bytes},
                           {"allocations", objects_[i].allocations},
                           {"reads", objects[i].reads},
                           {"writes", objects[i].writes},
                           {"atomics", objects[i].atomics}});
    const Json summary = {{"reads", all.reads},
                          {"writes", all.writes},
                          {"atomics", all.atomics},
                          {"bytes_read", all.read_bytes},
                          {"bytes_written", all.written_bytes},
                          {"threads", threads_.size()},
                          {"by_function", by_function},
                          {"by_object", by_object}};
    const std::string temporary = path + ".part";
    std::ofstream file(temporary);
    file << summary.dump(1, ' ', false, Json::error_handler_t::replace) << '\n';
    file.close();
    if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
      complain("the summary cannot be written to " + path + ": " + std::strerror(errno));
      std::remove(temporary.c_str());
    }
  }

  std::mutex lock_;
  volatile uint64_t* salt_ = nullptr;
  substrata_memory_thread* first_ = nullptr;
  bool has_feed_ = false;
  bool forked_ = false;
  Filter filter_;
  Burst burst_;
  substrata_recorder* recorder_ = nullptr;
  std::unique_ptr<Symbols> symbols_;
  std::vector<ThreadState*> threads_;
  std::vector<Object> objects_;
  std::map<uintptr_t, HeapBlock> heap_;
  std::unordered_map<uintptr_t, Barrier> barriers_;
  std::unordered_map<uintptr_t, uint32_t> heap_sites_;
  std::unordered_map<uintptr_t, uint32_t> variables_;
  std::unordered_map<uint32_t, uint32_t> stacks_;
  uint32_t elsewhere_ = UINT32_MAX;
  uint32_t call_object_ = UINT32_MAX;
  substrata_access_sink sink_{};
  uint64_t sinks_ = 0;               // so far
  std::atomic<uint64_t> taking_{0};  // the number of the one there is
};

LastRecords::~LastRecords() {
  if (state != nullptr && state->records != nullptr) Runtime::give_own(*state);
}

__attribute__((destructor)) void at_end() { Runtime::instance().end(); }

}  // namespace
}  // namespace substrata::access_tracer

using substrata::access_tracer::Runtime;

extern "C" {

void substrata_memory_begin(volatile uint64_t* salt, substrata_memory_thread* first) {
  Runtime::instance().begin(salt, first);
}
substrata_memory_thread* substrata_memory_attach() { return Runtime::instance().attach(); }
void substrata_memory_bind(substrata_memory_thread* thread, uintptr_t pc, uintptr_t address, unsigned kind,
                           unsigned size) {
  Runtime::instance().bind(thread, pc, address, kind, size);
}
void substrata_memory_publish(substrata_memory_thread* thread, uintptr_t address, unsigned kind,
                              unsigned size) {
  Runtime::publish(thread, address, kind, size);
}
void substrata_memory_range(substrata_memory_thread* thread, uintptr_t pc, uintptr_t address, unsigned kind,
                            uint64_t size) {
  Runtime::instance().range(thread, pc, address, kind, size);
}

void substrata_memory_barrier_made(const void* barrier, unsigned threads) {
  Runtime::instance().barrier_made(reinterpret_cast<uintptr_t>(barrier), threads);
}
void substrata_memory_barrier(substrata_memory_thread* thread, uintptr_t pc, const void* barrier) {
  Runtime::instance().barrier(thread, pc, reinterpret_cast<uintptr_t>(barrier));
}

int substrata_memory_set_sink(const substrata_access_sink* sink) {
  return Runtime::instance().set_sink(sink);
}
void substrata_memory_hand_over() { Runtime::instance().hand_over(); }

int substrata_memory_name_at(uintptr_t address, char* out, size_t room, uintptr_t* low, uintptr_t* length) {
  return Runtime::instance().name_at(address, out, room, low, length) ? 0 : -1;
}

// The program's own allocations arrive here through the linker's --wrap, so that heap objects are named by
// their site.
#define SITE reinterpret_cast<uintptr_t>(__builtin_return_address(0))
void* __wrap_malloc(size_t size) {
  void* memory = malloc(size);
  Runtime::instance().allocated(memory, size, SITE);
  return memory;
}
void* __wrap_calloc(size_t count, size_t size) {
  void* memory = calloc(count, size);
  Runtime::instance().allocated(memory, count * size, SITE);
  return memory;
}
void* __wrap_realloc(void* old, size_t size) {
  Runtime::instance().freed(old);
  const size_t before = old != nullptr ? malloc_usable_size(old) : 0;
  void* memory = realloc(old, size);
  if (memory != nullptr) {
    Runtime::instance().allocated(memory, size, SITE);
  } else if (size != 0) {
    Runtime::instance().allocated(old, before, SITE);  // refused: the old block is still there
  }
  return memory;
}
void __wrap_free(void* memory) {
  Runtime::instance().freed(memory);
  free(memory);
}
void* __wrap_aligned_alloc(size_t alignment, size_t size) {
  void* memory = aligned_alloc(alignment, size);
  Runtime::instance().allocated(memory, size, SITE);
  return memory;
}
int __wrap_posix_memalign(void** out, size_t alignment, size_t size) {
  const int error = posix_memalign(out, alignment, size);
  if (error == 0) Runtime::instance().allocated(*out, size, SITE);
  return error;
}
// operator new and delete of C++ programs, by their mangled names.
void* __wrap__Znwm(size_t size) {
  void* memory = ::operator new(size);
  Runtime::instance().allocated(memory, size, SITE);
  return memory;
}
void* __wrap__Znam(size_t size) {
  void* memory = ::operator new[](size);
  Runtime::instance().allocated(memory, size, SITE);
  return memory;
}
void __wrap__ZdlPv(void* memory) {
  Runtime::instance().freed(memory);
  ::operator delete(memory);
}
void __wrap__ZdlPvm(void* memory, size_t) {
  Runtime::instance().freed(memory);
  ::operator delete(memory);
}
void __wrap__ZdaPv(void* memory) {
  Runtime::instance().freed(memory);
  ::operator delete[](memory);
}
}
