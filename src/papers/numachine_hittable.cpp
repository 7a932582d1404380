// numachine-hittable: the memory state hit table, the FIFOs and the page use of the memory card (Lemieux,
// appendix A).
#include <algorithm>
#include <ostream>

#include "papers/counted_set.hpp"
#include "papers/numachine_runs.hpp"
#include "papers/reproduction.hpp"

namespace substrata::papers {
namespace {

constexpr std::uint32_t kProcessors = 16;
constexpr std::uint32_t kStations = kProcessors / 4;

struct Hits {
  std::uint64_t cell[4][4] = {};
  std::uint64_t row(int state, int columns) const {
    std::uint64_t sum = 0;
    for (int type = 0; type < columns; ++type) sum += cell[state][type];
    return sum;
  }
};

Hits hits_of_machine() {
  Hits all;
  for (std::uint32_t station = 0; station < kStations; ++station) {
    std::uint64_t one[4][4];
    substrata_numachine_state_hits(station, one);
    for (int state = 0; state < 4; ++state)
      for (int type = 0; type < 4; ++type) all.cell[state][type] += one[state][type];
  }
  return all;
}

std::vector<Observation> run_hittable(const Setting& setting) {
  std::vector<Observation> claims;
  reset_numachine();
  CountedSet set("numachine",
                 {"HITS_LV", "HITS_LI", "HITS_GV", "HITS_GI", "MEMORY_REQUESTS", "MEMORY_QUEUE_CYCLES"});
  set.start();
  run_on_numachine("radix:keys=65536", kProcessors, "cache=65536:network_cache=262144");
  const std::vector<long long> events = set.stop();
  const Hits hits = hits_of_machine();
  bool equal = true;
  std::uint64_t requests = 0;
  for (int state = 0; state < 4; ++state) {
    equal =
        equal && static_cast<std::uint64_t>(events[static_cast<std::size_t>(state)]) == hits.row(state, 3);
    requests += hits.row(state, 3);
  }
  claims.push_back({"a table counts the request types that hit each memory state",
                    "4 states by 4 request types",
                    "LV " + std::to_string(hits.row(0, 4)) + ", LI " + std::to_string(hits.row(1, 4)) +
                        ", GV " + std::to_string(hits.row(2, 4)) + ", GI " + std::to_string(hits.row(3, 4)),
                    equal && requests == static_cast<std::uint64_t>(events[4]) && requests > 0,
                    "rows without write-backs equal the events HITS_*, and MEMORY_REQUESTS all of them"});
  bool dirty = hits.cell[0][3] == 0 && hits.cell[2][3] == 0 && hits.cell[1][3] + hits.cell[3][3] > 0;
  claims.push_back({"a write-back meets a block that memory knows to be dirty", "LI or GI",
                    std::to_string(hits.cell[1][3]) + " in LI, " + std::to_string(hits.cell[3][3]) +
                        " in GI, " + std::to_string(hits.cell[0][3] + hits.cell[2][3]) + " elsewhere",
                    dirty, "follows from the states of section 4.1"});

  std::uint64_t transactions = 0;
  std::uint64_t changes = 0;
  std::uint64_t cycles = 0;
  std::uint64_t maximum = 0;
  double time_average = 0;
  double population = 0;
  for (std::uint32_t station = 0; station < kStations; ++station) {
    substrata_numachine_fifo fifo[4];
    substrata_numachine_fifos(station, fifo);
    transactions += fifo[0].by_cycle;
    changes += fifo[0].changes;
    cycles = std::max(cycles, fifo[0].cycles);
    maximum = std::max(maximum, fifo[0].maximum);
    if (fifo[0].cycles != 0)
      time_average =
          std::max(time_average, static_cast<double>(fifo[0].by_cycle) / static_cast<double>(fifo[0].cycles));
    if (fifo[0].changes != 0)
      population =
          std::max(population, static_cast<double>(fifo[0].by_change) / static_cast<double>(fifo[0].changes));
  }
  // Little's law: what is in the queue over time is what each request spends there.
  const auto spent = static_cast<std::uint64_t>(events[4] + events[5]);
  claims.push_back(
      {"the depth accumulated by cycle yields the time-average queue length", "accumulator / cycles",
       std::to_string(transactions) + " transaction-cycles, at most " + digits(time_average, 4) +
           " on average and " + std::to_string(maximum) + " at once",
       transactions == spent, "equal to what the requests spent there one by one: " + std::to_string(spent)});
  claims.push_back({"accumulated at every change it yields a population average instead", "another average",
                    digits(population, 4) + " over " + std::to_string(changes) + " changes",
                    changes == 2 * static_cast<std::uint64_t>(events[4]) && population > time_average,
                    "each request enters and leaves; changes happen where the queue is busy"});

  // One station's processors work on pages of another's memory: process p of ocean has its own rows.
  reset_numachine();
  run_on_numachine("ocean:n=258:sweeps=4", kProcessors, "cache=16384:network_cache=16384");
  std::uint64_t pages = 0;
  std::uint64_t hinted = 0;
  std::uint64_t by_hint = 0;
  std::uint64_t by_home = 0;
  for (std::uint32_t station = 0; station < kStations; ++station) {
    std::uint32_t count = 0;
    substrata_numachine_pages(station, nullptr, &count);
    std::vector<substrata_numachine_page> all(count);
    substrata_numachine_pages(station, all.data(), &count);
    pages += count;
    for (const substrata_numachine_page& page : all) {
      if (page.hint < 0) continue;
      ++hinted;
      by_hint += page.use[page.hint];
      by_home += page.use[station];
    }
  }
  claims.push_back({"a page that one station accesses significantly more often should be migrated to it",
                    "frequent flyer miles",
                    std::to_string(hinted) + " of " + std::to_string(pages) +
                        " pages are hinted; their new homes used them " + std::to_string(by_hint) +
                        " times, their homes " + std::to_string(by_home) + " times",
                    hinted > 0 && by_hint > by_home,
                    "hinted when one station has twice the use of all others together"});
  setting.write("numachine-hittable.csv", [&](std::ostream& file) {
    file << "state,read,read exclusive,update,writeback\n";
    const char* const names[] = {"LV", "LI", "GV", "GI"};
    for (int state = 0; state < 4; ++state)
      file << names[state] << "," << hits.cell[state][0] << "," << hits.cell[state][1] << ","
           << hits.cell[state][2] << "," << hits.cell[state][3] << "\n";
  });
  return claims;
}

}  // namespace

extern const Reproduction numachine_hittable{
    "numachine-hittable", "Lemieux, appendix A: the memory state hit table, FIFO depths, page use",
    run_hittable};

}  // namespace substrata::papers
