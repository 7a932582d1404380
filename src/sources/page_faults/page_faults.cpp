// Page faults with addresses, from the kernel's software event with a sample at every fault.
#include <substrata/pages.h>

#include <memory>

#include "base/callers_size.hpp"
#include "base/guard.hpp"
#include "sources/observation/observation.hpp"

using namespace substrata;

struct substrata_page_faults {
  pages::Observation observation;

  void collect() {
    observation.collect([](const pages::Sample& sample, substrata_transaction& fault) {
      static const auto page = static_cast<uint32_t>(sysconf(_SC_PAGESIZE));
      fault.address = sample.address;
      fault.size = page;
      fault.kind = SUBSTRATA_PAGE_FAULT;
      return true;
    });
  }
};

extern "C" {

int substrata_page_faults_start(const substrata_page_faults_options* options, substrata_page_faults** out) {
  return guarded([&] {
    if (out == nullptr)
      return fail(Code::kInvalid, "substrata_page_faults_start needs a place for the handle");
    const auto wanted = taken_in(options);
    if (wanted.process < 0 || wanted.ring_pages > pages::kMostRingPages)
      return fail(Code::kInvalid,
                  "page faults need a process number from 0 on and at most %u pages of buffer",
                  pages::kMostRingPages);
    const pid_t process = wanted.process == 0 ? getpid() : wanted.process;
    const bool from_exec = (wanted.flags & SUBSTRATA_PAGE_FAULTS_FROM_EXEC) != 0;
    perf_event_attr attributes =
        pages::sampled_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, from_exec);
    attributes.sample_period = 1;

    auto faults = std::make_unique<substrata_page_faults>();
    if (const int refused = faults->observation.open_probe(
            "os.page-faults",
            "Page faults of an observed process; initiator the thread, target the "
            "processor, detail the process"))
      return refused;
    const std::vector<pid_t> threads = pages::threads_of(process);
    if (threads.empty()) return fail(Code::kInvalid, "there is no process %d", static_cast<int>(process));
    if (const int error = faults->observation.open({attributes}, threads, wanted.ring_pages))
      return pages::refuse_observation(error, "page faults of process", process, "observed");
    if (faults->observation.empty())
      return fail(Code::kInvalid, "process %d has ended", static_cast<int>(process));
    if (!from_exec) faults->observation.enable();
    *out = faults.release();
    return 0;
  });
}

int substrata_page_faults_collect(substrata_page_faults* faults, uint64_t* lost) {
  return pages::collect(faults, lost, "substrata_page_faults_collect needs a handle");
}

void substrata_page_faults_stop(substrata_page_faults* faults) { pages::stop(faults); }

}  // extern "C"
