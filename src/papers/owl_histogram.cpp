// Owl, sections 4.2 and 5.1: histograms with few counters, their sums, and miss rates by data object.
#include <substrata/feed.hpp>
#include <substrata/owl.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <ostream>
#include <set>
#include <stdexcept>
#include <unordered_map>

#include "papers/claims.hpp"
#include "papers/owl_programs.hpp"
#include "papers/owl_workloads.hpp"
#include "papers/reproduction.hpp"
#include "recording/sampler/measuring.hpp"

namespace substrata::papers {
using namespace sampler;
namespace {

using owl_monitor::Capsule;
using owl_monitor::Packet;
using owl_monitor::Reader;

constexpr std::uint64_t kBlock = 64;
constexpr double kPaperRate = 1.0 / 8;
// The paper's caches, section 5.2.
constexpr char kMachine[] = "l1=64k:l1_ways=2:l2=2m:l2_ways=1:line=64";
// The paper puts a capsule between any two levels, and does not say where its 1/8 was measured.
constexpr struct {
  const char* id;
  const char* probe;
} kPlaces[] = {
    {"accesses", "mem.cpu0.accesses"}, {"l1-l2", "mem.cpu0.l1-l2"}, {"l2-memory", "mem.cpu0.l2-memory"}};
// Each seed is another part of a program's run.
constexpr std::size_t kReducedMost = 60'000;  // accesses
constexpr std::size_t kFullMost = 800'000;
// Programs that have to be here, and of these rows of table 1.
constexpr std::size_t kEnough = 12;
constexpr std::size_t kEnoughOfTable = 8;
// Mutants and settings.
constexpr char kOneCounter[] = "counters=1";
constexpr char kLastOnly[] = "written back=at the end only";
constexpr char kNoNames[] = "objects=without names";
constexpr char kFewBuckets[] = "radix=16";
constexpr char kSmallCache[] = "l1=16k";
constexpr char kLongLines[] = "line=128";

using Counts = std::unordered_map<std::uint64_t, std::uint64_t>;

// Sums a capsule's packets while the workload runs: the near-full signal empties the ring.
struct Summing {
  explicit Summing(Capsule& capsule) : reader(capsule.reader()) {
    substrata_owl_on_near_full(
        capsule.get(), [](void* owner, substrata_owl_capsule*) { static_cast<Summing*>(owner)->empty(); },
        this);
  }
  void empty() {
    while (reader.next(packet)) {
      std::uint64_t words[3];
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

// ------------------------------------------------------------------------------------------- whole programs

// Whole programs' accesses, which the memory machine follows.
class Accesses {
 public:
  Accesses() {
    std::uint32_t number = 0;
    if (substrata_probe_find(kPlaces[0].probe, &number) != 0)
      number =
          client::feed::Source::simulated("memory", "a plain cache machine")
              .probe(kPlaces[0].probe, "loads, stores and atomics of one processor; initiator: the processor")
              .value();
    client::feed::demand(publisher_.try_open(number));
  }
  void publish(const Step* first, const Step* end) {
    for (; first != end; ++first) {
      substrata_transaction t{};
      t.time = (time_ += 1000);
      t.address = first->address;
      t.size = 8;  // lackey's own sizes do not matter to a count of accesses
      t.kind = first->write ? SUBSTRATA_WRITE : SUBSTRATA_READ;
      publisher_.publish(t);
    }
    substrata_flush();
  }

 private:
  client::feed::Publisher publisher_;
  std::uint64_t time_ = 0;
};

const std::vector<WholeProgram>& programs(std::size_t accesses) {
  static std::map<std::size_t, std::vector<WholeProgram>> kept;
  const std::size_t most = kSeeds * (accesses <= kReducedMost ? kReducedMost : kFullMost);
  const auto [found, added] = kept.try_emplace(most);
  if (!added) return found->second;
  WholePrograms whole = follow_whole_programs(most);
  std::size_t of_table = 0;
  for (WholeProgram& program : whole.programs) {
    if (program.name == kWaits) continue;
    of_table += program.paper.empty() ? 0 : 1;
    found->second.push_back(std::move(program));
  }
  if (found->second.size() < kEnough || of_table < kEnoughOfTable)
    throw std::runtime_error("too few programs are here: " + whole.left_out);
  return found->second;
}

struct Rates {
  std::vector<std::string> name;
  std::vector<bool> of_table;
  std::array<std::vector<double>, 3> rate;  // packets for each transaction, by place
  std::uint64_t wrong_blocks = 0;           // whose sum is not their number of accesses
};

struct Exact {
  Counts counts;
  static void take(void* owner, const substrata_transaction* batch, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      ++static_cast<Exact*>(owner)->counts[batch[i].address / kBlock * kBlock];
  }
};

Rates measure_programs(const Case& one) {
  Rates rates;
  const std::string registers = std::string(one.setting == kOneCounter ? kOneCounter : "counters=128") +
                                ":block=" + std::to_string(kBlock);
  for (const WholeProgram& program : programs(one.size.amount)) {
    const auto machine = client::feed::Following::begin("memory", kMachine).value();
    Accesses accesses;
    Exact exact;
    client::feed::Observer observer;
    client::feed::demand(observer.try_create(Exact::take, &exact));
    observer.subscribe("mem.cpu0.accesses*").value();
    std::vector<Capsule> capsules;
    for (const auto& place : kPlaces)
      capsules.emplace_back(place.probe, "histogram", registers, 0, std::string("histogram-") + place.id);
    Summing sum(capsules[0]), second(capsules[1]), third(capsules[2]);
    const std::size_t end = program.steps.size() * one.seed / kSeeds;
    const std::size_t begin = end - std::min<std::size_t>(one.size.amount, end);
    accesses.publish(program.steps.data() + begin, program.steps.data() + end);
    if (one.setting == kLastOnly) {
      sum.empty();
      sum.counts.clear();
    }
    rates.name.push_back(program.name);
    rates.of_table.push_back(!program.paper.empty());
    for (std::size_t i = 0; i < capsules.size(); ++i) {
      capsules[i].write_back();
      const substrata_owl_statistics found = capsules[i].statistics();
      if (found.dropped != 0) throw std::runtime_error("packets were dropped");
      rates.rate[i].push_back(found.events_seen == 0 ? 0
                                                     : static_cast<double>(found.packets_injected) /
                                                           static_cast<double>(found.events_seen));
    }
    sum.empty();
    for (const auto& [block, count] : exact.counts) rates.wrong_blocks += sum.counts[block] != count ? 1 : 0;
  }
  return rates;
}

std::string shown(const Rates& rates, std::size_t place) {
  std::string text;
  for (std::size_t i = 0; i < rates.name.size(); ++i)
    text += (text.empty() ? "" : ", ") + rates.name[i] + ' ' +
            (rates.rate[place][i] > 0 ? "1/" + digits(1 / rates.rate[place][i], 1) : "none");
  return text;
}

// Of the rates of the rows of table 1, or of the other programs.
Reading mean(const Rates& rates, std::size_t place, bool of_table) {
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < rates.name.size(); ++i) {
    if (rates.of_table[i] != of_table) continue;
    sum += rates.rate[place][i];
    ++count;
  }
  return {sum / count, "1/" + digits(count / sum, 1) + ", mean of " + digits(count, 0) + " programs"};
}

// --------------------------------------------------------------------------------------- figure 4: radix sort

struct ObjectRate {
  std::uint64_t accesses = 0;
  std::uint64_t misses = 0;
  std::uint64_t blocks_above_90 = 0;
  std::uint64_t blocks = 0;
  double rate() const {
    return accesses != 0 ? static_cast<double>(misses) / static_cast<double>(accesses) : 0;
  }
};

std::map<std::string, ObjectRate> radix_objects(const Case& one, std::ostream* file = nullptr) {
  std::map<std::string, ObjectRate> objects;
  substrata_owl_objects_clear();
  Capsule capsule("mem.cpu0.accesses,mem.cpu0.l1-l2", "missrate", "counters=128:block=64", 0,
                  "radix-missrate");
  Summing sum(capsule);
  std::string machine = kMachine;
  if (one.setting == kSmallCache) machine = "l1=16k:l1_ways=2:l2=2m:l2_ways=1:line=64";
  if (one.setting == kLongLines) machine = "l1=64k:l1_ways=2:l2=2m:l2_ways=1:line=128";
  const std::string sort = "radix:keys=" + std::to_string(one.size.nodes) +
                           ":radix=" + (one.setting == kFewBuckets ? "16" : "1024");
  run_owl_workload(sort, machine, one.seed);
  capsule.write_back();
  sum.empty();
  if (one.setting == kNoNames) substrata_owl_objects_clear();
  const std::map<std::uint64_t, std::uint64_t> ordered(sum.counts.begin(), sum.counts.end());
  for (const auto& [block, accesses] : ordered) {
    const char* const name = substrata_owl_object_at(block);
    ObjectRate& object = objects[name != nullptr ? name : "other"];
    const std::uint64_t misses = sum.misses[block];
    object.accesses += accesses;
    object.misses += misses;
    ++object.blocks;
    object.blocks_above_90 += accesses != 0 && misses * 10 > accesses * 9 ? 1 : 0;
    if (file != nullptr)
      *file << block / kBlock << ',' << (name != nullptr ? name : "other") << ',' << accesses << ',' << misses
            << '\n';
  }
  return objects;
}

void measure_radix(const Case& one, Readings& found) {
  const std::map<std::string, ObjectRate> objects = radix_objects(one);
  std::string text;
  double named = 0, all = 0;
  ObjectRate arrays;
  double farthest = 0;
  for (const auto& [name, object] : objects) {
    const auto accesses = static_cast<double>(object.accesses);
    all += accesses;
    named += name != "other" ? accesses : 0;
    text += (text.empty() ? "" : "; ") + name + ' ' + std::to_string(object.blocks) + " blocks, " +
            digits(100 * object.rate(), 1) + " % missed";
    if (name != "radix.keys0" && name != "radix.keys1") continue;
    arrays.blocks += object.blocks;
    arrays.blocks_above_90 += object.blocks_above_90;
    if (farthest == 0 || std::abs(object.rate() - 0.3) > std::abs(farthest - 0.3)) farthest = object.rate();
  }
  found["named"] = {all == 0 ? 0 : named / all, text};
  found["height"] = {farthest, text};
  found["spikes"] = {arrays.blocks == 0
                         ? 0
                         : static_cast<double>(arrays.blocks_above_90) / static_cast<double>(arrays.blocks),
                     std::to_string(arrays.blocks_above_90) + " of " + std::to_string(arrays.blocks) +
                         " blocks miss at more than 90 %"};
}

// ------------------------------------------------------------------------------------------------- the study

bool wants_radix(const Case& one) { return one.wants("named") || one.wants("height") || one.wants("spikes"); }
bool wants_programs(const Case& one) {
  return std::any_of(one.wanted.begin(), one.wanted.end(), [](const std::string& claim) {
    return claim != "named" && claim != "height" && claim != "spikes";
  });
}

Readings measure(const Case& one) {
  start_library();
  Readings found;
  if (wants_radix(one)) measure_radix(one, found);
  if (!wants_programs(one)) return found;
  const Rates rates = measure_programs(one);
  for (std::size_t place = 0; place < std::size(kPlaces); ++place) {
    const std::string id = kPlaces[place].id;
    const auto below = static_cast<double>(std::count_if(rates.rate[place].begin(), rates.rate[place].end(),
                                                         [](double rate) { return rate < kPaperRate; }));
    found["every-" + id] = {below / static_cast<double>(rates.name.size()), shown(rates, place)};
    found["table1-" + id] = mean(rates, place, true);
    found["splash-" + id] = mean(rates, place, false);
  }
  found["sums"] = {static_cast<double>(rates.wrong_blocks), std::to_string(rates.name.size()) + " programs"};
  return found;
}

void figures(const Setting& setting) {
  start_library();
  const Size size{"", 0, 131072};
  const Case one{size, 1, "", {}};
  setting.write("owl-figure4.csv", [&](std::ostream& file) {
    file << "block,object,accesses,misses\n";
    radix_objects(one, &file);
  });
}

}  // namespace

extern const Reproduction owl_histogram = stated(
    "owl-histogram", "Schulz et al., sections 4.2 and 5.1, figure 4: access histograms", measure, figures);

}  // namespace substrata::papers
