// What the last machine of this process found out, kept for the C interface after the machine is gone.
#pragma once

#include <cstdint>
#include <vector>

#include "numachine/sharing_report.hpp"
#include "numachine/synchronisation.hpp"

namespace substrata::numachine {

// Misses above the average that make a line of the cache stand out (section 3.3.2's threshold; its value is
// ours).
inline constexpr std::uint64_t kSpikeThreshold = 16;

// What its locks and barriers cost it.
struct Synchronisation {
  std::vector<Waits> waits;    // most waited for first
  std::vector<LostTime> lost;  // by processor
};

struct LastRun {
  std::vector<ObjectMisses> objects;
  std::vector<Spike> spikes;
  std::vector<Truth> truths;                         // by processor
  std::vector<std::vector<std::uint32_t>> profiles;  // by processor
  std::vector<Waits> waits;                          // most waited for first
  std::vector<LostTime> lost;                        // by processor
};

// Replaces what was kept. The model must be settled.
void keep_last_run(Model& model, const NameAt& name_at, Synchronisation synchronisation = {});
// A copy. Thread-safe.
LastRun last_run();

}  // namespace substrata::numachine
