// Makes the machine from its parameters and runs workloads on it.
#include "myrinet/machine.hpp"

#include <utility>

#include "myrinet/live_adapter.hpp"
#include "sources/workloads/run.hpp"
#include "sources/workloads/spec.hpp"

namespace substrata::myrinet {
namespace {

using workloads::Parameter;

constexpr const char* kYesNo = "yes|no";

Parameter number(std::string_view name, std::string_view text, std::uint64_t fallback, std::uint64_t least,
                 std::uint64_t most) {
  return {.name = name, .text = text, .fallback = fallback, .least = least, .most = most};
}
Parameter choice(std::string_view name, std::string_view text, std::uint64_t most, std::string_view choices) {
  return {.name = name, .text = text, .fallback = 0, .least = 0, .most = most, .choices = choices};
}

std::span<const Parameter> known() {
  static const ClusterParameters defaults;
  static const MachineParameters defaults_of_host;
  constexpr Time kMillisecond = 1000 * kMicrosecond;
  static const Parameter list[] = {
      choice("monitor", "what of the firmware's monitor runs", 4, "full|none|sending|receiving|clock"),
      choice("homes", "where a page's home is", 2, "first-touch|block|round-robin"),
      choice("managers", "which node manages a lock or barrier", 1, "spread|zero"),
      choice("verify", "compare each load with sequentially consistent memory", 1, "no|yes"),
      number("nodes", "ranks of a followed MPI program, at most; a run has the nodes it asks for", 16, 2,
             kMostNodes),
      choice("contention", "no: each packet travels as if alone in the cluster", 1, kYesNo),
      number("monitor_cost", "percent of what the firmware's monitor takes the interface's processor", 100, 0,
             100'000),
      number("slice_ms", "programs run together share a processor in slices; 0: each has its own",
             defaults_of_host.slice / kMillisecond, 0, 10'000),
      number("shift", "of programs run together, process p of the second is on the node so many after p", 0,
             0, kMostNodes - 1),
      number("queue", "entries of an interface's request queue", defaults.queue_entries, 1, 65536),
      number("receive_buffers", "packets between network and host memory in an interface",
             defaults.receive_buffers, 1, 65536),
      number("memory_slowdown", "percent a DMA takes while the processor keeps the memory busy",
             static_cast<std::uint64_t>(defaults.memory_slowdown * 100), 100, 10000),
      number("migrate", "diffs of one node to a page after which the page moves to it, 0: never", 0, 0,
             1'000'000),
      choice("migrate_to", "the node that sent the diffs, or the one after it, for comparison", 1,
             "sender|other"),
      choice("histograms", "where the interfaces' monitors keep them", 1, "interface|host"),
      choice("clock", "clocks as long after a synchronisation, or synchronised from the start of the run", 1,
             "settled|periodic"),
      number("period_ms", "between global synchronisations", defaults.period / 1'000'000'000, 1, 3'600'000),
      number("drift_ppm", "largest drift of a clock", 100, 0, 1000),
      number("wander_ppb", "by so much a clock's drift changes within half an hour",
             static_cast<std::uint64_t>(defaults.wander_ppb), 0, 100'000),
      choice("drift_correction", "nodes correct their clocks by their measured drift", 1, kYesNo),
      choice("stamps", "time stamps inside the interface's long operations", 1, kYesNo),
      choice("priority", "of clock packets", 1, kYesNo),
      number("corrupt_ppm", "corrupt packets in a million", 0, 0, 300'000),
      number("drop_ppm", "dropped packets in a million", 0, 0, 300'000),
      number("misroute_ppm", "misrouted packets in a million", 0, 0, 300'000),
  };
  return list;
}

// Of the 166 MHz Pentium under Linux 2.0. The paper says "tens of microseconds" for an interrupt (2.2);
// everything else is an assumption: memory read or written at 100 MB/s, three cycles an access.
svm::SvmParameters shared_memory() {
  constexpr Time kCycle = 6024;
  constexpr Time kByte = 10'000;  // 100 MB/s
  svm::SvmParameters out;
  out.managers = svm::Managers::kSpread;
  out.notices_name_homes = true;  // a notice is an address of 32 bits, of which a page leaves 12; assumption
  out.costs.cycle = kCycle;
  out.costs.access = 3 * kCycle;
  out.costs.trap = 20 * kMicrosecond;
  out.costs.page_copy = 2 * kByte * out.page_bytes;  // read and written
  out.costs.page_place = 0;  // VMMC writes a page straight into its place (paper, 2.1)
  out.costs.diff_page = 2 * kByte * out.page_bytes;  // two pages read
  out.costs.diff_byte = kByte;
  out.costs.notice = 500'000;
  out.costs.handler = 20 * kMicrosecond;
  out.costs.awaited = kMicrosecond;  // the waiting process polls: no interrupt
  out.costs.local = 500'000;
  return out;
}

struct Myrinet {
  static workloads::MachineDescription description() {
    return {
        .name = kSource,
        .summary =
            "PCs with Myrinet interfaces on one switch: shared virtual memory (twins and diffs) and messages",
        .parameters = known(),
        .default_processes = 8,
        .max_processes = kMostNodes};
  }
  static std::unique_ptr<workloads::Machine> make(const workloads::Asked& asked, std::string& error) {
    MachineParameters parameters;
    if (!parse_machine_parameters(asked.parameters, asked.seed, &parameters, error)) return nullptr;
    return make_machine(parameters, asked.program);
  }
  static void* begin(const workloads::Asked& asked, std::string& error) {
    MachineParameters parameters;
    if (!parse_machine_parameters(asked.parameters, asked.seed, &parameters, error)) return nullptr;
    auto adapter = std::make_unique<LiveAdapter>(parameters.cluster);
    if (const Status refused = adapter->begin(); !refused.ok()) {
      error = refused.note;
      return nullptr;
    }
    return adapter.release();
  }
  static void end(void* following) {
    const std::unique_ptr<LiveAdapter> adapter(static_cast<LiveAdapter*>(following));
    adapter->end();
  }
};

}  // namespace

bool parse_machine_parameters(std::string_view text, std::uint64_t seed, MachineParameters* out,
                              std::string& error) {
  workloads::Values values(known());
  if (!values.set(text, error)) return false;
  MachineParameters made;
  made.svm = shared_memory();
  ClusterParameters& cluster = made.cluster;
  const std::uint64_t monitor = values["monitor"];
  cluster.monitor = {monitor == 0 || monitor == 2, monitor == 0 || monitor == 3,
                     monitor == 0 || monitor == 4};
  constexpr svm::HomePolicy kHomes[] = {svm::HomePolicy::kFirstTouch, svm::HomePolicy::kBlock,
                                        svm::HomePolicy::kRoundRobin};
  made.svm.homes = kHomes[values["homes"]];
  made.svm.managers = values["managers"] == 0 ? svm::Managers::kSpread : svm::Managers::kNodeZero;
  made.svm.verify = values["verify"] != 0;
  cluster.contention = values["contention"] == 0;
  for (Time* cost : {&cluster.stamp_sending, &cluster.record_sending, &cluster.strip_receiving,
                     &cluster.record_receiving, &cluster.clock_upkeep})
    *cost = *cost * values["monitor_cost"] / 100;
  made.slice = values["slice_ms"] * 1000 * kMicrosecond;
  made.shift = static_cast<std::uint32_t>(values["shift"]);
  cluster.queue_entries = static_cast<std::uint32_t>(values["queue"]);
  cluster.receive_buffers = static_cast<std::uint32_t>(values["receive_buffers"]);
  cluster.memory_slowdown = static_cast<double>(values["memory_slowdown"]) / 100;
  cluster.histograms_in_host = values["histograms"] != 0;
  cluster.clock = values["clock"] == 0 ? ClockMode::kSettled : ClockMode::kPeriodic;
  cluster.period = values["period_ms"] * 1'000'000'000;
  cluster.drift_ppm = static_cast<double>(values["drift_ppm"]);
  cluster.wander_ppb = static_cast<double>(values["wander_ppb"]);
  cluster.correct_drift = values["drift_correction"] == 0;
  cluster.stamps_inside = values["stamps"] == 0;
  cluster.priority = values["priority"] == 0;
  cluster.corrupt_ppm = static_cast<std::uint32_t>(values["corrupt_ppm"]);
  cluster.drop_ppm = static_cast<std::uint32_t>(values["drop_ppm"]);
  cluster.misroute_ppm = static_cast<std::uint32_t>(values["misroute_ppm"]);
  cluster.seed = seed;
  cluster.nodes = static_cast<std::uint32_t>(values["nodes"]);
  made.host.header = made.svm.header_bytes;
  made.migration = {.after = static_cast<std::uint32_t>(values["migrate"]),
                    .to_other = values["migrate_to"] != 0,
                    .page_bytes = made.svm.page_bytes,
                    .interrupt = made.svm.costs.trap};
  if (made.migration.after != 0 && made.svm.homes == svm::HomePolicy::kFirstTouch) {
    error = "pages move from homes that are known at the start: take homes=block or homes=round-robin";
    return false;
  }
  *out = made;
  return true;
}

std::unique_ptr<svm::SvmMachine> make_machine(const MachineParameters& parameters, std::uint16_t program,
                                              std::shared_ptr<SharedCluster> shared, std::uint32_t slot,
                                              Company company) {
  auto network = std::make_unique<SvmNetwork>(parameters.cluster, parameters.host, program, std::move(shared),
                                              slot, std::move(company));
  SvmNetwork& kept = *network;
  auto machine = std::make_unique<svm::SvmMachine>(kSource, parameters.svm, std::move(network));
  kept.serve(*machine, parameters.migration);
  return machine;
}

}  // namespace substrata::myrinet

namespace substrata::built_in {

void myrinet() { workloads::ListedMachine<myrinet::Myrinet>::add(); }

}  // namespace substrata::built_in
