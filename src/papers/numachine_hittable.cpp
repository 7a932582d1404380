// numachine-hittable: the memory state hit table and the FIFO depths of the memory card (Lemieux, appendix A).
#include <algorithm>
#include <array>
#include <ostream>

#include "papers/claims.hpp"
#include "papers/numachine_runs.hpp"
#include "papers/reproduction.hpp"

namespace substrata::papers {
namespace {

constexpr char kMerged[] = "states=merged";
constexpr char kByCycle[] = "accumulate=cycle";
constexpr char kByChange[] = "accumulate=change";
// Small caches, so that lines are written back.
constexpr char kSmall[] = "cache=16384:network_cache=65536";

using Table = std::array<std::array<std::uint64_t, 4>, 4>;

Table table_of_machine(std::uint32_t stations) {
  Table all{};
  for (std::uint32_t station = 0; station < stations; ++station) {
    std::uint64_t one[4][4];
    substrata_numachine_state_hits(station, one);
    for (std::size_t state = 0; state < 4; ++state)
      for (std::size_t type = 0; type < 4; ++type) all[state][type] += one[state][type];
  }
  return all;
}

// The same from what the memories publish; of write-backs they publish nothing. Besides, the bus cycles that requests
// waited.
class Onlooker {
 public:
  Onlooker() {
    client::feed::demand(observer_.try_create<&Onlooker::take>(*this));
    client::feed::demand(observer_.try_subscribe("numachine.st*.memory"));
  }
  Table table{};
  std::uint64_t requests = 0;
  std::uint64_t waited = 0;

 private:
  void take(const substrata_transaction* batch, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const substrata_transaction& t = batch[i];
      const std::size_t type = t.kind == SUBSTRATA_READ ? 0 : t.kind == SUBSTRATA_READ_EXCLUSIVE ? 1 : 2;
      ++table.at(t.state - SUBSTRATA_LOCAL_VALID)[type];
      ++requests;
      waited += t.detail & 0xffffffffU;
    }
  }
  client::feed::Observer observer_;
};

std::string workload_of(const Case& one) { return "radix:keys=" + std::to_string(one.size.amount); }
std::uint32_t stations_of(const Case& one) { return (one.size.nodes + 3) / 4; }

Reading cells(const Case& one) {
  reset_numachine();
  Onlooker onlooker;
  run_on_numachine(workload_of(one), one.size.nodes, kSmall, one.seed);
  substrata_flush();
  Table counted = table_of_machine(stations_of(one));
  if (one.setting == kMerged) {
    for (std::size_t type = 0; type < 4; ++type) {
      for (std::size_t state = 1; state < 4; ++state) {
        counted[0][type] += counted[state][type];
        counted[state][type] = 0;
      }
    }
  }
  std::uint64_t same = 0, larger = 0;
  for (std::size_t state = 0; state < 4; ++state) {
    for (std::size_t type = 0; type < 3; ++type) {
      same += std::min(counted[state][type], onlooker.table[state][type]);
      larger += std::max(counted[state][type], onlooker.table[state][type]);
    }
  }
  return {ratio(static_cast<double>(same), static_cast<double>(larger)),
          std::to_string(same) + " of " + std::to_string(onlooker.requests) + " requests"};
}

Reading write_backs(const Case& one) {
  reset_numachine();
  run_on_numachine(workload_of(one), one.size.nodes, with(kSmall, one.setting), one.seed);
  const Table table = table_of_machine(stations_of(one));
  const std::uint64_t dirty = table[1][3] + table[3][3];
  const std::uint64_t all = dirty + table[0][3] + table[2][3];
  return {ratio(static_cast<double>(dirty), static_cast<double>(all)),
          std::to_string(table[1][3]) + " in LI and " + std::to_string(table[3][3]) + " in GI of " +
              std::to_string(all)};
}

// The caches are as large as the thesis', so that nothing is written back and requests are all there is.
struct Depths {
  double by_cycle = 0, by_change = 0;  // averages over all stations' incoming FIFOs
  double expected = 0;                 // of the former, from what each request spent in its FIFO
};
Depths depths_of(const Case& one) {
  reset_numachine();
  Onlooker onlooker;
  run_on_numachine(workload_of(one), one.size.nodes, "", one.seed);
  substrata_flush();
  double accumulated = 0, cycles = 0, changed = 0, changes = 0;
  for (std::uint32_t station = 0; station < stations_of(one); ++station) {
    substrata_numachine_fifo fifo[4];
    substrata_numachine_fifos(station, fifo);
    accumulated += static_cast<double>(fifo[0].by_cycle);
    cycles += static_cast<double>(fifo[0].cycles);
    changed += static_cast<double>(fifo[0].by_change);
    changes += static_cast<double>(fifo[0].changes);
  }
  // Each is there for the cycle in which it is taken out, and for those that it waits.
  return {ratio(accumulated, cycles), ratio(changed, changes),
          ratio(static_cast<double>(onlooker.requests + onlooker.waited), cycles)};
}

Readings measure(const Case& one) {
  Readings found;
  if (one.wants("cells")) found["cells"] = cells(one);
  if (one.wants("write-backs")) found["write-backs"] = write_backs(one);
  if (!one.wants("time average") && !one.wants("population average")) return found;
  const Depths depths = depths_of(one);
  const std::string text = digits(depths.by_cycle, 4) + " by cycle, " + digits(depths.by_change, 4) +
                           " by change, " + digits(depths.expected, 4) + " by Little's law";
  found["time average"] = {
      ratio(one.setting == kByChange ? depths.by_change : depths.by_cycle, depths.expected), text};
  found["population average"] = {
      ratio(one.setting == kByCycle ? depths.by_cycle : depths.by_change, depths.by_cycle), text};
  return found;
}

void figures(const Setting& setting) {
  reset_numachine();
  run_on_numachine("radix:keys=65536", 16, kSmall);
  const Table table = table_of_machine(4);
  setting.write("numachine-hittable.csv", [&](std::ostream& file) {
    file << "state,read,read exclusive,update,writeback\n";
    const char* const names[] = {"LV", "LI", "GV", "GI"};
    for (std::size_t state = 0; state < 4; ++state)
      file << names[state] << "," << table[state][0] << "," << table[state][1] << "," << table[state][2]
           << "," << table[state][3] << "\n";
  });
}

}  // namespace

extern const Reproduction numachine_hittable =
    stated("numachine-hittable", "Lemieux, appendix A: the memory state hit table and FIFO depths", measure,
           figures);

}  // namespace substrata::papers
