// Owl, section 4.3: a pattern of 72 accesses becomes one point, in two levels, and nothing is lost.
#include <substrata/feed.hpp>
#include <substrata/owl.hpp>

#include <cstring>
#include <ostream>

#include "papers/owl_workloads.hpp"
#include "papers/reproduction.hpp"
#include "sampler/measuring.hpp"

namespace substrata::papers {
using namespace sampler;
namespace {

using owl_monitor::Capsule;
using owl_monitor::Packet;

constexpr uint64_t kAccesses = 72;
constexpr int kAtoms = 3000;

// The loads of a non-bonded update as the paper shows them: for each atom that the neighbour list keeps, 72
// loads of its fields in a fixed order; an `if` leaves atoms out, so that the base addresses have gaps. The
// list is walked again in every step.
std::vector<uint64_t> neighbour_loads() {
  constexpr uint64_t kStruct = 1536;
  constexpr uint64_t kBase = 0x20000000;
  constexpr int kSteps = 8;
  uint64_t state = 88172645463325252u;
  const auto random = [&state] {  // xorshift: the same everywhere
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  };
  std::vector<uint64_t> fields(kAccesses);
  for (uint64_t& field : fields)
    field = random() % (kStruct / 8) * 8;  // an order without a shorter repetition
  std::vector<uint64_t> atoms;
  for (uint64_t atom = 0; static_cast<int>(atoms.size()) < kAtoms; ++atom) {
    if (random() % 3 != 0) atoms.push_back(kBase + atom * kStruct);
  }
  std::vector<uint64_t> loads;
  for (int step = 0; step < kSteps; ++step) {
    for (const uint64_t atom : atoms) {
      for (const uint64_t field : fields) loads.push_back(atom + field);
    }
  }
  return loads;
}

class Probe {
 public:
  void load(uint64_t address) {
    substrata_transaction t{};
    t.time = ++time_;
    t.address = address;
    t.size = 8;
    t.kind = SUBSTRATA_READ;
    publisher_.publish(t);
  }

 private:
  client::feed::Publisher publisher_ =
      client::feed::Source::generated("owl-pattern", "loads of a molecular dynamics loop")
          .publisher("owl-pattern.loads", "load addresses")
          .value();
  uint64_t time_ = 0;
};

// Gives the addresses back that packets of one or two levels stand for.
class Expansion {
 public:
  Expansion() {
    owl_monitor::demand(substrata_owl_expander_open(&below_));
    owl_monitor::demand(substrata_owl_expander_open(&above_));
  }
  ~Expansion() {
    substrata_owl_expander_close(below_);
    substrata_owl_expander_close(above_);
  }
  Expansion(const Expansion&) = delete;
  Expansion& operator=(const Expansion&) = delete;
  void take(const Packet& packet, bool upper) {
    owl_monitor::demand(substrata_owl_expander_take(upper ? above_ : below_, packet.data.data(),
                                                    packet.data.size(), upper ? from_above : from_below,
                                                    this));
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
    owl_monitor::demand(substrata_owl_expander_take(self.below_, &point, sizeof point, from_below, &self));
  }
  substrata_owl_expander* below_ = nullptr;
  substrata_owl_expander* above_ = nullptr;
};

std::vector<Observation> run(const Setting& setting) {
  start_library();
  const std::string levels =
      "module owl-pattern-levels \"patterns of patterns\" { input -> pattern(forward = 1) -> "
      "pattern(symbols = 1); }";
  auto known = client::sized<substrata_owl_module_info>();
  if (substrata_owl_module_find("owl-pattern-levels", &known) != 0) {
    owl_monitor::demand(substrata_owl_compose(levels.data(), levels.size(), "owl-pattern"));
  }
  const std::vector<uint64_t> loads = neighbour_loads();
  Probe probe;
  Capsule one("owl-pattern.loads", "pattern", "", 1 << 26, "owl-pattern-one");
  Capsule two("owl-pattern.loads", "owl-pattern-levels", "", 1 << 26, "owl-pattern-two");

  // The first sixteenth teaches; the rest is what is measured.
  const size_t taught = loads.size() / 16 / kAccesses * kAccesses;
  for (size_t i = 0; i < taught; ++i) probe.load(loads[i]);
  const substrata_owl_statistics before = one.statistics();
  for (size_t i = taught; i < loads.size(); ++i) probe.load(loads[i]);
  const substrata_owl_statistics after = one.statistics();
  one.write_back();
  two.write_back();
  const double steady = static_cast<double>(after.events_seen - before.events_seen) /
                        static_cast<double>(after.packets_injected - before.packets_injected);
  const double whole =
      static_cast<double>(loads.size()) / static_cast<double>(one.statistics().packets_injected);

  std::vector<Observation> claims;
  const uint64_t points = one.metric("POINTS");
  const uint64_t covered = one.metric("COVERED");
  claims.push_back(
      {"the 72 accesses of the recurring pattern are reduced to a single access to the base of the pattern",
       "72 to 1 (section 4.3)",
       std::to_string(points) + " points stand for " + std::to_string(covered) + " of " +
           std::to_string(loads.size()) + " loads, " +
           owl_decimal(static_cast<double>(covered) / static_cast<double>(points), 2) + " each",
       points != 0 && covered == points * kAccesses && covered * 10 > loads.size() * 9,
       "a synthetic loop with the paper's shape; the trace of ammp on an Alpha is not to be had"});
  claims.push_back({"this gives an injection rate of 1/72", "1/72 (section 4.3)",
                    "1/" + owl_decimal(steady, 2) + " once the pattern is known, 1/" + owl_decimal(whole, 2) +
                        " over the whole run with learning",
                    steady > 71.5 && steady < 72.5,
                    "packets for each load; the first sixteenth of the loads is the learning"});

  Expansion first;
  Packet packet;
  uint64_t dropped = one.statistics().dropped + two.statistics().dropped;
  for (auto reader = one.reader(); reader.next(packet);) first.take(packet, false);
  Expansion second;
  uint64_t upper_packets = 0;
  for (auto reader = two.reader(); reader.next(packet);) {
    second.take(packet, packet.stage == 1);
    ++upper_packets;
  }
  claims.push_back({"recognised patterns lose nothing: the reduced trace expands to the original",
                    "every access is represented (section 4.3)",
                    std::to_string(first.addresses.size()) + " and " +
                        std::to_string(second.addresses.size()) + " addresses from one and two levels, " +
                        (first.addresses == loads && second.addresses == loads ? "equal" : "not equal") +
                        " to the original in their order",
                    first.addresses == loads && second.addresses == loads && dropped == 0,
                    {}});
  const uint64_t upper_points = two.metric("PATTERN2_POINTS");
  claims.push_back({"a second round of pattern matching on the output exposes the next level of the program",
                    "indicated (section 4.3)",
                    std::to_string(upper_points) + " points of points; " + std::to_string(upper_packets) +
                        " packets after two rounds, " + std::to_string(one.statistics().packets_injected) +
                        " after one",
                    upper_points != 0 && upper_packets < one.statistics().packets_injected,
                    "the second level finds the walk over the list, which repeats in each of eight steps"});
  auto info = client::sized<substrata_owl_module_info>();
  owl_monitor::demand(substrata_owl_module_find("pattern", &info));
  claims.push_back({"a table of 200 x 100 entries of 32 bits is enough",
                    "about 80 KB in raw form (section 4.3)",
                    "200 x 100 x 32 bits are " + std::to_string(200 * 100 * 4) + " bytes; " +
                        std::to_string(one.metric("PATTERNS")) + " rows in use at the end, " +
                        std::to_string(one.metric("EVICTED")) + " freed",
                    one.metric("PATTERNS") <= 200 && info.cost.table_bits >= 200u * 100 * 32,
                    "the module also remembers 4096 distances to find repetitions in: " +
                        std::to_string(info.cost.table_bits) + " bits together"});
  setting.write("owl-pattern.csv", [&](std::ostream& file) {
    file << "index,address\n";
    for (size_t i = 0; i < 2000 && i < loads.size(); ++i) file << i << ',' << loads[i] << '\n';
  });
  return claims;
}

}  // namespace

extern const Reproduction owl_pattern{
    "owl-pattern", "Schulz et al., section 4.3, figure 5: pattern recognition and reduction", run};

}  // namespace substrata::papers
