// The substrate perf_event: the processor's counters and the kernel's software events through
// perf_event_open.
#include <substrata/substrate.h>

#include <cerrno>
#include <new>

#include "base/guard.hpp"
#include "base/table_of.hpp"
#include "perf_events/device.hpp"
#include "perf_events/note.hpp"
#include "perf_events/slots.hpp"

namespace substrata::perf {
namespace {

DeviceState& state(Device* device) noexcept { return *reinterpret_cast<DeviceState*>(device); }

// Opens instructions in one group until the kernel refuses: what a set can hold here, whatever a table says.
uint32_t count_by_opening(DeviceState& device) {
  if (const uint32_t known = device.counters.load(std::memory_order_relaxed); known != 0) return known;
  if (!device.shared.catalogue.has_core_pmu()) return 0;
  const Kernel& kernel = device.shared.kernel;
  std::vector<int> opened;
  while (opened.size() < EventSet::kMaxEvents) {
    perf_event_attr attr = blank_attr();
    attr.type = PERF_TYPE_HARDWARE;
    attr.config = opened.empty() ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_HW_INSTRUCTIONS;
    attr.disabled = opened.empty();
    const int descriptor =
        kernel.open(kernel.context, &attr, 0, -1, opened.empty() ? -1 : opened.front(), PERF_FLAG_FD_CLOEXEC);
    if (descriptor < 0) break;
    opened.push_back(descriptor);
  }
  for (auto descriptor = opened.rbegin(); descriptor != opened.rend(); ++descriptor)
    kernel.close(kernel.context, *descriptor);
  // None may be passing trouble (permission, descriptors) and is asked again.
  device.counters.store(static_cast<uint32_t>(opened.size()), std::memory_order_relaxed);
  return static_cast<uint32_t>(opened.size());
}

// Opens and closes an event that counts nothing: 0, or the negative of the system's reason.
int try_dummy(const Kernel& kernel, perf_event_attr attr) {
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  const int descriptor = kernel.open(kernel.context, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (descriptor < 0) return descriptor;
  kernel.close(kernel.context, descriptor);
  return 0;
}

// Whether this process may count what the kernel does: no where perf_event_paranoid is 2 and it has no CAP_PERFMON.
bool counts_the_kernel(DeviceState& device) {
  perf_event_attr attr = blank_attr();
  attr.exclude_user = attr.exclude_hv = 1;
  attr.exclude_kernel = 0;
  const int answer = try_dummy(device.shared.kernel, attr);
  return answer != -EACCES && answer != -EPERM;
}

// Whether a counter of this thread can be read without a system call.
bool reads_by_mapped_page(DeviceState& device) {
  if (!device.shared.user_reads || !device.shared.catalogue.has_core_pmu()) return false;
  const Kernel& kernel = device.shared.kernel;
  const Encoding* encoding = nullptr;
  uint32_t index = 0;
  if (!device.shared.catalogue.find("perf::INSTRUCTIONS", &index).ok() ||
      !device.shared.catalogue.encoding(index, &encoding).ok())
    return false;
  for (const Leg& leg : encoding->legs) {
    perf_event_attr attr = leg.attr;
    if (device.shared.user_read_bits) attr.config1 |= leg.user_access;
    const int descriptor = kernel.open(kernel.context, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (descriptor < 0) continue;
    void* const page = kernel.map(kernel.context, descriptor, 0);
    const bool fast = page != nullptr && static_cast<const perf_event_mmap_page*>(page)->cap_user_rdpmc != 0;
    if (page != nullptr) kernel.unmap(kernel.context, page, 0);
    kernel.close(kernel.context, descriptor);
    if (fast) return true;
  }
  return false;
}

struct Core : OverflowingSlots {
  // Software events or the tick counter count nearly everywhere; what does not open says so event by event.
  static Status detect(const Host* host) noexcept {
    return guarded([&]() -> Status {
      const Kernel& kernel = kernel_of(host->root);
      if (kernel.ticks != nullptr || *host->root != '\0') return kSuccess;  // a recorded machine's are listed
      if (const int answer = try_dummy(kernel, blank_attr()); answer < 0)
        return refuse(Code::kNoSupport, -answer,
                      "perf_event: " + explain_refusal(host->root, -answer, false));
      return kSuccess;
    });
  }

  static Status open(const Host* host, Device** out) noexcept {
    return guarded([&] {
      return make<DeviceState>(out, *host, kernel_of(host->root), libpfm_encoder(host->root, PmuKind::kCore),
                               PmuKind::kCore);
    });
  }

  static Status recipe(Device* device, const char* preset, Recipe* out) noexcept {
    return guarded([&] { return state(device).presets.recipe(preset, out); });
  }

  static uint32_t hardware_counters(Device* device) noexcept {
    uint32_t count = 0;
    guarded([&]() -> Status {
      count = count_by_opening(state(device));
      return kSuccess;
    });
    return count;
  }

  static bool fast_reads(Device* device) noexcept {
    bool fast = false;
    guarded([&]() -> Status {
      fast = reads_by_mapped_page(state(device));
      return kSuccess;
    });
    return fast;
  }

  static uint32_t countable_domains(Device* device) noexcept {
    uint32_t domains = kThreadEvents.domains;
    guarded([&]() -> Status {
      if (!counts_the_kernel(state(device))) domains &= ~kDomainKernel;
      return kSuccess;
    });
    return domains;
  }
};

constexpr SubstrateTable kTable = table_of<Core>(kThreadEvents);

}  // namespace

const SubstrateTable& core_table() noexcept { return kTable; }

}  // namespace substrata::perf

SUBSTRATA_PUBLISH(perf_event, substrata::perf::core_table());
