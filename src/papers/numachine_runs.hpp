// What the reproductions of the NUMAchine thesis share: runs, registers, what the model knows.
#pragma once

#include <substrata/numachine.h>
#include <substrata/feed.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace substrata::papers {

// Runs a workload to its end; throws std::runtime_error when it does not run or its result is wrong. Gives
// the simulated time in bus cycles of 20 ns.
std::uint64_t run_on_numachine(const std::string& workload, std::uint32_t processors,
                               const std::string& parameters = "", std::uint64_t seed = 1);

// Register access that throws with the message of a refusal.
void write_all(std::uint32_t processors, std::uint32_t address, std::uint32_t value);
std::uint32_t read_word(std::uint32_t processor, std::uint32_t address);
std::vector<std::uint32_t> read_sram(std::uint32_t processor);
void reset_numachine();
substrata_numachine_truth known(std::uint32_t processor);
std::vector<substrata_numachine_object> objects();
std::vector<substrata_numachine_spike> spikes();

// Runs a workload whose events each count into a word of the SRAM (`counter_mode`, a value of the SCM register) and
// returns how often a word passed `threshold`: each such interrupt is acknowledged.
std::uint64_t interrupts_beyond(std::uint32_t threshold, std::uint32_t counter_mode,
                                const std::string& workload, std::uint32_t processors,
                                const std::string& parameters = "", std::uint64_t seed = 1);

// Latencies of completed requests, as published at the processors' bus probe points. Thread-bound.
class LatencyList {
 public:
  LatencyList();
  struct Request {
    std::uint32_t processor;
    std::uint32_t latency;  // bus cycles
    std::uint32_t response_state;
  };
  const std::vector<Request>& requests();

 private:
  void take(const substrata_transaction* batch, std::size_t count);

  std::vector<Request> requests_;
  client::feed::Observer observer_;
};

// Of processors' parameters the settings of a swept parameter or a mutant, after others.
std::string with(const std::string& parameters, const std::string& setting);
// `part` of `whole`; of nothing, none.
double ratio(double part, double whole);

}  // namespace substrata::papers
