// Owl, section 1: a background monitor sees a miss rate rise, recruits others, and names the arrays that
// conflict.
#include <substrata/feed.hpp>
#include <substrata/owl.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "papers/claims.hpp"
#include "recording/sampler/measuring.hpp"

namespace substrata::papers {
using namespace sampler;
namespace {

using owl_monitor::Capsule;

// The first level is direct-mapped, so that two lines suffice for a conflict; the second is the paper's.
constexpr char kMachine[] = "l1=64k:l1_ways=1:l2=2m:l2_ways=1:line=64";
constexpr uint64_t kWay = 64 * 1024;
constexpr uint64_t kRounds = 12;
constexpr double kSpike = 0.2;  // fills for each access
// Mutants.
constexpr char kApart[] = "arrays=apart";
constexpr char kWholeWay[] = "moved=a whole way";

// A program whose accesses the memory machine follows.
class Program {
 public:
  explicit Program(uint64_t elements) : elements_(elements) {
    uint32_t number = 0;
    if (substrata_probe_find("mem.cpu0.accesses", &number) != 0) {
      number = client::feed::Source::simulated("memory", "a plain cache machine")
                   .probe("mem.cpu0.accesses",
                          "loads, stores and atomics of one processor; initiator: the processor")
                   .value();
    }
    client::feed::demand(publisher_.try_open(number));
  }
  void access(uint64_t address, uint16_t kind) {
    substrata_transaction t{};
    t.time = (time_ += 1000);
    t.address = address;
    t.size = 8;
    t.kind = kind;
    publisher_.publish(t);
  }
  // c[i] += a[i] * b[i], over and over.
  void multiply(uint64_t a, uint64_t b, uint64_t c, uint64_t rounds) {
    for (uint64_t round = 0; round < rounds; ++round) {
      for (uint64_t i = 0; i < elements_; ++i) {
        access(a + 8 * i, SUBSTRATA_READ);
        access(b + 8 * i, SUBSTRATA_READ);
        access(c + 8 * i, SUBSTRATA_WRITE);
      }
    }
  }

 private:
  const uint64_t elements_;
  client::feed::Publisher publisher_;
  uint64_t time_ = 0;
};

struct Object {
  const char* name;
  uint64_t address;
};

struct Dismiss {
  substrata_owl_rule* rule = nullptr;
  ~Dismiss() { substrata_owl_dismiss(rule); }
};

double miss_rate(const Capsule& accesses, const Capsule& fills, uint64_t& last_accesses,
                 uint64_t& last_fills) {
  const uint64_t a = accesses.metric("TRANSACTIONS");
  const uint64_t f = fills.metric("TRANSACTIONS");
  const double rate = static_cast<double>(f - last_fills) / static_cast<double>(a - last_accesses);
  last_accesses = a;
  last_fills = f;
  return rate;
}

// Of all conflicts that the report lists, the part between the two arrays.
double share_of_pair(const std::string& report) {
  std::istringstream lines(report);
  std::string kind, first, second;
  double pair = 0, all = 0, count = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    if (!(words >> kind >> first >> second >> count) || kind != "conflict") continue;
    all += count;
    if (first == "gradient" && second == "pressure") pair += count;
  }
  return all == 0 ? 0 : pair / all;
}

Readings measure(const Case& one) {
  start_library();
  const auto machine = client::feed::Following::begin("memory", kMachine).value();
  const uint64_t elements = one.size.amount;
  Program program(elements);
  const uint64_t rounds = std::max<uint64_t>(kRounds, kRounds * 4096 / elements);

  // Seven arrays. pressure and gradient lie a multiple of the first level's size apart, which nothing publishes. With
  // each seed all lie elsewhere in the cache.
  const uint64_t base = (uint64_t{1} << 30) + one.seed * 37 * 64;
  const uint64_t half = one.setting == kWholeWay ? kWay : kWay / 2;
  const Object objects[] = {
      {"velocity", base},
      {"density", base + kWay / 2},
      {"energy", base + 3 * kWay + 256},
      {"pressure", base + 4 * kWay},
      {"gradient", base + (one.setting == kApart ? 9 * kWay + kWay / 2 : 9 * kWay)},
      {"flux", base + 12 * kWay + kWay / 2},
      {"gradient_padded", base + 16 * kWay + half},
  };
  substrata_owl_objects_clear();
  for (const Object& object : objects)
    owl_monitor::demand(substrata_owl_object_add(object.name, object.address, 8 * elements));
  const uint64_t target = one.setting == kApart ? objects[3].address : objects[5].address;

  // The background: two plain counters. Nothing else runs until the rule acts.
  const Capsule accesses("mem.cpu0.accesses", "counter", "", 0, "background");
  const Capsule fills("mem.cpu0.l1-l2", "counter", "kind=16", 0, "background-fills");
  const std::string text =
      "watch counter.TRANSACTIONS of background-fills per counter.TRANSACTIONS of background every 10000\n"
      "when above 0.2\n"
      "attach conflict at mem.cpu0.l1-l2 with sets=1024:line=64:counters=4096\n"
      "attach missrate at mem.cpu0.accesses,mem.cpu0.l1-l2 with counters=1024\n"
      "attach counter at mem.cpu0.l2-memory with kind=16\n"
      "for 40000\n"
      "report conflicts\n"
      "report objects\n";
  Dismiss rule;
  owl_monitor::demand(substrata_owl_recruit(text.c_str(), &rule.rule));

  uint64_t seen_accesses = 0;
  uint64_t seen_fills = 0;
  uint64_t before = 0, times = 0;
  const char* report = "";
  program.multiply(objects[0].address, objects[1].address, objects[0].address, rounds);
  const double quiet = miss_rate(accesses, fills, seen_accesses, seen_fills);
  owl_monitor::demand(substrata_owl_recruited(rule.rule, &before, &report));
  program.multiply(objects[3].address, objects[4].address, target, rounds);
  const double spike = miss_rate(accesses, fills, seen_accesses, seen_fills);
  owl_monitor::demand(substrata_owl_recruited(rule.rule, &times, &report));
  const std::string found = report;
  // The cure the report suggests: the same computation with one of the two moved by half a way. It runs once before it
  // is judged, as the arrays are new to the cache.
  const uint64_t moved = objects[6].address;
  program.multiply(objects[3].address, moved, moved, 2);
  static_cast<void>(miss_rate(accesses, fills, seen_accesses, seen_fills));
  program.multiply(objects[3].address, moved, moved, rounds);
  const double cured = miss_rate(accesses, fills, seen_accesses, seen_fills);

  const auto percent = [](double part) { return digits(100 * part, 2) + " %"; };
  Readings readings;
  readings["spike"] = {before == 0 ? static_cast<double>(times) : 0,
                       "fills for each access " + percent(quiet) + " before and " + percent(spike) +
                           " in the spike; recruited " + std::to_string(before) + " times before it"};
  readings["pair"] = {share_of_pair(found), found.substr(0, found.find('\n'))};
  readings["cure"] = {spike > kSpike ? cured / spike : 1,
                      "fills for each access fall from " + percent(spike) + " to " + percent(cured)};
  return readings;
}

}  // namespace

extern const Reproduction owl_recruiting =
    stated("owl-recruiting", "Schulz et al., section 1: recruiting monitors to find a cause", measure);

}  // namespace substrata::papers
