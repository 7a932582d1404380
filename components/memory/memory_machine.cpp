// Timing of accesses by the level that serves them; the accesses and the traffic go to the feed.
#include "memory/memory_machine.hpp"

#include <substrata/feed.hpp>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

#include "memory/cache_instrument.hpp"
#include "sources/workloads/run.hpp"
#include "sources/workloads/shared_memory_machine.hpp"
#include "sources/workloads/spec.hpp"

namespace substrata::memory {
namespace {

using workloads::Operation;
using workloads::OperationKind;
using workloads::Parameter;
using workloads::ProcessId;
using workloads::Time;

// The cache defaults are Geometry's. The latencies are round numbers of a common core, from no paper.
constexpr Parameter kParameters[] = {
    {"l1", "bytes of the first level", 32 * 1024, 64, kMostCacheBytes},
    {"l1_ways", "ways of the first level", 8, 1, kMostWays},
    {"l2", "bytes of the second level", 1024 * 1024, 64, kMostCacheBytes},
    {"l2_ways", "ways of the second level", 16, 1, kMostWays},
    {"line", "bytes of a line", 64, kLeastLine, kMostLine, true},
    {"inclusive", "1: a line in the first level is in the second as well", 0, 0, 1},
    {"cycle_ps", "picoseconds of a processor cycle", 1000, 1, 1'000'000},
    {"l1_cycles", "cycles of an access served by the first level", 1, 1, 1'000'000},
    {"l2_cycles", "cycles of an access served by the second level", 10, 1, 1'000'000},
    {"memory_cycles", "cycles of an access served by memory", 100, 1, 1'000'000},
};

workloads::SynchronisationCosts costs(const MachineParameters& p) {
  return workloads::SynchronisationCosts::all(p.memory_cycles * p.cycle_ps, p.cycle_ps);
}

// Publishes at mem.objects where the arrays of this run lie: address, size, and in detail the
// number of the region that carries the array's name. Returns how many it published.
uint64_t publish_objects(const workloads::Memory& memory, uint16_t program) {
  const client::feed::Publisher publisher =
      kSource
          .publisher("mem.objects",
                     "arrays of a workload at the begin of its run; detail: the region with the array's name")
          .value();
  const bool observed = publisher.observed();
  if (observed) {
    for (const workloads::Memory::Object& object : memory.objects()) {
      substrata_transaction t{};
      t.address = object.address;
      t.size = static_cast<uint32_t>(std::min<uint64_t>(object.bytes, UINT32_MAX));
      t.detail = substrata_region(object.name.c_str());
      t.kind = SUBSTRATA_ALLOCATE;
      t.program = program;
      t.flags = SUBSTRATA_FLAG_MODELLED;
      publisher.publish(t);
    }
  }
  return observed ? memory.objects().size() : 0;
}

class MemoryMachine final : public workloads::SharedMemoryMachine {
 public:
  MemoryMachine(const MachineParameters& parameters, uint16_t program)
      : SharedMemoryMachine(costs(parameters)), parameters_(parameters), program_(program) {}

  std::string_view name() const override { return "memory"; }

  void begin(workloads::Engine& engine) override {
    SharedMemoryMachine::begin(engine);
    begin_machine(parameters_.geometry);
    published_ = publish_objects(engine.memory(), program_);
    cpus_ = std::vector<Cpu>(engine.processes());
    for (uint32_t i = 0; i < cpus_.size(); ++i) {
      Cpu& cpu = cpus_[i];
      cpu.caches = std::make_unique<Caches>(parameters_.geometry);
      cpu.traffic = std::make_unique<TrafficPublisher>();
      uint32_t number = 0;
      client::feed::demand(add_cpu_probe(i, "accesses", &number));
      client::feed::demand(cpu.accesses.try_open(number));
      client::feed::demand(cpu.traffic->open(i, parameters_.geometry.line_bytes));
    }
  }

  std::size_t advance(ProcessId process, std::span<const Operation> operations, Time& now,
                      Time horizon) override {
    Cpu& cpu = cpus_[process];
    const Time cost[3] = {parameters_.l1_cycles * parameters_.cycle_ps,
                          parameters_.l2_cycles * parameters_.cycle_ps,
                          parameters_.memory_cycles * parameters_.cycle_ps};
    std::size_t i = 0;
    do {
      const Operation operation = operations[i++];
      if (operation.is_access()) {
        substrata_transaction access{};
        access.time = now;
        access.address = operation.address();
        access.initiator = process;
        access.size = operation.size();
        access.kind = operation.is_write() ? SUBSTRATA_WRITE : SUBSTRATA_READ;
        access.program = program_;
        access.phase = cpu.phase;
        cpu.accesses.publish(access);
        cpu.traffic->cause(access);
        const Found found =
            cpu.caches->access(access.address, access.size, operation.is_write(), cpu.counts, *cpu.traffic);
        now += cost[static_cast<size_t>(found)];
      } else if (operation.kind() == OperationKind::kCompute) {
        now += operation.argument() * parameters_.cycle_ps;
      } else if (operation.kind() == OperationKind::kPhase) {
        cpu.phase = static_cast<uint16_t>(operation.argument());
      }
    } while (i < operations.size() && now < horizon);
    return i;
  }

  std::string end() override {
    // Closing delivers what is left, while this is still the current machine.
    for (Cpu& cpu : cpus_) {
      published_ += cpu.accesses.published() + cpu.traffic->published();
      cpu.accesses.close();
      cpu.traffic.reset();
    }
    return {};
  }

  std::vector<workloads::Statistic> statistics() const override {
    Counts sum;
    for (const Cpu& cpu : cpus_) {
      sum.references += cpu.counts.references;
      sum.l1_misses += cpu.counts.l1_misses;
      sum.l2_misses += cpu.counts.l2_misses;
      sum.l1_write_backs += cpu.counts.l1_write_backs;
      sum.l2_write_backs += cpu.counts.l2_write_backs;
    }
    return {
        {"references", sum.references},         {"l1_misses", sum.l1_misses},
        {"l2_misses", sum.l2_misses},           {"l1_write_backs", sum.l1_write_backs},
        {"l2_write_backs", sum.l2_write_backs}, {std::string(workloads::kTransactionsStatistic), published_}};
  }

 private:
  struct Cpu {
    std::unique_ptr<Caches> caches;
    std::unique_ptr<TrafficPublisher> traffic;
    client::feed::Publisher accesses;
    Counts counts;
    uint16_t phase = 0;
  };
  const MachineParameters parameters_;
  const uint16_t program_;
  std::vector<Cpu> cpus_;
  uint64_t published_ = 0;
};

struct Memory {
  static workloads::MachineDescription description() {
    return {.name = "memory",
            .summary =
                "processors with two private cache levels each over one memory, no coherence; the fast one",
            .parameters = kParameters,
            .default_processes = 4,
            .max_processes = kMostCpus};
  }
  static std::unique_ptr<workloads::Machine> make(const workloads::Asked& asked, std::string& error) {
    MachineParameters parameters;
    if (!parse_machine_parameters(asked.parameters, &parameters, error)) return nullptr;
    return std::make_unique<MemoryMachine>(parameters, asked.program);
  }
  static void* begin(const workloads::Asked& asked, std::string& error) {
    MachineParameters parameters;
    if (!parse_machine_parameters(asked.parameters, &parameters, error)) return nullptr;
    begin_machine(parameters.geometry);
    auto instrument = std::make_unique<CacheInstrument>(parameters.geometry, true);
    if (const Status refused = instrument->begin(); !refused.ok()) {
      error = refused.note;
      return nullptr;
    }
    return instrument.release();
  }
  static void end(void* following) noexcept {
    auto* const instrument = static_cast<CacheInstrument*>(following);
    instrument->end();
    delete instrument;
  }
};

}  // namespace

bool parse_machine_parameters(std::string_view text, MachineParameters* out, std::string& error) {
  workloads::Values values(kParameters);
  if (!values.set(text, error)) return false;
  MachineParameters parameters;
  parameters.geometry = {values["l1"],      values["l1_ways"], values["l2"],
                         values["l2_ways"], values["line"],    values["inclusive"] != 0};
  parameters.cycle_ps = values["cycle_ps"];
  parameters.l1_cycles = values["l1_cycles"];
  parameters.l2_cycles = values["l2_cycles"];
  parameters.memory_cycles = values["memory_cycles"];
  if (const char* wrong = objection(parameters.geometry)) {
    error = wrong;
    return false;
  }
  *out = parameters;
  return true;
}

}  // namespace substrata::memory

namespace substrata::built_in {

void memory() { workloads::ListedMachine<memory::Memory>::add(memory::kSource); }

}  // namespace substrata::built_in
