// The substrate "memory": counts accesses, misses and write-backs of a modelled two-level cache, live.
#include <substrata/substrate.h>

#include <deque>
#include <iterator>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "memory/cache_instrument.hpp"
#include "memory/memory_machine.hpp"
#include "models/cache/cache_model.hpp"
#include "models/counting/counting.hpp"

namespace {

using namespace substrata;
using memory::CacheInstrument;
using memory::Geometry;

enum QualifierIndex : size_t { kCpu, kL1, kL1Ways, kL2, kL2Ways, kLine, kInclusive };

constexpr counting::Qualifier kQualifiers[] = {
    {"cpu", "one processor; absent: all together", 0, memory::kMostCpus - 1},
    {"l1", "bytes of the first level; absent: the machine's, at first 32K", 64, memory::kMostCacheBytes},
    {"l1_ways", "its ways; absent: the machine's, at first 8", 1, memory::kMostWays},
    {"l2", "bytes of the second level; absent: the machine's, at first 1M", 64, memory::kMostCacheBytes},
    {"l2_ways", "its ways; absent: the machine's, at first 16", 1, memory::kMostWays},
    {"line", "bytes of a line; absent: the machine's, at first 64", memory::kLeastLine, memory::kMostLine},
    {"inclusive", "1: the second level holds what the first holds; absent: the machine's, at first 0", 0, 1},
};

// In the order of memory::Counts' fields.
constexpr counting::EventDescription kEvents[] = {
    {"ACCESSES", "Loads, stores, atomics and fetches that reached the caches.", "accesses"},
    {"READS", "Loads, fetches, and the loads of atomics.", "accesses"},
    {"WRITES", "Stores, and the stores of atomics.", "accesses"},
    {"ATOMICS", "Atomic operations; each is also one of READS and one of WRITES.", "accesses"},
    {"BYTES", "Bytes accessed.", "bytes"},
    {"REFERENCES", "Lines touched; an access that crosses lines touches each.", "lines"},
    {"L1_MISSES", "References not found in the first level.", "lines"},
    {"L2_MISSES", "First-level misses not found in the second level.", "lines"},
    {"L1_WRITE_BACKS", "Dirty lines from the first to the second level.", "lines"},
    {"L2_WRITE_BACKS", "Dirty lines from the second level to memory.", "lines"},
    {"BACK_INVALIDATIONS",
     "Lines taken out of the first level because an inclusive second level dropped them.", "lines"},
};
static_assert(std::size(kEvents) == memory::kCountFields);

class MemoryMonitor final : public counting::Monitor {
 public:
  explicit MemoryMonitor(const Host*) : Monitor(kEvents, kQualifiers) {}

 protected:
  Status bind(const counting::Request& request, counting::Binding* out) override {
    CacheInstrument* instrument = nullptr;
    if (const Status refused = instrument_for(request, &instrument); !refused.ok()) return refused;
    const counting::QualifierValue& cpu = request.qualifiers[kCpu];
    const memory::CountCounters& counters =
        cpu.given ? instrument->of_cpu(static_cast<uint32_t>(cpu.low)) : instrument->total();
    out->counters = {&counters[request.event]};
    out->instrument = instrument;
    return kSuccess;
  }

 private:
  // One for the machine's own geometry and one for every other that is asked for.
  Status instrument_for(const counting::Request& request, CacheInstrument** out) {
    bool own = false;
    for (size_t i = kL1; i <= kInclusive; ++i) own = own || request.qualifiers[i].given;
    std::optional<Geometry> wanted;
    if (own) {
      const Geometry machine = memory::current_machine().geometry;
      wanted = Geometry{request.value_or(kL1, machine.l1_bytes),
                        request.value_or(kL1Ways, machine.l1_ways),
                        request.value_or(kL2, machine.l2_bytes),
                        request.value_or(kL2Ways, machine.l2_ways),
                        request.value_or(kLine, machine.line_bytes),
                        request.value_or(kInclusive, machine.inclusive ? 1 : 0) != 0};
      if (const char* wrong = memory::objection(*wanted)) {
        return refuse(Code::kAttribute, "the caches asked for cannot be built: %s", wrong);
      }
    }
    for (Model& model : models_) {
      if (model.geometry == wanted) {
        *out = model.instrument.get();
        return kSuccess;
      }
    }
    models_.push_back({wanted, std::make_unique<CacheInstrument>(wanted, false)});
    *out = models_.back().instrument.get();
    return kSuccess;
  }

  struct Model {
    std::optional<Geometry> geometry;
    std::unique_ptr<CacheInstrument> instrument;
  };
  std::deque<Model> models_;
};

constexpr SubstrateTable kTable = counting::table<MemoryMonitor, kEvents>(
    {.name = "memory",
     .summary = "A modelled cache machine on the memory accesses of live programs, traces and workloads"});

}  // namespace

SUBSTRATA_PUBLISH(memory, kTable);
