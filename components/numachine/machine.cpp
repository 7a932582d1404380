// Charges a workload's operations to the model; registers the machine.
#include "numachine/machine.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/members.hpp"
#include "numachine/last_run.hpp"
#include "numachine/live.hpp"
#include "sources/workloads/run.hpp"
#include "sources/workloads/spec.hpp"

namespace substrata::numachine {
namespace {

using workloads::Operation;
using workloads::OperationKind;
using workloads::Parameter;
using workloads::ProcessId;

constexpr Parameter kParameters[] = {
    {.name = "line",
     .text = "bytes of a cache line",
     .fallback = 64,
     .least = 16,
     .most = 256,
     .power_of_two = true},
    {.name = "cache",
     .text = "bytes of a processor's secondary cache",
     .fallback = 1U << 20,
     .least = 1024,
     .most = 16U << 20,
     .power_of_two = true},
    {.name = "network_cache",
     .text = "bytes of a station's network cache",
     .fallback = 4U << 20,
     .least = 1024,
     .most = 256U << 20,
     .power_of_two = true},
    {.name = "page",
     .text = "bytes of a page; pages are dealt out to the stations",
     .fallback = 4096,
     .least = 256,
     .most = 1U << 20,
     .power_of_two = true},
    {.name = "ring", .text = "stations of a local ring", .fallback = 4, .least = 1, .most = 64},
    {.name = "protocol",
     .text = "how writes reach other copies",
     .fallback = 0,
     .least = 0,
     .most = 1,
     .power_of_two = false,
     .choices = "invalidate|update"},
    {.name = "other_from",
     .text = "first byte of the data that have the other protocol",
     .fallback = 0,
     .least = 0,
     .most = std::uint64_t{1} << 48},
    {.name = "other_to",
     .text = "the byte after the last of them; 0: there are none",
     .fallback = 0,
     .least = 0,
     .most = std::uint64_t{1} << 48},
    {.name = "uncached_from",
     .text = "first byte of the data that are not cached",
     .fallback = 0,
     .least = 0,
     .most = std::uint64_t{1} << 48},
    {.name = "uncached_to",
     .text = "the byte after the last of them; 0: there are none",
     .fallback = 0,
     .least = 0,
     .most = std::uint64_t{1} << 48},
    {.name = "intent_from",
     .text = "first byte of the data whose loads say that a store is likely and come with ownership",
     .fallback = 0,
     .least = 0,
     .most = std::uint64_t{1} << 48},
    {.name = "intent_to",
     .text = "the byte after the last of them; 0: there are none",
     .fallback = 0,
     .least = 0,
     .most = std::uint64_t{1} << 48},
    {.name = "prefetch_from",
     .text = "first byte of the data whose next line is asked for by a hint when a line is used",
     .fallback = 0,
     .least = 0,
     .most = std::uint64_t{1} << 48},
    {.name = "prefetch_to",
     .text = "the byte after the last of them; 0: there are none",
     .fallback = 0,
     .least = 0,
     .most = std::uint64_t{1} << 48},
    {.name = "prefetch",
     .text = "how these hints ask for it: as loads do, or exclusive: always for its ownership",
     .fallback = 0,
     .least = 0,
     .most = 1,
     .power_of_two = false,
     .choices = "load|exclusive"},
    {.name = "consistency",
     .text = "weak: computation goes on while a write asks for ownership",
     .fallback = 0,
     .least = 0,
     .most = 1,
     .power_of_two = false,
     .choices = "sequential|weak"},
    {.name = "between",
     .text = "what the circuit that estimates invalidation misses does at a write between probe and read",
     .fallback = 0,
     .least = 0,
     .most = 1,
     .power_of_two = false,
     .choices = "wait|reset"},
    {.name = "bus_trace",
     .text = "1: what has a station's bus is published at numachine.st<s>.bus",
     .fallback = 0,
     .least = 0,
     .most = 1},
    {.name = "split",
     .text = "1: instructions have the upper half of the secondary cache",
     .fallback = 0,
     .least = 0,
     .most = 1},
    {.name = "overlap",
     .text = "bus cycles of a read miss that computation may hide (the R4400: 0)",
     .fallback = 0,
     .least = 0,
     .most = 4096},
    {.name = "memory",
     .text = "bus cycles to read a block from memory",
     .fallback = 12,
     .least = 1,
     .most = 1000},
    {.name = "lookup",
     .text = "bus cycles to look up a block's state",
     .fallback = 4,
     .least = 1,
     .most = 1000},
    {.name = "processors",
     .text = "of a followed live program; a workload's processes decide themselves",
     .fallback = 16,
     .least = 1,
     .most = kMostProcessors},
    {.name = "warm",
     .text = "1: processor caches begin full of an earlier program's lines",
     .fallback = 0,
     .least = 0,
     .most = 1},
    {.name = "slip",
     .text = "processor cycles that a store right after a load waits for its value",
     .fallback = 0,
     .least = 0,
     .most = 16},
    {.name = "locks",
     .text = "of a workload: a fixed cost without accesses, test and test-and-set, or a queue",
     .fallback = 0,
     .least = 0,
     .most = 2,
     .power_of_two = false,
     .choices = "cost|test_and_set|queue"},
    {.name = "barriers",
     .text = "of a workload: the cards' registers, or a counter and a flag in memory",
     .fallback = 0,
     .least = 0,
     .most = 1,
     .power_of_two = false,
     .choices = "registers|counter"},
    {.name = "tlb",
     .text = "pairs of pages that a processor's TLB maps (the R4400: 48); 0: it maps all",
     .fallback = 0,
     .least = 0,
     .most = 4096},
    {.name = "refill",
     .text = "processor cycles of the handler of a TLB miss, beside the exception",
     .fallback = 10,
     .least = 0,
     .most = 10000},
    {.name = "predictor",
     .text = "entries of a branch target buffer for a program that publishes branches (the R4400: none)",
     .fallback = 0,
     .least = 0,
     .most = 65536},
    {.name = "mix_branches",
     .text = "branches among 1000 computed instructions",
     .fallback = 0,
     .least = 0,
     .most = 500},
    {.name = "mix_floats",
     .text = "floating-point instructions among them",
     .fallback = 0,
     .least = 0,
     .most = 500},
    {.name = "mix_nops",
     .text = "instructions without effect among them",
     .fallback = 0,
     .least = 0,
     .most = 1000},
    {.name = "mix_slips",
     .text = "cycles of integer slips by 1000 of them",
     .fallback = 0,
     .least = 0,
     .most = 10000},
    {.name = "mix_float_slips",
     .text = "cycles of floating-point slips by 1000 of them",
     .fallback = 0,
     .least = 0,
     .most = 10000},
    {.name = "delay",
     .text = "of a program that publishes branches: what their delay slots hold",
     .fallback = 0,
     .least = 0,
     .most = 1,
     .power_of_two = false,
     .choices = "filled|nop"},
    {.name = "blocks",
     .text = "what a program executes where a phase or basic block begins: nothing, a profiling store, five "
             "instructions "
             "that time the one before, or three",
     .fallback = 0,
     .least = 0,
     .most = 3,
     .power_of_two = false,
     .choices = "none|count|time|difference"},
    {.name = "exception",
     .text = "processor cycles that an exception kills, and as many to fill the pipeline again",
     .fallback = 8,
     .least = 0,
     .most = 10000},
    {.name = "handler",
     .text = "processor cycles of a miss handler",
     .fallback = 10,
     .least = 0,
     .most = 10000},
    {.name = "retry",
     .text = "bus cycles from a negative acknowledgement to the retry",
     .fallback = 16,
     .least = 1,
     .most = 1000},
};

workloads::SynchronisationCosts costs(const Parameters& p) {
  return workloads::SynchronisationCosts::all(kSynchronisationCycles * p.bus_ps, p.bus_ps / 8);
}

}  // namespace

bool parse_parameters(std::string_view text, std::uint32_t processors, Parameters* out, std::string& error) {
  workloads::Values values(kParameters);
  if (!values.set(text, error)) return false;
  if (processors == 0) processors = static_cast<std::uint32_t>(values["processors"]);
  Parameters p;
  p.shape.per_station = kProcessorsPerStation;
  p.shape.stations = (processors + kProcessorsPerStation - 1) / kProcessorsPerStation;
  p.shape.line_bytes = values["line"];
  p.shape.page_bytes = values["page"];
  p.shape.update = values["protocol"] == 1;
  const auto lines = [&](const char* from, const char* to, std::uint64_t* first, std::uint64_t* count) {
    *first = values[from] / p.shape.line_bytes;
    *count = std::max(*first, (values[to] + p.shape.line_bytes - 1) / p.shape.line_bytes) - *first;
  };
  lines("other_from", "other_to", &p.other_first, &p.other_lines);
  lines("uncached_from", "uncached_to", &p.uncached_first, &p.uncached_lines);
  lines("intent_from", "intent_to", &p.intent_first, &p.intent_lines);
  lines("prefetch_from", "prefetch_to", &p.prefetch_first, &p.prefetch_lines);
  p.prefetches_own = values["prefetch"] == 1;
  p.weak_consistency = values["consistency"] == 1;
  p.waits_for_writes = values["between"] == 0;
  p.traces_buses = values["bus_trace"] == 1;
  p.cache_bytes = values["cache"];
  p.network_bytes = values["network_cache"];
  p.stations_per_ring = static_cast<std::uint32_t>(values["ring"]);
  p.shape.split = values["split"] == 1;
  p.overlap_cycles = values["overlap"];
  p.warm = values["warm"] == 1;
  p.slip_cycles = values["slip"];
  p.memory_cycles = values["memory"];
  p.lookup_cycles = values["lookup"];
  p.retry_cycles = values["retry"];
  p.exception_cycles = p.restart_cycles = values["exception"];
  p.informing_cycles = values["handler"];
  const auto count = [&values](const char* name) { return static_cast<std::uint32_t>(values[name]); };
  p.execution.tlb_pairs = count("tlb");
  p.execution.refill_cycles = values["refill"];
  p.execution.predictor_entries = std::bit_ceil(count("predictor"));
  if (values["predictor"] == 0) p.execution.predictor_entries = 0;
  p.execution.mix_branches = count("mix_branches");
  p.execution.mix_floats = count("mix_floats");
  p.execution.mix_nops = count("mix_nops");
  p.execution.mix_slips = count("mix_slips");
  p.execution.mix_float_slips = count("mix_float_slips");
  p.execution.empty_delay_slots = values["delay"] == 1;
  p.execution.blocks = static_cast<BlockProfile>(values["blocks"]);
  p.primary_line = std::min<std::uint64_t>(p.primary_line, p.shape.line_bytes);
  p.primary_bytes = std::min(p.primary_bytes, p.cache_bytes);
  *out = p;
  return true;
}

WorkloadSynchronisation parse_synchronisation(std::string_view text) {
  workloads::Values values(kParameters);
  std::string error;
  if (!values.set(text, error)) return {};
  return {.locks = static_cast<LockScheme>(values["locks"]), .counts_at_barriers = values["barriers"] == 1};
}

NumachineMachine::NumachineMachine(const Parameters& parameters, std::uint16_t program,
                                   const WorkloadSynchronisation& synchronisation)
    : SharedMemoryMachine(costs(parameters)),
      parameters_(parameters),
      program_(program),
      synchronisation_(synchronisation),
      window_(parameters.invalidate_window * parameters.processor_ps) {}

void NumachineMachine::begin(workloads::Engine& engine) {
  SharedMemoryMachine::begin(engine);
  use_ = std::make_unique<Rack::Use>(Rack::instance());
  model_ = std::make_unique<Model>(parameters_, program_);
  for (const std::string& region : engine.memory().regions())
    phases_.push_back(substrata_region(region.c_str()));
  for (const auto& object : engine.memory().objects())
    objects_.push_back({object.name, object.address, object.bytes});
  // The caller's phase, a region of the high-level interface for example, is where the processors begin.
  if (const std::uint16_t phase = substrata_phase(); phase != 0) {
    for (std::uint32_t cpu = 0; cpu < model_->processors(); ++cpu) model_->set_phase(cpu, phase, 0);
  }
  const auto named = [this](std::string name, std::uint64_t address, std::uint64_t bytes) {
    objects_.push_back({std::move(name), address, bytes});
  };
  locks_ = std::make_unique<WorkloadLocks>(engine, *model_, synchronisation_.locks, engine.memory().bytes(),
                                           named);
  if (on_begin_) on_begin_(*model_);
}

template <bool has_execution>
std::size_t NumachineMachine::advance_by(ProcessId process, std::span<const Operation> operations,
                                         workloads::Time& now, workloads::Time horizon) {
  Model& model = *model_;
  model.let_others_in();
  // Hits may run ahead as far as an invalidation may take to be served; what others see is in order.
  const workloads::Time in_order = horizon == workloads::kNever ? workloads::kNever : horizon - window_;
  std::size_t i = 0;
  while (i < operations.size() && (now < horizon || i == 0)) {
    const Operation operation = operations[i];
    if (operation.is_access()) {
      const std::uint64_t address = operation.address();
      if constexpr (has_execution) {
        if (!model.is_under_way(process)) model.translate(process, address, operation.size(), now);
      }
      if (model.quick(process, address, operation.size(), operation.is_write(), now)) {
        ++i;
        continue;
      }
      bool done = false;
      bool moved = i != 0;
      while (!done) {
        if (moved && now > in_order) {
          newest_ = std::max(newest_, now);
          return i;
        }
        const workloads::Time before = now;
        done = model.step(process, address, operation.size(), operation.is_write(), false, 0, now);
        moved = moved || now != before;
      }
    } else if (operation.kind() == OperationKind::kCompute) {
      if constexpr (has_execution) {
        model.compute_mix(process, operation.argument(), now);
      } else {
        model.compute(process, operation.argument(), now);
      }
    } else if (operation.kind() == OperationKind::kPhase) {
      const std::uint64_t region = operation.argument();
      const std::uint16_t phase = region < phases_.size() ? phases_[region] : std::uint16_t{0};
      model.set_phase(process, phase, now);
      if constexpr (has_execution) model.enter_block(process, phase, now);
    } else {
      model.call(process, now);
    }
    ++i;
  }
  newest_ = std::max(newest_, now);
  return i;
}

std::size_t NumachineMachine::advance(ProcessId process, std::span<const Operation> operations,
                                      workloads::Time& now, workloads::Time horizon) {
  return model_->has_execution() ? advance_by<true>(process, operations, now, horizon)
                                 : advance_by<false>(process, operations, now, horizon);
}

void NumachineMachine::on_lock(ProcessId process, std::uint32_t lock, workloads::Time now) {
  if (synchronisation_.locks == LockScheme::kNone) return SharedMemoryMachine::on_lock(process, lock, now);
  locks_->lock(process, lock, now);
}
void NumachineMachine::on_unlock(ProcessId process, std::uint32_t lock, workloads::Time now) {
  if (synchronisation_.locks == LockScheme::kNone) return SharedMemoryMachine::on_unlock(process, lock, now);
  locks_->unlock(process, lock, now);
}
void NumachineMachine::on_barrier(ProcessId process, std::uint32_t barrier, workloads::Time now) {
  if (!synchronisation_.counts_at_barriers) return SharedMemoryMachine::on_barrier(process, barrier, now);
  locks_->barrier(process, barrier, now);
}

// Time goes on while processors wait, after the last access too.
workloads::Time NumachineMachine::extra(ProcessId, workloads::WaitKind, std::uint32_t, workloads::Time now) {
  newest_ = std::max(newest_, now + kSynchronisationCycles * parameters_.bus_ps);
  return 0;
}

std::string NumachineMachine::end() {
  model_->settle(std::max(newest_, locks_->newest()));
  std::vector<Waits> waits = locks_->waits().all();
  for (Waits& each : waits) each.name = name_at(each.address);
  keep_last_run(*model_, [this](std::uint64_t address) { return name_at(address); },
                {std::move(waits), locks_->waits().lost()});
  return {};
}

void NumachineMachine::release() {
  locks_.reset();
  model_.reset();
  use_.reset();
}

std::string NumachineMachine::name_at(std::uint64_t address) const {
  for (const Object& object : objects_) {
    if (address >= object.address && address < object.address + object.bytes) return object.name;
  }
  return {};
}

std::vector<workloads::Statistic> NumachineMachine::statistics() const {
  if (model_ == nullptr) return {};
  Truth sum;
  for (std::uint32_t cpu = 0; cpu < model_->processors(); ++cpu) add_counts(sum, model_->truth(cpu));
  return {{"instructions", sum.instructions()},
          {"reads", sum.reads},
          {"read_exclusives", sum.read_exclusives},
          {"upgrades", sum.upgrades},
          {"updates", sum.updates},
          {"ownership_misses", sum.misses[0]},
          {"ownership_misses_cancelled", sum.misses[1]},
          {"invalidation_misses", sum.misses[2]},
          {"other_misses", sum.misses[3]},
          {"invalidation_hits", sum.invalidation_hits},
          {"nacks", sum.nacks},
          {"prefetches", sum.prefetches},
          {"local", sum.local},
          {"remote", sum.remote},
          {"network_cache_hits", sum.network_cache_hits},
          {std::string(workloads::kTransactionsStatistic), model_->published()}};
}

namespace {

struct Numachine {
  static workloads::MachineDescription description() {
    return {
        .name = "numachine",
        .summary = "stations of four processors on rings with a two-level coherence protocol and monitors",
        .parameters = kParameters,
        .default_processes = 16,
        .max_processes = kMostProcessors};
  }
  static std::unique_ptr<workloads::Machine> make(const workloads::Asked& asked, std::string& error) {
    Parameters parameters;
    if (!parse_parameters(asked.parameters, asked.processes, &parameters, error)) return nullptr;
    return std::make_unique<NumachineMachine>(parameters, asked.program,
                                              parse_synchronisation(asked.parameters));
  }
  static constexpr workloads::BeginFollowing* begin = begin_live;
  static constexpr workloads::EndFollowing* end = end_live;
};

}  // namespace

}  // namespace substrata::numachine

namespace substrata::built_in {

void numachine() { workloads::ListedMachine<numachine::Numachine>::add(numachine::kSource); }

}  // namespace substrata::built_in
