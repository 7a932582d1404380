// Owl, section 4.3 and figure 5: the loads of a molecular dynamics program through two pattern detectors, one by
// longest common subsequences as in the paper, one by contiguous repetitions.
#include <substrata/owl.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <ostream>
#include <random>
#include <stdexcept>

#include "papers/claims.hpp"
#include "papers/molecules_loads.h"
#include "papers/owl_loads.hpp"
#include "papers/plot.hpp"
#include "papers/reproduction.hpp"
#include "recording/sampler/measuring.hpp"

namespace substrata::papers {
using namespace sampler;
namespace {

using owl_monitor::Capsule;
using owl_monitor::Packet;

// Mutants.
constexpr char kShuffled[] = "loads=in random order";
constexpr char kNoGaps[] = "gap=0";
constexpr char kOneAtom[] = "loop=its first pairs over and over";

// The loads of one evaluation of the forces, from 512 MiB on those of atoms.
constexpr uint64_t kAtoms = 0x20000000;
constexpr uint64_t kAtomsEnd = kAtoms + (1 << 22);

const std::vector<uint64_t>& program_loads() {
  static std::vector<uint64_t> loads;
  if (loads.empty() &&
      substrata_molecules_loads(
          [](void* to, uint64_t address) { static_cast<std::vector<uint64_t>*>(to)->push_back(address); },
          &loads) == 0)
    throw std::runtime_error("the program has no memory for its atoms");
  return loads;
}

// Of the five parts of the program's loads, the beginning of the seed's.
std::vector<uint64_t> loads_of(const Case& one) {
  const std::vector<uint64_t>& all = program_loads();
  const size_t begin = all.size() / kSeeds * ((one.seed - 1) % kSeeds);
  if (begin + one.size.amount > all.size()) throw std::runtime_error("the program makes fewer loads");
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
  std::vector<uint64_t> loads(first, first + static_cast<std::ptrdiff_t>(one.size.amount));
  if (one.setting == kShuffled) {
    std::mt19937_64 random(one.seed);
    std::shuffle(loads.begin(), loads.end(), random);
  }
  if (one.setting == kOneAtom)
    for (size_t i = loads.size() / 64; i < loads.size(); ++i) loads[i] = loads[i - loads.size() / 64];
  return loads;
}

struct Point {
  uint64_t index;    // of its first load
  uint64_t address;  // of its first load
  uint32_t pattern;
  std::vector<uint64_t> members;  // indices of its loads
};

// What a detector made of the loads.
struct Reduction {
  uint64_t packets = 0;
  uint64_t learned_packets = 0;  // behind the first sixteenth of the loads
  uint64_t covered = 0;
  uint64_t in_gaps = 0;
  uint64_t rows = 0;
  uint64_t evicted = 0;
  uint64_t row_bits = 0;
  std::vector<Point> points;
};

// Where the packets' loads are among all, and that they are all loads in their order.
void place(const std::vector<Packet>& packets, const std::vector<uint64_t>& loads, Reduction& found) {
  struct Of {
    const std::vector<uint64_t>& loads;
    size_t at = 0;
    static void take(void* owner, uint64_t address, uint64_t) {
      auto& self = *static_cast<Of*>(owner);
      if (self.at == self.loads.size() || self.loads[self.at++] != address)
        throw std::runtime_error("the reduced trace does not expand to the original");
    }
  } of{loads};
  Expander expander;
  for (const Packet& packet : packets) {
    const size_t begin = of.at;
    expander.take(packet.data.data(), packet.data.size(), Of::take, &of);
    uint32_t head[2];
    uint64_t address = 0;
    std::memcpy(head, packet.data.data(), sizeof head);
    std::memcpy(&address, packet.data.data() + sizeof head, sizeof address);
    if (head[0] != 1 && head[0] != 4) continue;
    Point point{begin, address, head[1], {}};
    // Positions in the pattern of the accesses in gaps become places in the trace.
    std::vector<uint64_t> gaps((packet.data.size() - 16) / 8);
    if (!gaps.empty()) std::memcpy(gaps.data(), packet.data.data() + 16, packet.data.size() - 16);
    size_t gap = 0;
    for (uint64_t index = begin, member = 0; index < of.at; ++index) {
      if (2 * gap < gaps.size() && gaps[2 * gap] == member) {
        ++gap;
        continue;
      }
      point.members.push_back(index);
      ++member;
    }
    found.points.push_back(std::move(point));
  }
  if (of.at != loads.size()) throw std::runtime_error("the reduced trace is shorter than the original");
}

// Longest common subsequences with these registers, or where they are null contiguous repetitions.
Reduction reduced_by(const std::vector<uint64_t>& loads, const char* registers) {
  start_library();
  LoadProbe probe("owl-molecules", "loads of a molecular dynamics program", "owl-molecules.loads");
  const bool subsequences = registers != nullptr;
  const Capsule capsule("owl-molecules.loads", subsequences ? "lcs" : "pattern",
                        subsequences ? registers : "", std::bit_ceil(loads.size() * 64),
                        "owl-molecules-detector");
  Reduction found;
  const size_t taught = loads.size() / 16;
  for (size_t i = 0; i < loads.size(); ++i) {
    if (i == taught) {
      probe.deliver();
      found.learned_packets = capsule.statistics().packets_injected;
    }
    probe.load(loads[i]);
  }
  probe.deliver();
  owl_monitor::demand(substrata_owl_write_back(capsule.get()));
  const substrata_owl_statistics statistics = capsule.statistics();
  if (statistics.dropped != 0) throw std::runtime_error("packets were dropped");
  found.packets = statistics.packets_injected;
  found.learned_packets = found.packets - found.learned_packets;
  found.covered = capsule.metric("COVERED");
  found.rows = capsule.metric("PATTERNS");
  found.evicted = capsule.metric("EVICTED");
  if (subsequences) {
    found.in_gaps = capsule.metric("GAPS");
    found.row_bits = capsule.metric("TABLE_BITS");
  }
  std::vector<Packet> packets;
  Packet packet;
  for (auto reader = capsule.reader(); reader.next(packet);) packets.push_back(packet);
  place(packets, loads, found);
  return found;
}

// The pattern whose points stand for most loads among the atoms' fields.
uint32_t leading_pattern(const Reduction& found) {
  std::map<uint32_t, uint64_t> loads;
  for (const Point& point : found.points)
    if (point.address >= kAtoms && point.address < kAtomsEnd) loads[point.pattern] += point.members.size();
  const auto most = std::max_element(loads.begin(), loads.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == loads.end() ? 0 : most->first;
}

// The range of the pattern's first loads, by that of all loads of atoms.
Reading range_of(const Reduction& found, const std::vector<uint64_t>& loads) {
  uint64_t least = kAtomsEnd, most = kAtoms, first = kAtomsEnd, last = kAtoms, points = 0, size = 0;
  for (const uint64_t address : loads) {
    if (address < kAtoms || address >= kAtomsEnd) continue;
    least = std::min(least, address);
    most = std::max(most, address);
  }
  const uint32_t leading = leading_pattern(found);
  for (const Point& point : found.points) {
    if (point.pattern != leading) continue;
    first = std::min(first, point.address);
    last = std::max(last, point.address);
    size = point.members.size();
    ++points;
  }
  if (points == 0) return {0, "no pattern of atoms"};
  return {most == least ? 0 : static_cast<double>(last - first) / static_cast<double>(most - least),
          std::to_string(points) + " points of one pattern of " + std::to_string(size) + " loads"};
}

Readings measure(const Case& one) {
  const std::vector<uint64_t> loads = loads_of(one);
  const Reduction found = reduced_by(loads, one.setting == kNoGaps ? kNoGaps : "");
  const auto all = static_cast<double>(loads.size());
  Readings readings;
  readings["recurring"] = {
      static_cast<double>(found.covered) / all,
      std::to_string(found.points.size()) + " points stand for " + std::to_string(found.covered) + " of " +
          std::to_string(loads.size()) + " loads, " + std::to_string(found.in_gaps) + " are in their gaps; " +
          std::to_string(found.rows) + " rows in use, " + std::to_string(found.row_bits) + " bits, " +
          std::to_string(found.evicted) + " freed"};
  const size_t learned = loads.size() - loads.size() / 16;  // behind what taught the detector
  const double rate = static_cast<double>(found.learned_packets) / static_cast<double>(learned);
  readings["rate"] = {rate, "1/" + digits(1 / rate, 2) + " behind the first sixteenth"};
  if (one.wants("gaps")) {
    const Reduction contiguous = reduced_by(loads, nullptr);
    readings["gaps"] = {static_cast<double>(found.packets) / static_cast<double>(contiguous.packets),
                        std::to_string(found.packets) + " packets by subsequences, " +
                            std::to_string(contiguous.packets) +
                            " by contiguous repetitions, whose points stand for " +
                            std::to_string(contiguous.covered) + " loads"};
  }
  if (one.wants("range")) readings["range"] = range_of(found, loads);
  return readings;
}

// ------------------------------------------------------------------------------------------------ figure 5

constexpr size_t kTopLoads = 3000;
constexpr size_t kMiddleLoads = 400;

void draw(const std::vector<uint64_t>& loads, const Reduction& found, std::ostream& file) {
  const uint32_t leading = leading_pattern(found);
  const auto place_of = [&](uint64_t index) {
    return std::pair(static_cast<double>(index), static_cast<double>(loads[index] - kAtoms));
  };
  const auto of_atom = [&](uint64_t index) { return loads[index] >= kAtoms && loads[index] < kAtomsEnd; };
  using Style = Series::Style;
  // The part where the pattern is met for the second time and later.
  size_t begin = 0, met = 0;
  for (const Point& point : found.points)
    if (point.pattern == leading && ++met == 2) begin = point.index;
  Series top{"", {}, Style::kDots}, others{"other loads", {}, Style::kDots},
      pattern{"in the pattern", {}, Style::kDots}, points{"", {}, Style::kDots};
  for (size_t i = begin; i < loads.size() && i < begin + kTopLoads; ++i)
    if (of_atom(i)) top.points.push_back(place_of(i));
  std::vector<bool> member(loads.size());
  for (const Point& point : found.points) {
    if (point.pattern != leading) continue;
    points.points.push_back(place_of(point.index));
    for (const uint64_t index : point.members) member[index] = true;
  }
  for (size_t i = begin; i < loads.size() && i < begin + kMiddleLoads; ++i)
    if (of_atom(i)) (member[i] ? pattern : others).points.push_back(place_of(i));
  const Axis loads_axis{"load"}, bytes{"bytes from the first atom"};
  const auto from = [&](const Series& series, const char* label) {
    Axis axis{label};
    if (!series.points.empty()) axis.least = series.points.front().first;
    return axis;
  };
  write_panels(file, "The loads of find_forces in molecules.c, and the pattern that stands for most of them",
               {panel("trace", from(top, "load"), bytes, {top}),
                panel("its beginning, with the pattern", from(others, "load"), bytes, {others, pattern}),
                panel("the longer trace, a point for each occurrence", loads_axis, bytes, {points})},
               1);
}

void figures(const Setting& setting) {
  const Size size{"", setting.paper_size ? uint64_t{200000} : uint64_t{40000}, 1};
  const std::vector<uint64_t> loads = loads_of({size, 1, "", {}});
  const Reduction found = reduced_by(loads, "");
  setting.write("owl-molecules.csv", [&](std::ostream& file) {
    file << "load,address\n";
    for (size_t i = 0; i < loads.size(); ++i) file << i << ',' << loads[i] << '\n';
  });
  setting.write("owl-molecules.svg", [&](std::ostream& file) { draw(loads, found, file); });
}

}  // namespace

extern const Reproduction owl_molecules =
    stated("owl-molecules",
           "Schulz et al., section 4.3, figure 5: pattern detection on a molecular dynamics program", measure,
           figures);

}  // namespace substrata::papers
