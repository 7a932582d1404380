// Owl, section 4: a plain counter, a sampling profiler, the SHRIMP monitor's histogram under every selection and its
// threshold interrupt, as modules, give what the originals give.
#include <papi.h>
#include <substrata/shrimp.h>
#include <substrata/feed.hpp>
#include <substrata/owl.hpp>

#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>

#include "papers/claims.hpp"
#include "papers/counted_set.hpp"
#include "papers/owl_workloads.hpp"
#include "papers/reproduction.hpp"
#include "papers/shrimp_runs.hpp"
#include "recording/sampler/measuring.hpp"

namespace substrata::papers {
using namespace sampler;
namespace {

using owl_monitor::Capsule;
using owl_monitor::Packet;

constexpr std::uint64_t kPeriod = 1009;
constexpr std::uint64_t kLine = 64;
constexpr std::uint32_t kNibbles = 12;
constexpr std::uint32_t kSelected = 5;
constexpr std::uint64_t kTaggedPages = 4096;

// Mutants.
constexpr char kBehind[] = "probe=mem.cpu0.l1-l2";
constexpr char kFixed[] = "selection=sender and size";
constexpr char kNoThreshold[] = "threshold=none";

// ------------------------------------------------------------------ counters and profiles of one radix sort

// A sampling profiler outside of any capsule: takes every kPeriod-th access by its cache line.
struct Profiler {
  std::map<std::uint64_t, std::uint64_t> profile;
  std::uint64_t left = kPeriod;
  static void take(void* owner, const substrata_transaction* batch, std::size_t count) {
    auto& self = *static_cast<Profiler*>(owner);
    for (std::size_t i = 0; i < count; ++i) {
      if (--self.left != 0) continue;
      self.left = kPeriod;
      ++self.profile[batch[i].address / kLine];
    }
  }
};

void measure_sort(const Case& one, Readings& found) {
  const char* const probe = one.setting == kBehind ? "mem.cpu0.l1-l2" : "mem.cpu0.accesses";
  Profiler profiler;
  client::feed::Observer observer;
  client::feed::demand(observer.try_create(Profiler::take, &profiler));
  observer.subscribe("mem.cpu0.accesses*").value();
  const Capsule counter(probe, "counter", "", 0, "compatible-counter");
  Capsule sampler(probe, "sampler", "period=" + std::to_string(kPeriod), std::uint64_t{1} << 24,
                  "compatible-sampler");
  CountedSet originals("memory", {"ACCESSES", "READS", "WRITES", "BYTES"});
  originals.start();
  const std::string workload = "radix:keys=" + std::to_string(one.size.amount);
  run_owl_workload(workload, "", one.seed);
  const std::vector<long long> values = originals.stop();
  substrata_flush();

  const char* const metrics[] = {"TRANSACTIONS", "READS", "WRITES", "BYTES"};
  std::uint64_t apart = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<std::uint64_t>(values[i]), counted = counter.metric(metrics[i]);
    apart += value > counted ? value - counted : counted - value;
  }
  if (values.front() == 0) throw std::runtime_error("the sort accesses nothing");
  found["counter"] = {static_cast<double>(apart), std::to_string(values.front()) + " accesses"};

  std::map<std::uint64_t, std::uint64_t> sampled;
  std::uint64_t samples = 0;
  Packet packet;
  for (auto reader = sampler.reader(); reader.next(packet); ++samples) {
    substrata_transaction t;
    if (packet.data.size() != sizeof t) throw std::runtime_error("a sample has another length");
    std::memcpy(&t, packet.data.data(), sizeof t);
    ++sampled[t.address / kLine];
  }
  std::uint64_t lines = 0;
  for (const auto& [line, count] : profiler.profile) lines += sampled[line] != count ? 1 : 0;
  for (const auto& [line, count] : sampled) lines += profiler.profile.contains(line) ? 0 : 1;
  found["profiler"] = {static_cast<double>(lines), std::to_string(samples) + " samples of every " +
                                                       std::to_string(kPeriod) + "th access over " +
                                                       std::to_string(profiler.profile.size()) + " lines"};
}

// -------------------------------------------------------------------------------------- the SHRIMP monitor

void demand(int status) {
  if (status != 0) throw std::runtime_error(substrata_shrimp_error());
}

std::vector<std::uint32_t> legal_selections() {
  std::vector<std::uint32_t> legal;
  for (std::uint32_t nibbles = 0; nibbles < 1u << kNibbles; ++nibbles)
    if (substrata_shrimp_check_selection(nibbles) == 0) legal.push_back(nibbles);
  return legal;
}

// The board's five variables side by side, and of their nibbles the five that registers name. The software sets page
// tags and categories: page p has tag p modulo 16 at every node, and a node's category is its number.
void compose_board() {
  auto known = client::sized<substrata_owl_module_info>();
  if (substrata_owl_module_find("shrimp-board", &known) == 0) return;
  const std::string text = R"(module shrimp-board "the SHRIMP monitor's histogram" {
    register n0 = 0 in 0..11; register n1 = 1 in 0..11; register n2 = 2 in 0..11;
    register n3 = 3 in 0..11; register n4 = 4 in 0..11;
    input -> filter(kind != COMMAND)
          -> map(detail = min(((time / 100000 & 0xfffffffffff) - (start / 100000 & 0xfffffffffff))
                              & 0xfffffffffff, 0xfffff)
                          | (size & 0xfff) << 20 | (initiator & 0xff) << 32
                          | (address >> 12 & 15) << 40 | (target & 15) << 44)
          -> map(detail = (detail >> 4 * n0 & 15) | (detail >> 4 * n1 & 15) << 4 | (detail >> 4 * n2 & 15) << 8
                          | (detail >> 4 * n3 & 15) << 12 | (detail >> 4 * n4 & 15) << 16)
          -> bins(bins = 1m, key = 5, width = 40);
  })";
  owl_monitor::demand(substrata_owl_compose(text.data(), text.size(), "shrimp-board"));
}

std::string registers_of(std::uint32_t selection) {
  std::string text;
  std::uint32_t next = 0;
  for (std::uint32_t nibble = 0; nibble < kNibbles; ++nibble) {
    if ((selection >> nibble & 1) == 0) continue;
    text += (next == 0 ? "n" : ":n") + std::to_string(next) + "=" + std::to_string(nibble);
    ++next;
  }
  if (next != kSelected) throw std::runtime_error("a selection of " + std::to_string(next) + " nibbles");
  return text;
}

void prepare_boards(const Case& one, std::uint32_t selection) {
  substrata_shrimp_power_on();
  command_all(SUBSTRATA_SHRIMP_MULTIPLEXER, selection);
  for (std::uint32_t node = 0; node < one.size.nodes; ++node) {
    demand(substrata_shrimp_command(0, node, SUBSTRATA_SHRIMP_CATEGORY_REGISTER, node & 15));
    for (std::uint64_t page = 0; page < kTaggedPages; ++page)
      demand(substrata_shrimp_set_tag(node, page, page & 15));
  }
}

void run_radix(const Case& one) {
  run_on_shrimp("radix:keys=" + std::to_string(one.size.amount / 16), one.size.nodes, "", one.seed);
}

// Bins in which the board's histogram and the module's differ. `original`: space for the board's.
std::uint64_t different_bins(const Case& one, std::uint32_t selection, std::uint64_t* used,
                             std::vector<std::uint64_t>& original) {
  prepare_boards(one, selection);
  const std::uint32_t loaded = one.setting == kFixed ? SUBSTRATA_SHRIMP_SENDER | SUBSTRATA_SHRIMP_SIZE(0) |
                                                           SUBSTRATA_SHRIMP_SIZE(1) | SUBSTRATA_SHRIMP_SIZE(2)
                                                     : selection;
  Capsule capsule("shrimp.node*.receive", "shrimp-board", registers_of(loaded), std::uint64_t{1} << 23,
                  "compatible-board");
  CountedSet boards("shrimp", {"PACKETS"});
  boards.start();
  run_radix(one);
  if (boards.stop().front() == 0) throw std::runtime_error("no packet arrived");
  capsule.write_back();
  demand(substrata_shrimp_read_sum(0, SUBSTRATA_SHRIMP_WORDS, original.data()));
  std::uint64_t different = 0;
  Packet packet;
  for (auto reader = capsule.reader(); reader.next(packet); ++*used) {
    std::uint64_t words[2];
    if (packet.data.size() != sizeof words) throw std::runtime_error("a packet of bins has another length");
    std::memcpy(words, packet.data.data(), sizeof words);
    different += original.at(words[0]) != words[1] ? 1 : 0;
    original[words[0]] = 0;
  }
  if (capsule.statistics().dropped != 0) throw std::runtime_error("packets were dropped");
  for (const std::uint64_t word : original) different += word != 0 ? 1 : 0;
  return different;
}

// Every fifth selection, from another one on with each seed: the five seeds together are all.
Reading wrong_selections(const Case& one) {
  compose_board();
  const std::vector<std::uint32_t> legal = legal_selections();
  std::vector<std::uint64_t> original(SUBSTRATA_SHRIMP_WORDS);
  std::uint64_t wrong = 0, tried = 0, used = 0;
  for (std::size_t i = (one.seed - 1) % kSeeds; i < legal.size(); i += kSeeds, ++tried)
    wrong += different_bins(one, legal[i], &used, original) != 0 ? 1 : 0;
  return {static_cast<double>(wrong), std::to_string(tried) + " of the " + std::to_string(legal.size()) +
                                          " legal selections with each seed, " + std::to_string(used) +
                                          " bins in use together"};
}

// Interrupts of node 0's board and signals of the module there that have no counterpart on the other side.
Reading interrupts_apart(const Case& one) {
  compose_board();
  constexpr std::uint64_t kThreshold = 20;
  constexpr std::uint32_t kBySender = SUBSTRATA_SHRIMP_SENDER | SUBSTRATA_SHRIMP_SIZE(0) |
                                      SUBSTRATA_SHRIMP_SIZE(1) | SUBSTRATA_SHRIMP_SIZE(2);
  auto known = client::sized<substrata_owl_module_info>();
  if (substrata_owl_module_find("shrimp-threshold", &known) != 0) {
    const std::string text = R"(module shrimp-threshold "the SHRIMP monitor's threshold register" {
      input -> filter(kind != COMMAND) -> map(detail = size & 0xfff | (initiator & 0xff) << 12)
            -> bins(bins = 1m, key = 5, width = 40, threshold = 20);
    })";
    owl_monitor::demand(substrata_owl_compose(text.data(), text.size(), "shrimp-threshold"));
  }
  prepare_boards(one, kBySender);
  command_all(SUBSTRATA_SHRIMP_THRESHOLD, kThreshold);
  Capsule capsule("shrimp.node0.receive", one.setting == kNoThreshold ? "shrimp-board" : "shrimp-threshold",
                  "", std::uint64_t{1} << 20, "compatible-threshold");
  std::map<std::uint32_t, std::uint64_t> signals;
  owl_monitor::demand(substrata_owl_on_signal(
      capsule.get(),
      [](void* owner, const substrata_transaction*, std::uint32_t bin) {
        ++(*static_cast<std::map<std::uint32_t, std::uint64_t>*>(owner))[bin];
      },
      &signals));
  CountedSet boards("shrimp", {"INTERRUPTS:node=0"});
  boards.start();
  run_radix(one);
  const auto interrupts = static_cast<std::uint64_t>(boards.stop().front());
  std::vector<std::uint64_t> words(SUBSTRATA_SHRIMP_WORDS);
  demand(substrata_shrimp_read(0, 0, SUBSTRATA_SHRIMP_WORDS, words.data()));
  std::uint64_t apart = 0, above = 0;
  for (std::uint32_t bin = 0; bin < SUBSTRATA_SHRIMP_WORDS; ++bin) {
    if (words[bin] <= kThreshold && !signals.contains(bin)) continue;
    const std::uint64_t wanted = words[bin] > kThreshold ? words[bin] - kThreshold : 0;
    above += wanted;
    apart += wanted > signals[bin] ? wanted - signals[bin] : signals[bin] - wanted;
  }
  if (interrupts == 0 || above != interrupts)
    throw std::runtime_error("the board's interrupts do not add up");
  return {static_cast<double>(apart), std::to_string(interrupts) + " interrupts of the board"};
}

Readings measure(const Case& one) {
  start_library();
  Readings found;
  if (one.wants("counter") || one.wants("profiler")) measure_sort(one, found);
  if (one.wants("selections")) found["selections"] = wrong_selections(one);
  if (one.wants("threshold")) found["threshold"] = interrupts_apart(one);
  substrata_shrimp_power_on();
  return found;
}

}  // namespace

extern const Reproduction owl_compatible =
    stated("owl-compatible", "Schulz et al., section 4: downward compatible", measure);

}  // namespace substrata::papers
