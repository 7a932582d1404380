// Samples of a process's instructions, from a counter of cycles or else from the kernel's clock, or of its loads.
#include <substrata/samples.h>

#include <memory>

#include "base/callers_size.hpp"
#include "base/guard.hpp"
#include "sources/observation/observation.hpp"
#include "sources/samples/memory_samples.hpp"

using namespace substrata;

struct substrata_samples {
  pages::Observation observation;
  int by = 0;

  void collect() {
    if (by == SUBSTRATA_SAMPLES_LOADS || by == SUBSTRATA_SAMPLES_OPERATIONS)
      observation.collect(samples::fill_memory_sample);
    else
      observation.collect([](const pages::Sample&, substrata_transaction& sample) {
        sample.kind = SUBSTRATA_SAMPLE;
        return true;
      });
  }
};

namespace {

constexpr uint32_t kDefaultFrequency = 1000;
constexpr uint32_t kMostFrequency = 100'000;

}  // namespace

extern "C" {

int substrata_samples_start(const substrata_samples_options* options, substrata_samples** out) {
  return guarded([&] {
    if (out == nullptr) return fail(Code::kInvalid, "substrata_samples_start needs a place for the handle");
    const auto wanted = taken_in(options);
    if (wanted.process < 0 || wanted.ring_pages > pages::kMostRingPages ||
        wanted.frequency > kMostFrequency) {
      return fail(Code::kInvalid,
                  "samples need a process number from 0 on, at most %u samples a second and at most %u pages "
                  "of buffer",
                  kMostFrequency, pages::kMostRingPages);
    }
    const pid_t process = wanted.process == 0 ? getpid() : wanted.process;
    const bool from_exec = (wanted.flags & SUBSTRATA_SAMPLES_FROM_EXEC) != 0;
    const bool memory = (wanted.flags & SUBSTRATA_SAMPLES_MEMORY) != 0;
    const uint64_t frequency = wanted.frequency == 0 ? kDefaultFrequency : wanted.frequency;

    auto samples = std::make_unique<substrata_samples>();
    samples::MemoryEvent of_memory;
    if (memory) {
      std::string why;
      if (!samples::find_memory_event(perf::read_pmus(""), from_exec, frequency, &of_memory, &why))
        return fail(Code::kNoSupport, "%s", why.c_str());
    }
    if (const int refused =
            memory ? samples->observation.open_probe(samples::kMemoryProbe, samples::kMemoryProbeText)
                   : samples->observation.open_probe(
                         "os.processor-samples",
                         "Instructions at which an observed process is met; initiator the "
                         "thread, target the processor, detail the process"))
      return refused;
    const std::vector<pid_t> threads = pages::threads_of(process);
    if (threads.empty()) return fail(Code::kInvalid, "there is no process %d", static_cast<int>(process));
    int error = 0;
    if (memory) {
      error = samples->observation.open(of_memory.wanted, threads, wanted.ring_pages);
      samples->by = of_memory.by;
    } else {
      perf_event_attr attributes =
          pages::sampled_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, from_exec);
      attributes.freq = 1;
      attributes.sample_freq = frequency;
      error = (wanted.flags & SUBSTRATA_SAMPLES_BY_CLOCK) != 0
                  ? ENOENT
                  : samples->observation.open({attributes}, threads, wanted.ring_pages);
      samples->by = SUBSTRATA_SAMPLES_CYCLES;
      if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV) {
        attributes.type = PERF_TYPE_SOFTWARE;
        attributes.config = PERF_COUNT_SW_TASK_CLOCK;
        samples->by = SUBSTRATA_SAMPLES_TASK_CLOCK;
        error = samples->observation.open({attributes}, threads, wanted.ring_pages);
      }
    }
    if (error != 0) return pages::refuse_observation(error, "process", process, "sampled");
    if (samples->observation.empty())
      return fail(Code::kInvalid, "process %d has ended", static_cast<int>(process));
    if (!from_exec) samples->observation.enable();
    *out = samples.release();
    return 0;
  });
}

int substrata_samples_by(const substrata_samples* samples) {
  return guarded([&] {
    if (samples == nullptr) return fail(Code::kInvalid, "substrata_samples_by needs a handle");
    return samples->by;
  });
}

int substrata_samples_collect(substrata_samples* samples, uint64_t* lost) {
  return pages::collect(samples, lost, "substrata_samples_collect needs a handle");
}

void substrata_samples_stop(substrata_samples* samples) { pages::stop(samples); }

}  // extern "C"
