// The substrate `intel_gpu`: Intel's GPUs from the files and the counter units of the kernel's drivers, i915 and xe.
#include "intel_gpu/intel_gpu.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/guard.hpp"
#include "base/table_of.hpp"
#include "intel_gpu/gpus.hpp"
#include "perf_events/note.hpp"
#include "sysfs/files_and.hpp"
#include "sysfs/number_files.hpp"

namespace {

using namespace substrata;
using intel_gpu::FileEvent;
using intel_gpu::Gpu;
using intel_gpu::UnitEvent;
using perf::Kernel;

// A descriptor of a counter unit's event, which counts from when it is opened.
class Counter {
 public:
  Counter() noexcept = default;
  Counter(Counter&& other) noexcept { *this = std::move(other); }
  Counter& operator=(Counter&& other) noexcept {
    std::swap(kernel_, other.kernel_);
    std::swap(file_, other.file_);
    return *this;
  }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  ~Counter() {
    if (file_ >= 0) kernel_->close(kernel_->context, file_);
  }

  // 0, or errno.
  int open(const Kernel& kernel, const UnitEvent& event) noexcept {
    perf_event_attr attr = event.attr;
    kernel_ = &kernel;
    file_ = kernel.open(kernel.context, &attr, -1, event.cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return file_ < 0 ? -file_ : 0;
  }
  Status read(const char* name, int64_t* value) const noexcept {
    uint64_t word = 0;
    const ssize_t got = perf::read_words(*kernel_, file_, &word, sizeof word);
    *value = static_cast<int64_t>(word);
    if (got == sizeof word) return kSuccess;
    return refuse_system(got < 0 ? static_cast<int>(-got) : ENODEV,
                         "%s cannot be read: its GPU or driver is gone", name);
  }
  Status fell(const char* name) const noexcept {
    return refuse(Code::kCountersLost, "%s went backwards: the GPU was reset; start the set again", name);
  }

 private:
  const Kernel* kernel_ = nullptr;
  int file_ = -1;
};

using Sampler = sysfs::FilesAnd<Counter>;

class Gpus : public sysfs::NumberFilesAnd<Counter> {
 public:
  Gpus(const Host& host, const Kernel& kernel) noexcept : NumberFilesAnd(host), kernel_(kernel) {}
  explicit Gpus(const Host& host) noexcept : Gpus(host, perf::kernel_of(host.root)) {}

  Status scan() {
    const std::vector<Gpu> gpus = intel_gpu::find_gpus(host_);
    for (size_t device = 0; device < gpus.size(); ++device) {
      const std::string which = ":device=" + std::to_string(device);
      for (const FileEvent& event : gpus[device].files) {
        sysfs::CatalogueEntry entry = described(event.name + which, event.text, event.unit, device);
        entry.kind = event.counts ? ValueKind::kCount : ValueKind::kGauge;
        sysfs::NumberSource source;
        source.path = event.path;
        add(std::move(entry), std::move(source));
      }
      for (const UnitEvent& event : gpus[device].units) {
        sysfs::CatalogueEntry entry = described(event.name + which, event.text, event.unit, device);
        entry.kind = ValueKind::kCount;
        if (const int error = Counter().open(kernel_, event); error != 0) {
          entry.flags |= kEventUnavailable;
          entry.refusal = perf::code_of_refusal(error);
          entry.why = perf::explain_refusal(host_.root, error, true);
        }
        add_other(std::move(entry), [this, event](Counter& counter) -> Status {
          const int error = counter.open(kernel_, event);
          if (error == 0) return kSuccess;
          return refuse(perf::code_of_refusal(error), error, perf::explain_refusal(host_.root, error, true));
        });
      }
    }
    return kSuccess;
  }

 private:
  static sysfs::CatalogueEntry described(std::string name, const std::string& text, const std::string& unit,
                                         size_t device) {
    sysfs::CatalogueEntry entry;
    entry.name = std::move(name);
    entry.text = text + ", GPU " + std::to_string(device);
    entry.unit = unit;
    entry.flags = kEventScopeNode;
    return entry;
  }

  const Kernel& kernel_;
};

using Slots = sysfs::SampledSlots<Gpus, Sampler>;

Status detect(const Host* host) noexcept {
  return guarded([&]() -> Status {
    if (intel_gpu::has_gpu(*host)) return kSuccess;
    return {Code::kNoSupport, 0,
            "no GPU of Intel below /sys/class/drm: load its driver (modprobe i915, or xe), or pass the GPU "
            "to this "
            "container or virtual machine"};
  });
}

// PAPI's names of this component are metric groups of Level Zero.
Status find_event(Device* device, const char* name, uint32_t* index) noexcept {
  const Status status = Slots::find_event(device, name, index);
  if (status.ok() || name == nullptr || std::strchr(name, '.') == nullptr) return status;
  return {
      Code::kNoEvent, 0,
      "metric groups are Level Zero's, which the kernel's drivers lack: name a PAPI built with its component "
      "intel_gpu in SUBSTRATA_BRIDGE=/path/libpapi.so, and have libze_loader.so, libigdmd.so and libigdml.so "
      "installed and /proc/sys/dev/i915/perf_stream_paranoid 0"};
}

constexpr SubstrateTable kTable = [] {
  SubstrateTable table = Slots::table({
      .name = "intel_gpu",
      .summary =
          "Intel's GPUs: busy time of engines, frequency, energy, temperature, from the drivers i915 and xe",
      .version = "1.0",
      .detect = detect,
      .event_names = "*:device=[0-9]*",
  });
  table.find_event = find_event;
  return table;
}();

}  // namespace

Status substrata::intel_gpu::open_over(const Host* host, const perf::Kernel& kernel, Device** out) noexcept {
  return make_scanned<Gpus>(out, *host, kernel);
}

SUBSTRATA_PUBLISH(intel_gpu, kTable);
