// The substrate perf_event_uncore: counters of memory controllers, interconnects and power domains, which
// belong to a socket and not to a program, through perf_event_open.
#include <substrata/substrate.h>

#include <cerrno>
#include <new>

#include "base/guard.hpp"
#include "base/table_of.hpp"
#include "perf_event_uncore/uncore.hpp"
#include "perf_events/device.hpp"
#include "perf_events/note.hpp"
#include "perf_events/slots.hpp"

namespace substrata::perf {
namespace {

struct Uncore : Slots {
  static Status detect(const Host* host) noexcept {
    const Status status = detect_uncore(*host, kernel_of(host->root));
    return *host->root != '\0' && status.os_error == ENODEV ? kSuccess
                                                            : status;  // a recorded machine's are listed
  }

  static Status open(const Host* host, Device** out) noexcept {
    return guarded([&] {
      return make<DeviceState>(out, *host, kernel_of(host->root),
                               libpfm_encoder(host->root, PmuKind::kUncore), PmuKind::kUncore);
    });
  }
};

constexpr SubstrateTable kTable = table_of<Uncore>({
    .name = "perf_event_uncore",
    .short_name = "peu",
    .summary = "Linux perf_event counters beside the cores: memory controllers, interconnects, power",
    .version = "1.0",
    .traits = kKernelMultiplex | kCanBindCpu | kCounterUmasks | kSwitchesInSignal,
    .max_events = EventSet::kMaxEvents,
    .max_multiplexed = EventSet::kMaxEvents,
    .event_names = "*::*,*/*",
});

}  // namespace

Status detect_uncore(const Host& host, const Kernel& kernel) noexcept {
  return guarded([&]() -> Status {
    const char* const root = host.root == nullptr ? "" : host.root;
    int cpu = -1;
    for (const Pmu& pmu : read_pmus(root)) {
      if (pmu.core || pmu.cpumask.empty()) continue;
      cpu = pmu.cpumask.front();
      break;
    }
    if (cpu < 0)
      return refuse(Code::kNoSupport,
                    "the kernel shows no counter unit beside the cores (no cpumask below "
                    "/sys/bus/event_source/devices): a virtual machine, or the processor's uncore driver is "
                    "not loaded (modprobe intel_uncore, amd_uncore, rapl)");
    // Uncore counters see every program, so the right to count a whole processor is what they take.
    perf_event_attr attr = blank_attr();
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.exclude_kernel = attr.exclude_hv = 0;
    attr.disabled = 1;
    const int descriptor = kernel.open(kernel.context, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (descriptor < 0)
      return refuse(code_of_refusal(-descriptor), -descriptor,
                    "counting a whole socket, which shows what other programs do: " +
                        explain_refusal(root, -descriptor, true));
    kernel.close(kernel.context, descriptor);
    return kSuccess;
  });
}

const SubstrateTable& uncore_table() noexcept { return kTable; }

}  // namespace substrata::perf

SUBSTRATA_PUBLISH(perf_event_uncore, substrata::perf::uncore_table());
