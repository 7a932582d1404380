// Owl, section 4.3: a pattern of 72 accesses becomes one point, in two levels, and nothing is lost.
#include <substrata/owl.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <ostream>
#include <random>
#include <stdexcept>

#include "papers/claims.hpp"
#include "papers/owl_loads.hpp"
#include "papers/reproduction.hpp"
#include "recording/sampler/measuring.hpp"

namespace substrata::papers {
using namespace sampler;
namespace {

using owl_monitor::Capsule;
using owl_monitor::Packet;

constexpr uint64_t kAccesses = 72;
constexpr int kSteps = 8;
// Mutants.
constexpr char kShuffled[] = "loads=in another order for each atom";
constexpr char kOtherWalk[] = "walk=in another order in each step";
constexpr char kShortRows[] = "length=64";

// The loads of a non-bonded update as the paper shows them: for each atom that the neighbour list keeps, 72 loads of
// its fields in a fixed order; an `if` leaves atoms out, so that the base addresses have gaps. The list is walked again
// in every step.
std::vector<uint64_t> neighbour_loads(const Case& one) {
  constexpr uint64_t kStruct = 1536;
  constexpr uint64_t kBase = 0x20000000;
  std::mt19937_64 random(one.seed);
  std::vector<uint64_t> fields(kStruct / 8);
  for (uint64_t i = 0; i < fields.size(); ++i) fields[i] = 8 * i;
  std::shuffle(fields.begin(), fields.end(), random);  // an order without a shorter repetition
  fields.resize(kAccesses);
  std::vector<uint64_t> atoms;
  for (uint64_t atom = 0; atoms.size() < one.size.amount; ++atom) {
    if (random() % 3 != 0) atoms.push_back(kBase + atom * kStruct);
  }
  std::vector<uint64_t> loads;
  for (int step = 0; step < kSteps; ++step) {
    if (one.setting == kOtherWalk) std::shuffle(atoms.begin(), atoms.end(), random);
    for (const uint64_t atom : atoms) {
      if (one.setting == kShuffled) std::shuffle(fields.begin(), fields.end(), random);
      for (const uint64_t field : fields) loads.push_back(atom + field);
    }
  }
  return loads;
}

// Gives the addresses back that packets of one or two levels stand for.
class Expansion {
 public:
  void take(const Packet& packet, bool upper) {
    (upper ? above_ : below_)
        .take(packet.data.data(), packet.data.size(), upper ? from_above : from_below, this);
  }
  std::vector<uint64_t> addresses;

 private:
  static void from_below(void* self, uint64_t address, uint64_t) {
    static_cast<Expansion*>(self)->addresses.push_back(address);
  }
  static void from_above(void* owner, uint64_t address, uint64_t pattern) {
    auto& self = *static_cast<Expansion*>(owner);
    if (pattern == 0) {
      self.addresses.push_back(address);
      return;
    }
    const struct {
      uint32_t kind;
      uint32_t number;
      uint64_t address;
    } point{1, static_cast<uint32_t>(pattern), address};
    self.below_.take(&point, sizeof point, from_below, &self);
  }
  Expander below_;
  Expander above_;
};

void compose_levels() {
  auto known = client::sized<substrata_owl_module_info>();
  if (substrata_owl_module_find("owl-pattern-levels", &known) == 0) return;
  const std::string levels =
      "module owl-pattern-levels \"patterns of patterns\" { input -> pattern(forward = 1) -> "
      "pattern(symbols = 1); }";
  owl_monitor::demand(substrata_owl_compose(levels.data(), levels.size(), "owl-pattern"));
}

Readings measure(const Case& one) {
  start_library();
  compose_levels();
  const std::vector<uint64_t> loads = neighbour_loads(one);
  LoadProbe probe("owl-pattern", "loads of a molecular dynamics loop", "owl-pattern.loads");
  const char* const registers = one.setting == kShortRows ? kShortRows : "";
  const uint64_t ring = std::bit_ceil(loads.size() * 40);
  Capsule first("owl-pattern.loads", "pattern", registers, ring, "owl-pattern-one");
  Capsule second("owl-pattern.loads", "owl-pattern-levels", "", ring, "owl-pattern-two");

  // The first sixteenth teaches; the rest is what is measured.
  const size_t taught = loads.size() / 16 / kAccesses * kAccesses;
  for (size_t i = 0; i < taught; ++i) probe.load(loads[i]);
  probe.deliver();
  const substrata_owl_statistics before = first.statistics();
  for (size_t i = taught; i < loads.size(); ++i) probe.load(loads[i]);
  probe.deliver();
  const substrata_owl_statistics after = first.statistics();
  first.write_back();
  second.write_back();
  const double steady = static_cast<double>(after.packets_injected - before.packets_injected) /
                        static_cast<double>(after.events_seen - before.events_seen);
  const uint64_t points = first.metric("POINTS");
  const uint64_t covered = first.metric("COVERED");
  const uint64_t packets = first.statistics().packets_injected;

  // What is reduced must be what was there, or the rates are of something else.
  Expansion one_level;
  Packet packet;
  for (auto reader = first.reader(); reader.next(packet);) one_level.take(packet, false);
  Expansion two_levels;
  uint64_t upper_packets = 0;
  for (auto reader = second.reader(); reader.next(packet); ++upper_packets)
    two_levels.take(packet, packet.stage == 1);
  if (first.statistics().dropped + second.statistics().dropped != 0)
    throw std::runtime_error("packets were dropped");
  if (one_level.addresses != loads || two_levels.addresses != loads)
    throw std::runtime_error("the reduced trace does not expand to the original");

  Readings found;
  found["reduced"] = {points == 0 ? 1 : static_cast<double>(covered) / static_cast<double>(points),
                      std::to_string(points) + " points stand for " + std::to_string(covered) + " of " +
                          std::to_string(loads.size()) + " loads; they expand to the original"};
  found["rate"] = {steady * kAccesses,
                   "1/" + digits(1 / steady, 2) + " once the pattern is known, 1/" +
                       digits(static_cast<double>(loads.size()) / static_cast<double>(packets), 2) +
                       " with learning"};
  found["levels"] = {static_cast<double>(upper_packets) / static_cast<double>(packets),
                     std::to_string(upper_packets) + " packets after two rounds, " + std::to_string(packets) +
                         " after one; " + std::to_string(second.metric("PATTERN2_POINTS")) +
                         " points of points"};
  found["table"] = {static_cast<double>(covered / kAccesses * kAccesses == covered && points != 0 &&
                                                covered == points * kAccesses
                                            ? covered
                                            : 0) /
                        static_cast<double>(loads.size()),
                    std::to_string(first.metric("PATTERNS")) + " rows in use at the end, " +
                        std::to_string(first.metric("EVICTED")) + " freed"};
  return found;
}

void figures(const Setting& setting) {
  const Size size{"", 3000, 1};
  const std::vector<uint64_t> loads = neighbour_loads({size, 1, "", {}});
  setting.write("owl-pattern.csv", [&](std::ostream& file) {
    file << "index,address\n";
    for (size_t i = 0; i < 2000 && i < loads.size(); ++i) file << i << ',' << loads[i] << '\n';
  });
}

}  // namespace

extern const Reproduction owl_pattern =
    stated("owl-pattern", "Schulz et al., section 4.3, figure 5: pattern recognition and reduction", measure,
           figures);

}  // namespace substrata::papers
