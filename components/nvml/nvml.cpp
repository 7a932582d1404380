// The substrate `nvml`: NVIDIA's GPUs through the library that their driver brings, under PAPI's names.
#include <substrata/substrate.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/guard.hpp"
#include "nvml/numbers.hpp"
#include "nvml/performance_monitor.hpp"
#include "sysfs/sampled_slots.hpp"

namespace {

using namespace substrata;
using nvml::Gpu;
using nvml::Library;
using nvml::Metric;
using nvml::Number;
using nvml::PerformanceMonitor;

// What to answer where NVML refused to do `what`.
Status refused(const Library& library, const char* what, int answer) noexcept {
  switch (answer) {
    case nvml::kForbidden:
    case nvml::kBlocked:
      return refuse(Code::kPermission, "nvml: %s: %s", what, library.text(answer));
    case nvml::kUnsupported:
    case nvml::kNoFunction:
      return refuse(Code::kNoSupport, "nvml: %s: %s", what, library.text(answer));
    default:
      return refuse_system(EIO, "nvml: %s: %s", what, library.text(answer));
  }
}

// The same of the performance monitor, which the driver may keep for root.
Status monitor_refused(const Library& library, const char* what, int answer) noexcept {
  if (answer != nvml::kForbidden) return refused(library, what, answer);
  return refuse(
      Code::kPermission,
      "nvml: %s: the driver keeps it for root (RmProfilingAdminOnly: 1 in /proc/driver/nvidia/params); run "
      "as "
      "root, or let the administrator load the driver with NVreg_RestrictProfilingToAdminUsers=0 (options "
      "nvidia in /etc/modprobe.d)",
      what);
}

// Where an event's number comes from: a number of a GPU, or a metric of its performance monitor.
struct Channel {
  const Gpu* gpu = nullptr;
  const Number* number = nullptr;
  const Metric* metric = nullptr;
};

struct Selected {
  Channel channel;
  const char* name = nullptr;
  PerformanceMonitor* monitor = nullptr;
  uint32_t place = 0;  // in the monitor
};

class Sampler {
 public:
  Sampler() noexcept = default;
  Sampler(const Library* library, const Host* host) noexcept : library_(library), host_(host) {}

  Status add(Channel channel, const char* name) {
    Selected one{channel, name, nullptr, 0};
    if (channel.metric != nullptr) {
      for (const auto& monitor : monitors_) {
        if (monitor->gpu() == channel.gpu) one.monitor = monitor.get();
      }
      if (one.monitor == nullptr) {
        auto made = std::make_unique<PerformanceMonitor>(library_, channel.gpu);
        if (const int answer = made->prepare(); answer != nvml::kDone)
          return refused(*library_, name, answer);
        one.monitor = made.get();
        monitors_.push_back(std::move(made));
      }
      one.place = one.monitor->add(channel.metric);
    }
    selected_.push_back(one);
    return kSuccess;
  }

  uint32_t size() const noexcept { return static_cast<uint32_t>(selected_.size()); }
  bool counts(uint32_t i) const noexcept {
    const Number* number = selected_[i].channel.number;
    return number != nullptr && number->counts;
  }

  // As sample, where means over a time begin: they have no number yet.
  Status begin(int64_t* raw) noexcept {
    const int64_t now = sysfs::now_ns(*host_);
    for (const auto& monitor : monitors_) {
      if (const int answer = monitor->begin(now); answer != nvml::kDone)
        return monitor_refused(*library_, "the performance monitor (gpm_...)", answer);
    }
    return sample_numbers(raw);
  }

  Status sample(int64_t* raw) noexcept {
    const int64_t now = sysfs::now_ns(*host_);
    for (const auto& monitor : monitors_) {
      if (const int answer = monitor->advance(now); answer != nvml::kDone)
        return monitor_refused(*library_, "a metric of the performance monitor (gpm_...)", answer);
    }
    for (uint32_t i = 0; i < size(); ++i) {
      const Selected& one = selected_[i];
      if (one.monitor == nullptr) continue;
      if (const int answer = one.monitor->value(one.place, &raw[i]); answer != nvml::kDone)
        return refused(*library_, one.name, answer);
    }
    return sample_numbers(raw);
  }

  // A counter of 32 bits that starts again is known by its fall of more than half; any other fall is a reset.
  Status growth(uint32_t i, int64_t from, int64_t to, int64_t* out) const noexcept {
    constexpr int64_t kRange = int64_t{1} << 32;
    const Number& number = *selected_[i].channel.number;
    *out = to - from;
    if (*out >= 0) return kSuccess;
    if (number.wraps_at_bits == 32 && from < kRange && from - to > kRange / 2) {
      *out += kRange;
      return kSuccess;
    }
    return refuse(Code::kCountersLost,
                  "nvml: %s fell: the driver was loaded again or the GPU was reset; start the set again",
                  selected_[i].name);
  }

  // Sets the power limit that is the only event; in mW.
  Status write(const int64_t* values) noexcept {
    if (size() != 1 || selected_[0].channel.number == nullptr ||
        std::string_view(selected_[0].channel.number->name) != nvml::kPowerLimit) {
      return {Code::kInvalid, 0,
              "nvml: only power_management_limit can be written, in a set that has this one event alone"};
    }
    const int64_t value = values[0];
    const Gpu& gpu = *selected_[0].channel.gpu;
    unsigned least = 0;
    unsigned most = 0;
    int answer = Library::call(library_->power_limits, gpu.handle, &least, &most);
    if (answer != nvml::kDone) return refused(*library_, "the range of the power limit", answer);
    if (value < static_cast<int64_t>(least) || value > static_cast<int64_t>(most)) {
      return refuse(Code::kInvalid, "nvml: a power limit of %lld mW was asked for; this GPU takes %u to %u",
                    static_cast<long long>(value), least, most);
    }
    answer = Library::call(library_->set_power_limit, gpu.handle, static_cast<unsigned>(value));
    if (answer != nvml::kDone) return refused(*library_, "the power limit cannot be set", answer);
    gpu.limit_set.store(static_cast<unsigned>(value));
    return kSuccess;
  }

 private:
  Status sample_numbers(int64_t* raw) noexcept {
    nvml::Pass pass;
    for (uint32_t i = 0; i < size(); ++i) {
      const Selected& one = selected_[i];
      if (one.channel.number == nullptr) continue;
      if (pass.gpu != one.channel.gpu) {
        pass = nvml::Pass{};
        pass.gpu = one.channel.gpu;
      }
      const int answer =
          one.channel.number->read(*library_, *one.channel.gpu, &pass, one.channel.number->argument, &raw[i]);
      if (answer != nvml::kDone) return refused(*library_, one.name, answer);
    }
    return kSuccess;
  }

  const Library* library_ = nullptr;
  const Host* host_ = nullptr;
  std::vector<Selected> selected_;
  std::vector<std::unique_ptr<PerformanceMonitor>> monitors_;
};

class Gpus : public sysfs::SampledDevice {
 public:
  using SampledDevice::SampledDevice;

  // Cheap: a node without the driver's files loads nothing.
  static Status detect(const Host& host) {
    const char* chosen = sysfs::setting(host, "PAPI_NVML_MAIN");
    const bool is_chosen = chosen != nullptr && *chosen != '\0';
    if (!is_chosen && sysfs::list_folder(sysfs::below_root(host, "/proc/driver/nvidia")).empty()) {
      return {Code::kNoSupport, 0,
              "no GPU of NVIDIA: /proc/driver/nvidia is not there; load the driver (modprobe nvidia), or "
              "pass the "
              "GPU to this container or virtual machine"};
    }
    if (!is_chosen && *host.root != '\0')
      return {Code::kNoSupport, 0,
              "NVIDIA's library knows this machine's GPUs, not those of a recorded one (SUBSTRATA_ROOT); "
              "PAPI_NVML_MAIN can name a library that stands in for it"};
    Library library;
    std::string why;
    if (!library.load(chosen, &why)) return refuse(Code::kNoSupport, "%s", why.c_str());
    return kSuccess;
  }

  ~Gpus() {
    // A power limit outlives the program: ours go, unless another has set one since.
    for (const auto& gpu : gpus_) {
      const unsigned ours = gpu->limit_set.load();
      unsigned now = 0;
      if (ours != 0 && Library::call(library_.power_limit, gpu->handle, &now) == nvml::kDone && now == ours)
        Library::call(library_.set_power_limit, gpu->handle, gpu->first_limit);
    }
  }
  Gpus(const Gpus&) = delete;
  Gpus& operator=(const Gpus&) = delete;

  Status scan() {
    std::string why;
    if (!library_.load(sysfs::setting(host_, "PAPI_NVML_MAIN"), &why))
      return refuse(Code::kNoSupport, "%s", why.c_str());
    int answer = library_.begin();
    if (answer != nvml::kDone) return refused(library_, "NVIDIA's management library does not start", answer);
    unsigned count = 0;
    answer = library_.count(&count);
    if (answer != nvml::kDone) return refused(library_, "the GPUs cannot be counted", answer);
    for (unsigned index = 0; index < count; ++index) add_gpu(index);
    if (catalogue_.size() == 0) {
      return {Code::kNoSupport, 0,
              "nvml: NVIDIA's driver shows no GPU that this process may use; see nvidia-smi -L, and in a "
              "container "
              "NVIDIA_VISIBLE_DEVICES"};
    }
    add_metrics();
    catalogue_.index_aliases();
    return kSuccess;
  }

  Status select(const uint32_t* events, uint32_t count, Sampler* out) const {
    Sampler sampler(&library_, &host_);
    for (uint32_t i = 0; i < count; ++i) {
      const Status status = sampler.add(channels_[events[i]], catalogue_.entry(events[i]).name.c_str());
      if (!status.ok()) return status;
    }
    *out = std::move(sampler);
    return kSuccess;
  }

 private:
  void add_gpu(unsigned index) {
    nvml::Handle handle = nullptr;
    if (library_.handle_by_index(index, &handle) != nvml::kDone)
      return;  // lost or not ours; the others keep their numbers
    const std::string place = "device_" + std::to_string(index);
    auto gpu = std::make_unique<Gpu>();
    gpu->handle = handle;
    Library::call(library_.capability, handle, &gpu->major, &gpu->minor);
    Library::call(library_.power_limit, handle, &gpu->first_limit);
    const std::string product = product_of(handle);
    gpu->where = product + ":" + place;
    add_numbers(gpu.get());
    gpus_.push_back(std::move(gpu));

    unsigned divided = 0;
    unsigned later = 0;
    unsigned parts = 0;
    if (Library::call(library_.mig_mode, handle, &divided, &later) != nvml::kDone || divided == 0) return;
    if (Library::call(library_.mig_most, handle, &parts) != nvml::kDone) return;
    for (unsigned part = 0; part < parts; ++part) {
      auto one = std::make_unique<Gpu>();
      one->whole = handle;
      if (Library::call(library_.mig_handle, handle, part, &one->handle) != nvml::kDone) continue;
      if (Library::call(library_.gpu_instance, one->handle, &one->instance) != nvml::kDone) continue;
      one->where = product + ":" + place + ":mig_" + std::to_string(part);
      add_numbers(one.get());
      gpus_.push_back(std::move(one));
    }
  }

  std::string product_of(nvml::Handle handle) const {
    char text[96] = "";
    if (library_.name(handle, text, sizeof text) != nvml::kDone || text[0] == '\0') return "NVIDIA";
    text[sizeof text - 1] = '\0';
    std::string product = text;
    std::replace(product.begin(), product.end(), ' ', '_');
    return product;
  }

  // An event is there if its call works now; one that the GPU or the driver lacks is listed with the reason.
  void add_numbers(const Gpu* gpu) {
    size_t count = 0;
    const Number* numbers = nvml::numbers(&count);
    for (size_t i = 0; i < count; ++i) {
      const Number& number = numbers[i];
      if (gpu->whole != nullptr && !number.of_parts) continue;
      nvml::Pass pass;
      int64_t value = 0;
      const int answer = number.read(library_, *gpu, &pass, number.argument, &value);
      sysfs::CatalogueEntry entry =
          describe(gpu->where + ":" + number.name,
                   std::string(number.text) + nvml::words_for(number.window, gpu->major, gpu->minor),
                   number.unit, answer);
      if (number.alias != nullptr) entry.aliases.push_back(gpu->where + ":" + number.alias);
      if (number.counts) entry.kind = ValueKind::kCount;
      catalogue_.add(std::move(entry));
      channels_.push_back({gpu, &number, nullptr});
    }
  }

  // One wait for all GPUs shows which metrics there are; a driver offers those that this GPU lacks, too.
  void add_metrics() {
    std::vector<std::unique_ptr<PerformanceMonitor>> monitors;
    size_t count = 0;
    const Metric* metrics = nvml::metrics(&count);
    const int64_t begun_ns = sysfs::now_ns(host_);
    for (const auto& gpu : gpus_) {
      nvml::GpmSupport support{1, 0};
      const nvml::Handle whole = gpu->whole == nullptr ? gpu->handle : gpu->whole;
      if (Library::call(library_.gpm_support, whole, &support) != nvml::kDone || support.supported == 0)
        continue;
      auto monitor = std::make_unique<PerformanceMonitor>(&library_, gpu.get());
      for (size_t i = 0; i < count; ++i) monitor->add(&metrics[i]);
      int answer = monitor->prepare();
      if (answer == nvml::kDone) answer = monitor->begin(begun_ns);
      if (answer == nvml::kDone) monitors.push_back(std::move(monitor));
    }
    if (!monitors.empty()) PerformanceMonitor::wait(PerformanceMonitor::kShortest_ns);
    for (const auto& monitor : monitors) {
      const int taken = monitor->advance(begun_ns + PerformanceMonitor::kShortest_ns);
      for (uint32_t i = 0; i < count; ++i) {
        int64_t value = 0;
        const int answer = taken == nvml::kDone ? monitor->value(i, &value) : taken;
        catalogue_.add(
            describe(monitor->gpu()->where + ":" + metrics[i].name,
                     std::string(metrics[i].text) + ", mean since the read before (100 ms at least)",
                     metrics[i].unit, answer));
        channels_.push_back({monitor->gpu(), nullptr, &metrics[i]});
      }
    }
  }

  sysfs::CatalogueEntry describe(std::string name, std::string text, const char* unit, int answer) const {
    sysfs::CatalogueEntry entry;
    entry.name = std::move(name);
    entry.text = std::move(text);
    entry.unit = unit;
    entry.kind = ValueKind::kGauge;
    entry.flags = kEventScopeNode;
    if (answer != nvml::kDone) {
      entry.flags |= kEventUnavailable;
      entry.refusal = answer == nvml::kForbidden ? Code::kPermission : Code::kNoSupport;
      entry.why = library_.text(answer);
    }
    return entry;
  }

  Library library_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::vector<Channel> channels_;
};

using Slots = sysfs::SampledSlots<Gpus, Sampler>;

Status write(Set* set, const int64_t* values) noexcept {
  return guarded([&] { return Slots::state_of(set)->measurement.sampler().write(values); });
}

constexpr SubstrateTable kTable = Slots::table({
    .name = "nvml",
    .summary = "NVIDIA's GPUs: power, energy, clocks, memory, use, errors, PCI Express and NVLink",
    .traits = kReadBlocks,
    .read_bound_ns = 1'000'000'000,
    .write = write,
    .event_names = "*:device_*:*",
});

}  // namespace

SUBSTRATA_PUBLISH(nvml, kTable);
