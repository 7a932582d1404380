// Runs on the machine numachine, and what is read from it.
#include "papers/numachine_runs.hpp"

#include "papers/reproduction.hpp"
#include "tools/model_runs/workload_run.hpp"

namespace substrata::papers {
using client::feed::demand;
using namespace model_runs;
namespace {

// As many as the call says there are.
template <typename Entry>
std::vector<Entry> all_of(int (*call)(Entry*, std::uint32_t*)) {
  std::uint32_t count = 0;
  demand(call(nullptr, &count));
  std::vector<Entry> all(count);
  demand(call(all.data(), &count));
  return all;
}

}  // namespace

std::uint64_t run_on_numachine(const std::string& workload, std::uint32_t processors,
                               const std::string& parameters, std::uint64_t seed) {
  return model_runs::run_workload("numachine", workload, processors, parameters, seed).simulated_ticks /
         20'000;
}

void write_all(std::uint32_t processors, std::uint32_t address, std::uint32_t value) {
  demand(substrata_numachine_broadcast(processors, address, value));
}

std::uint32_t read_word(std::uint32_t processor, std::uint32_t address) {
  std::uint32_t value = 0;
  demand(substrata_numachine_read(processor, address, &value));
  return value;
}

std::vector<std::uint32_t> read_sram(std::uint32_t processor) {
  std::vector<std::uint32_t> words(65536);
  demand(substrata_numachine_read_sram(processor, 0, 65536, words.data()));
  return words;
}

void reset_numachine() { demand(substrata_numachine_reset()); }

substrata_numachine_truth known(std::uint32_t processor) {
  substrata_numachine_truth truth{};
  demand(substrata_numachine_known(processor, &truth));
  return truth;
}

std::vector<substrata_numachine_object> objects() {
  return all_of<substrata_numachine_object>(substrata_numachine_objects);
}

std::vector<substrata_numachine_spike> spikes() {
  return all_of<substrata_numachine_spike>(substrata_numachine_spikes);
}

std::uint64_t interrupts_beyond(std::uint32_t threshold, std::uint32_t counter_mode,
                                const std::string& workload, std::uint32_t processors,
                                const std::string& parameters, std::uint64_t seed) {
  for (std::uint32_t p = 0; p < processors; ++p)
    demand(substrata_numachine_fill_sram(p, 0, 65536, 0U - threshold));
  write_all(processors, SUBSTRATA_NUMACHINE_SCM, counter_mode);
  write_all(processors, SUBSTRATA_NUMACHINE_SRAMCE, 1);
  std::uint64_t interrupts = 0;
  substrata_numachine_on_interrupt(
      [](void* owner, std::uint32_t cpu, std::uint32_t pending) {
        ++*static_cast<std::uint64_t*>(owner);
        substrata_numachine_write(cpu, SUBSTRATA_NUMACHINE_INTERRUPTS, pending);
      },
      &interrupts);
  run_on_numachine(workload, processors, parameters, seed);
  substrata_numachine_on_interrupt(nullptr, nullptr);
  return interrupts;
}

LatencyList::LatencyList() {
  demand(observer_.try_create<&LatencyList::take>(*this));
  demand(observer_.try_subscribe("numachine.st*.cpu*.bus"));
}

void LatencyList::take(const substrata_transaction* batch, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const substrata_transaction& t = batch[i];
    if (t.kind != SUBSTRATA_READ && t.kind != SUBSTRATA_READ_EXCLUSIVE && t.kind != SUBSTRATA_UPGRADE &&
        t.kind != SUBSTRATA_UPDATE)
      continue;
    // docs/reference/numachine.md: latency in bits 15..0 of the detail, the response state in bits 30..26.
    requests_.push_back({t.initiator, static_cast<std::uint32_t>(t.detail & 0xffffU),
                         static_cast<std::uint32_t>((t.detail >> 26) & 0x1fU)});
  }
}

const std::vector<LatencyList::Request>& LatencyList::requests() {
  substrata_flush();
  return requests_;
}

std::string with(const std::string& parameters, const std::string& setting) {
  return parameters.empty() || setting.empty() ? parameters + setting : parameters + ":" + setting;
}

double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

}  // namespace substrata::papers
