// Owl, sections 4.2 and 5.1: histograms with few counters, their sums, and miss rates by data object.
#include <substrata/feed.hpp>
#include <substrata/owl.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <unordered_map>

#include "papers/owl_programs.hpp"
#include "papers/owl_workloads.hpp"
#include "papers/reproduction.hpp"
#include "sampler/measuring.hpp"

namespace substrata::papers {
using namespace sampler;
namespace {

using owl_monitor::Capsule;
using owl_monitor::Packet;
using owl_monitor::Reader;

constexpr uint64_t kBlock = 64;
constexpr double kPaperRate = 1.0 / 8;
constexpr size_t kEnough = 5;  // programs that are a range
constexpr int kCounters[] = {32, 64, 128};
// The paper's caches, section 5.2.
constexpr char kBehind[] = "mem.cpu0.l1-l2";
constexpr char kMachine[] = "l1=64k:l1_ways=2:l2=2m:l2_ways=1:line=64";

using Counts = std::unordered_map<uint64_t, uint64_t>;

// How often each block was used before so many others came: with N counters, a block that N or more others
// came after has lost its counter (Mattson et al., "Evaluation techniques for storage hierarchies", IBM
// Systems Journal 9(2), 1970). One pass gives the packets for every number of counters.
class LruStack {
 public:
  void use(uint64_t block) {
    const auto end = blocks_.begin() + static_cast<ptrdiff_t>(used_);
    auto at = std::find(blocks_.begin(), end, block);
    if (at != end) {
      ++found_[static_cast<size_t>(at - blocks_.begin())];
    } else if (used_ < kDeepest) {
      ++used_;
    } else {
      --at;
    }
    std::copy_backward(blocks_.begin(), at, at + 1);
    blocks_[0] = block;
    ++accesses_;
  }
  // Packets of a histogram with so many counters: each use of a block without one makes one.
  uint64_t packets(size_t counters) const {
    return accesses_ -
           std::accumulate(found_.begin(), found_.begin() + static_cast<ptrdiff_t>(counters), uint64_t{0});
  }
  // The least number of counters with fewer packets than `rate` for each access; 0: more than kDeepest.
  size_t least(double rate) const {
    uint64_t packets = accesses_;
    for (size_t counters = 1; counters <= kDeepest; ++counters) {
      packets -= found_[counters - 1];
      if (static_cast<double>(packets) < rate * static_cast<double>(accesses_)) return counters;
    }
    return 0;
  }
  uint64_t accesses() const { return accesses_; }
  static constexpr size_t kDeepest = 4096;

 private:
  std::array<uint64_t, kDeepest> blocks_{};  // the most recent first
  std::array<uint64_t, kDeepest> found_{};
  size_t used_ = 0;
  uint64_t accesses_ = 0;
};

// The exact count that the histogram's sums are held against.
struct Exact {
  Counts counts;
  LruStack stack;
  static void take(void* owner, const substrata_transaction* batch, size_t count) {
    Exact& self = *static_cast<Exact*>(owner);
    for (size_t i = 0; i < count; ++i) {
      ++self.counts[batch[i].address / kBlock * kBlock];
      self.stack.use(batch[i].address / kBlock);
    }
  }
};
void take_stack(void* owner, const substrata_transaction* batch, size_t count) {
  for (size_t i = 0; i < count; ++i) static_cast<LruStack*>(owner)->use(batch[i].address / kBlock);
}

client::feed::Observer observe(substrata_batch_function take, void* owner, const std::string& probe) {
  client::feed::Observer observer;
  client::feed::demand(observer.try_create(take, owner));
  observer.subscribe((probe + "*").c_str()).value();
  return observer;
}

// Sums a capsule's packets while the workload runs: the near-full signal empties the ring.
struct Summing {
  explicit Summing(Capsule& capsule) : reader(capsule.reader()) {
    substrata_owl_on_near_full(
        capsule.get(), [](void* owner, substrata_owl_capsule*) { static_cast<Summing*>(owner)->empty(); },
        this);
  }
  void empty() {
    while (reader.next(packet)) {
      uint64_t words[3];
      if (packet.data.size() != sizeof words)
        throw std::runtime_error("a packet of a histogram has another length");
      std::memcpy(words, packet.data.data(), sizeof words);
      counts[words[0]] += words[1];
      misses[words[0]] += words[2];
    }
  }
  Reader reader;
  Packet packet;
  Counts counts;
  Counts misses;
};

// What the claims are judged on are programs, as the paper's were; a stream is a workload's accesses to its
// arrays and nothing else, a kernel a stream of one pattern.
enum class Group { kProgram, kStream, kKernel };

struct Row {
  std::string name;
  Group group;
  uint64_t accesses;
  double rate[3];
  bool exact;
  double behind;  // packets for each transaction behind the first cache, with 128 counters; 0: not followed
  size_t least;   // counters with a rate below the paper's; 0: more than LruStack::kDeepest
};

// The capsules and the exact count observe `probe` while `traffic` runs; `cached`: on the memory machine,
// with caches behind the probe.
template <class Traffic>
Row measure(const std::string& name, Group group, const std::string& probe, bool cached, Traffic&& traffic) {
  Row row{name, group, 0, {}, true, 0, 0};
  const auto exact = std::make_unique<Exact>();
  const auto observer = observe(Exact::take, exact.get(), probe);
  const auto behind = std::make_unique<LruStack>();
  const auto second = cached ? observe(take_stack, behind.get(), kBehind) : client::feed::Observer();
  std::vector<Capsule> capsules;
  std::vector<std::unique_ptr<Summing>> sums;
  for (const int counters : kCounters) {
    capsules.emplace_back(probe, "histogram",
                          "counters=" + std::to_string(counters) + ":block=" + std::to_string(kBlock), 0,
                          "histogram-" + std::to_string(counters));
    sums.push_back(std::make_unique<Summing>(capsules.back()));
  }
  traffic();
  substrata_flush();
  for (size_t i = 0; i < capsules.size(); ++i) {
    capsules[i].write_back();
    sums[i]->empty();
    const substrata_owl_statistics statistics = capsules[i].statistics();
    row.accesses = statistics.events_seen;
    row.rate[i] =
        static_cast<double>(statistics.packets_injected) / static_cast<double>(statistics.events_seen);
    row.exact = row.exact && statistics.dropped == 0 && sums[i]->counts == exact->counts &&
                statistics.packets_injected == exact->stack.packets(static_cast<size_t>(kCounters[i]));
  }
  if (cached && behind->accesses() != 0)
    row.behind = static_cast<double>(behind->packets(128)) / static_cast<double>(behind->accesses());
  row.least = exact->stack.least(kPaperRate);
  return row;
}

// A whole program's accesses through a probe point of their own.
class ProgramProbe {
 public:
  void publish(const WholeProgram& program) {
    std::array<substrata_transaction, 4096> batch{};
    size_t filled = 0;
    for (const Step& step : program.steps) {
      substrata_transaction& each = batch[filled];
      each.time = time_ += step.instructions + 1;
      each.address = step.address;
      each.size = 8;  // lackey's own sizes do not matter to a count of accesses
      each.kind = step.write ? SUBSTRATA_WRITE : SUBSTRATA_READ;
      each.probe = static_cast<uint16_t>(publisher_.probe());
      if (++filled < batch.size()) continue;
      publisher_.publish_all({batch.data(), filled});
      filled = 0;
    }
    publisher_.publish_all({batch.data(), filled});
  }
  static constexpr char kName[] = "owl.program.accesses";

 private:
  uint64_t time_ = 0;
  client::feed::Publisher publisher_ =
      client::feed::Source{.name = "owl-programs",
                           .summary = "whole programs under valgrind's lackey",
                           .time_base = SUBSTRATA_TIME_NONE,
                           .ticks_per_second = 0}
          .publisher(kName, "loads and stores of a whole program", 4096)
          .value();
};

struct ObjectRate {
  uint64_t accesses = 0;
  uint64_t misses = 0;
  uint64_t blocks_above_90 = 0;
  uint64_t blocks = 0;
  double rate() const {
    return accesses != 0 ? static_cast<double>(misses) / static_cast<double>(accesses) : 0;
  }
};

// Figure 4: the miss rates of a radix sort's data objects.
std::map<std::string, ObjectRate> radix_objects(const Setting& setting) {
  std::map<std::string, ObjectRate> objects;
  substrata_owl_objects_clear();
  Capsule capsule("mem.cpu0.accesses,mem.cpu0.l1-l2", "missrate", "counters=128:block=64", 0,
                  "radix-missrate");
  Summing sum(capsule);
  run_owl_workload({"radix", "radix:keys=262144:radix=1024", true}, kMachine);
  capsule.write_back();
  sum.empty();
  std::map<uint64_t, uint64_t> ordered(sum.counts.begin(), sum.counts.end());
  std::ofstream file;
  if (!setting.out.empty()) {
    file.open(setting.out + "/owl-figure4.csv");
    file << "block,object,accesses,misses\n";
  }
  for (const auto& [block, accesses] : ordered) {
    const char* const name = substrata_owl_object_at(block);
    ObjectRate& object = objects[name != nullptr ? name : "other"];
    const uint64_t misses = sum.misses[block];
    object.accesses += accesses;
    object.misses += misses;
    ++object.blocks;
    object.blocks_above_90 += accesses != 0 && misses * 10 > accesses * 9 ? 1 : 0;
    if (file.is_open()) {
      file << block / kBlock << ',' << (name != nullptr ? name : "other") << ',' << accesses << ',' << misses
           << '\n';
    }
  }
  return objects;
}

std::vector<Observation> run(const Setting& setting) {
  start_library();
  std::vector<Row> rows;
  const WholePrograms whole = follow_whole_programs();
  if (!whole.programs.empty()) {
    ProgramProbe probe;
    for (const WholeProgram& program : whole.programs) {
      rows.push_back(measure(program.name, Group::kProgram, ProgramProbe::kName, false,
                             [&] { probe.publish(program); }));
    }
  }
  for (const OwlWorkload& workload : owl_workloads()) {
    rows.push_back(measure(workload.name, workload.application ? Group::kStream : Group::kKernel,
                           "mem.cpu0.accesses", true, [&] { run_owl_workload(workload, kMachine); }));
  }

  std::vector<Observation> claims;
  std::string rates[3];  // by group
  std::string least;
  std::string behind;
  std::vector<std::string> above;
  bool exact = true;
  size_t programs = 0;
  for (const Row& row : rows) {
    exact = exact && row.exact;
    std::string& text = rates[static_cast<size_t>(row.group)];
    text += (text.empty() ? "" : "; ") + row.name + " 1/" + owl_decimal(1 / row.rate[0], 1) + ", 1/" +
            owl_decimal(1 / row.rate[1], 1) + ", 1/" + owl_decimal(1 / row.rate[2], 1);
    if (row.behind > 0 && row.group == Group::kStream)
      behind += (behind.empty() ? "" : ", ") + row.name + " 1/" + owl_decimal(1 / row.behind, 1);
    if (row.group != Group::kProgram) continue;
    ++programs;
    least += (least.empty() ? "" : ", ") + row.name + ' ' +
             (row.least != 0 ? std::to_string(row.least) : "more than " + std::to_string(LruStack::kDeepest));
    if (*std::min_element(row.rate, row.rate + 3) >= kPaperRate) above.push_back(row.name);
  }
  std::string missing;
  for (const std::string& name : above) missing += (missing.empty() ? "" : ", ") + name;
  claims.push_back(
      {"across a range of applications, 32 to 128 counters are sufficient to achieve an injection rate of "
       "less "
       "than 1/8",
       "less than 1/8 (section 5.1)",
       std::to_string(programs - above.size()) + " of " + std::to_string(programs) + " programs are below" +
           (above.empty() ? "" : ", " + missing + (above.size() == 1 ? " is" : " are") + " not") +
           "; packets for each access with 32, 64 and 128 counters: " + rates[0] +
           ". Least number of counters with a rate of less than 1/8: " + least,
       above.empty() && programs >= kEnough,
       "capsule at all accesses of one processor, before its first cache, blocks of 64 bytes; a packet is "
       "one "
       "counter written back. Whole programs, stack and scalars included, from the end of their start-up "
       "on: " +
           whole.which + " (" + whole.left_out +
           "). No part of the judgement are streams, which are a workload's accesses to its arrays without "
           "those that every program has beside them: " +
           rates[1] +
           "; behind their first cache, which keeps what is used again, with 128 counters for each "
           "transaction there: " +
           behind + "; and kernels of one pattern each: " + rates[2]});
  claims.push_back(
      {"the counters written back and those left at the end add up to the exact number of accesses of every "
       "block",
       "implied: partial results are written to main memory (section 5.1)",
       exact ? "equal block by block, for every workload and number of counters" : "they differ", exact,
       "held against a count without any limit of counters on the same traffic"});

  const std::map<std::string, ObjectRate> objects = radix_objects(setting);
  std::string by_object;
  double arrays_low = 1;
  ObjectRate others;
  for (const auto& [name, object] : objects) {
    by_object += (by_object.empty() ? "" : "; ") + name + " " + std::to_string(object.accesses) +
                 " accesses in " + std::to_string(object.blocks) + " blocks, " +
                 owl_decimal(100 * object.rate(), 1) + " % missed, " +
                 std::to_string(object.blocks_above_90) + " blocks above 90 %";
    const bool array = name == "radix.keys0" || name == "radix.keys1";
    if (array) {
      arrays_low = std::min(arrays_low, object.rate());
    } else {
      others.accesses += object.accesses;
      others.misses += object.misses;
    }
  }
  const bool both = objects.count("radix.keys0") != 0 && objects.count("radix.keys1") != 0;
  claims.push_back(
      {"the histograms of a radix sort distinguish its two main arrays from its global data, by name",
       "clearly distinguishable (figure 4, left)", by_object, both && objects.size() >= 3,
       "first level of 64 KiB in two ways; the paper's figure does not give its caches or its input"});
  claims.push_back(
      {"both main arrays miss more than all other data, which is what a tuner would look for",
       "about 30 % in the arrays (figure 4, right)",
       "least of the arrays " + owl_decimal(100 * arrays_low, 1) + " %, the other data together " +
           owl_decimal(100 * others.rate(), 1) + " %",
       both && arrays_low > others.rate(),
       "the order is held against the paper, not the height: keys of 4 bytes and another cache give "
       "another rate than its 30 %"});

  auto info = client::sized<substrata_owl_module_info>();
  owl_monitor::demand(substrata_owl_module_find("histogram", &info));
  const uint64_t modern_gates = 8'000'000;
  const uint64_t paper_gates = 40'000 * 66 / 100;
  claims.push_back(
      {"a histogram module is small beside the programmable logic of its day",
       "66 % of a 40 K gate XC4085XLA, about " + std::to_string(paper_gates) +
           " gates, in FPGAs of up to 8 M gates",
       std::to_string(info.cost.counters) + " counters of 32 bits, " + std::to_string(info.cost.table_bits) +
           " table bits, " + std::to_string(info.cost.comparators) +
           " comparators with 64 keys; the paper's " +
           owl_decimal(100.0 * static_cast<double>(paper_gates) / static_cast<double>(modern_gates), 2) +
           " % of such a chip",
       paper_gates * 100 < modern_gates,
       "a module states its counters, table bits and comparators; no gates were synthesised here"});

  setting.write("owl-histogram.csv", [&](std::ostream& file) {
    constexpr const char* kGroups[] = {"program", "stream", "kernel"};
    file << "workload,group,accesses,rate32,rate64,rate128,exact,least\n";
    for (const Row& row : rows) {
      file << row.name << ',' << kGroups[static_cast<size_t>(row.group)] << ',' << row.accesses << ','
           << row.rate[0] << ',' << row.rate[1] << ',' << row.rate[2] << ',' << (row.exact ? 1 : 0) << ','
           << row.least << '\n';
    }
  });
  return claims;
}

}  // namespace

extern const Reproduction owl_histogram{
    "owl-histogram", "Schulz et al., sections 4.2 and 5.1, figure 4: access histograms", run};

}  // namespace substrata::papers
