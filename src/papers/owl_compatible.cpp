// Owl, section 4: a plain counter, a sampling profiler and the SHRIMP histogram as modules give what the
// originals give.
#include <papi.h>
#include <substrata/shrimp.h>
#include <substrata/feed.hpp>
#include <substrata/owl.hpp>

#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>

#include "papers/owl_workloads.hpp"
#include "papers/reproduction.hpp"
#include "sampler/measuring.hpp"

namespace substrata::papers {
using namespace sampler;
namespace {

using owl_monitor::Capsule;
using owl_monitor::Packet;

constexpr uint64_t kPeriod = 1009;

// A sampling profiler outside of any capsule: takes every kPeriod-th access by its cache line.
struct Profiler {
  std::map<uint64_t, uint64_t> profile;
  uint64_t left = kPeriod;
  static void take(void* owner, const substrata_transaction* batch, size_t count) {
    auto& self = *static_cast<Profiler*>(owner);
    for (size_t i = 0; i < count; ++i) {
      if (--self.left != 0) continue;
      self.left = kPeriod;
      ++self.profile[batch[i].address / 64];
    }
  }
};
void compose(const char* name, const std::string& text) {
  auto known = client::sized<substrata_owl_module_info>();
  if (substrata_owl_module_find(name, &known) == 0) return;
  owl_monitor::demand(substrata_owl_compose(text.data(), text.size(), name));
}

// The SHRIMP monitor's histogram beside the composed module's, bin by bin, under one selection of the
// multiplexer.
struct Comparison {
  uint64_t packets = 0;
  uint64_t bins = 0;
  uint64_t different = 0;
};

Comparison compare_shrimp(uint32_t selection, const char* module) {
  substrata_shrimp_power_on();
  const auto demand = [](int code) {
    if (code != 0) throw std::runtime_error(substrata_shrimp_error());
  };
  demand(substrata_shrimp_command(0, SUBSTRATA_SHRIMP_EVERY_NODE, SUBSTRATA_SHRIMP_MULTIPLEXER, selection));
  demand(substrata_shrimp_initialise(0, SUBSTRATA_SHRIMP_EVERY_NODE, 0, SUBSTRATA_SHRIMP_WORDS, 0));
  Measurement sets;
  sets.add("shrimp:::PACKETS");
  Capsule capsule("shrimp.node*.receive", module, "", uint64_t{1} << 26, std::string("compatible-") + module);
  sets.start();
  auto options = client::sized<substrata_run_options>();
  options.processes = 8;
  options.seed = 3;
  auto result = client::sized<substrata_run_result>();
  if (substrata_run("shrimp", "radix:keys=16384", &options, &result) != 0 || result.correct == 0) {
    throw std::runtime_error(result.message[0] != '\0' ? result.message : substrata_feed_error());
  }
  Comparison found;
  found.packets = static_cast<uint64_t>(sets.stop().front().value.value);
  capsule.write_back();
  std::vector<uint64_t> ours(SUBSTRATA_SHRIMP_WORDS, 0);
  Packet packet;
  for (auto reader = capsule.reader(); reader.next(packet);) {
    uint64_t words[2];
    if (packet.data.size() != sizeof words) throw std::runtime_error("a packet of bins has another length");
    std::memcpy(words, packet.data.data(), sizeof words);
    ours.at(words[0]) += words[1];
  }
  std::vector<uint64_t> original(SUBSTRATA_SHRIMP_WORDS);
  demand(substrata_shrimp_read_sum(0, SUBSTRATA_SHRIMP_WORDS, original.data()));
  for (size_t i = 0; i < original.size(); ++i) {
    found.bins += original[i] != 0 ? 1 : 0;
    found.different += original[i] != ours[i] ? 1 : 0;
  }
  if (capsule.statistics().dropped != 0) throw std::runtime_error("packets were dropped");
  substrata_shrimp_power_on();
  return found;
}

std::vector<Observation> run(const Setting&) {
  start_library();
  std::vector<Observation> claims;

  // The plain performance counter and the sampling profiler, on the same traffic of a radix sort.
  Measurement originals;
  for (const char* name : {"memory:::ACCESSES", "memory:::READS", "memory:::WRITES", "memory:::BYTES"})
    originals.add(name);
  Profiler profiler;
  client::feed::Observer observer;
  client::feed::demand(observer.try_create(Profiler::take, &profiler));
  observer.subscribe("mem.cpu0.accesses*").value();
  const char* const metrics[] = {"TRANSACTIONS", "READS", "WRITES", "BYTES"};
  std::vector<uint64_t> counted;
  std::map<uint64_t, uint64_t> sampled;
  std::vector<Counted> values;
  {
    const Capsule counter("mem.cpu0.accesses", "counter", "", 0, "compatible-counter");
    Capsule sampler("mem.cpu0.accesses", "sampler", "period=" + std::to_string(kPeriod), uint64_t{1} << 24,
                    "compatible-sampler");
    originals.start();
    run_owl_workload({"radix", "radix:keys=65536", true}, "");
    values = originals.stop();
    substrata_flush();
    for (const char* metric : metrics) counted.push_back(counter.metric(metric));
    Packet packet;
    for (auto reader = sampler.reader(); reader.next(packet);) {
      substrata_transaction t;
      if (packet.data.size() != sizeof t) throw std::runtime_error("a sample has another length");
      std::memcpy(&t, packet.data.data(), sizeof t);
      ++sampled[t.address / 64];
    }
  }
  bool equal = true;
  std::string both;
  for (size_t i = 0; i < counted.size(); ++i) {
    equal = equal && static_cast<uint64_t>(values[i].value.value) == counted[i];
    both += (i == 0 ? "" : "; ") + values[i].name + " " + std::to_string(values[i].value.value) +
            ", module " + std::to_string(counted[i]);
  }
  claims.push_back({"existing hardware counters can be implemented as modules", "a true superset (section 4)",
                    both, equal && counted[0] != 0,
                    "the counters of the substrate memory on the same accesses"});
  uint64_t samples = 0;
  for (const auto& [line, count] : sampled) samples += count;
  claims.push_back(
      {"sampling and profiling based on performance counters can be implemented inside the capsule",
       "without the software component (section 4)",
       std::to_string(samples) + " samples over " + std::to_string(sampled.size()) + " lines, " +
           (sampled == profiler.profile ? "equal" : "not equal") + " to a profiler outside",
       samples != 0 && sampled == profiler.profile, "every " + std::to_string(kPeriod) + "th access"});

  // The SHRIMP monitor (Martonosi et al. 1996): its address is made of nibbles of the packet's variables.
  compose("shrimp-size", R"(module shrimp-size "SHRIMP histogram of size and sender" {
    input -> filter(kind != COMMAND)
          -> map(detail = size & 0xfff | (initiator & 0xff) << 12)
          -> bins(bins = 1m, key = 5, width = 40);
  })");
  compose("shrimp-latency", R"(module shrimp-latency "SHRIMP histogram of latency" {
    input -> filter(kind != COMMAND)
          -> map(detail = min(((time / 100000 & 0xfffffffffff) - (start / 100000 & 0xfffffffffff))
                              & 0xfffffffffff, 0xfffff))
          -> bins(bins = 1m, key = 5, width = 40);
  })");
  const struct {
    const char* module;
    const char* text;
    uint32_t selection;
  } cases[] = {
      {"shrimp-size", "sender and size",
       SUBSTRATA_SHRIMP_SENDER | SUBSTRATA_SHRIMP_SIZE(0) | SUBSTRATA_SHRIMP_SIZE(1) |
           SUBSTRATA_SHRIMP_SIZE(2)},
      {"shrimp-latency", "latency",
       SUBSTRATA_SHRIMP_LATENCY(0) | SUBSTRATA_SHRIMP_LATENCY(1) | SUBSTRATA_SHRIMP_LATENCY(2) |
           SUBSTRATA_SHRIMP_LATENCY(3) | SUBSTRATA_SHRIMP_LATENCY(4)},
  };
  for (const auto& each : cases) {
    const Comparison found = compare_shrimp(each.selection, each.module);
    claims.push_back(
        {std::string("the hardware monitors in the literature can be implemented: the SHRIMP histogram of ") +
             each.text + " as a composed module",
         "a true superset (section 4)",
         std::to_string(found.packets) + " packets in " + std::to_string(found.bins) + " of " +
             std::to_string(SUBSTRATA_SHRIMP_WORDS) + " bins; " + std::to_string(found.different) +
             " bins differ",
         found.packets != 0 && found.bins != 0 && found.different == 0,
         "the module is a text of the composition language; both monitors saw one run of radix on 8 nodes"});
  }
  return claims;
}

}  // namespace

extern const Reproduction owl_compatible{"owl-compatible", "Schulz et al., section 4: downward compatible",
                                         run};

}  // namespace substrata::papers
