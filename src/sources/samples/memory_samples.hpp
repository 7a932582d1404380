// Loads and stores as processors sample them: which of the kernel's events has them, and what a sample means.
#pragma once

#include <string>
#include <vector>

#include "perf_events/device_files.hpp"
#include "sources/observation/observation.hpp"

namespace substrata::samples {

inline constexpr const char* kMemoryProbe = "os.memory-samples";
inline constexpr const char* kMemoryProbeText =
    "Sampled loads and stores of an observed process; initiator the thread, target the processor, detail "
    "where the "
    "data were found (enum substrata_samples_source)";

struct MemoryEvent {
  pages::Wanted wanted;
  int by = 0;  // enum substrata_samples_clock
};

// The event of a machine with these units, so many samples a second of processor time. False, and *why the reason,
// where none has data addresses.
bool find_memory_event(const std::vector<perf::Pmu>& pmus, bool from_exec, uint64_t frequency,
                       MemoryEvent* found, std::string* why);

// The load or store of a sample; false: it is neither, or its address is not known.
bool fill_memory_sample(const pages::Sample& sample, substrata_transaction& access);

}  // namespace substrata::samples
